"""``orthospca audit``: how far the components of another tool are from the best ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

import orthospca
from orthospca._methods import Objective
from orthospca.interface.cli.options import Data, Limits, Reading, Showing, command, of_command

Given = Annotated[
    Path,
    typer.Argument(
        metavar="LOADINGS",
        help="The components, in rows or in columns: CSV as R writes it, loadings.csv from `fit`, "
        "or any format that DATA may have; variables are matched by name.",
    ),
]


@dataclass(frozen=True)
class Judging:
    """What is compared."""

    objective: Objective = of_command(
        "stagewise: each component; joint: also search for the best set, which takes longer.",
        default=Objective.STAGEWISE,
        metavar="OBJECTIVE",
    )
    zero: float = of_command(
        "Treat loadings up to this share of a component's largest as zero.", default=1e-12
    )


@command
def audit(
    data: Data,
    loadings: Given,
    *,
    judging: Judging,
    reading: Reading,
    limits: Limits,
    showing: Showing,
) -> int:
    """Measure how far the components of any tool are from the best ones.

    Each component is compared with a proved bound on all components that have as many nonzeros and
    are orthogonal to those before it.

    For example:

    `orthospca audit measurements.csv loadings.csv --correlation`

    `orthospca audit covariance.csv rotation.csv --precomputed -o audit`
    """
    from orthospca.interface.choosing import audit_rows
    from orthospca.interface.cli.job import Job, files_of
    from orthospca.interface.tables import File, read_as_it_is
    from orthospca.interface.tables import Reading as HowToRead

    job = Job(data, reading, showing, files_of("audit"))
    given = read_as_it_is(File(loadings), HowToRead())
    table, Q = job.read()
    asked = vars(judging) | vars(limits)
    with job.computing(), job.screen.counting("searches for better components") as counter:
        names = table.columns if table.named else None
        now = asked | {"time_limit": job.left(limits), "feature_names": names}
        found = orthospca.audit(Q, given, callback=counter, **now)

    asked |= {"loadings": str(loadings)}
    return job.conclude(found, "How good are the components?", audit_rows(found), asked)
