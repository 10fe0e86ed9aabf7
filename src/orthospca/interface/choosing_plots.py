"""Pictures for choosing p and K, drawn with matplotlib (``pip install "orthospca[plot]"``).

As in ``plotting.py``, every function draws on the axes it is given, or on a figure of its own, and
returns the axes.

Examples
--------
>>> from orthospca import datasets, stability
>>> from orthospca.plotting import plot_stability
>>> wine = datasets.load_wine()
>>> found = stability(wine.data, sparsity=3, n_resamples=10, correlation=True)
>>> axes = plot_stability(found)
>>> axes.figure.savefig("stability.png")  # doctest: +SKIP
"""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.choosing.selection import in_words
from orthospca.interface.alternatives import most_frequent
from orthospca.interface.fonts import families, without_formulas
from orthospca.interface.plotting import (
    BLUE,
    GREY,
    ORANGE,
    PALE,
    _axes,
    _grid_between_cells,
    _label,
    _nothing_to_show,
    _shortened,
    _stage_colours,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from orthospca.choosing.alternatives import Alternatives
    from orthospca.choosing.cross_validation import CrossValidation
    from orthospca.choosing.selection import Stability, StabilityPath
    from orthospca.path import SparsityPath

#: Dots per inch of a picture in a notebook, and how many of them make one of the screen.
NOTEBOOK_DPI, SHARPNESS = 144, 2


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture that shows itself in a notebook.

    Attributes
    ----------
    axes : matplotlib axes
    """

    axes: Any

    @property
    def figure(self) -> Any:
        """The figure of matplotlib."""
        return self.axes.figure

    def save(self, path: str | PathLike[str], dpi: float = 150) -> None:
        """Write the picture; the ending of the name says how: PNG, SVG, PDF."""
        self.figure.savefig(path, dpi=dpi)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        buffer = io.BytesIO()
        self.figure.savefig(buffer, format="png", dpi=NOTEBOOK_DPI)
        width, height = self.figure.get_size_inches() * NOTEBOOK_DPI / SHARPNESS
        return buffer.getvalue(), {"width": round(width), "height": round(height)}

    def __repr__(self) -> str:
        return f"Picture({self.axes.get_title()!r})"


def plot_path_loadings(
    path: SparsityPath, component: int = 0, *, max_features: int = 40, ax: Axes | None = None
) -> Axes:
    """Which features a component uses by sparsity: who enters, who leaves, who comes back.

    A row for each feature, in the order in which they enter; a column for each sparsity.  Colour is
    the loading, with signs that go on from one sparsity to the next; empty cells are exact zeros.

    Parameters
    ----------
    path : SparsityPath
    component : int
        Which one, from 0.
    max_features : int
        Only so many features are shown, those in use for the most sparsities.
    ax : matplotlib axes, optional
    """
    from matplotlib.colors import TwoSlopeNorm

    X = path.loadings(component)
    rows, left_out = entering_order(X, max_features)
    ax = ax or _axes(3.2 + 0.36 * max(len(X), 4), 1.3 + 0.245 * max(len(rows), 3))
    if not len(rows):
        return _nothing_to_show(ax, "Features by sparsity")
    names = path.feature_names
    shown = np.ma.masked_equal(X[:, rows].T, 0.0)
    largest = float(np.abs(X).max())
    norm = TwoSlopeNorm(0.0, -largest, largest)
    image = ax.imshow(shown, cmap="RdBu_r", norm=norm, aspect="auto")
    labels = [str(j) if names is None else _shortened(names[j]) for j in rows]
    ax.set_yticks(range(len(rows)), labels, fontsize=8.5)
    every = max(1, math.ceil(len(X) / 24))
    ticks = range(0, len(X), every)
    ax.set_xticks(ticks, [str(path.sparsities[i]) for i in ticks])
    ax.set_xlabel("variables allowed")
    more = f" ({left_out} variables not shown)" if left_out else ""
    ax.set_title(f"Component {component + 1} by sparsity{more}")
    _grid_between_cells(ax, len(rows), len(X))
    shrink = min(1.0, 9 / max(len(rows), 9))
    ax.figure.colorbar(image, ax=ax, shrink=shrink, pad=0.03, label="loading")
    return ax


def entering_order(X: Array, most: int) -> tuple[IntArray, int]:
    """Return the features in use, those that enter first first; and how many are left out."""
    used = X != 0
    times = used.sum(axis=0)
    found = np.flatnonzero(times)
    kept = found[np.argsort(-times[found], kind="stable")[:most]]
    first = used[:, kept].argmax(axis=0) if len(X) else kept
    order = np.lexsort((kept, -times[kept], first))
    return kept[order], len(found) - len(kept)


def plot_cross_validation(found: CrossValidation, *, ax: Axes | None = None) -> Axes:
    """Variance explained in rows held out, by sparsity, beside that of the rows fitted.

    The bars are one standard error to each side.  The ringed sparsity is the smallest one within
    one standard error of the best.

    Parameters
    ----------
    found : CrossValidation
    ax : matplotlib axes, optional
    """
    from matplotlib.ticker import MaxNLocator

    ax = ax or _axes(7.0, 3.8)
    if not found.n_folds:
        return _nothing_to_show(ax, "Cross-validated variance", "no fold was done")
    p, mean, error = found.sparsities, 100 * found.mean, 100 * found.standard_error
    ax.plot(p, 100 * found.fitted_mean, "o-", color=GREY, markersize=4, label="in the rows fitted")
    bars = np.where(np.isfinite(error), error, 0.0)
    ax.errorbar(
        p, mean, bars, fmt="o-", color=BLUE, capsize=3, label="in rows held out, ± 1 s.e.", zorder=3
    )
    i = p.index(found.suggested)
    ax.plot(
        [p[i]],
        [mean[i]],
        "o",
        markersize=13,
        markerfacecolor="none",
        markeredgecolor=ORANGE,
        markeredgewidth=2,
        label=f"smallest within 1 s.e. of the best: {p[i]}",
        zorder=4,
    )
    count = found.held_out.shape[2]
    what = "the first component" if count == 1 else f"{count} components together"
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    title = f"Variance of {what}, {found.n_folds}-fold"
    _label(ax, title, "variables in a component", "% of the variance")
    ax.set_ylim(bottom=0.0)
    ax.legend(frameon=False, loc="lower right")
    return ax


def plot_stability(found: Stability, *, max_features: int = 40, ax: Axes | None = None) -> Axes:
    """How often each feature is selected: a row for each feature, a column for each component.

    Features of the components of all rows are framed.  What is selected about as often as by chance
    is pale.

    Parameters
    ----------
    found : Stability
    max_features : int
        Only so many features are shown, those selected most often.
    ax : matplotlib axes, optional
    """
    from matplotlib.patches import Rectangle

    rows, left_out = most_selected(found, max_features)
    K = len(found.frequencies)
    ax = ax or _axes(3.2 + 0.75 * max(K, 2), 1.5 + 0.245 * max(len(rows), 3))
    if not len(rows):
        return _nothing_to_show(ax, "Stability", "no resample was done")
    shown = np.ma.masked_equal(found.frequencies[:, rows].T, 0.0)
    image = ax.imshow(shown, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    for (i, k), frequency in np.ndenumerate(found.frequencies[:, rows].T):
        if frequency:
            tone = "white" if frequency > 0.6 else "black"
            text = f"{frequency:.0%}"
            ax.text(k, i, text, ha="center", va="center", color=tone, fontsize=7.5)
        if found.result.stages[k].vector[rows[i]]:
            frame = Rectangle((k - 0.46, i - 0.44), 0.92, 0.88, fill=False, ec=ORANGE, lw=1.4)
            ax.add_patch(frame)
    names = found.feature_names
    ax.set_yticks(range(len(rows)), [_shortened(names[j]) for j in rows], fontsize=8.5)
    indices = map(in_words, found.indices)
    ax.set_xticks(range(K), [f"{k + 1}\n{text}" for k, text in enumerate(indices)])
    meaning = "component, and its stability (1: always the same, 0: by chance)\nframed: in all rows"
    ax.set_xlabel(meaning, fontsize=8.5)
    more = f" ({left_out} not shown)" if left_out else ""
    ax.set_title(f"How often variables are selected{more}")
    _grid_between_cells(ax, len(rows), K)
    shrink = min(1.0, 9 / max(len(rows), 9))
    label = f"share of {found.n_resamples} resamples"
    ax.figure.colorbar(image, ax=ax, shrink=shrink, pad=0.03, label=label)
    return ax


def most_selected(found: Stability, most: int, least: float = 0.0) -> tuple[IntArray, int]:
    """Return the features that are ever selected, by component; and how many are left out.

    Parameters
    ----------
    found : Stability
    most : int
    least : float
        Features selected less often count as left out, unless they are in the reference.
    """
    own = found.result.components != 0
    strength = found.frequencies.max(axis=0, initial=0.0) + own.any(axis=0)
    ever = np.flatnonzero((found.overall > 0) | own.any(axis=0))
    wanted = ever[(strength[ever] >= least)]
    kept = wanted[np.argsort(-strength[wanted], kind="stable")[:most]]
    home = (found.frequencies + own)[:, kept].argmax(axis=0) if len(kept) else kept
    order = np.lexsort((kept, -strength[kept], home))
    return kept[order], len(ever) - len(kept)


def plot_stability_path(found: StabilityPath, *, ax: Axes | None = None) -> Axes:
    """Stability of each component by sparsity: 1 if always the same features, 0 as by chance.

    Parameters
    ----------
    found : StabilityPath
    ax : matplotlib axes, optional
    """
    from matplotlib.ticker import MaxNLocator

    ax = ax or _axes(7.0, 3.8)
    indices = found.indices
    for k, colour in enumerate(_stage_colours(indices.shape[1])):
        label = f"component {k + 1}"
        ax.plot(found.sparsities, indices[:, k], "o-", color=colour, markersize=4, label=label)
    ax.axhline(0.0, color=PALE, zorder=0)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    _label(ax, "Stability of the selection by sparsity", "variables in a component", "stability")
    ax.set_ylim(min(-0.05, float(np.nanmin(indices, initial=0.0)) - 0.05), 1.05)
    ax.legend(frameon=False, loc="lower right")
    return ax


def plot_alternatives(
    found: Alternatives,
    *,
    max_features: int = 40,
    max_supports: int = 60,
    ax: Axes | None = None,
) -> Axes:
    """Which features are in each support, and beside it how often each of them occurs.

    A row for each feature that occurs, the most frequent first; a column for each support, the best
    first.  Features in all supports are darker.

    Parameters
    ----------
    found : Alternatives
        From :func:`orthospca.alternatives`.
    max_features : int
        Only so many features are shown, those in the most supports.
    max_supports : int
        Only so many supports are shown, the best.
    ax : matplotlib axes, optional
    """
    rows, left_out = most_frequent(found, max_features)
    names = [without_formulas(name) for name in found.names(rows)]
    columns = min(len(found), max_supports)
    longest = max(map(len, names), default=0)
    width = 2.2 + 0.075 * longest + 0.3 * max(columns, 8)
    ax = ax or _axes(width, 1.5 + 0.26 * max(len(rows), 4))
    if not len(rows):
        return _nothing_to_show(ax, "Alternatives", "there are none")
    inside = np.zeros((columns, found.n_features))
    for place, support in zip(inside, found.supports, strict=False):
        place[support] = 0.65
    shares = found.frequencies[rows]
    inside[:, found.in_all] = 1.0
    shown = np.ma.masked_equal(inside[:, rows].T, 0.0)
    ax.imshow(shown, cmap="Blues", vmin=0.0, vmax=1.1, aspect="auto", interpolation="nearest")
    ax.set_yticks(range(len(rows)), names, fontsize=8.5, fontfamily=families(names))
    every = max(1, math.ceil(columns / 20))
    ticks = range(0, columns, every)
    ax.set_xticks(ticks, [str(i + 1) for i in ticks])
    near = f"within {100 * found.tolerance:.3g} % of the best"
    drawn = f"{len(found)} supports" if columns == len(found) else f"{columns} of {len(found)}"
    known = "no other exists" if found.complete else "there may be more"
    more = f"\n{left_out} features not shown" if left_out else ""
    ax.set_title(f"{drawn} {near}; {known}{more}", fontsize=10.5)
    ax.set_xlabel("support, the best first; beside them, in how many a feature is")
    _grid_between_cells(ax, len(rows), columns)
    # Bars in the same axes, so that nothing is cut off wherever these are.
    begin, width = columns - 0.1, max(2.5, 0.28 * columns)
    ax.barh(range(len(rows)), width * shares, 0.6, left=begin, color=BLUE)
    for i, share in enumerate(shares.tolist()):
        text = f"{share:.0%}" if share > 0.005 else "<1%"
        ax.annotate(
            text,
            (begin + width * share, i),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    ax.set_xlim(-0.5, begin + 1.35 * width)
    return ax
