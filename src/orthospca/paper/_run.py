"""All experiments, in order; their files, and what they show in words."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from rich import box
from rich.table import Table

from orthospca._errors import InputError
from orthospca._output import make_folder, say, show, writing
from orthospca._typing import Array
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
from orthospca.paper._plain import PlainTime, time_plain
from orthospca.report._pictures import has_matplotlib

METHODS = {
    "enumeration": "enumeration in batches",
    "eigenvalue": "branch and bound, eigenvalue bounds",
    "branch-and-bound": "branch and bound, strong bound",
}


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
    orders, growth_sparsity, growth_count
        Sizes of the leading blocks on which methods are compared beyond the paper, the sparsity and
        the number of components there.
    """

    sparsities: tuple[int, ...] = (3, 5, 8)
    sweep: tuple[int, ...] = tuple(range(2, 11))
    counts: tuple[int, ...] = (3, 5, 8)
    repeats: int = 3
    budget: float = 2.0
    sample: int = 1000
    orders: tuple[int, ...] = (20, 40, 80, 160)
    growth_sparsity: int = 5
    growth_count: int = 3


FULL = Plan()
QUICK = Plan(sweep=tuple(range(2, 7)), repeats=1, budget=0.0, sample=200, orders=(20, 40))


@dataclass(frozen=True, eq=False)
class Comparison:
    """One method's time on one problem, beside the plain loop's."""

    order: int
    sparsity: int
    run: Run
    method: str
    plain: PlainTime

    @property
    def speedup(self) -> float:
        """How many times faster than the plain loop."""
        return self.plain.seconds / self.run.total_seconds


@dataclass(frozen=True, eq=False)
class Experiments:
    """Everything that was measured."""

    matrix: Array
    plan: Plan
    orthogonal: dict[int, Run]
    deflation: dict[int, Run]
    sweep: dict[int, tuple[Run, Run]]
    comparisons: list[Comparison]
    growth: list[Comparison]


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
    from orthospca.paper._words import findings

    show(_sequence_table(found), *findings(found), _speed_table(found))
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
        runs = {method: repeated(partial(orthogonal_run, Q, p, n, method)) for method in METHODS}
        orthogonal[p] = runs["enumeration"]
        deflation[p] = repeated(partial(deflation_run, Q, p, n))
        comparisons += _compare(Q, p, runs, plan.sample)
    sweep = {}
    for p in plan.sweep:
        say(f"sparsity {p}: the first {most} components")
        sweep[p] = (
            repeated(partial(orthogonal_run, Q, p, most, "enumeration")),
            repeated(partial(deflation_run, Q, p, most)),
        )
    return Experiments(Q, plan, orthogonal, deflation, sweep, comparisons, _grow(plan))


def _grow(plan: Plan) -> list[Comparison]:
    """Larger leading blocks, where an enumeration has no chance; none if there is no data."""
    growth: list[Comparison] = []
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
            for method in ("eigenvalue", "branch-and-bound")
        }
        growth += _compare(block, p, runs, plan.sample)
    return growth


def _compare(Q: Array, p: int, runs: dict[str, Run], sample: int) -> list[Comparison]:
    reference = next(iter(runs.values()))
    stages = len(reference.variances) + reference.exhausted
    plain = time_plain(Q, p, reference.components, stages, sample)
    return [Comparison(len(Q), p, run, method, plain) for method, run in runs.items()]


def _sequence_table(found: Experiments) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="Sequences", title_justify="left")
    for heading in (
        "sparsity",
        "components",
        "last variance",
        "of total, all",
        "largest deviation from 90°",
        "the same by deflation",
    ):
        table.add_column(heading, justify="right")
    for p, run in found.orthogonal.items():
        table.add_row(
            str(p),
            f"{len(run.variances)}{' (no more exist)' if run.exhausted else ''}",
            f"{run.variances[-1]:.4g}",
            f"{run.variances.sum() / found.matrix.trace():.1%}",
            f"{run.deviations[-1]:.1e}°",
            f"{found.deflation[p].deviations[-1]:.1f}°",
        )
    return table


def _speed_table(found: Experiments) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        title="Time, beside a plain Python loop over all supports",
        title_justify="left",
        caption="* extrapolated from a sample of supports",
        caption_justify="left",
    )
    for heading in ("genes", "sparsity", "components"):
        table.add_column(heading, justify="right")
    table.add_column("method")
    for heading in ("seconds", "plain loop", "times faster"):
        table.add_column(heading, justify="right")
    for group in (found.comparisons, found.growth):
        for c in group:
            table.add_row(
                str(c.order),
                str(c.sparsity),
                str(len(c.run.variances)),
                METHODS[c.method],
                f"{c.run.total_seconds:.3g}",
                f"{c.plain.seconds:.3g}{'*' if c.plain.extrapolated else ''}",
                f"{c.speedup:.3g}{'*' if c.plain.extrapolated else ''}",
            )
        table.add_section()
    return table


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
            ["genes", "sparsity", "components", "method", "seconds", "plain_seconds",
             "plain_extrapolated", "speedup"]
        )  # fmt: skip
        for c in [*found.comparisons, *found.growth]:
            writer.writerow(
                [c.order, c.sparsity, len(c.run.variances), c.method, c.run.total_seconds,
                 c.plain.seconds, c.plain.extrapolated, c.speedup]
            )  # fmt: skip
    if not has_matplotlib():
        return ["panels.csv", "speed.csv (no pictures: matplotlib is not installed)"]
    from orthospca.paper._figure import draw_panels, draw_speed

    draw_panels(found).savefig(folder / "panels.png", dpi=130)
    draw_speed(found).savefig(folder / "speed.png", dpi=130)
    return ["panels.csv", "speed.csv", "panels.png", "speed.png"]
