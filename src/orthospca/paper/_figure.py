"""The twelve panels of the paper's figure, and the speed of what the paper left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orthospca.interface.plotting import BLUE, GREY, ORANGE, PALE
from orthospca.paper._experiments import DEFLATION, GS, Run

if TYPE_CHECKING:
    from orthospca.paper._compare import Comparison
    from orthospca.paper._run import Experiments

LOOKS: dict[str, dict[str, Any]] = {
    GS: {"color": BLUE, "marker": "o", "label": "GS-SPCA (orthogonal)"},
    DEFLATION: {"color": ORANGE, "marker": "s", "label": "deflation (not orthogonal)"},
}
#: Row of panels, what it shows of each component, and where there is room for a remark.
PER_COMPONENT = ((0, "deviations", 0.38), (1, "seconds", 0.3), (3, "variances", 0.97))
METHOD_LOOKS: dict[str, dict[str, Any]] = {
    "enumeration": {"color": BLUE, "marker": "o", "label": "enumeration in batches"},
    "eigenvalue": {"color": "#3c8d5a", "marker": "^", "label": "branch and bound, eigenvalue"},
    "branch-and-bound": {"color": "#a3242f", "marker": "D", "label": "branch and bound, strong"},
    "blocks-enumeration": {
        "color": ORANGE,
        "marker": "s",
        "label": "decomposition, enumeration in blocks",
    },
    "blocks-branch-and-bound": {
        "color": "#6b4c9a",
        "marker": "v",
        "label": "decomposition, share relaxation in blocks",
    },
}


def draw_panels(found: Experiments) -> Any:
    """Draw the twelve panels: angles, times, times by sparsity, variances."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    plan = found.plan
    figure = Figure(figsize=(12.5, 14), layout="constrained")
    grid = figure.subplots(4, 3)
    for column, p in enumerate(plan.sparsities):
        runs = (found.orthogonal[p], found.deflation[p])
        for row, name, height in PER_COMPONENT:
            for run in runs:
                values = getattr(run, name) * (1000.0 if name == "seconds" else 1.0)
                _line(grid[row, column], np.arange(1, len(values) + 1), values, run)
            _mark_end(grid[row, column], runs[0], len(found.matrix), height)
            grid[row, column].set_xlabel("r")
            grid[row, column].set_xlim(0.3, len(found.matrix) + 0.7)
        grid[0, column].set_title(f"sparsity p = {p}", fontsize=12)
        grid[1, column].set_ylim(bottom=0.0)
        grid[3, column].set_yscale("log")
    for column, r in enumerate(plan.counts):
        ax = grid[2, column]
        for which in (0, 1):
            points = [
                (p, pair[which].seconds[:r].sum())
                for p, pair in found.sweep.items()
                if len(pair[which].seconds) >= r
            ]
            if points:
                x, y = zip(*points, strict=True)
                _line(ax, x, y, next(iter(found.sweep.values()))[which])
        ax.set_yscale("log")
        ax.set_xlabel("sparsity p")
        ax.set_title(f"the first r = {r} components", fontsize=12)
    labels = (
        "largest deviation from 90° among the first r",
        "milliseconds of the r-th component",
        "seconds of the first r components",
        "variance of the r-th component",
    )
    for ax, letter in zip(grid.flat, "abcdefghijkl", strict=True):
        ax.set_title(f"({letter})", loc="left", fontsize=12)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        _tidy(ax)
    for row, label in enumerate(labels):
        grid[row, 0].set_ylabel(label)
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=2, frameon=False, fontsize=12)
    return figure


def draw_speed(found: Experiments) -> Any:
    """Draw the time of each method on each component, and on larger leading parts.

    Above, the matrix itself; below, where there are blocks, the block-diagonal matrix that the
    first threshold makes of it, solved as a whole and block by block.
    """
    from matplotlib.figure import Figure

    plan = found.plan
    width = len(plan.sparsities) + bool(found.growth)
    shown = [made for made in found.splits if made.threshold == plan.thresholds[0]]
    height = 2 if shown else 1
    figure = Figure(figsize=(4.2 * width, 0.5 + 3.8 * height), layout="constrained")
    grid = figure.subplots(height, width, squeeze=False)
    for ax, p in zip(grid[0], plan.sparsities, strict=False):
        chosen = [c for c in found.comparisons if c.sparsity == p]
        _draw_stages(ax, chosen, f"{len(found.matrix)} genes, sparsity {p}")
    if found.growth:
        title = f"{plan.growth_count} components, sparsity {plan.growth_sparsity}"
        _draw_growth(grid[0, -1], found.growth, title)
    for made in shown:
        ax = grid[1, plan.sparsities.index(made.sparsity)]
        title = f"blocks {_sizes(made.sizes)} (δ = {made.threshold:g})"
        _draw_stages(ax, [*made.whole, *made.blocks], f"{title}, sparsity {made.sparsity}")
    if shown and found.growth_splits:
        compared = [c for made in found.growth_splits for c in [*made.whole, *made.blocks]]
        title = f"blocks (δ = {plan.growth_threshold:g}), sparsity {plan.growth_sparsity}"
        _draw_growth(grid[1, -1], compared, title)
    elif shown and found.growth:
        grid[1, -1].set_visible(False)
    for row in grid:
        row[0].set_ylabel("milliseconds of the r-th component")
    named: dict[str, Any] = {}
    for ax in grid.flat:
        if ax.get_visible():
            ax.set_yscale("log")
            _tidy(ax)
            handles, names = ax.get_legend_handles_labels()
            named |= dict(zip(names, handles, strict=True))
    figure.legend(
        list(named.values()), list(named), loc="outside upper center", ncols=3, frameon=False
    )
    return figure


def _draw_stages(ax: Any, chosen: list[Comparison], title: str) -> None:
    """Milliseconds of each component, a line for each method, and the plain loop's average."""
    from matplotlib.ticker import MaxNLocator

    for c in chosen:
        times = 1000.0 * c.run.seconds
        ax.plot(range(1, len(times) + 1), times, markersize=4, **METHOD_LOOKS[c.method])
    stages = len(chosen[0].run.variances) + chosen[0].run.exhausted
    plain = 1000.0 * chosen[0].plain.seconds / stages
    ax.axhline(plain, color=GREY, linestyle="--", label="plain Python loop, on average")
    ax.set_title(title, fontsize=11)
    ax.set_xlabel("r")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def _draw_growth(ax: Any, compared: list[Comparison], title: str) -> None:
    """Seconds of the whole sequence by the number of genes, a line for each method."""
    orders = sorted({c.order for c in compared})
    for method in dict.fromkeys(c.method for c in compared):
        seconds = {c.order: c.run.total_seconds for c in compared if c.method == method}
        ax.plot(list(seconds), list(seconds.values()), markersize=4, **METHOD_LOOKS[method])
    loop = {c.order: c.plain.seconds for c in compared}
    ax.plot(orders, [loop[order] for order in orders], "--", color=GREY)
    ax.set_xscale("log")
    ax.set_xticks(orders, map(str, orders))
    ax.minorticks_off()
    ax.set_xlabel("genes")
    ax.set_ylabel("seconds")
    ax.set_title(title, fontsize=11)


def _sizes(sizes: tuple[int, ...]) -> str:
    """The sizes of blocks, with those of one in short: ``16, 4 × 1``."""
    alone = sum(size == 1 for size in sizes)
    parts = [str(size) for size in sizes if size > 1]
    return ", ".join([*parts, *([f"{alone} × 1"] if alone else [])])


def _line(ax: Any, x: Any, y: Any, run: Run) -> None:
    ax.plot(x, y, linewidth=1.5, markersize=4.5, **LOOKS[run.algorithm])


def _mark_end(ax: Any, run: Run, n: int, height: float) -> None:
    """Show where it is proved that no further orthogonal component exists."""
    if not run.exhausted:
        return
    count = len(run.variances)
    ax.axvline(count + 0.5, color=BLUE, linestyle=":", linewidth=1.2)
    left = count > 0.6 * n
    ax.annotate(
        f"no orthogonal\ncomponent\nafter {count}",
        (count + 0.5, height),
        xycoords=("data", "axes fraction"),
        xytext=(-5 if left else 5, 0),
        textcoords="offset points",
        ha="right" if left else "left",
        va="top",
        fontsize=9,
        color=BLUE,
    )


def _tidy(ax: Any) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    if ax.get_yscale() == "log":
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color=PALE)
    ax.set_axisbelow(True)
