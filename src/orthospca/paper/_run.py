"""All experiments, in order, and their files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from orthospca import Result
from orthospca._errors import InputError
from orthospca._typing import Array
from orthospca.interface.folders import Folder, make_folder
from orthospca.interface.plotting import has_matplotlib
from orthospca.interface.screen import Screen, show
from orthospca.paper._experiments import (
    ORDER,
    Plan,
    deflation_run,
    fastest,
    largest_block,
    largest_joining_threshold,
    load_covcolon,
    orthogonal_run,
)
from orthospca.paper._figure import draw_panels
from orthospca.paper._paths import follow_paths
from orthospca.paper._shown import Experiments, files, tables
from orthospca.paper._splits import Split, split

say = Screen().say
METHODS = ("enumeration", "eigenvalue", "branch-and-bound")
#: Leading rows and columns of a matrix, and where they come from.
Load = Callable[[int], tuple[Array, str]]
FULL = Plan()
QUICK = Plan(sweep=(2, 3, 4, 5, 6), repeats=1, thresholds=(150.0,), orders=(20, 40))


def run_paper(output: Path, plan: Plan = FULL, load: Load = load_covcolon) -> Experiments:
    """Run the experiments, show what they say, and write them to a folder."""
    Q, origin = load(ORDER)
    kept = largest_block(Q, 0.0)
    Q = Q[np.ix_(kept, kept)]
    place = Folder(make_folder(output))
    say(
        f"CovColon ({origin}), first {ORDER} rows and columns; Algorithm 2 with threshold 0 leaves "
        f"a largest block of {len(Q)}, and so does any threshold up to "
        f"{largest_joining_threshold(Q):.4g}"
    )
    found = measure(Q, plan, load)
    show(*(part for table in tables(found) for part in ("", f"{table.title}:", table)))
    for name, rows in files(found).items():
        place.write(name, [*rows[:1], *(row.values() for row in rows)])
    if has_matplotlib():
        place.write("panels.png", partial(draw_panels, found))
    else:
        say("panels.png not written: matplotlib is not installed")
    say(f"wrote {', '.join(file.name for file in place.written)} to {output}")
    return found


def measure(Q: Array, plan: Plan, load: Load) -> Experiments:
    """Run all experiments of a plan."""
    runs, deflation, sweep = {}, {}, {}
    splits: list[Split] = []
    n, most = len(Q), max(plan.counts)
    for p in plan.sparsities:
        say(f"sparsity {p}: all components")
        runs[p] = _by_method(Q, p, n, METHODS, plan)
        deflation[p] = fastest(partial(deflation_run, Q, p, n), plan)
    for p in plan.sweep:
        say(f"sparsity {p}: the first {most} components")
        both = (partial(orthogonal_run, method=METHODS[0]), deflation_run)
        sweep[p] = tuple(fastest(partial(run, Q, p, most), plan) for run in both)
    for threshold in plan.thresholds:
        for p in plan.sparsities:
            say(f"threshold {threshold:g}, sparsity {p}: all components, by blocks")
            splits += split(Q, p, n, threshold, plan)
    growth = _grow(plan, load)
    return Experiments(Q, plan, runs, deflation, sweep, splits, growth, follow_paths())


def _by_method(
    Q: Array, sparsity: int, count: int, methods: tuple[str, ...], plan: Plan
) -> dict[str, Result]:
    """Orthogonal components, by several methods."""
    run = partial(orthogonal_run, Q, sparsity, count)
    return {method: fastest(partial(run, method), plan) for method in methods}


def _grow(plan: Plan, load: Load) -> dict[int, dict[str, Result]]:
    """Larger leading parts, where an enumeration has no chance; none if there is no data."""
    growth: dict[int, dict[str, Result]] = {}
    p, count = plan.growth_sparsity, plan.growth_count
    for order in plan.orders:
        try:
            block, _ = load(order)
        except InputError:
            break
        say(f"the first {order} genes: {count} components with sparsity {p}")
        growth[order] = _by_method(block, p, count, METHODS[1:], plan)
    return growth
