"""Every choice of features that is nearly as good as the best one, and whether that is all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from orthospca._errors import InputError
from orthospca._methods import Relation
from orthospca._typing import Array, IntArray
from orthospca.certificate.files import Certificate
from orthospca.certificate.listing import make_list_certificate
from orthospca.choosing._near import NearSearch
from orthospca.data.covariance import DataCovariance
from orthospca.data.problem import Problem
from orthospca.model.demands import Demands
from orthospca.model.given import refuse_other_order, vectors_before, vectors_of
from orthospca.model.journal import Callback
from orthospca.model.settings import Settings
from orthospca.model.table import MOST_ROWS
from orthospca.model.validation import (
    names_at,
    validate_integer,
    validate_names,
    validate_nonnegative,
)
from orthospca.numerics.rigor import ORTHOGONALITY
from orthospca.numerics.threads import single_threaded_blas
from orthospca.paths.shown import Shown, Table, plain
from orthospca.routes import certified_by, formed_in_time, is_formed
from orthospca.search.stages import images_of

__all__ = ["Alternatives", "alternatives"]


@dataclass(frozen=True, eq=False)
class Alternatives(Shown):
    """Supports whose variance is within a tolerance of the best.

    Attributes
    ----------
    supports : tuple of integer arrays
        Each has as many features as the sparsity allows, the best support first.
    variances : array
        The largest variance of a vector on each support.
    complete : bool
        Whether it is proved that there is no other support within the tolerance.
    tolerance : float
        Relative to the best variance.
    level : float
        The variance that a support must have to be listed.
    n_features : int
    feature_names : tuple of str or None
    note : str
        Why the list may not be complete; empty if it is.
    runtime : float
        Seconds.
    certificate : Certificate or None
        With ``proof``, if the list is complete: what a checker needs.
    """

    PICTURES: ClassVar = ("alternatives",)
    REPORTED: ClassVar = "alternatives"

    supports: tuple[IntArray, ...]
    variances: Array
    complete: bool
    tolerance: float
    level: float
    n_features: int
    feature_names: tuple[str, ...] | None = None
    note: str = ""
    runtime: float = field(default=0.0, repr=False)
    certificate: Certificate | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.supports)

    def __iter__(self) -> Iterator[IntArray]:
        return iter(self.supports)

    @property
    def frequencies(self) -> Array:
        """Share of the supports that contain each feature; NaN if there is none."""
        if not self.supports:
            return np.full(self.n_features, np.nan)
        return np.bincount(np.concatenate(self.supports), minlength=self.n_features) / len(self)

    @property
    def in_all(self) -> IntArray:
        """The features that every support contains."""
        return np.flatnonzero(self.frequencies == 1.0)

    @property
    def in_none(self) -> IntArray:
        """The features that no support contains."""
        return np.flatnonzero(self.frequencies == 0.0)

    def names(self, features: IntArray) -> list[str]:
        """Return the names of some features, or their numbers."""
        return names_at(self.feature_names, features)

    def to_dict(self) -> dict[str, Any]:
        """Return the list as plain data, for JSON."""
        used = np.flatnonzero(self.frequencies > 0)
        pairs = zip(self.variances.tolist(), self.supports, strict=True)
        shares = zip(self.names(used), self.frequencies[used].tolist(), strict=True)
        told = {x: plain(getattr(self, x)) for x in ("tolerance", "level", "complete", "note")}
        supports = [{"variance": v, "features": self.names(support)} for v, support in pairs]
        return {**told, "supports": supports, "frequencies": dict(shares)}

    def _claim(self) -> str:
        """How many there are, and whether that is all."""
        if not self.supports and self.complete:
            return "no vector with so few features is left"
        number = f"{len(self)} support{'' if len(self) == 1 else 's'}"
        claim = "and it is proved that there is no other" if self.complete else self.note
        return f"{number} within {100 * self.tolerance:.3g} % of the best variance, {claim}"

    def table(self, most: int = MOST_ROWS) -> Table:
        """Return a row for each of the best supports.

        Parameters
        ----------
        most : int
            Rows, at most.
        """
        columns = {
            "variance": [f"{variance:#.6g}" for variance in self.variances[:most]],
            "below the best": self.below_best()[:most],
        }
        names = [self.names(support) for support in self.supports[:most]]
        told = [f"… and {len(self) - most} more"] if len(self) > most else []
        told.append(self._claim())
        if len(self) > 1:
            told.append(f"in all of them: {', '.join(self.names(self.in_all)) or 'none'}")
        return Table("Choices of features", columns, "; ".join(told), names, "features")

    def below_best(self) -> list[str]:
        """Return how far each support is below the best, in words."""
        best = float(self.variances.max(initial=-np.inf))
        size = abs(best) or 1.0
        shares = [(best - float(value)) / size for value in self.variances]
        return ["the best" if share < 1e-9 else f"{100 * share:.2g} % below" for share in shares]


def alternatives(
    Q: Any,
    sparsity: int,
    tolerance: float = 0.01,
    *,
    previous: Any = None,
    max_supports: int = 1000,
    gap: float = 1e-6,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    feature_names: Sequence[str] | None = None,
    proof: bool = False,
    include: Any = None,
    exclude: Any = None,
    relation: str = "orthogonal",
) -> Alternatives:
    """List every support whose variance is within a tolerance of the best component's.

    Supports have exactly ``sparsity`` features.  If fewer would do, every support that contains
    them is listed.  ``Alternatives.complete`` says whether the list is proved complete.

    Parameters
    ----------
    Q : array-like of shape (n, n), or DataCovariance
        As in :func:`orthospca.solve`.
    sparsity : int
        Number of features in each support.
    tolerance : float
        How far a support may be below the best variance, relative to it.
    previous : array-like of shape (k, n), optional
        Linearly independent vectors, such as earlier components, as rows; the list is then that of
        the next stage.  With ``proof`` they must be orthonormal if ``relation`` is
        ``"orthogonal"``.  A feature that is the only one of such a vector is in none of the
        supports.
    max_supports : int
        List at most this many; if there are more, ``complete`` is false.
    gap : float
        Relative gap of the best component.  If the list contains a better one, the tolerance is
        measured from that.
    time_limit : float, optional
        Seconds.
    n_jobs, callback, feature_names
        As in :func:`orthospca.solve`.
    proof : bool
        Whether to keep a certificate of the list, for :func:`orthospca.verify`.
    include, exclude : sequence of str or int, optional
        Features, by name or number, that every support must contain, or must not contain.
    relation : {"orthogonal", "disjoint", "uncorrelated"}
        Relation to the vectors of ``previous``, as in :func:`orthospca.solve`; ``"uncorrelated"``
        does not work with ``proof``.

    Returns
    -------
    Alternatives

    Examples
    --------
    >>> from orthospca import alternatives, datasets
    >>> pitprops = datasets.load_pitprops()
    >>> found = alternatives(pitprops.covariance(), 4, tolerance=0.02)
    >>> len(found), found.complete
    (2, True)
    """
    tolerance = validate_nonnegative("tolerance", tolerance)
    most = validate_integer("max_supports", max_supports, 1)
    limits: dict[str, Any] = {"gap": gap, "time_limit": time_limit, "n_jobs": n_jobs}
    settings = Settings.validate(**limits, callback=callback, proof=proof)
    watch = settings.watch(callback)
    problem = Problem.validate(Q, sparsity)
    Q = problem.covariance
    names = validate_names(feature_names, problem.n_features, problem.feature_names)
    n, asked = problem.n_features, (include, exclude, relation)
    plain = relation == Relation.ORTHOGONAL
    demands = Demands.validate(problem.sparsity, n, names, *asked, None if plain else previous)
    before = _columns(previous, n, names, settings.proof) if plain else demands.before(n)
    uncorrelated, formed = demands.uncorrelated, n <= settings.tuning.wide.formed
    if demands.disjoint:
        excluded = tuple(demands.stage(0, before).excluded.tolist())
        before, demands = before[:, :0], replace(demands, exclude=(excluded,))
    elif uncorrelated:
        if settings.proof:
            raise InputError("proof=True does not work with relation='uncorrelated'")
        formed = is_formed(Q, settings, demands=demands)
    # What is left of the relation are features, or vectors that the others are orthogonal to.
    demands = replace(demands, previous=None, relation=Relation.ORTHOGONAL)
    with watch.listening(), single_threaded_blas():
        if isinstance(Q, DataCovariance) and formed:
            matrix = formed_in_time(Q, settings, watch)
            Q = Q if matrix is None else matrix
        certified = certified_by(Q) if settings.proof else None
        if uncorrelated:
            if isinstance(Q, DataCovariance):
                raise InputError(f"time_limit must be long enough to read Q, got {time_limit}")
            before = images_of(Q, before)
        problem = replace(problem, covariance=Q, demands=demands)
        near = NearSearch(problem, before, settings, watch).run(tolerance, most)
    certificate = None
    if certified is not None and not near.note:
        # What is listed, and why nothing else is.
        pairs, limit = list(zip(near.supports, near.bests, strict=True)), problem.sparsity[0]
        given = (*certified, limit, before.T, pairs, tolerance, near.proved, near.rungs)
        certificate = make_list_certificate(*given, demands.manifest())
    listed = (tuple(near.supports), near.values, not near.note, tolerance, near.level)
    return Alternatives(*listed, n, names, near.note, watch.clock.elapsed, certificate)


def _columns(previous: Any, n: int, names: Sequence[str] | None, proof: bool) -> Array:
    """Return vectors as columns; for a proof they must be as exact as a checker asks for."""
    if previous is None:
        return np.zeros((n, 0))
    refuse_other_order("previous", previous, names)
    rows = vectors_of("previous", previous, n)
    off = float(np.abs(rows @ rows.T - np.eye(len(rows))).max(initial=0.0))
    if off <= (1 if proof else 8) * ORTHOGONALITY:
        return np.ascontiguousarray(rows.T)
    if proof:
        raise InputError(
            f"previous must be orthonormal rows with proof=True, but they are off by {off:.2g}"
        )
    vectors = vectors_before(previous, n)
    return np.zeros((n, 0)) if vectors is None else np.ascontiguousarray(vectors.T)
