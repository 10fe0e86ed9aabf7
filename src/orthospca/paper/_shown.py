"""What was measured as rows: those of the files, of the tables that are printed, of the panels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from orthospca._typing import Array
from orthospca.interface.plots.spec import XY, Axis, Line
from orthospca.paper._experiments import Plan, deviations, seconds
from orthospca.paper._paths import Paths
from orthospca.paper._splits import Split, percent, sizes_of
from orthospca.result import Result, Table

Row = dict[str, object]
HEADINGS = ("panel", "algorithm", "sparsity", "r", "quantity", "value")
#: The algorithms of the panels, and what the legend calls them.
LABELS = {"GS-SPCA": "GS-SPCA (orthogonal)", "deflation": "deflation (not orthogonal)"}
#: What a row of three panels shows of a run (nothing: it is the sweep's), and whether the scale is
#: logarithmic.
QUANTITIES: dict[str, tuple[Callable[[Result], Array] | None, bool]] = {
    "largest deviation from 90 degrees among the first r": (deviations, False),
    "seconds of the r-th component": (seconds, False),
    "seconds of the first r components": (None, True),
    "variance of the r-th component": (attrgetter("variances"), True),
}


@dataclass(frozen=True, eq=False)
class Experiments:
    """Everything that was measured; orthogonal runs by sparsity, or by genes, and by method."""

    matrix: Array
    plan: Plan
    runs: dict[int, dict[str, Result]]
    deflation: dict[int, Result]
    sweep: dict[int, tuple[Result, ...]]
    splits: list[Split]
    growth: dict[int, dict[str, Result]]
    paths: Paths

    @property
    def orthogonal(self) -> dict[int, Result]:
        """GS-SPCA, by sparsity."""
        return {p: runs["enumeration"] for p, runs in self.runs.items()}


def panels(found: Experiments) -> list[tuple[str, XY, list[Row]]]:
    """The twelve panels of the paper's figure: their letters, what is drawn, and its numbers."""
    letters, made = iter("abcdefghijkl"), []
    for quantity, (of_run, log) in QUANTITIES.items():
        for p, r in zip(found.plan.sparsities, found.plan.counts, strict=True):
            letter, runs = next(letters), (found.orthogonal[p], found.deflation[p])
            lines: list[Line] = []
            rows: list[Row] = []
            for tone, (algorithm, label) in enumerate(LABELS.items()):
                swept = {q: both[tone] for q, both in found.sweep.items() if len(both[tone]) >= r}
                points = {q: float(seconds(run)[:r].sum()) for q, run in swept.items()}
                places, ended = [(q, r) for q in points], ""
                if of_run is not None:
                    points = dict(enumerate(of_run(runs[tone]).tolist(), start=1))
                    places = [(p, at) for at in points]
                    # Where it is proved that no further orthogonal component exists.
                    ended = f"no more after {len(points)}" * runs[tone].exhausted
                lines.append(Line(label, [*points], [*points.values()], tone=tone, ending=ended))
                rows += [
                    dict(zip(HEADINGS, (letter, algorithm, *place, quantity, value), strict=True))
                    for place, value in zip(places, points.values(), strict=True)
                ]
            title = f"the first r = {r} components" if of_run is None else f"sparsity p = {p}"
            across = Axis("sparsity p" if of_run is None else "r", whole=True)
            up = Axis(quantity if letter in "adgj" else "", log=log, zero=not log)
            made.append((letter, XY("", title, "", lines, across, up), rows))
    return made


def files(found: Experiments) -> dict[str, list[Row]]:
    """The rows of each file."""
    return {
        "panels.csv": [row for _, _, rows in panels(found) for row in rows],
        "speed.csv": speed_rows(found),
        "decomposition.csv": _decomposition_rows(found),
        "paths.csv": path_rows(found),
    }


def speed_rows(found: Experiments) -> list[Row]:
    """The time of every method, on the matrix itself, by blocks, and on larger leading parts."""
    n, p = len(found.matrix), found.plan.growth_sparsity
    problems = [(n, 0.0, n, sparsity, runs) for sparsity, runs in found.runs.items()]
    problems += [(n, x.threshold, x.sizes[0], x.sparsity, x.runs) for x in found.splits]
    problems += [(order, 0.0, order, p, runs) for order, runs in found.growth.items()]
    return [
        {
            "genes": genes,
            "threshold": threshold,
            "largest_block": largest,
            "sparsity": sparsity,
            "components": len(run),
            "method": method,
            "seconds": run.runtime,
        }
        for genes, threshold, largest, sparsity, runs in problems
        for method, run in runs.items()
    ]


def _decomposition_rows(found: Experiments) -> list[Row]:
    """What components of block-diagonal matrices are worth in the matrix itself."""
    best = {p: dict(enumerate(run.variances, 1)) for p, run in found.orthogonal.items()}
    return [
        {
            "threshold": made.threshold,
            "largest_block": made.sizes[0],
            "sparsity": made.sparsity,
            "r": r,
            "variance": stage.variance,
            "upper_bound": stage.upper_bound,
            "gap": stage.gap,
            "variance_without_threshold": best[made.sparsity].get(r, ""),
        }
        for made in found.splits
        for r, stage in enumerate(made.original.stages, start=1)
    ]


def path_rows(found: Experiments) -> list[Row]:
    """The components of the example where the path matters: one after another, or together."""
    return [
        {
            "objective": objective,
            "components": result.n_components,
            "r": r,
            "variance": stage.variance,
            "upper_bound": stage.upper_bound,
            "joint_variance": result.joint_variance,
            "joint_upper_bound": result.joint_upper_bound,
        }
        for solved in found.paths.values()
        for objective, result in solved.items()
        for r, stage in enumerate(result.stages, start=1)
    ]


def _sequences(found: Experiments) -> Table:
    """How many components there are, how they end, and whether later ones take longer."""
    rows: list[Row] = [
        {
            "sparsity": p,
            "components": f"{len(run)}{' (no more exist)' if run.exhausted else ''}",
            "last variance": float(run.variances[-1]),
            "of total, all": f"{run.variances.sum() / found.matrix.trace():.1%}",
            "away from 90°": f"{deviations(run)[-1]:.1e}°",
            "by deflation": f"{deviations(found.deflation[p])[-1]:.1f}°",
            "time, last / first three": float(
                np.median(seconds(run)[-3:]) / np.median(seconds(run)[:3])
            ),
        }
        for p, run in found.orthogonal.items()
    ]
    return _table("Sequences", rows)


def tables(found: Experiments) -> list[Table]:
    """The sequences; where the path matters; the time of every method; what blocks are worth."""
    splits: list[Row] = [
        {
            "threshold": made.threshold,
            "blocks": sizes_of(made.sizes),
            "same variances as a whole": "yes" if made.agree else "no",
            "sparsity": made.sparsity,
            "components": made.original.n_components,
            "gap of the first": percent(float(made.original.gaps[0])),
            "the first so many within 1 %": made.certified(),
            "largest gap": percent(float(made.original.gaps.max())),
        }
        for made in found.splits
    ]
    made = [
        _sequences(found),
        _table("Paths: the example of the paper with sparsity 2, by objective", path_rows(found)),
        _table("Time of every method", speed_rows(found)),
        _table("Components found by blocks, certified in the original matrix", splits),
    ]
    return [table for table in made if table.columns]


def _table(title: str, rows: Sequence[Row]) -> Table:
    columns = {h.replace("_", " "): [_text(row[h]) for row in rows] for h in (rows or [{}])[0]}
    return Table(title, columns, left=("method", "objective"))


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
