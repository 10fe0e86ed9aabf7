"""What a solve returns: components, certificates, and what the numbers mean."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, overload

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.model import saving, showing, views, words
from orthospca.model.component import (
    ClosedBy,
    Component,
    Progress,
    Status,
    comparable,
    format_gap,
    relative_gap,
)
from orthospca.model.table import Table
from orthospca.numerics.exact import total_down

__all__ = [
    "ClosedBy",
    "Component",
    "Progress",
    "Result",
    "Status",
    "Table",
    "format_gap",
    "relative_gap",
]

#: The pictures of a result: ``plot_loadings`` and so on of :mod:`orthospca.plotting`.
PICTURES = ("loadings", "scree", "orthogonality", "convergence", "scores", "biplot")

#: Fields in which equal results agree: what was asked, and what was answered.
COMPARED = (
    *("method", "objective", "n_features", "feature_names", "sparsity", "total_variance"),
    *("status", "exhausted", "guarantee", "joint_upper_bound", "stages"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The components found, stage after stage, with their certificates.

    Each certificate is conditional on the components before it: if a stage has several optima,
    another choice may lead to other later variances.  With ``objective="joint"`` the set is
    certified: ``joint_variance``, ``joint_upper_bound``, ``joint_gap`` and ``status`` describe it.

    A result has a length, and you can index it and iterate over it; its items are the components,
    each a :class:`Component`.  Two results are equal if method, sparsity, names, components, bounds
    and statuses agree exactly.  How they were found (``runtime``, ``nodes``, ``history``, ``note``,
    ``certificate``) does not matter, so a result equals itself after :meth:`save` and :meth:`load`.
    Equal results have the same hash.

    Attributes
    ----------
    stages : tuple of Component
    n_features : int
    sparsity : tuple of int
        The sparsity requested for each component.
    status : Status
        ``OPTIMAL`` if every requested component was found and is optimal within the tolerance;
        ``EXHAUSTED`` if those found are, and it is proved that no further one exists; otherwise
        what stopped the search.  With ``objective="joint"``, ``OPTIMAL`` if the total variance of
        the set is within the tolerance of the best possible.
    exhausted : bool
        Whether it is proved that no further component exists (with the next sparsity).
    method : str
    guarantee : float
        The a-priori guarantee: every variance is within this of the best of its stage; NaN for a
        set.
    runtime : float
    history : tuple of Progress
    feature_names : tuple of str or None
    total_variance : float
        The trace of Q.
    note : str
        Remarks: how the problem was split into blocks and why, whether all ties were examined, why
        a gap is left; empty if there are none.
    known_path : tuple of Component
        As much of :attr:`path` as was proved along the way.
    climb : callable or None
        Proves the rest of it; not kept in files and copies.
    certificate : Certificate or None
        With ``proof=True``: what a checker needs (:class:`orthospca.Certificate`).
    objective : str
        As in :func:`orthospca.solve`.
    joint_upper_bound : float
        Proved: no set of as many orthogonal components, with the requested sparsities, has a larger
        total variance.  For a stage-wise result it is a cheap bound, the smaller of the bound of
        ordinary PCA and as many times the bound of the first component; NaN with
        ``method="deflation"`` and ``relation="uncorrelated"``, whose components are not orthogonal.
    asked : dict
        The constraints beyond the sparsity: ``"include"`` and ``"exclude"``, a list of features for
        each component, ``"relation"``, ``"nonnegative"``, and the number of ``"previous"`` vectors.
        It has only what was requested.

    Examples
    --------
    >>> from orthospca import datasets, solve
    >>> pitprops = datasets.load_pitprops()
    >>> result = solve(
    ...     pitprops.covariance(), sparsity=3, n_components=2, feature_names=pitprops.feature_names
    ... )
    >>> len(result)
    2
    >>> [len(component.support) for component in result]
    [3, 3]
    >>> print(result.summary())  # doctest: +ELLIPSIS
    #  variance  of total  upper bound     gap  nodes  status
    1   2.47533     19.0%      2.475...  ... %      ...  optimal
        length +0.614, topdiam +0.602, bowdist +0.511
    2   2.20351     17.0%      2.203...  ... %      ...  optimal
        ringbut +0.660, ringtop +0.560, whorls +0.500
    <BLANKLINE>
    2 components, 36.0% of the total variance; ... s; each is certified within the tolerance
    """

    stages: tuple[Component, ...]
    n_features: int
    sparsity: tuple[int, ...]
    status: Status
    exhausted: bool = False
    method: str = "branch-and-bound"
    guarantee: float = 0.0
    runtime: float = 0.0
    history: tuple[Progress, ...] = ()
    feature_names: tuple[str, ...] | None = None
    total_variance: float = math.nan
    note: str = ""
    known_path: tuple[Component, ...] = ()
    climb: Callable[[], tuple[Component, ...]] | None = None
    certificate: Any = None
    objective: str = "stagewise"
    joint_upper_bound: float = math.nan
    asked: dict[str, Any] = field(default_factory=dict)

    @property
    def orthogonal(self) -> bool:
        """Whether the components are orthogonal: not by deflation, nor if only their scores are."""
        return self.method != "deflation" and self.asked.get("relation") != "uncorrelated"

    @property
    def joint_variance(self) -> float:
        """The total variance of the components, rounded down; NaN if they are not orthogonal."""
        if not self.orthogonal:
            return math.nan
        return total_down(self.variances.tolist())

    @property
    def joint_gap(self) -> float:
        """``(joint_upper_bound - joint_variance) / |joint_variance|``; NaN if there is no bound."""
        if math.isnan(self.joint_upper_bound):
            return math.nan
        return relative_gap(self.joint_variance, self.joint_upper_bound)

    @property
    def path(self) -> tuple[Component, ...]:
        """The first component for sparsity 1, 2, … up to the requested one, each with its bound.

        With included features it begins with these alone: see :attr:`path_sparsities`.  What was
        not proved along the way is computed on first access; empty if that is not possible.
        """
        if not self.known_path and self.climb is not None:
            object.__setattr__(self, "known_path", self.climb())
        return self.known_path

    @property
    def path_sparsities(self) -> range:
        """The sparsities of :attr:`path`."""
        included = self.asked.get("include", [()])[0]
        first = max(len(included), 1)
        return range(first, first + len(self.path))

    @property
    def n_components(self) -> int:
        """How many components were found."""
        return len(self.stages)

    @property
    def components(self) -> Array:
        """The components as rows, shape (K, n)."""
        if not self.stages:
            return np.zeros((0, self.n_features))
        return np.vstack([component.vector for component in self.stages])

    @property
    def variances(self) -> Array:
        """``xᵀQx / xᵀx`` of each component, rounded down."""
        return np.array([component.variance for component in self.stages])

    @property
    def explained_variance_ratio(self) -> Array:
        """The variances divided by the trace of Q (NaN if the trace is not positive).

        The components are orthogonal, so the shares add up to that of their span; if
        :attr:`orthogonal` is false they do not.
        """
        total = self.total_variance
        return self.variances / (total if total > 0 else math.nan)

    @property
    def deflated_variances(self) -> Array | None:
        """Variances in the deflated matrices (``method="deflation"`` only)."""
        if self.method != "deflation":
            return None
        return np.array([component.deflated_variance for component in self.stages], dtype=float)

    @property
    def upper_bounds(self) -> Array:
        """Proved upper bounds of each stage, given the components before it.

        In a joint result: on any other vector in the place of each component, given all the others.
        """
        return np.array([component.upper_bound for component in self.stages])

    @property
    def gaps(self) -> Array:
        """Relative certified gaps."""
        return np.array([component.gap for component in self.stages])

    @property
    def statuses(self) -> tuple[Status, ...]:
        """One status for each component."""
        return tuple(component.status for component in self.stages)

    @property
    def supports(self) -> tuple[IntArray, ...]:
        """Indices of the features each component uses."""
        return tuple(component.support for component in self.stages)

    @property
    def nodes(self) -> int:
        """Total number of nodes bounded."""
        return sum(component.nodes for component in self.stages)

    def __len__(self) -> int:
        return len(self.stages)

    def __iter__(self) -> Iterator[Component]:
        return iter(self.stages)

    @overload
    def __getitem__(self, k: int) -> Component: ...
    @overload
    def __getitem__(self, k: slice) -> tuple[Component, ...]: ...
    def __getitem__(self, k: int | slice) -> Component | tuple[Component, ...]:
        return self.stages[k]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        """What was asked and answered."""
        same = (comparable(getattr(self, name)) for name in COMPARED)
        return (*same, json.dumps(self.asked, sort_keys=True))

    def __getstate__(self) -> dict[str, Any]:
        # What climbs holds the matrix.
        return {**self.__dict__, "climb": None}

    def __repr__(self) -> str:
        limits = sorted(set(self.sparsity))
        sparsity = str(limits[0]) if len(limits) == 1 else str(list(self.sparsity))
        return (
            f"Result({words.counted(self)}, n_features={self.n_features}, sparsity={sparsity}, "
            f"status={self.status.value!r})"
        )

    def _repr_html_(self) -> str:
        return self.table().html()

    def table(self, seconds: bool = False) -> Table:
        """Return the table that terminals, notebooks and reports show.

        Parameters
        ----------
        seconds : bool
            With the time that each component took.
        """
        return views.table(self, seconds)

    def summary(self, width: int = views.WIDTH) -> str:
        """Return a table that a person can read: numbers and loadings of each component.

        Parameters
        ----------
        width : int
            Lines of names are broken so that they have at most so many characters.
        """
        text = self.table().text(width)
        return f"{text}\n{self.note}" if self.note else text

    def to_frame(self, kind: str = "loadings") -> Any:
        """Return a data frame of pandas, which must be installed.

        Parameters
        ----------
        kind : {"loadings", "components"}
            ``"loadings"``: a row for each feature, a column ``component1``, ``component2``, … for
            each component; zeros are exact.  ``"components"``: a row for each component, with its
            variance, its share of the total, bound, gap, status and the names of its features, the
            largest loading first.

        Returns
        -------
        pandas.DataFrame
            New: changing it does not change the result.
        """
        return views.frame(self, kind)

    def plot(self, kind: str = "loadings", *given: Any, **options: Any) -> Any:
        """Draw the result, with matplotlib (``pip install "orthospca[plot]"``).

        Parameters
        ----------
        kind : {"loadings", "scree", "orthogonality", "convergence", "scores", "biplot"}
            Which function of :mod:`orthospca.plotting` draws: ``plot_loadings`` and so on.
        *given, **options
            Its other arguments.  ``"scree"`` needs the matrix, ``result.plot("scree", Q)``, and
            ``"scores"`` and ``"biplot"`` need the data.

        Returns
        -------
        Picture
            Shows itself in a notebook; ``picture.save("loadings.png")`` keeps it, and
            ``picture.axes`` is there to be changed.
        """
        return showing.picture(PICTURES, kind, self, *given, **options)

    def report(
        self, path: str | PathLike[str], Q: Any = None, *, title: str | None = None, **about: Any
    ) -> None:
        """Write a report as one HTML file that needs no other file and no network.

        Parameters
        ----------
        path : path
        Q : array-like of shape (n, n), or DataCovariance, optional
            The matrix that was solved, for a comparison with ordinary PCA; without it there is
            none.
        title : str, optional
        **about
            Further fields of :class:`orthospca.report.Section`: where the data come from, the
            settings, scores.
        """
        reports = showing.reports()
        about.setdefault("matrix_kind", "as given")
        section = reports.Section(title or "Components", self, Q, **about)
        reports.write_report(path, [section])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the result as JSON (numbers survive exactly)."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=1), encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain Python objects, as :meth:`save` writes them."""
        return saving.to_dict(self)

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read a result that :meth:`save` wrote."""
        return cls(**saving.read_fields(path))


def noted(result: Result, *notes: str) -> Result:
    """Return the same, with more to say."""
    return replace(result, note="; ".join(filter(None, (result.note, *notes))))
