"""``orthospca stability``: how often each variable is selected in resamples of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import orthospca
from orthospca._errors import InputError
from orthospca.interface.cli.options import (
    Components,
    Constraints,
    Data,
    Draws,
    Limits,
    Reading,
    Showing,
    command,
    of_rows,
    parse_sparsity,
)

FILES = ("stability.json", "stability.csv", "stability.html")


@dataclass(frozen=True)
class Resamples(Draws):
    """Which other rows are asked, and how many times."""

    n_resamples: int = of_rows(50, "Number of resamples.", "-n", "--resamples")


@command
def stability(
    data: Data,
    *,
    components: Components,
    constraints: Constraints,
    draws: Resamples,
    reading: Reading,
    limits: Limits,
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

    job = Job(data, reading, showing, FILES)
    nonzeros = parse_sparsity(components.sparsity)
    if draws.n_resamples < 2:
        raise InputError(f"resamples must be at least 2, got {draws.n_resamples}")

    table, Q = job.read()
    choosing.need_rows("stability needs", job.source.is_matrix, table)
    asked = vars(limits) | vars(components) | vars(draws)
    asked["sparsity"] = default_sparsity(Q) if nonzeros is None else nonzeros
    asked |= constraints.settings(table.columns)

    with job.computing(), job.screen.counting("resamples", draws.n_resamples) as counter:
        found = orthospca.stability(
            table.values,
            correlation=bool(reading.correlation),
            feature_names=table.columns,
            callback=counter,
            **asked | {"time_limit": job.left(limits)},
        )

    files = {
        "stability.csv": choosing.stability_rows([found]),
        "stability.json": found.to_dict(),
    }
    job.write(files, asked, found.status.name)
    job.report_choice("Stability:", stability=found)

    job.show(found.to_dict, found.table())
    return job.end(found.status.finished)
