"""``orthospca stability``: how often each variable is selected in resamples of the rows."""

from __future__ import annotations

from typing import Annotated

import orthospca
from orthospca._errors import InputError
from orthospca.interface.cli.options import (
    ROWS,
    Components,
    Data,
    Draws,
    Limits,
    Output,
    Reading,
    Showing,
    Sparsity,
    command,
    option,
    parse_sparsity,
)

FILES = ("stability.json", "stability.csv", "stability.html")


@command
def stability(
    data: Data,
    *,
    n_components: Components = 2,
    sparsity: Sparsity = None,
    resamples: Annotated[
        int, option("-n", "--resamples", panel=ROWS, help="Number of resamples.")
    ] = 50,
    draws: Draws,
    reading: Reading,
    limits: Limits,
    output: Output = None,
    showing: Showing,
) -> int:
    """Count how often each variable is selected when rows are resampled.

    A certified component is the best for these data; it says nothing about sampling noise. This
    command does: it solves again on many resamples of the rows.

    For example:

    `orthospca stability measurements.csv -p 5 -k 2 --correlation`

    `orthospca stability genes.parquet -p 10 -k 1 -n 100 --bootstrap --n-jobs 4`
    """
    from orthospca.interface import choosing
    from orthospca.interface.cli.job import Job, default_sparsity

    job = Job(data, reading, output, showing, FILES)
    nonzeros = parse_sparsity(sparsity)
    settings = limits.settings(n_components)
    if resamples < 2:
        raise InputError(f"resamples must be at least 2, got {resamples}")

    table, Q = job.read()
    choosing.need_rows("stability needs", job.source.is_matrix, table)
    nonzeros = default_sparsity(Q) if nonzeros is None else nonzeros

    settings["time_limit"] = job.stopwatch.left_of(limits.time_limit)
    with job.computing(), job.screen.counting("resamples", resamples) as counter:
        found = orthospca.stability(
            table.values,
            nonzeros,
            n_resamples=resamples,
            bootstrap=draws.bootstrap,
            fraction=draws.fraction,
            correlation=reading.correlation,
            random_state=draws.seed,
            feature_names=table.columns,
            callback=counter,
            **settings,
        )

    files = {
        "stability.csv": choosing.stability_rows([found]),
        "stability.json": found.to_dict(),
    }
    asked = {"sparsity": nonzeros, "resamples": resamples, **vars(draws)}
    job.write(files, asked | limits.settings(n_components), found.status.name)
    job.report_choice("Stability:", stability=found)

    job.show(found.to_dict, found.summary(choosing.summary_width()))
    return job.end(found.status.finished)
