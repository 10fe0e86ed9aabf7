"""Pictures of results, drawn with matplotlib (``pip install "orthospca[plot]"``).

Every function draws on the axes it is given, or on a figure of its own, and returns the axes;
``axes.figure.savefig("picture.png")`` keeps it. Nothing here touches ``pyplot``: no window opens,
no global state changes, and no display is needed.

Examples
--------
>>> from orthospca import datasets, solve
>>> from orthospca.interface.plotting import plot_loadings
>>> pitprops = datasets.load_pitprops()
>>> result = solve(pitprops.covariance(), sparsity=3, n_components=2)
>>> axes = plot_loadings(result, feature_names=pitprops.feature_names)
>>> axes.figure.savefig("loadings.png")  # doctest: +SKIP
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from orthospca import words
from orthospca._typing import Array, IntArray
from orthospca.interface.angles import cosines, largest_cosine, write_cosine
from orthospca.interface.fonts import families, without_formulas
from orthospca.interface.score_plots import plot_biplot, plot_scores
from orthospca.result import Result
from orthospca.spectrum import leading_eigenvalues

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from orthospca.path import SparsityPath

__all__ = [
    "plot_biplot",
    "plot_convergence",
    "plot_loadings",
    "plot_orthogonality",
    "plot_scores",
    "plot_scree",
    "plot_sparsity_path",
]

BLUE, ORANGE, GREY, PALE = "#1f5a99", "#d9731a", "#8a8f98", "#dfe3e8"
#: Off the diagonal, cosines below this are shown as this: they are rounding.
SMALLEST_COSINE = 1e-17


def plot_loadings(
    result: Result,
    *,
    feature_names: Sequence[str] | None = None,
    max_features: int = 40,
    ax: Axes | None = None,
) -> Axes:
    """Heat map of the loadings: a row for each variable in use, a column for each component.

    Variables are grouped by the component in which they load most. Empty cells are exact zeros.

    Parameters
    ----------
    result : Result
    feature_names : sequence of str, optional
        In place of those of the result.
    max_features : int, default=40
        Only so many variables are shown, those with the largest loadings.
    ax : matplotlib axes, optional
    """
    from matplotlib.colors import TwoSlopeNorm

    X = result.components
    rows, left_out = _rows_to_show(X, max_features)
    names = _names(result, feature_names)
    ax = ax or _axes(1.6 + 0.62 * max(len(X), 2) + 1.6, 1.3 + 0.245 * max(len(rows), 3))
    if not len(X):
        return _nothing_to_show(ax, "Loadings")
    shown = np.ma.masked_equal(X[:, rows].T, 0.0)
    largest = float(np.abs(X).max(initial=0.0)) or 1.0
    image = ax.imshow(
        shown, cmap="RdBu_r", norm=TwoSlopeNorm(0.0, -largest, largest), aspect="auto"
    )
    for (i, k), loading in np.ndenumerate(X[:, rows].T):
        if loading:
            _write(ax, image, k, i, loading, f"{loading:+.2f}".replace("-", "−"))
    labels = [_shortened(names[j]) for j in rows]
    ax.set_yticks(range(len(rows)), labels, fontsize=8.5, fontfamily=families(labels))
    ax.set_xticks(range(len(X)), [str(k + 1) for k in range(len(X))])
    ax.set_xlabel("component")
    ax.set_title("Loadings" + (f" (the largest; {left_out} variables not shown)" * bool(left_out)))
    _grid_between_cells(ax, len(rows), len(X))
    shrink = min(1.0, 9 / max(len(rows), 9))
    ax.figure.colorbar(image, ax=ax, shrink=shrink, pad=0.03, label="loading")
    return ax


def plot_scree(result: Result, Q: Any, *, ax: Axes | None = None) -> Axes:
    """Variance of each component, beside the components of ordinary PCA.

    No orthogonal components, sparse or not, have more variance in total than those of ordinary PCA:
    the difference is the price of sparsity.

    Parameters
    ----------
    result : Result
    Q : array-like of shape (n, n), or DataCovariance
        The matrix that was solved.  If it is defined by data, it is not formed here either.
    ax : matplotlib axes, optional
    """
    return scree(result, leading_eigenvalues(Q, max(result.n_components, 1)), ax=ax)


def scree(result: Result, eigenvalues: Array, *, ax: Axes | None = None) -> Axes:
    """As :func:`plot_scree`, where the variances of ordinary PCA are known already."""
    from matplotlib.ticker import FixedLocator, MaxNLocator

    count = max(result.n_components, 1)
    dense = eigenvalues[:count]
    ax = ax or _axes(1.5 + 0.55 * max(count, 6), 3.8)
    x = np.arange(1, count + 1)
    total = result.total_variance
    label = "sparse, orthogonal"
    if result.method == "deflation":
        label = "sparse, by deflation (not orthogonal)"
    elif total > 0:
        label += f": {result.variances.sum() / total:.1%} in all"
    ax.bar(x[: result.n_components], result.variances, 0.62, color=BLUE, label=label, zorder=2)
    bounds = result.upper_bounds
    is_open = np.array([words.is_open(result, c) for c in result.stages], dtype=bool)
    if is_open.any() and result.method != "deflation":
        ax.hlines(
            bounds[is_open],
            x[: len(bounds)][is_open] - 0.31,
            x[: len(bounds)][is_open] + 0.31,
            color="black",
            linewidth=1.5,
            label=f"{words.bound_label(result)}, gap open",
            zorder=4,
        )
    share = f": {dense.sum() / total:.1%} in all" if total > 0 else ""
    ax.plot(x, dense, "o-", color=ORANGE, label=f"ordinary PCA{share}", zorder=3, markersize=5)
    ax.xaxis.set_major_locator(
        FixedLocator(x.tolist()) if count <= 15 else MaxNLocator(integer=True)
    )
    ax.set_xlim(0.4, count + 0.6)
    ax.set_ylim(bottom=min(0.0, float(result.variances.min(initial=0.0))))
    _label(ax, "Variance of each component", "component", "variance")
    _legend_above(ax)
    return ax


def plot_orthogonality(result: Result, *, ax: Axes | None = None) -> Axes:
    """``|cos|`` of the angle between each two components, on a logarithmic scale.

    Orthogonal components are white; what is left of them is rounding, about 1e-16.
    """
    from matplotlib.colors import LogNorm

    X = result.components
    ax = ax or _axes(2.0 + 0.5 * max(len(X), 5), 1.4 + 0.44 * max(len(X), 5))
    if not len(X):
        return _nothing_to_show(ax, "Orthogonality")
    angles = cosines(result)
    below = np.tril(np.ones((len(X), len(X)), dtype=bool), -1)
    shown = np.ma.masked_array(np.maximum(angles, SMALLEST_COSINE), mask=~below)
    image = ax.imshow(shown, cmap="Reds", norm=LogNorm(SMALLEST_COSINE, 1.0), aspect="auto")
    for i, j in zip(*np.nonzero(below), strict=True):
        _write(ax, image, j, i, shown[i, j], write_cosine(angles[i, j], digits=0))
    ticks = [str(k + 1) for k in range(len(X))]
    ax.set_xticks(range(len(X)), ticks)
    ax.set_yticks(range(len(X)), ticks)
    largest = write_cosine(largest_cosine(result))
    _label(ax, f"Orthogonality: largest |cos| is {largest}", "component", "component")
    ax.grid(False)
    _grid_between_cells(ax, len(X), len(X))
    ax.figure.colorbar(image, ax=ax, pad=0.03, label="|cos|")
    return ax


def plot_convergence(result: Result, *, ax: Axes | None = None) -> Axes:
    """How the proved gap of each component, or of the set, closed over time."""
    from matplotlib.ticker import FuncFormatter

    ax = ax or _axes(7.0, 3.8)
    together = words.is_set(result)
    stages = sorted({entry.stage for entry in result.history})
    colours = _stage_colours(len(stages))
    smallest = 1e-9
    start = 0.0
    for stage, colour in zip(stages, colours, strict=True):
        entries = [entry for entry in result.history if entry.stage == stage]
        times = [start, *(entry.elapsed for entry in entries)]
        gaps = [min(max(entry.gap, smallest), 10.0) for entry in entries]
        ax.plot(times, [10.0, *gaps], drawstyle="steps-post", color=colour, linewidth=1.6)
        ax.plot(times[-1:], gaps[-1:], "o", color=colour, markersize=5)
        ax.annotate(
            "all" if together else f"{stage + 1}",
            (times[-1], gaps[-1]),
            xytext=(0, -11),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            color=colour,
        )
        start = times[-1]
    ax.set_yscale("log")
    ax.set_ylim(ax.get_ylim()[0] / 3, 12.0)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    ax.set_xlim(left=0.0)
    whose = "of all components together" if together else "of each component (1, 2, …)"
    _label(ax, f"Proved gap {whose} over time", "seconds", "(upper − lower) / lower")
    return ax


def plot_sparsity_path(path: SparsityPath, *, ax: Axes | None = None) -> Axes:
    """Variance by sparsity, with what is proved, to choose how many variables a component needs.

    Parameters
    ----------
    path : SparsityPath
        From :func:`orthospca.sparsity_path`.
    ax : matplotlib axes, optional
    """
    from matplotlib.ticker import MaxNLocator

    ax = ax or _axes(7.0, 3.8)
    results = list(path.results)
    sparsities = np.asarray(path.sparsities)[: len(results)]
    total = results[0].total_variance if results else math.nan
    scale = 100.0 / total if total > 0 else 1.0
    sums = np.array([result.variances.sum() for result in results]) * scale
    bounds = np.array([np.maximum(r.upper_bounds, r.variances).sum() for r in results]) * scale
    done = np.array([r.status.finished for r in results], dtype=bool)
    ax.fill_between(sparsities, sums, bounds, color=PALE, zorder=1)
    ax.plot(sparsities, sums, "-", color=BLUE, linewidth=1.6, zorder=2)
    for chosen, face, meaning in ((done, BLUE, "certified"), (~done, "white", "gap open")):
        if chosen.any():
            marks = ax.plot(sparsities[chosen], sums[chosen], "o", color=BLUE, label=meaning)
            marks[0].set_markerfacecolor(face)
    count = max((result.n_components for result in results), default=1)
    what = "the first component" if count == 1 else f"{count} components together"
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    unit = "% of total variance" if total > 0 else "variance"
    _label(ax, f"Variance of {what} by sparsity", "variables in a component", unit)
    ax.set_ylim(bottom=min(0.0, float(sums.min(initial=0.0))))
    ax.legend(frameon=False, loc="lower right")
    return ax


def has_matplotlib() -> bool:
    """Whether pictures can be drawn."""
    from importlib.util import find_spec

    return find_spec("matplotlib") is not None


def _axes(width: float, height: float) -> Axes:
    """Axes on a figure of their own, of so many inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError('pictures need matplotlib: pip install "orthospca[plot]"') from None
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def _legend_above(ax: Axes) -> None:
    """A legend that covers nothing: the axis goes on above what is drawn."""
    legend = ax.legend(frameon=False, loc="upper right")
    bottom, top = ax.get_ylim()
    share = 0.075 * len(legend.get_texts()) + 0.04
    ax.set_ylim(bottom, bottom + (top - bottom) / (1.0 - share))


def _label(ax: Axes, title: str, x: str, y: str) -> None:
    ax.set_title(title)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color=PALE, zorder=0)
    ax.set_axisbelow(True)


def _nothing_to_show(ax: Axes, title: str, why: str = "there are no components") -> Axes:
    ax.set_title(f"{title}: {why}")
    ax.set_axis_off()
    return ax


def _grid_between_cells(ax: Axes, rows: int, columns: int) -> None:
    ax.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    ax.grid(which="minor", color=PALE, linewidth=0.8)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)


def _stage_colours(count: int) -> list[Any]:
    from matplotlib import colormaps

    return [colormaps["viridis"](0.88 * k / max(count - 1, 1)) for k in range(count)]


def _rows_to_show(X: Array, most: int) -> tuple[IntArray, int]:
    """The variables in use, those of the first component first; and how many are left out."""
    strength = np.abs(X).max(axis=0, initial=0.0)
    used = np.flatnonzero(strength)
    kept = used[np.argsort(-strength[used], kind="stable")[:most]]
    home = np.abs(X[:, kept]).argmax(axis=0) if len(X) else kept
    order = np.lexsort((-strength[kept], home))
    return kept[order], len(used) - len(kept)


def _names(result: Result, given: Sequence[str] | None) -> Sequence[str]:
    names = given if given is not None else result.feature_names
    return names if names is not None else [str(j) for j in range(result.n_features)]


def _shortened(name: str, most: int = 32) -> str:
    return without_formulas(name if len(name) <= most else f"{name[: most - 1]}…")


def _write(ax: Axes, image: Any, x: int, y: int, value: float, text: str) -> None:
    """Write into a cell, in black or white, whichever is easier to read there."""
    red, green, blue, _ = image.cmap(image.norm(value))
    dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
    tone = "white" if dark else "black"
    ax.text(x, y, text, ha="center", va="center", color=tone, fontsize=7.5)
