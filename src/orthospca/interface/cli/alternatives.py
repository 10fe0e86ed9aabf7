"""``orthospca alternatives``: every choice of variables that is nearly as good as the best."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import orthospca
from orthospca.interface.cli.options import (
    OPEN_GAP,
    SOLVED,
    Data,
    Jobs,
    Proof,
    Reading,
    Showing,
    TimeLimit,
    command,
    folder,
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
        int | None, option("-p", "--sparsity", help="Features of a support.")
    ] = None,
    within: Annotated[
        str, option("--within", help="How far below the best variance: 1%, or 0.01.")
    ] = "1%",
    most: Annotated[int, option("--most", help="List at most so many.")] = 1000,
    reading: Reading,
    time_limit: TimeLimit = None,
    n_jobs: Jobs = None,
    proof: Proof = False,
    output: Annotated[Path | None, folder("alternatives.csv, .json, .png and .html")] = None,
    showing: Showing,
) -> int:
    """List every choice of variables that is nearly as good as the best one.

    With the proof that there is no other; the exit code is 3 if that was not reached.

    For example:

    `orthospca alternatives measurements.csv -p 5 --within 1% --correlation`

    `orthospca alternatives covariance.npy -p 10 --precomputed --proof -o near`, and then
    `orthospca verify near/certificate.zip`

    `orthospca fit --alternatives 1%` lists those of later components too, given the earlier ones.
    """
    from orthospca.interface.alternatives import rows
    from orthospca.interface.cli.job import Job, default_sparsity
    from orthospca.interface.plotting import plot_alternatives
    from orthospca.interface.report import write_choice_report

    job = Job(data, reading, output, showing, FILES)
    job.need_folder(proof, "--proof writes certificate.zip")
    settings: dict[str, Any] = {
        "tolerance": parse_share(within, "--within"),
        "max_supports": most,
        "proof": proof,
    }

    table, Q = job.read()
    size = default_sparsity(Q) if sparsity is None else sparsity
    job.announce(table)

    with job.computing(), job.screen.working("looking for alternatives"):
        left = job.stopwatch.left_of(time_limit)
        found = orthospca.alternatives(
            Q, size, feature_names=table.columns, time_limit=left, n_jobs=n_jobs, **settings
        )

    if job.folder is not None:
        asked = {"sparsity": size, "time_limit": time_limit, **settings}
        status = "OPTIMAL" if found.complete else "INCOMPLETE"
        with job.writing(asked, status) as (place, run):
            place.write_table("alternatives.csv", rows(found))
            place.write_json("alternatives.json", found.to_dict(), run)
            job.draw("alternatives.png", plot_alternatives, found)
            if found.certificate is not None:
                place.save("certificate.zip", found.certificate)
        job.report(
            write_choice_report,
            alternatives=found,
            title=f"Alternatives: {job.source.name}",
            source=job.source.describe_fully(table),
        )
        if proof and found.certificate is None:
            job.screen.say("no certificate.zip: the list may not be complete")

    job.show(found.to_dict, found.summary(20))
    job.end()
    return SOLVED if found.complete else OPEN_GAP
