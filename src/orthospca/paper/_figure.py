"""The twelve panels of the paper's figure, and the speed of what the paper left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from orthospca.interface.plots.mpl import draw
from orthospca.interface.plots.spec import XY, Axis, Line
from orthospca.paper._experiments import DEFLATION, GS
from orthospca.paper._shown import panels
from orthospca.paper._splits import METHODS, Comparison, sizes_of

if TYPE_CHECKING:
    from orthospca.paper._run import Experiments

LABELS = {GS: "GS-SPCA (orthogonal)", DEFLATION: "deflation (not orthogonal)"}
AXES = {"r": "r", "sparsity": "sparsity p"}
LOOP = "plain Python loop, on average"


def draw_panels(found: Experiments) -> Any:
    """Draw the twelve panels: angles, times, times by sparsity, variances."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.5, 14), layout="constrained")
    for ax, panel in zip(figure.subplots(4, 3).flat, panels(found), strict=True):
        lines = []
        for tone, (algorithm, label) in enumerate(LABELS.items()):
            rows: list[Any] = [row for row in panel.rows if row["algorithm"] == algorithm]
            x, y = [row[panel.across] for row in rows], [row["value"] for row in rows]
            # Where it is proved that no further orthogonal component exists.
            last = f"no more after {len(x)}" if panel.ended and algorithm == GS else ""
            lines.append(Line(label, x, y, tone=tone, ending=last))
        left = panel.quantity if panel.letter in "adgj" else ""
        _draw(ax, panel.title, lines, Axis(AXES[panel.across], whole=True), left, panel.log)
        ax.set_title(f"({panel.letter})", loc="left", fontsize=12)
    return _with_legend(figure, 2)


def draw_speed(found: Experiments) -> Any:
    """Draw the time of each method on each component, and on larger leading parts.

    Above, the matrix itself; below, where there are blocks, the block-diagonal matrix that the
    first threshold makes of it, solved as a whole and block by block.
    """
    from matplotlib.figure import Figure

    plan = found.plan
    stages = [[c for c in found.comparisons if c["sparsity"] == p] for p in plan.sparsities]
    titles = [f"{len(found.matrix)} genes, sparsity {p}" for p in plan.sparsities]
    shown = [made for made in found.splits if made.threshold == plan.thresholds[0]]
    width, height = len(plan.sparsities) + bool(found.growth), 1 + bool(shown)
    figure = Figure(figsize=(4.2 * width, 0.5 + 3.8 * height), layout="constrained")
    grid = figure.subplots(height, width, squeeze=False)
    for ax, title, chosen in zip(grid[0], titles, stages, strict=False):
        _draw_stages(ax, title, chosen)
    if found.growth:
        title = f"{plan.growth_count} components, sparsity {plan.growth_sparsity}"
        _draw_growth(grid[0, -1], title, found.growth)
    for made in shown:
        ax = grid[1, plan.sparsities.index(made.sparsity)]
        title = f"blocks {sizes_of(made.sizes)} (δ = {made.threshold:g}), sparsity {made.sparsity}"
        _draw_stages(ax, title, made.all)
    if shown and found.growth_splits:
        title = f"blocks (δ = {plan.growth_threshold:g}), sparsity {plan.growth_sparsity}"
        _draw_growth(grid[1, -1], title, [c for made in found.growth_splits for c in made.all])
    elif shown and found.growth:
        grid[1, -1].set_visible(False)
    return _with_legend(figure, 3)


def _draw(
    ax: Any, title: str, lines: list[Line], x: Axis, label: str = "seconds", log: bool = True
) -> None:
    draw(XY("", title, "", lines, x, Axis(label, log=log, zero=not log)), ax, legend=False)
    ax.title.set_fontsize(11)


def _line(method: str, x: Sequence[float], y: Any) -> Line:
    return Line(METHODS[method], x, y, tone=list(METHODS).index(method))


def _with_legend(figure: Any, columns: int) -> Any:
    """The figure with one legend for all of its axes."""
    named: dict[str, Any] = {}
    for ax in figure.axes:
        handles, names = ax.get_legend_handles_labels()
        named |= dict(zip(names, handles, strict=True))
    place = {"loc": "outside upper center", "ncols": columns, "frameon": False}
    figure.legend(list(named.values()), list(named), **place)
    return figure


def _draw_stages(ax: Any, title: str, chosen: list[Comparison]) -> None:
    """Seconds of each component, a line for each method, and the plain loop's average."""
    runs = {c["method"]: c["run"].seconds for c in chosen}
    lines = [_line(method, range(1, len(times) + 1), times) for method, times in runs.items()]
    stages = chosen[0]["components"] + chosen[0]["run"].exhausted
    plain = chosen[0]["plain_seconds"] / stages
    lines.append(Line(LOOP, [1, stages], [plain, plain], tone=-1, dots=False))
    _draw(ax, title, lines, Axis("r", whole=True), "seconds of the r-th component")


def _draw_growth(ax: Any, title: str, compared: list[Comparison]) -> None:
    """Seconds of the whole sequence by the number of genes, a line for each method."""
    seconds: dict[str, dict[int, float]] = {}
    loop = {c["genes"]: c["plain_seconds"] for c in compared}
    for c in compared:
        seconds.setdefault(c["method"], {})[c["genes"]] = c["seconds"]
    lines = [_line(method, list(each), list(each.values())) for method, each in seconds.items()]
    lines.append(Line("", list(loop), list(loop.values()), tone=-1, dots=False))
    _draw(ax, title, lines, Axis("genes", whole=True))
