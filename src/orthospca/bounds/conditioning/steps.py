"""The record of a proof: steps of a walk, conditioned or by multipliers, in a few arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np

from orthospca._typing import IntArray
from orthospca.bounds.share.claim import Multipliers


@dataclass(frozen=True, eq=False)
class Step:
    """One node of the tree, in the order of a depth-first walk, the branch with the index first.

    Attributes
    ----------
    removed : integer array
        Indices ruled out at the level.
    branch : int
        The index branched on, or -1 if the node was closed: by conditioning, or by testing its
        supports one by one.
    forced : integer array
        Indices without which nothing reaches the level.  If there are any, the node has one child,
        in which they are included; none, if there are more of them than places.
    multipliers : Multipliers or None
        What the step rests on instead of conditioning.  It then removes some features or forces
        one, and what is left is the node of the next step, unless nothing is.
    """

    removed: IntArray
    branch: int = -1
    forced: IntArray = field(default_factory=lambda: np.arange(0))
    multipliers: Multipliers | None = None


@dataclass(frozen=True, eq=False)
class Tree(Sequence[Step]):
    """All steps of a walk; they are laid out when they are asked for.

    Attributes
    ----------
    branches : integer array
        Of each step.
    removed, forced : integer arrays
        What each step removes, and forces, one step after the other.
    removed_ends, forced_ends : integer arrays
        Where those of each step end.
    claims : integer array
        Which multipliers each step rests on, or -1.
    multipliers : tuple of Multipliers
    """

    branches: IntArray
    removed: IntArray
    removed_ends: IntArray
    forced: IntArray
    forced_ends: IntArray
    claims: IntArray
    multipliers: tuple[Multipliers, ...] = ()

    @classmethod
    def of(cls, steps: Iterable[Step]) -> Tree:
        """Return some steps as one tree."""
        steps = list(steps)
        removed, forced = ([getattr(s, name) for s in steps] for name in ("removed", "forced"))
        branches = _joined([np.array([step.branch for step in steps], dtype=np.intp)])
        # Several steps may rest on the same ones.
        used = {id(s.multipliers): s.multipliers for s in steps if s.multipliers is not None}
        places = {key: i for i, key in enumerate(used)}
        claims = np.array([places.get(id(step.multipliers), -1) for step in steps], dtype=np.intp)
        places_of = *_end_to_end(removed), *_end_to_end(forced)
        return cls(branches, *places_of, claims, tuple(used.values()))

    @classmethod
    def joined(cls, trees: Iterable[Tree]) -> Tree:
        """Return the steps of some trees, one after the other."""
        trees = [tree for tree in trees if len(tree)]
        if len(trees) == 1:
            return trees[0]
        removed, forced = (
            _shifted([(getattr(t, name), getattr(t, f"{name}_ends")) for t in trees])
            for name in ("removed", "forced")
        )
        shifts = np.cumsum([0, *(len(tree.multipliers) for tree in trees)])
        pairs = zip(trees, shifts, strict=False)
        claims = _joined([np.where(t.claims < 0, -1, t.claims + s) for t, s in pairs])
        multipliers = tuple(one for tree in trees for one in tree.multipliers)
        branches = _joined([tree.branches for tree in trees])
        return cls(branches, *removed, *forced, claims, multipliers)

    def __len__(self) -> int:
        return len(self.branches)

    @overload
    def __getitem__(self, i: int) -> Step: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[Step, ...]: ...
    def __getitem__(self, i: int | slice) -> Step | tuple[Step, ...]:
        """Return a step, or some of them."""
        if isinstance(i, slice):
            return tuple(self[j] for j in range(*i.indices(len(self))))
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        i %= len(self)
        removed = self.removed[self.removed_ends[i - 1] if i else 0 : self.removed_ends[i]]
        forced = self.forced[self.forced_ends[i - 1] if i else 0 : self.forced_ends[i]]
        claim = int(self.claims[i])
        multipliers = self.multipliers[claim] if claim >= 0 else None
        return Step(removed, int(self.branches[i]), forced, multipliers)

    def __iter__(self) -> Iterator[Step]:
        return (self[i] for i in range(len(self)))

    def embedded(self, places: IntArray) -> Tree:
        """Return the tree in terms of the features of which these were a part."""
        branches = np.full(len(self), -1, dtype=np.intp)
        chosen = self.branches >= 0
        branches[chosen] = places[self.branches[chosen]]
        return replace(
            self,
            branches=_joined([branches]),
            removed=_joined([places[self.removed]]),
            forced=_joined([places[self.forced]]),
            multipliers=tuple(
                replace(one, features=places[one.features]) for one in self.multipliers
            ),
        )


def _end_to_end(parts: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    return _joined(parts), np.cumsum([len(part) for part in parts], dtype=np.int64)


def _shifted(lists: Sequence[tuple[IntArray, IntArray]]) -> tuple[IntArray, IntArray]:
    """Lists that are end to end, and where each ends, in one."""
    shifts = np.cumsum([0, *(len(values) for values, _ in lists)])
    moved = [ends + shift for (_, ends), shift in zip(lists, shifts, strict=False)]
    return _joined([values for values, _ in lists]), _joined(moved, np.int64)


def _joined(parts: Sequence[IntArray], kind: type = np.int32) -> Any:
    return np.concatenate([np.zeros(0, dtype=kind), *parts]).astype(kind, copy=False)


#: A walk of no steps.
NO_STEPS = Tree.of(())


class StepLog:
    """Steps that are being taken, one at a time or many at once."""

    def __init__(self) -> None:
        self._trees: list[Tree] = []
        self._steps: list[Step] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, step: Step) -> None:
        """Take one."""
        self._steps.append(step)
        self._count += 1

    def extend(self, tree: Tree) -> None:
        """Take many."""
        self._close()
        self._trees.append(tree)
        self._count += len(tree)

    def _close(self) -> None:
        if self._steps:
            self._trees.append(Tree.of(self._steps))
            self._steps = []

    def tree(self) -> Tree:
        """Return all of them."""
        self._close()
        self._trees = [Tree.joined(self._trees)] if self._trees else []
        return self._trees[0] if self._trees else NO_STEPS
