"""What a solve for several sparsities returns, and which features enter and leave on the way."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from os import PathLike
from typing import Any

import numpy as np

from orthospca._typing import Array
from orthospca.model import showing, views, words
from orthospca.model.component import Status, format_gap
from orthospca.model.result import Result
from orthospca.model.validation import validate_integer

#: The pictures of a path: ``plot_sparsity_path`` and so on of :mod:`orthospca.plotting`.
PICTURES = ("sparsity_path", "path_loadings")


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
class SparsityPath:
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

    sparsities: tuple[int, ...]
    variances: Array
    upper_bounds: Array
    gaps: Array
    results: tuple[Result, ...]
    status: Status
    runtime: float = 0.0

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
        found = []
        before: Array | None = None
        previous = None
        for sparsity, row in zip(self.sparsities, self.loadings(component), strict=True):
            old = np.zeros(len(row)) if before is None else before
            found.append(
                Change(
                    sparsity,
                    previous,
                    entered=self._named(row, old == 0),
                    left=self._named(old, row == 0),
                    stayed=self._named(row, old != 0),
                )
            )
            before, previous = row, sparsity
        return tuple(found)

    def _named(self, row: Array, among: Any) -> tuple[str, ...]:
        """Names of the features that a row uses, among some of them; the largest first."""
        chosen = np.flatnonzero((row != 0) & among)
        order = chosen[np.argsort(-np.abs(row[chosen]), kind="stable")].tolist()
        names = self.feature_names
        return tuple(str(j) if names is None else names[j] for j in order)

    def __repr__(self) -> str:
        count = len(self.sparsities)
        return (
            f"SparsityPath({count} sparsit{'y' if count == 1 else 'ies'} "
            f"{_in_short(self.sparsities)}, n_components={self.variances.shape[1]}, "
            f"status={self.status.value!r})"
        )

    def _repr_html_(self) -> str:
        headings = ["sparsity", "variance", "of total", "largest gap", "status"]
        headings += ["enters", "leaves"]
        columns = (
            self.sparsities,
            self.explained_variance,
            self._shares(),
            self.results,
            self.changes(),
        )
        rows = [
            [
                str(sparsity),
                f"{variance:.6g}",
                share,
                format_gap(float(result.gaps.max(initial=0.0))),
                result.status.value,
                escape(", ".join(change.entered)),
                escape(", ".join(change.left)),
            ]
            for sparsity, variance, share, result, change in zip(*columns, strict=True)
        ]
        closing = words.of_path(self)
        if self.variances.shape[1] > 1:
            closing += "; what enters and leaves is that of the first component"
        return views.html_table("Variance by sparsity", headings, rows, f"{closing}.", numbers=4)

    def summary(self, width: int = views.WIDTH) -> str:
        """Return a table that a person can read: for each sparsity its numbers and what changes.

        ``+`` stands before features that enter the first component, ``−`` before those that leave.

        Parameters
        ----------
        width : int
            Lines of names are broken so that they have at most so many characters.
        """
        several = self.variances.shape[1] > 1
        extra = "components  largest gap" if several else f"{'upper bound':>12}  {'gap':>9}"
        lines = [f"{'sparsity':>8}  {'variance':>12}  {'of total':>8}  {extra}  status"]
        columns = (
            self.sparsities,
            self.results,
            self.explained_variance,
            self._shares(),
            self.changes(),
        )
        for sparsity, result, variance, share, change in zip(*columns, strict=True):
            gap = format_gap(float(result.gaps.max()))
            extra = f"{result.upper_bounds[0]:>12.6g}  {gap:>9}"
            if several:
                extra = f"{result.n_components:>10}  {gap:>11}"
            status = result.status.value
            lines.append(f"{sparsity:>8}  {variance:>12.6g}  {share:>8}  {extra}  {status}")
            signs = [f"+{name}" for name in change.entered] + [f"−{name}" for name in change.left]
            lines += views.in_lines(signs, width, indent=10)
        proved = words.of_path(self)
        lines += ["", f"{len(self.sparsities)} sparsities; {self.runtime:.3g} s; {proved}"]
        return "\n".join(lines)

    def _shares(self) -> list[str]:
        return [views.percent(x) for x in self.explained_variance_ratio]

    def to_frame(self) -> Any:
        """Return a data frame of pandas, with a row for each component of each sparsity.

        Its columns are the sparsity, the number of the component from 1, variance, share of the
        total, upper bound, gap, status, and the names of features in use, entering and leaving.
        """
        pandas = views.pandas_or_error("SparsityPath.to_frame")
        changes = [self.changes(k) for k in range(self.variances.shape[1])]
        rows = [
            {
                "sparsity": sparsity,
                "component": k + 1,
                "variance": component.variance,
                "explained_variance_ratio": float(result.explained_variance_ratio[k]),
                "upper_bound": component.upper_bound,
                "gap": component.gap,
                "status": component.status.value,
                "features": tuple(name for name, _ in views.loadings(result, component)),
                "entered": changes[k][i].entered,
                "left": changes[k][i].left,
            }
            for i, (sparsity, result) in enumerate(zip(self.sparsities, self.results, strict=True))
            for k, component in enumerate(result)
        ]
        return pandas.DataFrame(rows)

    def plot(self, kind: str = "sparsity_path", *given: Any, **options: Any) -> Any:
        """Draw the path, with matplotlib (``pip install "orthospca[plot]"``).

        Parameters
        ----------
        kind : {"sparsity_path", "path_loadings"}
            ``"sparsity_path"`` shows variance by sparsity, with what is proved;
            ``"path_loadings"`` which features enter and leave a component.
        *given, **options
            Other arguments of ``plot_sparsity_path`` or ``plot_path_loadings``
            (:mod:`orthospca.plotting`).

        Returns
        -------
        Picture
            Shows itself in a notebook; ``picture.save("path.png")`` keeps it.
        """
        return showing.picture(PICTURES, kind, self, *given, **options)

    def report(self, path: str | PathLike[str], **about: Any) -> None:
        """Write a report as one HTML file that needs no other file and no network.

        Parameters
        ----------
        path : path
        **about
            Further arguments of :func:`orthospca.report.write_choice_report`: cross-validated
            variance, stability, where the data come from.
        """
        showing.reports().write_choice_report(path, self, **about)

    def to_dict(self) -> dict[str, Any]:
        """Return the path as plain Python objects that JSON can hold."""
        return {
            "status": self.status.name,
            "runtime": self.runtime,
            "sparsities": list(self.sparsities),
            "variances": _rows(self.variances),
            "upper_bounds": _rows(self.upper_bounds),
            "gaps": _rows(self.gaps),
            "results": [result.to_dict() for result in self.results],
        }


def _in_short(sparsities: tuple[int, ...]) -> str:
    """A few numbers as a list, many as a range."""
    if len(sparsities) <= 4:
        return str(list(sparsities))
    return f"from {sparsities[0]} to {sparsities[-1]}"


def _rows(table: Array) -> list[list[float | None]]:
    """JSON has no NaN and no infinity: they become None."""
    return [[float(x) if math.isfinite(x) else None for x in row] for row in table]
