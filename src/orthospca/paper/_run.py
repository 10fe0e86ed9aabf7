"""All experiments, in order; their files, and what they show in words."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import Array
from orthospca.interface.folders import make_folder, writing
from orthospca.interface.plotting import has_matplotlib
from orthospca.interface.screen import Screen, show
from orthospca.paper._compare import Comparison, compare
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
from orthospca.paper._splits import Split, split

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
    from orthospca.paper._tables import path_table, sequence_table, speed_table, split_table
    from orthospca.paper._words import findings

    show(
        sequence_table(found),
        *findings(found),
        path_table(found),
        speed_table(found),
        split_table(found),
    )
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
    splits = _split(Q, plan)
    growth, growth_splits = _grow(plan)
    paths = follow_paths()
    return Experiments(
        Q, plan, orthogonal, deflation, sweep, comparisons, splits, growth, growth_splits, paths
    )


def _split(Q: Array, plan: Plan) -> list[Split]:
    """All components of the block-diagonal matrices, for thresholds that give several blocks."""
    splits = []
    for threshold in plan.thresholds:
        for p in plan.sparsities:
            say(f"threshold {threshold:g}, sparsity {p}: all components, by blocks")
            made = _split_by(plan, Q, p, len(Q), threshold, WHOLE[:1])
            splits += [] if made is None else [made]
    return splits


def _split_by(
    plan: Plan, Q: Array, p: int, count: int, threshold: float, whole: tuple[str, ...]
) -> Split | None:
    return split(Q, p, count, threshold, whole, plan.repeats, plan.budget, plan.sample)


def _grow(plan: Plan) -> tuple[list[Comparison], list[Split]]:
    """Larger leading parts, where an enumeration has no chance; none if there is no data."""
    growth: list[Comparison] = []
    splits: list[Split] = []
    p, count = plan.growth_sparsity, plan.growth_count
    for order in plan.orders:
        try:
            block, _ = load_covcolon(order)
        except InputError:
            break
        say(f"the first {order} genes: {count} components with sparsity {p}")
        runs = {
            method: fastest(
                partial(orthogonal_run, block, p, count, method), plan.repeats, plan.budget
            )
            for method in WHOLE[1:]
        }
        growth += compare(block, p, runs, plan.sample, plan.repeats)
        made = _split_by(plan, block, p, count, plan.growth_threshold, WHOLE[1:])
        splits += [] if made is None else [made]
    return growth, splits


def panel_rows(found: Experiments) -> Iterable[tuple[object, ...]]:
    """What the twelve panels show, a row for each point."""
    letters = iter("abcdefghijkl")
    plan = found.plan
    pairs = {p: (found.orthogonal[p], found.deflation[p]) for p in plan.sparsities}
    quantities = (
        ("largest deviation from 90 degrees among the first r", "deviations"),
        ("seconds of the r-th component", "seconds"),
        ("seconds of the first r components", ""),
        ("variance of the r-th component", "variances"),
    )
    for quantity, name in quantities:
        if name:
            for p, runs in pairs.items():
                letter = next(letters)
                for run in runs:
                    for r, value in enumerate(getattr(run, name), start=1):
                        yield letter, run.algorithm, p, r, quantity, value
            continue
        for r in plan.counts:
            letter = next(letters)
            for p, swept in found.sweep.items():
                for run in swept:
                    if len(run.seconds) >= r:
                        yield letter, run.algorithm, p, r, quantity, run.seconds[:r].sum()


def _write(found: Experiments, folder: Path) -> list[str]:
    with open(folder / "panels.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["panel", "algorithm", "sparsity", "r", "quantity", "value"])
        writer.writerows(panel_rows(found))
    with open(folder / "speed.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["genes", "threshold", "largest_block", "sparsity", "components", "method", "seconds",
             "plain_seconds", "plain_extrapolated", "speedup"]
        )  # fmt: skip
        for c, threshold, largest in speed_rows(found):
            writer.writerow(
                [c.order, threshold, largest, c.sparsity, len(c.run.variances), c.method,
                 c.run.total_seconds, c.plain.seconds, c.plain.extrapolated, c.speedup]
            )  # fmt: skip
    with open(folder / "decomposition.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["threshold", "largest_block", "sparsity", "r", "variance", "upper_bound", "gap",
             "variance_without_threshold"]
        )  # fmt: skip
        writer.writerows(decomposition_rows(found))
    with open(folder / "paths.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["objective", "components", "r", "variance", "upper_bound", "joint_variance",
             "joint_upper_bound"]
        )  # fmt: skip
        writer.writerows(path_rows(found))
    written = ["panels.csv", "speed.csv", "decomposition.csv", "paths.csv"]
    if not has_matplotlib():
        return [*written[:-1], f"{written[-1]} (no pictures: matplotlib is not installed)"]
    from orthospca.paper._figure import draw_panels, draw_speed

    draw_panels(found).savefig(folder / "panels.png", dpi=130)
    draw_speed(found).savefig(folder / "speed.png", dpi=130)
    return [*written, "panels.png", "speed.png"]


def speed_rows(found: Experiments) -> Iterable[tuple[Comparison, float, int]]:
    """Every comparison with the threshold and the largest block of its matrix."""
    for group, splits in (
        (found.comparisons, found.splits),
        (found.growth, found.growth_splits),
    ):
        yield from ((c, 0.0, c.order) for c in group)
        for made in splits:
            yield from ((c, made.threshold, made.sizes[0]) for c in [*made.whole, *made.blocks])


def decomposition_rows(found: Experiments) -> Iterable[tuple[object, ...]]:
    """What components of block-diagonal matrices are worth in the matrix itself."""
    for made in found.splits:
        best = found.orthogonal[made.sparsity].variances
        for r, stage in enumerate(made.original.stages, start=1):
            without = best[r - 1] if r <= len(best) else ""
            yield (
                made.threshold, made.sizes[0], made.sparsity, r, stage.variance,
                stage.upper_bound, stage.gap, without,
            )  # fmt: skip


def path_rows(found: Experiments) -> Iterable[tuple[object, ...]]:
    """The components of the example where the path matters."""
    for solved in (found.paths.pairs, found.paths.bases):
        for objective, result in solved.items():
            for r, stage in enumerate(result.stages, start=1):
                yield (
                    objective, result.n_components, r, stage.variance, stage.upper_bound,
                    result.joint_variance, result.joint_upper_bound,
                )  # fmt: skip
