"""All experiments, in order; their files, and what they show in words."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import Array
from orthospca.interface.folders import make_folder, writing
from orthospca.interface.plotting import has_matplotlib
from orthospca.interface.screen import Screen, show
from orthospca.paper._experiments import (
    ORDER,
    Run,
    deflation_run,
    fastest,
    largest_block,
    largest_joining_threshold,
    load_covcolon,
    orthogonal_run,
)
from orthospca.paper._paths import Paths, follow_paths
from orthospca.paper._shown import files, sequence_table, tables
from orthospca.paper._splits import Comparison, Split, compare, split
from orthospca.paper._words import findings

say = Screen().say
WHOLE = ("enumeration", "eigenvalue", "branch-and-bound")


@dataclass(frozen=True)
class Plan:
    """How much to run.

    Attributes
    ----------
    sparsities : tuple of int
        Those of the paper: a column of panels each.
    sweep : tuple of int
        Sparsities of panels g to i.
    counts : tuple of int
        How many components panels g to i time.
    repeats, budget : int, float
        Each time is the shortest of so many runs, and of more within so many seconds.
    sample : int
        Supports timed in each stage where the plain loop is extrapolated.
    thresholds : tuple of float
        Those by which the matrix is made block-diagonal; pictures show the first.
    orders, growth_sparsity, growth_count, growth_threshold
        Sizes of the leading parts on which methods are compared beyond the paper, and the sparsity,
        the number of components and the threshold there.
    """

    sparsities: tuple[int, ...] = (3, 5, 8)
    sweep: tuple[int, ...] = tuple(range(2, 11))
    counts: tuple[int, ...] = (3, 5, 8)
    repeats: int = 3
    budget: float = 2.0
    sample: int = 1000
    thresholds: tuple[float, ...] = (150.0, 100.0, 200.0)
    orders: tuple[int, ...] = (20, 40, 80, 160)
    growth_sparsity: int = 5
    growth_count: int = 3
    growth_threshold: float = 200.0

    @property
    def effort(self) -> tuple[int, float, int]:
        """How long times are taken."""
        return self.repeats, self.budget, self.sample


FULL = Plan()
QUICK = Plan(
    sweep=tuple(range(2, 7)),
    repeats=1,
    budget=0.0,
    sample=200,
    thresholds=(150.0,),
    orders=(20, 40),
)


@dataclass(frozen=True, eq=False)
class Experiments:
    """Everything that was measured."""

    matrix: Array
    plan: Plan
    orthogonal: dict[int, Run]
    deflation: dict[int, Run]
    sweep: dict[int, tuple[Run, Run]]
    comparisons: list[Comparison]
    splits: list[Split]
    growth: list[Comparison]
    growth_splits: list[Split]
    paths: Paths


def run_paper(output: Path, *, quick: bool = False, plan: Plan | None = None) -> Experiments:
    """Run the experiments, show what they say, and write them to a folder."""
    plan = plan or (QUICK if quick else FULL)
    Q, origin = load_covcolon()
    kept = largest_block(Q, 0.0)
    Q = Q[np.ix_(kept, kept)]
    folder = make_folder(output)
    say(
        f"CovColon ({origin}), first {ORDER} rows and columns; Algorithm 2 with threshold 0 leaves "
        f"a largest block of {len(Q)}, and so does any threshold up to "
        f"{largest_joining_threshold(Q):.4g}"
    )
    found = measure(Q, plan)
    show(sequence_table(found), *findings(found), *tables(found))
    with writing(folder):
        written = _write(found, folder)
    say(f"wrote {', '.join(written)} to {folder}")
    return found


def measure(Q: Array, plan: Plan) -> Experiments:
    """Run all experiments of a plan."""
    orthogonal, deflation, comparisons = {}, {}, []
    n, most = len(Q), max(plan.counts)
    repeated = partial(fastest, repeats=plan.repeats, budget=plan.budget)
    for p in plan.sparsities:
        say(f"sparsity {p}: all components")
        runs = {method: repeated(partial(orthogonal_run, Q, p, n, method)) for method in WHOLE}
        orthogonal[p] = runs["enumeration"]
        deflation[p] = repeated(partial(deflation_run, Q, p, n))
        comparisons += compare(Q, p, runs, plan.sample, plan.repeats)
    sweep = {}
    for p in plan.sweep:
        say(f"sparsity {p}: the first {most} components")
        sweep[p] = (
            repeated(partial(orthogonal_run, Q, p, most, "enumeration")),
            repeated(partial(deflation_run, Q, p, most)),
        )
    splits = []
    for threshold in plan.thresholds:
        for p in plan.sparsities:
            say(f"threshold {threshold:g}, sparsity {p}: all components, by blocks")
            splits.append(split(Q, p, n, threshold, WHOLE[:1], *plan.effort))
    several = [made for made in splits if made is not None]
    return Experiments(
        Q, plan, orthogonal, deflation, sweep, comparisons, several, *_grow(plan), follow_paths()
    )


def _grow(plan: Plan) -> tuple[list[Comparison], list[Split]]:
    """Larger leading parts, where an enumeration has no chance; none if there is no data."""
    growth: list[Comparison] = []
    splits: list[Split | None] = []
    p, count = plan.growth_sparsity, plan.growth_count
    for order in plan.orders:
        try:
            block, _ = load_covcolon(order)
        except InputError:
            break
        say(f"the first {order} genes: {count} components with sparsity {p}")
        run = partial(orthogonal_run, block, p, count)
        runs = {m: fastest(partial(run, m), plan.repeats, plan.budget) for m in WHOLE[1:]}
        growth += compare(block, p, runs, plan.sample, plan.repeats)
        threshold = plan.growth_threshold
        splits.append(split(block, p, count, threshold, WHOLE[1:], *plan.effort))
    return growth, [made for made in splits if made is not None]


def _write(found: Experiments, folder: Path) -> list[str]:
    written = []
    for name, rows in files(found).items():
        with open(folder / name, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([*rows[:1], *(row.values() for row in rows)])
        written.append(name)
    if not has_matplotlib():
        return [*written[:-1], f"{written[-1]} (no pictures: matplotlib is not installed)"]
    from orthospca.paper._figure import draw_panels, draw_speed

    draw_panels(found).savefig(folder / "panels.png", dpi=130)
    draw_speed(found).savefig(folder / "speed.png", dpi=130)
    return [*written, "panels.png", "speed.png"]
