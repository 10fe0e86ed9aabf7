"""``orthospca alternatives``: every choice of variables that is nearly as good as the best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orthospca
from orthospca.interface.cli.options import (
    DEFAULT_SPARSITY,
    SHARE,
    Data,
    Features,
    Proving,
    Reading,
    Time,
    command,
    of_command,
)

OF_FIT = ("result.json", "loadings.csv", "scores.csv", "report.html")


@dataclass(frozen=True)
class Near:
    """What is listed."""

    sparsity: int | None = of_command("Variables in each choice.", "-p --sparsity")
    tolerance: float = of_command(
        "How far below the best variance: 1% or 0.01.", "--within", default=0.01, **SHARE
    )
    max_supports: int = of_command("List at most this many.", "--most", default=1000)


@command
def alternatives(
    data: Data, *, near: Near, features: Features, reading: Reading, time: Time, showing: Proving
) -> int:
    """List every choice of variables that is nearly as good as the best one.

    Proves that the list is complete; if it may not be, the exit code is 3.

    For example:

    `orthospca alternatives measurements.csv -p 5 --within 1% --correlation`

    `orthospca alternatives covariance.npy -p 10 --precomputed --proof -o near`, then
    `orthospca verify near/certificate.zip`

    `orthospca fit --alternatives 1%` also lists them for later components, given the earlier ones.
    """
    from orthospca.interface.alternatives import rows
    from orthospca.interface.cli.job import Job, files_of

    # A certificate that belongs to components is not put aside without them.
    files = files_of("alternatives", "certificate.zip", *OF_FIT * showing.proof)
    job = Job(data, reading, showing, files)
    job.need_folder(proof=showing.proof)

    table, Q = job.read()
    asked: dict[str, Any] = vars(time) | vars(near) | {"proof": showing.proof}
    if near.sparsity is None:
        asked["sparsity"] = min(DEFAULT_SPARSITY, Q.shape[0])
    asked |= features.settings(table.columns)

    with job.computing(), job.screen.working("looking for alternatives"):
        now = asked | {"time_limit": job.left(time), "feature_names": table.columns}
        found = orthospca.alternatives(Q, **now)

    if showing.proof and found.certificate is None:
        job.screen.say("certificate.zip not written: the list may be incomplete")
    lines = rows([found], numbered=False)
    return job.conclude(found, "Alternatives:", lines, asked, found.certificate)
