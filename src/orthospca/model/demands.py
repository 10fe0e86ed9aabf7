"""What is asked of components beyond their sparsity: features in or out, vectors before, relation.

A component of stage k lives on a support T with ``F ⊆ T``, ``T ∩ E = ∅`` and ``|T| ≤ p``: what is
included counts against p, whether or not its loading is zero.  See ``docs/theory/demands.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from orthospca._errors import InputError
from orthospca._methods import Relation
from orthospca._typing import Array, IntArray
from orthospca.model.validation import column_name, listed, validate_choice, validate_flag

#: Vectors whose smallest singular value, at unit length, is below this count as dependent.
DEPENDENT = 1e-8
#: A vector that is offered may be so far from orthogonal to others: it is solved on its support.
NOT_ORTHOGONAL = 1e-6

#: What may be asked of components beyond their sparsity: arguments of ``solve``.
DEMANDED = ("include", "exclude", "relation", "previous", "nonnegative", "start")
#: One list of features for each component.
Lists = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Demand:
    """What is asked of one component.

    Attributes
    ----------
    included, excluded : integer arrays, ascending
        Features of every support, and of none.
    start : integer array or None
        A support that may be a good one.
    nonnegative : bool
        Whether no loading may be negative.
    """

    included: IntArray = field(default_factory=lambda: np.arange(0))
    excluded: IntArray = field(default_factory=lambda: np.arange(0))
    start: IntArray | None = None
    nonnegative: bool = False

    def within(self, places: IntArray) -> Demand:
        """Return what it says of some features, in terms of these; nothing is offered."""
        included, excluded = (
            np.flatnonzero(np.isin(places, x)) for x in (self.included, self.excluded)
        )
        return Demand(included, excluded, nonnegative=self.nonnegative)

    def fits(self, vector: Array, limit: int) -> bool:
        """Whether a vector and what is included have no more than so many features."""
        return len(np.union1d(np.flatnonzero(vector), self.included)) <= limit

    def allows(self, vector: Array, limit: int) -> bool:
        """Whether a vector has a support of so many features that is as is asked."""
        if self.nonnegative and (vector < 0).any():
            return False
        return self.fits(vector, limit) and not vector[self.excluded].any()

    def is_stronger_than(self, other: Demand) -> bool:
        """Whether all that it allows is allowed by another one."""
        if self is other:
            return True
        mine, theirs = (self.included, self.excluded), (other.included, other.excluded)
        return all(np.isin(b, a).all() for a, b in zip(mine, theirs, strict=True))


#: Nothing beyond the sparsity.
NO_DEMAND = Demand()


@dataclass(frozen=True, eq=False)
class Demands:
    """What is asked of all components.

    Attributes
    ----------
    include, exclude : tuple of tuples of int
        One list of features for each component; empty if nothing is asked of any.
    previous : array of shape (K0, n), or None
        Vectors that all components are orthogonal to; their lengths are between ½ and 2.
    relation : Relation
    start : tuple of integer arrays
        Supports that are offered, that of the k-th component at position k.
    nonnegative : bool
        Whether no loading may be negative; such components are disjoint.
    """

    include: Lists = ()
    exclude: Lists = ()
    previous: Array | None = None
    relation: Relation = Relation.ORTHOGONAL
    start: tuple[IntArray, ...] = ()
    nonnegative: bool = False

    @classmethod
    def validate(
        cls,
        limits: Sequence[int],
        n: int,
        names: Sequence[str] | None,
        include: Any = None,
        exclude: Any = None,
        relation: Any = Relation.ORTHOGONAL,
        previous: Any = None,
        nonnegative: Any = False,
        start: Any = None,
    ) -> Demands:
        """Check the arguments of ``solve``; a bad one is a ``ValueError`` that names it.

        Parameters
        ----------
        limits : sequence of int
            The sparsity of each component.
        n : int
            Features.
        names : sequence of str or None
            Theirs.
        include, exclude, relation, previous, nonnegative, start
            As given.
        """
        validate_choice("relation", relation, Relation)
        nonnegative = validate_flag("nonnegative", nonnegative)
        if nonnegative and relation == Relation.UNCORRELATED:
            raise InputError(
                "nonnegative=True cannot be asked for with relation='uncorrelated': non-negative "
                "components are disjoint"
            )
        asked = cls(
            _lists("include", include, len(limits), n, names),
            _lists("exclude", exclude, len(limits), n, names),
            _vectors_before(previous, n),
            Relation(relation),
            nonnegative=nonnegative,
        )
        asked._refuse_what_cannot_be(limits, n, names)
        supports = asked._offered(start, limits, n, names)
        return replace(asked, start=supports)

    @property
    def binding(self) -> bool:
        """Whether anything is asked that a component could fail."""
        return bool(
            self.include
            or self.exclude
            or self.previous is not None
            or self.relation is not Relation.ORTHOGONAL
            or self.nonnegative
        )

    def manifest(self) -> dict[str, Any]:
        """Return what a certificate says of it; nothing, if nothing is asked."""
        told = {
            "include": [list(features) for features in self.include],
            "exclude": [list(features) for features in self.exclude],
            "relation": "" if self.relation is Relation.ORTHOGONAL else str(self.relation),
            "nonnegative": self.nonnegative,
            "previous": 0 if self.previous is None else len(self.previous),
        }
        return {name: value for name, value in told.items() if value}

    @property
    def disjoint(self) -> bool:
        """Whether a feature serves one component, as it does if no loading may be negative."""
        return self.relation is Relation.DISJOINT or self.nonnegative

    @property
    def uncorrelated(self) -> bool:
        """Whether it is scores that are to be orthogonal, not components."""
        return self.relation is Relation.UNCORRELATED

    def before(self, n: int) -> Array:
        """Return the vectors that were given, as columns."""
        return np.zeros((n, 0)) if self.previous is None else self.previous.T

    def of_first(self) -> Demands:
        """Return what is asked of the first component."""
        if not self.binding:
            return NO_DEMANDS
        excluded = tuple(self.asked(0).excluded.tolist())
        return replace(self, include=self.include[:1], exclude=(excluded,), start=())

    def asked(self, k: int) -> Demand:
        """Return what is asked of a component, whatever the others are."""
        included = self.include[k] if self.include else ()
        excluded = set(self.exclude[k] if self.exclude else ())
        if self.disjoint:
            # What a later component must have is not for the earlier ones.
            excluded |= {j for later in self.include[k + 1 :] for j in later}
        start = self.start[k] if k < len(self.start) else None
        return Demand(_indices(included), _indices(excluded), start, self.nonnegative)

    def stage(self, k: int, before: Array) -> Demand:
        """Return what is asked of a component, given those before it and what was given.

        Parameters
        ----------
        k : int
        before : array of shape (n, …)
            The vectors, as columns.
        """
        if not (self.binding or self.start):
            return NO_DEMAND
        asked = self.asked(k)
        if not self.disjoint:
            return asked
        used = np.flatnonzero((before != 0).any(axis=1))
        return replace(asked, excluded=np.union1d(asked.excluded, used))

    def constraints(self, before: Array) -> Array:
        """Return those of some vectors that are left to be orthogonal to: none, if disjoint.

        If it is scores that are to be uncorrelated, these are the vectors to be multiplied by Q.
        """
        return before[:, :0] if self.disjoint else before

    def nests(self, earlier: int, later: int) -> bool:
        """Whether what is feasible for a later component is so for an earlier one."""
        if not (self.include or self.exclude):
            return True
        return self.asked(later).is_stronger_than(self.asked(earlier))

    def _refuse_what_cannot_be(
        self, limits: Sequence[int], n: int, names: Sequence[str] | None
    ) -> None:
        for k, limit in enumerate(limits):
            own = self.include[k] if self.include else ()
            where = f" for component {k + 1}" if len(limits) > 1 else ""
            if len(own) > limit:
                raise InputError(
                    f"include asks for {len(own)} features{where} ({_named(own, names)}), and "
                    f"sparsity allows {limit}"
                )
            banned = set(self.exclude[k] if self.exclude else ())
            if both := sorted(banned.intersection(own)):
                raise InputError(f"include and exclude both have {_named(both, names)}{where}")
            if len(banned) == n:
                raise InputError(f"exclude leaves no feature{where}: all {n} are in it")
        if self.nonnegative and self.previous is not None and (self.previous < 0).any():
            row, j = np.argwhere(self.previous < 0)[0].tolist()
            raise InputError(
                f"previous must not be negative with nonnegative=True, and vector {row + 1} is at "
                f"{_named([j], names)}"
            )
        if not self.disjoint:
            return
        why = "nonnegative=True" if self.nonnegative else "relation='disjoint'"
        seen: dict[int, str] = {}
        if self.previous is not None:
            seen = {int(j): "of previous" for j in np.flatnonzero(self.previous.any(axis=0))}
        for k, own in enumerate(self.include):
            if twice := [j for j in own if j in seen]:
                raise InputError(
                    f"include asks for {_named(twice[:1], names)} in component {k + 1}, and with "
                    f"{why} it is already {seen[twice[0]]}"
                )
            seen |= dict.fromkeys(own, f"in component {k + 1}")

    def _offered(
        self, start: Any, limits: Sequence[int], n: int, names: Sequence[str] | None
    ) -> tuple[IntArray, ...]:
        """The supports of vectors that are offered, if these are feasible."""
        if start is None:
            return ()
        rows = _rows("start", start, n)
        if len(rows) > len(limits):
            raise InputError(
                f"start must have at most one vector for each of the {len(limits)} components, "
                f"got {len(rows)}"
            )
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        given = self.before(n).T
        before = [given / np.linalg.norm(given, axis=1, keepdims=True)]
        for k, row in enumerate(rows):
            vectors = np.vstack(before)
            demand = self.stage(k, vectors.T)
            used = np.union1d(np.flatnonzero(row), demand.included)
            wrong = demand.excluded[row[demand.excluded] != 0]
            why = ""
            if len(wrong):
                why = f"uses {_named(wrong.tolist(), names)}, which is excluded"
            elif len(used) > limits[k]:
                has = f"has {np.count_nonzero(row)} nonzeros"
                also = f", {len(used)} with what is included" if self.include else ""
                why = f"{has}{also}, and sparsity allows {limits[k]}"
            elif self.nonnegative and (row < 0).any():
                why = f"is negative at {_named(np.flatnonzero(row < 0)[:1].tolist(), names)}"
            elif self.uncorrelated:
                # Only its features are taken: what is uncorrelated is sought among them.
                why = ""
            elif np.abs(vectors @ row).max(initial=0.0) > NOT_ORTHOGONAL:
                why = "is not orthogonal to the vectors before it"
            if why:
                raise InputError(f"start: vector {k + 1} {why}")
            before.append(row[None])
        return tuple(np.flatnonzero(row) for row in rows)


def refuse_uncorrelated(relation: Any) -> None:
    """Refuse components that are not orthogonal, where what they explain is added up."""
    if relation == Relation.UNCORRELATED:
        raise InputError(
            "relation must be 'orthogonal' or 'disjoint' here, got 'uncorrelated': what components "
            "explain adds up only if they are orthogonal"
        )


#: Nothing beyond the sparsity, of any component.
NO_DEMANDS = Demands()


def _indices(features: Iterable[int]) -> IntArray:
    return np.array(sorted(features), dtype=np.intp)


def _named(features: Iterable[int], names: Sequence[str] | None) -> str:
    """Some features in a message: their names, or their numbers."""
    what = "feature " if names is None else ""
    return listed([f"{what}{column_name(names, j)}" for j in features])


def _lists(name: str, given: Any, count: int, n: int, names: Sequence[str] | None) -> Lists:
    """Return one list of features for each component; none at all if nothing is asked."""
    if given is None:
        return ()
    if isinstance(given, str | int | np.integer):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise InputError(f"{name} must be a list of features, got {given!r}")
    entries = list(given)
    nested = [x is None or (isinstance(x, Iterable) and not isinstance(x, str)) for x in entries]
    if not entries:
        return ()
    if not any(nested):
        return (_one_list(name, entries, n, names),) * count
    if not all(nested):
        raise InputError(f"{name} must be one list of features or one for each component, got both")
    if len(entries) != count:
        raise InputError(
            f"{name} must be one list of features or one for each of the {count} components, "
            f"got {len(entries)} lists"
        )
    lists = tuple(
        _one_list(f"{name}[{k}]", () if x is None else x, n, names) for k, x in enumerate(entries)
    )
    return lists if any(lists) else ()


def _one_list(
    name: str, given: Iterable[Any], n: int, names: Sequence[str] | None
) -> tuple[int, ...]:
    """Return features, given by names or by numbers, in ascending order."""
    found: list[int] = []
    for entry in given:
        if isinstance(entry, str):
            places = [j for j, known in enumerate(names or ()) if known == entry]
            if len(places) != 1:
                known = f"has {len(places)} of that name" if places else "has no such feature"
                if names is None:
                    known = "has no names, so that features are numbers"
                raise InputError(f"{name} names {str(entry)!r}, and Q {known}")
            found += places
        elif isinstance(entry, int | np.integer) and not isinstance(entry, bool):
            if not 0 <= entry < n:
                raise InputError(
                    f"{name} has the number {int(entry)}, and features are 0 to {n - 1}"
                )
            found.append(int(entry))
        else:
            raise InputError(f"{name} must hold names or numbers of features, got {entry!r}")
        if found[-1] in found[:-1]:
            raise InputError(f"{name} has {_named(found[-1:], names)} twice")
    return tuple(sorted(found))


def vectors_of(name: str, given: Any, n: int) -> Array:
    """Return vectors as rows of finite numbers, or raise ``ValueError``."""
    try:
        rows = np.array(given, dtype=float, ndmin=2)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be vectors of numbers, got {given!r:.60}") from None
    if rows.ndim != 2 or rows.shape[1] != n:
        raise InputError(f"{name} must be vectors of {n} features in rows, got shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise InputError(f"{name} must be finite, got {rows[~np.isfinite(rows)][0]}")
    return rows


def _rows(name: str, given: Any, n: int) -> Array:
    """Vectors that are not zero, as rows."""
    rows = vectors_of(name, given, n)
    largest = np.abs(rows).max(axis=1, initial=0.0)
    if not (largest > 0).all():
        raise InputError(f"{name}: vector {int(np.argmin(largest)) + 1} is zero")
    # By powers of two: nothing is rounded, unless it is hardly there.
    return np.ldexp(rows, -np.frexp(largest)[1][:, None])


def _vectors_before(previous: Any, n: int) -> Array | None:
    """Return vectors in rows, scaled by powers of two to a length between ½ and 2."""
    if previous is None or np.size(previous) == 0:
        return None
    rows = _rows("previous", previous, n)
    lengths = np.sqrt(np.square(rows).sum(axis=1))
    rows = np.ldexp(rows, -np.rint(np.log2(lengths)).astype(int)[:, None])
    rows = np.ascontiguousarray(np.where(np.abs(rows) < 1e-200, 0.0, rows))
    units = rows / np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    for k in range(len(units)):
        if k >= n or np.linalg.svd(units[: k + 1], compute_uv=False)[-1] < DEPENDENT:
            raise InputError(
                f"previous must be linearly independent, and vector {k + 1} is a combination of "
                "those before it, or nearly so"
            )
    rows.flags.writeable = False
    return rows
