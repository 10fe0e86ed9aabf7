"""All experiments, in order; their files, and what they show in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import Array
from orthospca.interface.folders import Folder, make_folder
from orthospca.interface.plotting import has_matplotlib
from orthospca.interface.screen import Screen, show
from orthospca.paper._experiments import (
    ORDER,
    Plan,
    Run,
    deflation_run,
    fastest,
    largest_block,
    largest_joining_threshold,
    load_covcolon,
    orthogonal_run,
)
from orthospca.paper._figure import draw_panels, draw_speed
from orthospca.paper._paths import Paths, follow_paths
from orthospca.paper._shown import files, sequence_table, tables
from orthospca.paper._splits import Comparison, Split, compare, split
from orthospca.paper._words import findings
from orthospca.result import Table

say = Screen().say
WHOLE = ("enumeration", "eigenvalue", "branch-and-bound")
#: Leading rows and columns of a matrix, and where they come from.
Load = Callable[[int], tuple[Array, str]]
FULL = Plan()
QUICK = Plan(
    sweep=(2, 3, 4, 5, 6), repeats=1, budget=0.0, sample=200, thresholds=(150.0,), orders=(20, 40)
)


@dataclass(frozen=True, eq=False)
class Experiments:
    """Everything that was measured."""

    matrix: Array
    plan: Plan
    orthogonal: dict[int, Run]
    deflation: dict[int, Run]
    sweep: dict[int, tuple[Run, ...]]
    comparisons: list[Comparison]
    splits: list[Split]
    growth: list[Comparison]
    growth_splits: list[Split]
    paths: Paths


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
    show(*_titled(sequence_table(found)), "", *findings(found))
    show(*(part for table in tables(found) for part in _titled(table)))
    for name, rows in files(found).items():
        place.write(name, [*rows[:1], *(row.values() for row in rows)])
    for name, draw in {"panels.png": draw_panels, "speed.png": draw_speed}.items():
        if has_matplotlib():
            place.write(name, partial(draw, found))
        else:
            say(f"{name} not written: matplotlib is not installed")
    say(f"wrote {', '.join(file.name for file in place.written)} to {output}")
    return found


def _titled(table: Table) -> tuple[object, ...]:
    return "", f"{table.title}:", table


def measure(Q: Array, plan: Plan, load: Load) -> Experiments:
    """Run all experiments of a plan."""
    orthogonal, deflation, sweep = {}, {}, {}
    comparisons: list[Comparison] = []
    splits: list[Split] = []
    n, most = len(Q), max(plan.counts)
    for p in plan.sparsities:
        say(f"sparsity {p}: all components")
        compared = compare(Q, p, {m: partial(orthogonal_run, Q, p, n, m) for m in WHOLE}, plan)
        comparisons += compared
        orthogonal[p] = compared[0]["run"]
        deflation[p] = fastest(partial(deflation_run, Q, p, n), plan)
    for p in plan.sweep:
        say(f"sparsity {p}: the first {most} components")
        runs = (partial(orthogonal_run, method=WHOLE[0]), deflation_run)
        sweep[p] = tuple(fastest(partial(run, Q, p, most), plan) for run in runs)
    for threshold in plan.thresholds:
        for p in plan.sparsities:
            say(f"threshold {threshold:g}, sparsity {p}: all components, by blocks")
            splits += split(Q, p, n, threshold, WHOLE[:1], plan)
    return Experiments(
        Q,
        plan,
        orthogonal,
        deflation,
        sweep,
        comparisons,
        splits,
        *_grow(plan, load),
        follow_paths(),
    )


def _grow(plan: Plan, load: Load) -> tuple[list[Comparison], list[Split]]:
    """Larger leading parts, where an enumeration has no chance; none if there is no data."""
    growth: list[Comparison] = []
    splits: list[Split] = []
    p, count = plan.growth_sparsity, plan.growth_count
    for order in plan.orders:
        try:
            block, _ = load(order)
        except InputError:
            break
        say(f"the first {order} genes: {count} components with sparsity {p}")
        runs = {m: partial(orthogonal_run, block, p, count, m) for m in WHOLE[1:]}
        growth += compare(block, p, runs, plan)
        splits += split(block, p, count, plan.growth_threshold, WHOLE[1:], plan)
    return growth, splits
