"""What a solve for several sparsities returns, and which features enter and leave on the way."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from orthospca._typing import Array
from orthospca.model import views, words
from orthospca.model.component import Status, format_gap
from orthospca.model.result import Result
from orthospca.model.validation import names_at, validate_integer
from orthospca.paths.shown import Shown, Table


@dataclass(frozen=True)
class Change:
    """What became of a component when the sparsity was raised.

    Attributes
    ----------
    sparsity : int
        The sparsity, and with ``previous`` the one before it in the path.
    previous : int or None
        None for the first.
    entered, left, stayed : tuple of str
        Names of features that the component uses and did not use before; used before and uses no
        more; uses as before.  The largest loading comes first.
    """

    sparsity: int
    previous: int | None
    entered: tuple[str, ...]
    left: tuple[str, ...]
    stayed: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class SparsityPath(Shown):
    """The components for each of several sparsities.

    It has a length and can be iterated over: its items are the results, by ascending sparsity.

    Attributes
    ----------
    sparsities : tuple of int
        Ascending.  Shorter than asked for only if the path was interrupted.
    variances : array of shape (P, K)
        ``xᵀQx`` of the K components for each of the P sparsities; NaN where there is none.
    upper_bounds : array of shape (P, K)
        Proved bounds on each stage, given the components before it; NaN where there is none.
    gaps : array of shape (P, K)
        Relative gaps; NaN where there is none.
    results : tuple of Result
        What was found for each sparsity.
    status : Status
        ``OPTIMAL`` if every component of every sparsity is certified within the tolerance, else
        what stopped one of them.
    runtime : float
        Seconds.
    """

    PICTURES: ClassVar = ("sparsity_path", "path_loadings")
    REPORTED: ClassVar = "found"

    sparsities: tuple[int, ...]
    variances: Array
    upper_bounds: Array
    gaps: Array
    results: tuple[Result, ...]
    status: Status
    runtime: float = 0.0

    @classmethod
    def of(
        cls, results: tuple[Result, ...], count: int, status: Status, runtime: float = 0.0
    ) -> SparsityPath:
        """The path through some results of so many components, by ascending sparsity."""
        tables = np.full((3, len(results), count), math.nan)
        for i, result in enumerate(results):
            own = (result.variances, result.upper_bounds, result.gaps)
            tables[:, i, : result.n_components] = own
        reached = tuple(result.sparsity[0] for result in results)
        return cls(reached, tables[0], tables[1], tables[2], results, status, runtime)

    @classmethod
    def of_first(cls, result: Result) -> SparsityPath:
        """The path that the first component of a result was found on."""
        points = zip(result.path_sparsities, result.path, strict=True)
        results = tuple(
            replace(result, stages=(c,), sparsity=(p,), status=c.status, objective="stagewise")
            for p, c in points
        )
        finished = all(c.status.finished for c in result.path)
        return cls.of(results, 1, Status.OPTIMAL if finished else result.status, result.runtime)

    @property
    def explained_variance(self) -> Array:
        """Variance that the components explain together, for each sparsity."""
        return np.nansum(self.variances, axis=1)

    @property
    def explained_variance_ratio(self) -> Array:
        """The same divided by the trace of Q (NaN if the trace is not positive)."""
        trace = self.results[0].total_variance if self.results else math.nan
        return self.explained_variance / (trace if trace > 0 else math.nan)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the features, if they have any."""
        return self.results[0].feature_names if self.results else None

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Any:
        return iter(self.results)

    def loadings(self, component: int = 0) -> Array:
        """Return one component for every sparsity, shape (P, n), with signs that go on.

        The sign of a component means nothing.  Here each row has the sign that fits the row before
        it, so that a loading that changes its sign from one row to the next has really done so.

        Parameters
        ----------
        component : int
            Which one, from 0; a row of zeros where there is none.
        """
        k = validate_integer("component", component, 0, self.variances.shape[1] - 1, "the last one")
        n = self.results[0].n_features if self.results else 0
        rows = np.zeros((len(self.results), n))
        for i, result in enumerate(self.results):
            if k < len(result):
                row = result[k].vector
                rows[i] = -row if i and float(row @ rows[i - 1]) < 0 else row
        return rows

    def changes(self, component: int = 0) -> tuple[Change, ...]:
        """Return which features enter and leave a component at each sparsity.

        The component for a sparsity is compared with the one in the same place for the sparsity
        before.  Later components depend on those before them, so that all of their features may
        change at once.

        Parameters
        ----------
        component : int
            Which one, from 0.

        Returns
        -------
        tuple of Change
            One for each sparsity.

        Examples
        --------
        >>> from orthospca import datasets, sparsity_path
        >>> data = datasets.load_breast_cancer()
        >>> path = sparsity_path(
        ...     data.correlation(), [8, 9, 10], feature_names=data.feature_names
        ... )
        >>> for change in path.changes()[1:]:
        ...     print(f"{change.sparsity}: {change.entered} enter, {change.left} leave")
        9: ('mean concavity',) enter, () leave
        10: ('area error', 'radius error', 'perimeter error') enter,
        ('worst concave points', 'mean concavity') leave
        """
        X = self.loadings(component)
        before = np.vstack([np.zeros_like(X[:1]), X[:-1]])
        steps = zip(self.sparsities, (None, *self.sparsities), X, before, strict=False)
        return tuple(
            Change(q, p, self._named(x, o == 0), self._named(o, x == 0), self._named(x, o != 0))
            for q, p, x, o in steps
        )

    def _named(self, row: Array, among: Any) -> tuple[str, ...]:
        """Names of the features that a row uses, among some of them; the largest first."""
        chosen = np.flatnonzero((row != 0) & among)
        order = chosen[np.argsort(-np.abs(row[chosen]), kind="stable")]
        return tuple(names_at(self.feature_names, order))

    def __repr__(self) -> str:
        count = len(self.sparsities)
        return (
            f"SparsityPath({count} sparsit{'y' if count == 1 else 'ies'} "
            f"{_in_short(self.sparsities)}, n_components={self.variances.shape[1]}, "
            f"status={self.status.value!r})"
        )

    def table(self) -> Table:
        """Return what each sparsity explains, and what enters (+) or leaves (−) component 1."""
        results, several = self.results, self.variances.shape[1] > 1
        gained = np.diff(self.explained_variance_ratio, prepend=0.0)
        columns = {
            "sparsity": [str(sparsity) for sparsity in self.sparsities],
            "variance": [f"{variance:#.6g}" for variance in self.explained_variance],
            "of total": [views.percent(share) for share in self.explained_variance_ratio],
            "gain": [views.percent(share) for share in gained],
        }
        if several:
            columns["components"] = [str(result.n_components) for result in results]
        else:
            columns["upper bound"] = [f"{result.upper_bounds[0]:#.6g}" for result in results]
        gaps = [format_gap(float(result.gaps.max())) for result in results]
        columns["largest gap" if several else "gap"] = gaps
        columns["status"] = [result.status.value for result in results]
        signs = [
            [*(f"+{name}" for name in change.entered), *(f"−{name}" for name in change.left)]
            for change in self.changes()
        ]
        count = len(results)
        told = f"{count} sparsit{'y' if count == 1 else 'ies'}; {self.runtime:.3g} s; "
        about = "what enters and leaves the first component"
        return Table("Variance by sparsity", columns, told + words.of_path(self), signs, about)

    def to_frame(self) -> Any:
        """Return a data frame of pandas, with a row for each component of each sparsity.

        Its columns are the sparsity, the number of the component from 1, variance, share of the
        total, upper bound, gap, status, and the names of features in use, entering and leaving.
        """
        pandas = views.pandas_or_error("SparsityPath.to_frame")
        changes = [self.changes(k) for k in range(self.variances.shape[1])]
        frames = []
        for i, (sparsity, result) in enumerate(zip(self.sparsities, self.results, strict=True)):
            frame = views.frame(result, "components").reset_index()
            frame.insert(0, "sparsity", sparsity)
            frame["entered"] = [changes[k][i].entered for k in range(len(result))]
            frame["left"] = [changes[k][i].left for k in range(len(result))]
            frames.append(frame.drop(columns="nodes"))
        return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()


def _in_short(sparsities: tuple[int, ...]) -> str:
    """A few numbers as a list, many as a range."""
    if len(sparsities) <= 4:
        return str(list(sparsities))
    return f"from {sparsities[0]} to {sparsities[-1]}"
