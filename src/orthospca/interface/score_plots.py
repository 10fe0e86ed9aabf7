"""Pictures of scores, drawn with matplotlib: see :mod:`orthospca.interface.plotting`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from orthospca import DataCovariance
from orthospca._errors import InputError
from orthospca._typing import Array
from orthospca.interface.fonts import families, without_formulas
from orthospca.interface.grouping import Group, grouped
from orthospca.interface.scores import scores_of
from orthospca.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: As in the report, so that a picture in a paper and the report agree.
COLOURS = (
    *("#2368b0", "#d4690f", "#1d8a63", "#8453bd", "#c0334b", "#0d8ea3", "#93780b", "#c2479a"),
    *("#5b3a9e", "#2f6fb5", "#17918a", "#57a83f", "#c79a00"),
)
GREY, PALE = "#8a939e", "#dfe3e8"
#: Names along an axis are so many points apart at least.
APART = 11.0


def plot_scores(
    result: Result,
    X: Any,
    *,
    components: tuple[int, int] = (1, 2),
    labels: Sequence[Any] | None = None,
    correlation: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Scatter of the observations in the plane of two components.

    Parameters
    ----------
    result : Result
    X : array-like or sparse array of shape (m, n), or DataCovariance
        The observations.
    components : (int, int), default=(1, 2)
        Which components, counted from 1 as in tables and reports.
    labels : sequence, optional
        A label for each observation, which gives its colour.  Many different numbers are cut into
        ranges; of many different texts, the most frequent have a colour.
    correlation : bool
        Whether the matrix that was solved is the correlation matrix.
    ax : matplotlib axes, optional

    Examples
    --------
    >>> from orthospca import datasets, solve
    >>> from orthospca.plotting import plot_scores
    >>> wine = datasets.load_wine()
    >>> result = solve(wine.correlation(), sparsity=4, n_components=2)
    >>> axes = plot_scores(result, wine.data, labels=wine.target, correlation=True)
    """
    ax, _ = _scatter(result, X, components, labels, correlation, ax, 0.8)
    ax.set_title("Scores")
    return ax


def plot_biplot(
    result: Result,
    X: Any,
    *,
    components: tuple[int, int] = (1, 2),
    labels: Sequence[Any] | None = None,
    correlation: bool = False,
    feature_names: Sequence[str] | None = None,
    max_features: int = 15,
    ax: Axes | None = None,
) -> Axes:
    """The scores of two components, with an arrow for each of their variables.

    An arrow points to where observations with large values of the variable lie.  A variable of only
    one of the two components lies on its axis.

    Parameters
    ----------
    result, X, components, labels, correlation, ax
        As in :func:`plot_scores`.
    feature_names : sequence of str, optional
        In place of those of the result.
    max_features : int, default=15
        Only so many variables are shown, those with the largest loadings.

    Examples
    --------
    >>> from orthospca import datasets, solve
    >>> from orthospca.plotting import plot_biplot
    >>> wine = datasets.load_wine()
    >>> result = solve(wine.correlation(), sparsity=4, n_components=2)
    >>> axes = plot_biplot(
    ...     result, wine.data, feature_names=wine.feature_names, correlation=True
    ... )
    """
    ax, scores = _scatter(result, X, components, labels, correlation, ax, 0.3)
    loadings = result.components[[k - 1 for k in components]]
    strength = np.abs(loadings).max(axis=0)
    used = np.flatnonzero(strength)
    chosen = used[np.argsort(-strength[used], kind="stable")[:max_features]]
    reach = np.nanmax(np.abs(scores), axis=0)
    largest = np.abs(loadings[:, chosen]).max(axis=1, initial=0.0)
    scale = 0.85 * float(min(reach[largest > 0] / largest[largest > 0], default=1.0)) or 1.0
    ends = scale * loadings[:, chosen].T
    names = feature_names or result.feature_names or [str(j) for j in range(result.n_features)]
    texts = [str(names[j]) for j in chosen]
    for x, y in ends:
        ax.annotate(
            "", (x, y), (0.0, 0.0), arrowprops={"arrowstyle": "-|>", "color": "#333", "lw": 1.0}
        )
    # Text does not move the limits by itself, and arrows do not either.
    ax.update_datalim(1.1 * ends)
    ax.autoscale_view()
    _name_arrows(ax, ends, texts)
    ax.set_title("Biplot")
    return ax


def _scatter(
    result: Result,
    X: Any,
    components: tuple[int, int],
    labels: Sequence[Any] | None,
    correlation: bool,
    ax: Axes | None,
    opacity: float,
) -> tuple[Axes, Array]:
    """The axes with points, and the scores on the two components."""
    from orthospca.interface.plotting import _axes

    count = result.n_components
    if len(set(components)) != 2 or not all(1 <= k <= count for k in components):
        raise InputError(
            f"components must be two different numbers from 1 to {count} (the components found), "
            f"got {components!r}"
        )
    if not isinstance(X, DataCovariance) and not hasattr(X, "toarray"):
        X = np.asarray(X, dtype=np.float64)
    if not isinstance(X, DataCovariance) and X.shape[1:] != (result.n_features,):
        raise InputError(
            f"X must have a column for each of the {result.n_features} features, got shape "
            f"{X.shape}"
        )
    scores = scores_of(X, result, correlation=correlation)[:, [k - 1 for k in components]]
    if labels is not None and len(labels) != len(scores):
        raise InputError(
            f"labels must have an entry for each of the {len(scores)} observations, got "
            f"{len(labels)}"
        )
    ax = ax or _axes(6.0, 5.0)
    texts = None if labels is None else tuple(map(str, labels))
    groups = grouped(texts, np.flatnonzero(np.isfinite(scores).all(axis=1)).tolist())
    for group in groups:
        _points(ax, scores[group.rows], group, opacity)
    ax.axhline(0.0, color=PALE, zorder=0)
    ax.axvline(0.0, color=PALE, zorder=0)
    ax.set_xlabel(_axis_name(result, components[0]))
    ax.set_ylabel(_axis_name(result, components[1]))
    ax.spines[["top", "right"]].set_visible(False)
    if texts is not None:
        font = families([group.name for group in groups])
        ax.legend(frameon=False, prop={"family": font} if font else None, markerscale=1.3)
    return ax, scores


def _axis_name(result: Result, number: int) -> str:
    total = result.total_variance
    share = f" ({result.variances[number - 1] / total:.1%})" if total > 0 else ""
    return f"component {number}{share}"


def _points(ax: Axes, points: Array, group: Group, opacity: float) -> None:
    ax.scatter(
        points[:, 0],
        points[:, 1],
        s=18,
        color=COLOURS[group.tone] if group.tone >= 0 else GREY,
        alpha=opacity,
        linewidths=0,
        label=without_formulas(group.name),
    )


def _name_arrows(ax: Axes, ends: Array, texts: list[str]) -> None:
    """Names at the ends; those of ends in a row along an axis are moved apart."""
    font = families(texts)
    figure: Any = ax.figure
    box = ax.get_position()
    points = 72.0 * figure.bbox.size / figure.dpi * np.array([box.width, box.height])
    low = np.array([ax.get_xlim()[0], ax.get_ylim()[0]])
    span = np.array([np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())])
    places = points * (ends - low) / span
    moved = places.copy()
    across = np.abs(ends[:, 1]) / span[1] < 0.12 * np.abs(ends[:, 0]) / span[0]
    upright = np.abs(ends[:, 0]) / span[0] < 0.12 * np.abs(ends[:, 1]) / span[1]
    for which, axis in ((across, 0), (upright, 1)):
        order = np.flatnonzero(which)[np.argsort(places[which, axis], kind="stable")]
        for side in (-1, 1):
            row = [i for i in order[::side] if side * ends[i, axis] > 0]
            for before, i in zip(row[-1:0:-1], row[-2::-1], strict=False):
                limit = side * (side * moved[before, axis] - APART)
                moved[i, axis] = side * min(side * moved[i, axis], side * limit)
    for i, text in enumerate(texts):
        offset = moved[i] - places[i]
        on_axis = bool(across[i])
        ax.annotate(
            without_formulas(text),
            ends[i],
            xytext=(offset[0], 7.0) if on_axis else (6.0, offset[1]),
            textcoords="offset points",
            fontsize=8,
            fontfamily=font,
            rotation=55 if on_axis else 0,
            rotation_mode="anchor",
            ha="left",
            va="center_baseline",
            annotation_clip=False,
        )
