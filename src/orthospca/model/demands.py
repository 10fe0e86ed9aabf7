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
from orthospca.model.given import (
    Lists,
    lists_of,
    named,
    refuse_other_order,
    rows_of,
    vectors_before,
)
from orthospca.model.validation import validate_choice, validate_flag

#: A vector that is offered may be so far from orthogonal to others: it is solved on its support.
NOT_ORTHOGONAL = 1e-6

#: What may be asked of components beyond their sparsity: arguments of ``solve`` and others.
DEMANDED = ("include", "exclude", "relation", "previous", "nonnegative")


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
        for name, given in (("previous", previous), ("start", start)):
            refuse_other_order(name, given, names)
        if nonnegative and relation == Relation.UNCORRELATED:
            raise InputError(
                "nonnegative=True does not work with relation='uncorrelated': non-negative "
                "components are disjoint"
            )
        asked = cls(
            lists_of("include", include, len(limits), n, names),
            lists_of("exclude", exclude, len(limits), n, names),
            vectors_before(previous, n),
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
                    f"include has {len(own)} features{where} ({named(own, names)}), but "
                    f"sparsity allows {limit}"
                )
            banned = set(self.exclude[k] if self.exclude else ())
            if both := sorted(banned.intersection(own)):
                raise InputError(f"include and exclude both have {named(both, names)}{where}")
            if len(banned) == n:
                raise InputError(f"exclude leaves no feature{where}: all {n} are in it")
        if self.nonnegative and self.previous is not None and (self.previous < 0).any():
            row, j = np.argwhere(self.previous < 0)[0].tolist()
            raise InputError(
                f"previous must not be negative with nonnegative=True, but vector {row + 1} is at "
                f"{named([j], names)}"
            )
        if not self.disjoint:
            return
        why = "nonnegative=True" if self.nonnegative else "relation='disjoint'"
        seen: dict[int, str] = {}
        if self.previous is not None:
            seen = {int(j): "in previous" for j in np.flatnonzero(self.previous.any(axis=0))}
        for k, own in enumerate(self.include):
            if twice := [j for j in own if j in seen]:
                raise InputError(
                    f"include has {named(twice[:1], names)} for component {k + 1}, but with "
                    f"{why} it is already {seen[twice[0]]}"
                )
            seen |= dict.fromkeys(own, f"in component {k + 1}")

    def _offered(
        self, start: Any, limits: Sequence[int], n: int, names: Sequence[str] | None
    ) -> tuple[IntArray, ...]:
        """The supports of vectors that are offered, if these are feasible."""
        if start is None:
            return ()
        rows = rows_of("start", start, n)
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
                why = f"uses {named(wrong.tolist(), names)}, which is excluded"
            elif len(used) > limits[k]:
                has = f"has {np.count_nonzero(row)} nonzeros"
                also = f", {len(used)} with the included features" if self.include else ""
                why = f"{has}{also}, but sparsity allows {limits[k]}"
            elif self.nonnegative and (row < 0).any():
                why = f"is negative at {named(np.flatnonzero(row < 0)[:1].tolist(), names)}"
            elif self.uncorrelated:
                # Only its features are taken: what is uncorrelated is sought among them.
                why = ""
            elif np.abs(vectors @ row).max(initial=0.0) > NOT_ORTHOGONAL:
                why = "is not orthogonal to the vectors before it"
            if why:
                raise InputError(f"start: vector {k + 1} {why}")
            before.append(row[None])
        return tuple(np.flatnonzero(row) for row in rows)


#: Nothing beyond the sparsity, of any component.
NO_DEMANDS = Demands()


def _indices(features: Iterable[int]) -> IntArray:
    return np.array(sorted(features), dtype=np.intp)
