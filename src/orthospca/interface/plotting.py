"""Pictures of results, drawn with matplotlib (``pip install "orthospca[plot]"``).

Every function draws on the axes you pass, or on a new figure, and returns the axes; save with
``axes.figure.savefig("picture.png")``.  No window opens, and no display is needed.  In a notebook,
every picture appears below its cell.  Elsewhere, if ``pyplot`` is loaded, ``plt.show()`` shows it.

Examples
--------
>>> from orthospca import datasets, solve
>>> from orthospca.plotting import plot_loadings
>>> pitprops = datasets.load_pitprops()
>>> result = solve(pitprops.covariance(), sparsity=3, n_components=2)
>>> axes = plot_loadings(result, feature_names=pitprops.feature_names)
>>> axes.figure.savefig("loadings.png")  # doctest: +SKIP
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from orthospca import DataCovariance
from orthospca._errors import InputError
from orthospca.interface.plots import choosing, judging, results
from orthospca.interface.plots import scores as score_plots
from orthospca.interface.plots.mpl import draw, is_open
from orthospca.interface.plots.mpl import has_matplotlib as has_matplotlib
from orthospca.interface.plots.spec import XY
from orthospca.interface.scores import Scores, scores_of
from orthospca.result import Result
from orthospca.spectrum import ordinary_variances

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from orthospca.choosing.alternatives import Alternatives
    from orthospca.choosing.audit import Audit
    from orthospca.choosing.cross_validation import CrossValidation
    from orthospca.choosing.selection import Stability, StabilityPath
    from orthospca.choosing.significance import Significance
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

    def _repr_png_(self) -> tuple[bytes, dict[str, int]] | None:
        if is_open(self.figure):
            return None  # pyplot shows it, and once is enough
        buffer = io.BytesIO()
        self.figure.savefig(buffer, format="png", dpi=NOTEBOOK_DPI)
        width, height = self.figure.get_size_inches() * NOTEBOOK_DPI / SHARPNESS
        return buffer.getvalue(), {"width": round(width), "height": round(height)}

    def __repr__(self) -> str:
        return f"Picture({self.axes.get_title()!r})"


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
    return draw(results.loadings(result, _names(result, feature_names), max_features), ax)


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
    eigenvalues = ordinary_variances(Q, result)
    return draw(results.scree(result, eigenvalues), ax)


def plot_orthogonality(result: Result, *, ax: Axes | None = None) -> Axes:
    """``|cos|`` of the angle between each pair of components; empty where they are orthogonal."""
    return draw(results.angles(result), ax)


def plot_convergence(result: Result, *, ax: Axes | None = None) -> Axes:
    """How the proved gap of each component, or of the set, closed over time."""
    return draw(results.gaps(result), ax)


def plot_sparsity_path(path: SparsityPath, *, ax: Axes | None = None) -> Axes:
    """Variance by sparsity, with what is proved, to choose how many variables a component needs.

    Parameters
    ----------
    path : SparsityPath
        From :func:`orthospca.sparsity_path`.
    ax : matplotlib axes, optional
    """
    return draw(choosing.path_variance(path), ax)


def plot_path_loadings(
    path: SparsityPath, component: int = 0, *, max_features: int = 40, ax: Axes | None = None
) -> Axes:
    """Which features a component uses by sparsity: which enter, leave and come back.

    A row for each feature, in the order in which they enter; a column for each sparsity.  Colours
    are loadings, with signs matched from one sparsity to the next; empty cells are exact zeros.

    Parameters
    ----------
    path : SparsityPath
    component : int
        Which one, from 0.
    max_features : int
        Only so many features are shown, those in use for the most sparsities.
    ax : matplotlib axes, optional
    """
    X, names = path.loadings(component), path.feature_names
    return draw(choosing.path_loadings(X, path.sparsities, names, component, max_features), ax)


def plot_cross_validation(found: CrossValidation, *, ax: Axes | None = None) -> Axes:
    """Variance explained in held-out rows, by sparsity, beside that of the fitted rows.

    The band is one standard error to each side.  The ringed sparsity is the smallest within one
    standard error of the best.

    Parameters
    ----------
    found : CrossValidation
    ax : matplotlib axes, optional
    """
    return draw(choosing.held_out(found), ax)


def plot_stability(found: Stability, *, max_features: int = 40, ax: Axes | None = None) -> Axes:
    """How often each feature is selected: a row for each feature, a column for each component.

    Features in the components of all rows are framed.  Features selected about as often as at
    random are pale.  Each component is labelled with its stability: 1 if every resample selects the
    same features, 0 if as at random.

    Parameters
    ----------
    found : Stability
    max_features : int
        Only so many features are shown, those selected most often.
    ax : matplotlib axes, optional

    Examples
    --------
    >>> from orthospca import datasets, stability
    >>> from orthospca.plotting import plot_stability
    >>> wine = datasets.load_wine()
    >>> found = stability(wine.data, sparsity=3, n_resamples=10, correlation=True)
    >>> axes = plot_stability(found)
    """
    return draw(choosing.selection(found, max_features), ax)


def plot_stability_path(found: StabilityPath, *, ax: Axes | None = None) -> Axes:
    """Stability of each component by sparsity: 1 if always the same features, 0 if as at random.

    Parameters
    ----------
    found : StabilityPath
    ax : matplotlib axes, optional
    """
    return draw(choosing.stability_by_sparsity(found), ax)


def plot_alternatives(
    found: Alternatives, *, max_features: int = 40, max_supports: int = 60, ax: Axes | None = None
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
    return draw(choosing.alternatives(found, max_features, max_supports), ax)


def plot_audit(found: Audit, *, ax: Axes | None = None) -> Axes:
    """Variance of given components, what is possible in the place of each, and what was found.

    Parameters
    ----------
    found : Audit
        From :func:`orthospca.audit`.
    ax : matplotlib axes, optional
    """
    return draw(judging.audited(found), ax)


def plot_significance(found: Significance, *, ax: Axes | None = None) -> Axes:
    """Variance of each component, beside what permuted data reach.

    Parameters
    ----------
    found : Significance
        From :func:`orthospca.significance`.
    ax : matplotlib axes, optional
    """
    return draw(judging.against_noise(found), ax)


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
    names = _names(result)
    points, _ = _scatter(result, X, components, labels, correlation, names)
    return draw(points, ax)


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
    names = _names(result, feature_names)
    points, pair = _scatter(result, X, components, labels, correlation, names)
    return draw(score_plots.biplot(points, result, names, pair, max_features), ax)


def _names(result: Result, given: Sequence[str] | None = None) -> Sequence[str]:
    return results.names_of(result) if given is None else given


def _scatter(
    result: Result, X: Any, components: Any, labels: Any, correlation: bool, names: Sequence[str]
) -> tuple[XY, tuple[int, int]]:
    """The scatter, and which components it shows, from 0."""
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
    values = scores_of(X, result, correlation=correlation)
    if labels is not None and len(labels) != len(values):
        raise InputError(
            f"labels must have an entry for each of the {len(values)} observations, got "
            f"{len(labels)}"
        )
    pair = (components[0] - 1, components[1] - 1)
    drawn = np.flatnonzero(np.isfinite(values[:, pair]).all(axis=1)).tolist()
    known = Scores(values, groups=None if labels is None else tuple(map(str, labels)))
    return score_plots.scatter(result, names, known, drawn, pair), pair
