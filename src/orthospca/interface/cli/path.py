"""``orthospca path``: variance and gap by sparsity, and what other rows say of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orthospca
from orthospca._errors import InputError
from orthospca.interface.cli.options import (
    Constraints,
    Data,
    Draws,
    Reading,
    Showing,
    Solver,
    command,
    of_command,
    of_rows,
)


@dataclass(frozen=True)
class Path:
    """Which sparsities, and what other rows are asked of them."""

    sparsities: str = of_command(
        "Numbers and ranges: 1:20, 5,10,15, 2:30:4.", "-p --sparsities", default="1:10"
    )
    n_components: int = of_command("Number of components.", "-k --components", default=1)
    cv: int = of_rows(
        "Number of folds for measuring variance in held-out rows; 0 for none.",
        default=0,
        metavar="FOLDS",
    )
    n_resamples: int = of_rows(
        "Number of resamples for counting how often variables are selected; 0 for none.",
        "--stability",
        default=0,
        metavar="RESAMPLES",
    )


@command
def path(
    data: Data,
    *,
    asked: Path,
    constraints: Constraints,
    draws: Draws,
    reading: Reading,
    solver: Solver,
    showing: Showing,
) -> int:
    """Show variance and certified gap by sparsity, to help choose -p.

    For example:

    `orthospca path measurements.csv -p 1:20 --correlation`

    `orthospca path measurements.csv -p 1:20 --cv 5 --stability 50`

    `orthospca path covariance.csv -p 5:50:5 -k 3 --precomputed --time-limit 120`
    """
    from orthospca.interface import choosing
    from orthospca.interface.cli.job import Job, files_of, show_progress
    from orthospca.path import parse_sparsities

    files = files_of("path", "path-held-out.csv", "path-stability.csv")
    job = Job(data, reading, showing, files)
    cv, resamples, values = asked.cv, asked.n_resamples, solver.settings()
    for name, count, what in (("cv", cv, "folds"), ("stability", resamples, "resamples")):
        if count < 0 or count == 1:
            raise InputError(f"{name} must be 0 or at least 2 {what}, got {count}")

    table, Q = job.read()
    if cv or resamples:
        job.need_rows("--cv and --stability need")
    limits = parse_sparsities(asked.sparsities, Q.shape[0])
    values |= constraints.settings(table.columns)

    # The time is for everything: the path, and what other rows are asked.
    parts = 1 + bool(cv) + bool(resamples)
    settings = values | {"n_components": asked.n_components, "time_limit": job.left(solver, parts)}
    with job.computing():
        with show_progress(job.screen, settings) as progress:
            found = orthospca.sparsity_path(
                Q, limits, callback=progress.at_sparsity, feature_names=table.columns, **settings
            )
        job.need_some(len(found.results), found.status, "no sparsity was reached")
    for name in ("threshold", "memory_limit"):
        del settings[name]  # rows are solved without them
    settings |= {"sparsities": limits, "random_state": draws.random_state}
    content: dict[str, Any] = {"path.csv": choosing.path_rows(found), "path.json": found.to_dict()}
    done: dict[str, Any] = {}
    stopped, status = orthospca.Status.INTERRUPTED, found.status
    if cv and status is not stopped:
        asking = (orthospca.cross_validate_sparsity, "held-out rows", cv)
        done["cross_validation"] = held_out = job.ask_rows(*asking, cv=cv, **settings)
        content["path-held-out.csv"] = choosing.held_out_rows(held_out)
        status = held_out.status
    if resamples and status is not stopped:
        settings |= {"n_resamples": resamples, "feature_names": table.columns, **vars(draws)}
        ask = orthospca.stability_path
        done["stability"] = job.ask_rows(ask, "resamples", resamples, **settings)
        content["path-stability.csv"] = choosing.stability_rows(list(done["stability"]))

    content["path.png"] = found.plot
    job.write(content, vars(asked) | vars(draws) | values, found.status.finished)
    job.report_choice("How many variables?", found=found, **done)

    job.show(
        lambda: {**found.to_dict(), **{name: each.to_dict() for name, each in done.items()}},
        found.table().numbers,  # they are in the report
        *(part for each in done.values() for part in ("", each.table())),
    )
    return job.end(all(each.status.finished for each in (found, *done.values())))
