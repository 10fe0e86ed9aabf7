"""``orthospca path``: variance and gap by sparsity, and what other rows say of it."""

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
    Reading,
    Showing,
    Solver,
    command,
    folder,
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
            help="Measure variance in rows held out, in so many folds; 0 for none.",
        ),
    ] = 0,
    resamples: Annotated[
        int,
        option(
            "--stability",
            panel=ROWS,
            metavar="RESAMPLES",
            help="Count how often variables are selected in so many resamples; 0 for none.",
        ),
    ] = 0,
    draws: Draws,
    reading: Reading,
    solver: Solver,
    output: Annotated[Path | None, folder("path.html, path.csv, path.json and path.png")] = None,
    showing: Showing,
) -> int:
    """Show variance and certified gap by sparsity, to choose how many nonzeros to allow.

    For example:

    `orthospca path measurements.csv -p 1:20 --correlation`

    `orthospca path measurements.csv -p 1:20 --cv 5 --stability 50`

    `orthospca path covariance.csv -p 5:50:5 -k 3 --precomputed --time-limit 120`
    """
    from orthospca.interface import choosing, display, plotting
    from orthospca.interface.cli.job import Job
    from orthospca.interface.report import write_choice_report
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
    job.announce(table)

    settings["time_limit"] = job.stopwatch.left_of(solver.time_limit)
    if settings["time_limit"] is not None:
        # Everything together: the path, and what other rows are asked.
        settings["time_limit"] /= 1 + bool(cv) + bool(resamples)
    with job.computing():
        with job.progress(settings) as progress:
            found = orthospca.sparsity_path(
                Q, limits, callback=progress.at_sparsity, feature_names=table.columns, **settings
            )
        if not found.results:
            if found.status is orthospca.Status.INTERRUPTED:
                raise KeyboardInterrupt
            raise InputError("--time-limit is too short: no sparsity was reached")
    rows = {name: settings[name] for name in choosing.TAKEN}
    rows |= {"correlation": reading.correlation, "random_state": draws.seed}
    held_out = steady = None
    status = found.status
    if cv and status is not orthospca.Status.INTERRUPTED:
        with job.screen.counting("rows held out", cv) as counter:
            held_out = orthospca.cross_validate_sparsity(
                table.values, limits, cv=cv, callback=counter, **rows
            )
        status = held_out.status
    if resamples and status is not orthospca.Status.INTERRUPTED:
        with job.screen.counting("resamples", resamples) as counter:
            steady = orthospca.stability_path(
                table.values,
                limits,
                n_resamples=resamples,
                bootstrap=draws.bootstrap,
                fraction=draws.fraction,
                feature_names=table.columns,
                callback=counter,
                **rows,
            )
    checks = {"cross_validation": held_out, "stability": steady}
    done = {name: each for name, each in checks.items() if each is not None}

    if job.folder is not None:
        with job.writing(asked, found.status.name) as (place, run):
            place.write_table("path.csv", choosing.path_rows(found))
            place.write_json("path.json", found.to_dict(), run)
            if held_out is not None:
                place.write_table("path-held-out.csv", choosing.held_out_rows(held_out))
            if steady is not None:
                place.write_table("path-stability.csv", choosing.stability_rows(list(steady)))
            job.draw("path.png", plotting.plot_sparsity_path, found)
        job.report(
            write_choice_report,
            found,
            title=f"How many variables? {job.source.name}",
            source=job.source.describe_fully(table),
            **checks,
        )

    job.show(
        lambda: {**found.to_dict(), **{name: each.to_dict() for name, each in done.items()}},
        display.path_table(found),
        display.path_sentence(found),
        *(f"\n{each.summary()}" for each in done.values()),
    )
    job.end()
    finished = all(each.status.finished for each in (found, *done.values()))
    return SOLVED if finished else OPEN_GAP
