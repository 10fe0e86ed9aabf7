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
)


@dataclass(frozen=True)
class Resamples(Draws):
    """Which other rows are asked, and how many times."""

    n_resamples: int = of_rows("Number of resamples.", "-n --resamples", default=50)


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

    A certificate says nothing about sampling noise. This command solves again on many resamples of
    the rows.

    For example:

    `orthospca stability measurements.csv -p 5 -k 2 --correlation`

    `orthospca stability genes.parquet -p 10 -k 1 -n 100 --bootstrap --n-jobs 4`
    """
    from orthospca.interface.choosing import stability_rows
    from orthospca.interface.cli.job import Job, files_of

    job = Job(data, reading, showing, files_of("stability"))
    if draws.n_resamples < 2:
        raise InputError(f"resamples must be at least 2, got {draws.n_resamples}")

    table, Q = job.read()
    job.need_rows("stability needs")
    asked = vars(limits) | components.settings(Q.shape[0]) | vars(draws)
    asked |= constraints.settings(table.columns)

    now = asked | {"time_limit": job.left(limits), "feature_names": table.columns}
    with job.computing():
        found = job.ask_rows(orthospca.stability, "resamples", draws.n_resamples, **now)
    return job.conclude(found, "Stability:", stability_rows([found]), asked)
