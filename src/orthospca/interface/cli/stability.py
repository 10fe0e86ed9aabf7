"""``orthospca stability``: how often each variable is selected in resamples of the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import orthospca
from orthospca._errors import InputError
from orthospca.interface.cli.options import (
    OPEN_GAP,
    ROWS,
    SOLVED,
    Components,
    Data,
    Draws,
    Limits,
    Reading,
    Showing,
    Sparsity,
    command,
    folder,
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
        int, option("-n", "--resamples", panel=ROWS, help="How many resamples.")
    ] = 50,
    draws: Draws,
    reading: Reading,
    limits: Limits,
    output: Annotated[
        Path | None, folder("stability.html, stability.csv and stability.json")
    ] = None,
    showing: Showing,
) -> int:
    """Count how often each variable is selected when rows are left out.

    A certified component is the best one for the data given; that says nothing about the noise of
    sampling. This does: components are sought again in many resamples of the rows.

    For example:

    `orthospca stability measurements.csv -p 5 -k 2 --correlation`

    `orthospca stability genes.parquet -p 10 -k 1 -n 100 --bootstrap --n-jobs 4`
    """
    from orthospca.interface import choosing
    from orthospca.interface.cli.job import Job, default_sparsity
    from orthospca.interface.report import write_choice_report

    job = Job(data, reading, output, showing, FILES)
    nonzeros = parse_sparsity(sparsity)
    settings = limits.settings(n_components)
    if resamples < 2:
        raise InputError(f"resamples must be at least 2, got {resamples}")

    table, Q = job.read()
    choosing.need_rows("stability needs", job.source.is_matrix, table)
    nonzeros = default_sparsity(Q) if nonzeros is None else nonzeros
    job.announce(table)

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

    if job.folder is not None:
        asked = {"sparsity": nonzeros, "resamples": resamples, **vars(draws)}
        asked |= limits.settings(n_components)
        with job.writing(asked, found.status.name) as (place, run):
            place.write_table("stability.csv", choosing.stability_rows([found]))
            place.write_json("stability.json", found.to_dict(), run)
        job.report(
            write_choice_report,
            stability=found,
            title=f"Stability: {job.source.name}",
            source=job.source.describe_fully(table),
        )

    job.show(found.to_dict, found.summary(choosing.summary_width()))
    job.end()
    return SOLVED if found.status.finished else OPEN_GAP
