"""``orthospca alternatives``: every choice of variables that is nearly as good as the best."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import orthospca
from orthospca.interface.cli.options import (
    Data,
    Jobs,
    Output,
    Proof,
    Reading,
    Showing,
    TimeLimit,
    command,
    option,
    parse_share,
)

FILES = (
    "alternatives.json", "alternatives.csv", "alternatives.png", "certificate.zip",
    "alternatives.html",
)  # fmt: skip


@command
def alternatives(
    data: Data,
    *,
    sparsity: Annotated[
        int | None, option("-p", "--sparsity", help="Variables in each choice.")
    ] = None,
    within: Annotated[
        str, option("--within", help="How far below the best variance: 1% or 0.01.")
    ] = "1%",
    most: Annotated[int, option("--most", help="List at most this many.")] = 1000,
    reading: Reading,
    time_limit: TimeLimit = None,
    n_jobs: Jobs = None,
    proof: Proof = False,
    output: Output = None,
    showing: Showing,
) -> int:
    """List every choice of variables that is nearly as good as the best one.

    Proves that the list is complete, or exits with 3.

    For example:

    `orthospca alternatives measurements.csv -p 5 --within 1% --correlation`

    `orthospca alternatives covariance.npy -p 10 --precomputed --proof -o near`, then
    `orthospca verify near/certificate.zip`

    `orthospca fit --alternatives 1%` lists those of later components too, given the earlier ones.
    """
    from orthospca.interface.alternatives import rows
    from orthospca.interface.cli.job import Job, default_sparsity
    from orthospca.interface.plotting import plot_alternatives

    job = Job(data, reading, output, showing, FILES)
    job.need_folder(proof=proof)
    settings: dict[str, Any] = {
        "tolerance": parse_share(within, "--within"),
        "max_supports": most,
        "proof": proof,
    }

    table, Q = job.read()
    size = default_sparsity(Q) if sparsity is None else sparsity

    with job.computing(), job.screen.working("looking for alternatives"):
        left = job.stopwatch.left_of(time_limit)
        found = orthospca.alternatives(
            Q, size, feature_names=table.columns, time_limit=left, n_jobs=n_jobs, **settings
        )

    files = {
        "alternatives.csv": rows(found),
        "alternatives.json": found.to_dict(),
        "alternatives.png": partial(plot_alternatives, found),
        "certificate.zip": found.certificate,
    }
    asked = {"sparsity": size, "time_limit": time_limit, **settings}
    job.write(files, asked, "OPTIMAL" if found.complete else "INCOMPLETE")
    job.report_choice("Alternatives:", alternatives=found)
    if proof and found.certificate is None:
        job.screen.say("certificate.zip not written: the list may be incomplete")

    job.show(found.to_dict, found.summary(20))
    return job.end(found.complete)
