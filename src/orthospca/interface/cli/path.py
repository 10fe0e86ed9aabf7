"""``orthospca path``: variance and gap by sparsity, and what other rows say of it."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import orthospca
from orthospca._errors import InputError
from orthospca.interface.cli.options import (
    ROWS,
    Components,
    Data,
    Draws,
    Output,
    Reading,
    Showing,
    Solver,
    command,
    option,
)

FILES = (
    "path.json", "path.csv", "path-held-out.csv", "path-stability.csv", "path.png", "path.html"
)  # fmt: skip


@command
def path(
    data: Data,
    *,
    sparsities: Annotated[
        str, option("-p", "--sparsities", help="Numbers and ranges: 1:20, 5,10,15, 2:30:4.")
    ] = "1:10",
    n_components: Components = 1,
    cv: Annotated[
        int,
        option(
            "--cv",
            panel=ROWS,
            metavar="FOLDS",
            help="Number of folds for measuring variance in held-out rows; 0 for none.",
        ),
    ] = 0,
    resamples: Annotated[
        int,
        option(
            "--stability",
            panel=ROWS,
            metavar="RESAMPLES",
            help="Number of resamples for counting how often variables are selected; 0 for none.",
        ),
    ] = 0,
    draws: Draws,
    reading: Reading,
    solver: Solver,
    output: Output = None,
    showing: Showing,
) -> int:
    """Show variance and certified gap by sparsity, to help choose -p.

    For example:

    `orthospca path measurements.csv -p 1:20 --correlation`

    `orthospca path measurements.csv -p 1:20 --cv 5 --stability 50`

    `orthospca path covariance.csv -p 5:50:5 -k 3 --precomputed --time-limit 120`
    """
    from orthospca.interface import choosing, display, plotting
    from orthospca.interface.cli.job import Job, show_progress
    from orthospca.path import parse_sparsities

    job = Job(data, reading, output, showing, FILES)
    settings = solver.settings(n_components)
    asked = {"sparsities": sparsities, **settings, "folds": cv, "resamples": resamples}
    asked |= vars(draws)
    for name, count, what in (("cv", cv, "folds"), ("stability", resamples, "resamples")):
        if count < 0 or count == 1:
            raise InputError(f"{name} must be 0 or at least 2 {what}, got {count}")

    table, Q = job.read()
    if cv or resamples:
        choosing.need_rows("--cv and --stability need", job.source.is_matrix, table)
    limits = parse_sparsities(sparsities, Q.shape[0])

    settings["time_limit"] = job.stopwatch.left_of(solver.time_limit)
    if settings["time_limit"] is not None:
        # Everything together: the path, and what other rows are asked.
        settings["time_limit"] /= 1 + bool(cv) + bool(resamples)
    with job.computing():
        with show_progress(job.screen, settings) as progress:
            found = orthospca.sparsity_path(
                Q, limits, callback=progress.at_sparsity, feature_names=table.columns, **settings
            )
        if not found.results:
            if found.status is orthospca.Status.INTERRUPTED:
                raise KeyboardInterrupt
            raise InputError("--time-limit is too short: no sparsity was reached")
    rows = {name: settings[name] for name in choosing.TAKEN}
    rows |= {"correlation": reading.correlation, "random_state": draws.seed}
    done: dict[str, Any] = {}
    status = found.status
    if cv and status is not orthospca.Status.INTERRUPTED:
        with job.screen.counting("held-out rows", cv) as counter:
            held_out = orthospca.cross_validate_sparsity(
                table.values, limits, cv=cv, callback=counter, **rows
            )
        done["cross_validation"], status = held_out, held_out.status
    if resamples and status is not orthospca.Status.INTERRUPTED:
        with job.screen.counting("resamples", resamples) as counter:
            done["stability"] = orthospca.stability_path(
                table.values,
                limits,
                n_resamples=resamples,
                bootstrap=draws.bootstrap,
                fraction=draws.fraction,
                feature_names=table.columns,
                callback=counter,
                **rows,
            )

    files: dict[str, Any] = {"path.csv": choosing.path_rows(found), "path.json": found.to_dict()}
    if "cross_validation" in done:
        files["path-held-out.csv"] = choosing.held_out_rows(done["cross_validation"])
    if "stability" in done:
        files["path-stability.csv"] = choosing.stability_rows(list(done["stability"]))
    files["path.png"] = partial(plotting.plot_sparsity_path, found)
    job.write(files, asked, found.status.name)
    job.report_choice("How many variables?", found=found, **done)

    job.show(
        lambda: {**found.to_dict(), **{name: each.to_dict() for name, each in done.items()}},
        display.path_table(found),
        display.path_sentence(found),
        *(f"\n{each.summary()}" for each in done.values()),
    )
    return job.end(all(each.status.finished for each in (found, *done.values())))
