"""Forged certificates of what is asked beyond a sparsity: one thing is false in each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from helpers.certificates import Draft, Rung, forge
from helpers.exact import stated
from helpers.joint import small_set
from helpers.lists import list_of, with_one_more

SINGLE, SIEVE, CAP, SUMS = range(4)
#: Far above every variance here.
HIGH = 30.0
Q = np.array(
    [[4.0, 1.0, 0.5, 0.0], [1.0, 3.0, -0.5, 0.2], [0.5, -0.5, 2.0, 0.3], [0.0, 0.2, 0.3, 1.0]]
)
ONE = np.eye(4)


def asked(draft: Draft, vectors: Any = None, **problem: Any) -> Draft:
    """The same certificate as an answer to another question."""
    draft = draft.copy()
    draft.manifest["problem"] |= problem
    if vectors is not None:
        draft.manifest["problem"]["previous"] = len(vectors)
        draft.arrays["previous.npy"] = np.array(vectors, dtype=float)
    return draft


def stages(
    rows: Any,
    limits: list[int],
    ladders: list[list[Rung]] | None = None,
    uppers: Any = (),
    exhausted: bool = False,
) -> Draft:
    """Components of Q; without ladders the bounds are so high that nothing is said."""
    rows = np.array(rows, dtype=float).reshape(-1, 4)
    if ladders is None:
        ladders = [[Rung(SUMS, HIGH)] * p for p, _ in zip(limits, rows, strict=False)]
    bounds = [*uppers, *[HIGH] * (len(rows) - len(uppers))]
    claims = [(stated(Q, x), upper) for x, upper in zip(rows, bounds, strict=True)]
    return forge(Q, limits, rows, claims, ladders, exhausted=exhausted)


def forged_questions() -> Iterator[tuple[str, Draft]]:
    """Certificates with demands that the checker must refuse."""
    one = stages(ONE[2:3], [2])
    two = stages(ONE[[2]], [2, 2])
    both = stages(ONE[[2, 3]], [2, 2])
    yield from _that_make_no_sense(one, two)
    yield from _of_components()
    yield from _of_bounds()
    yield from _of_relations(both)
    yield from _of_lists_and_sets()


def _that_make_no_sense(one: Draft, two: Draft) -> Iterator[tuple[str, Draft]]:
    for name in ("include", "exclude"):
        for lists in ([[]] * 2, [], [[1, 0]], [[1, 1]], [[-1]], [[-2]], [[4]], [[True]], [0], "0"):
            yield f"{name} {lists}", asked(one, **{name: lists})
    for features in ([0, 1, 3], [1, 2, 3]):
        # Of a component that is not there nothing is claimed, and it cannot be asked for.
        yield f"include {features} later", asked(two, include=[[], features])
    yield "include and exclude later", asked(two, include=[[], [1]], exclude=[[], [1]])
    yield "include and exclude", asked(one, include=[[1]], exclude=[[1]])
    for length in (0.0, 0.49, 2.01, 1e-13):
        yield f"a vector of length {length}", asked(one, vectors=length * ONE[:1])
    for relation in ("parallel", "orthogonal", "", None, ["disjoint"]):
        yield f"relation {relation}", asked(one, relation=relation)
    for value in (False, 1, 0, None, "true"):
        yield f"nonnegative {value}", asked(one, nonnegative=value)
    yield "a negative vector", asked(one, vectors=-ONE[:1], nonnegative=True)
    yield "signs and scores", asked(one, nonnegative=True, relation="uncorrelated")
    B = np.diag([2.0, 1.0])
    data = forge(B, [1], np.eye(2)[:1], [(4.0, 5.0)], [[Rung(SINGLE, 5.0)]], "factor")
    yield "signs of data", asked(data, nonnegative=True)
    yield "scores of data", asked(data, relation="uncorrelated")
    for lists in ([[2]], [[-1]], [[0, 0]]):
        yield f"of data, exclude {lists}", asked(data, exclude=lists)


def _of_components() -> Iterator[tuple[str, Draft]]:
    pair = stages(math.sqrt(0.5) * (ONE[2:3] + ONE[3:4]), [2])
    yield "without what is included", asked(pair, include=[[0]])
    yield "with what is excluded", asked(pair, exclude=[[3]])
    yield "not orthogonal to a vector before", asked(pair, vectors=ONE[2:3])
    for x in (-ONE[2], math.sqrt(0.5) * (ONE[2] - ONE[3])):
        yield f"negative {x}", asked(stages([x], [2]), nonnegative=True)
    # Of disjoint ones: what another has, or has to have.
    rows = math.sqrt(0.5) * np.array([[0, 0, 1.0, 1.0], [0, 0, 1.0, -1.0]])
    yield "not disjoint", asked(stages(rows, [2, 2]), relation="disjoint")
    yield "not disjoint, non-negative", asked(stages(np.abs(rows), [2, 2]), nonnegative=True)
    yield "not disjoint from a vector", asked(stages(rows[:1], [2]), rows[1:], relation="disjoint")
    taken = asked(stages(ONE[2:3], [2, 2]), include=[[], [2]], relation="disjoint")
    yield "what a later one has to have", taken
    # Orthogonal, and correlated.
    yield "correlated", asked(stages(ONE[:2], [1, 1]), relation="uncorrelated")
    yield "correlated with a vector", asked(stages(ONE[1:2], [1]), ONE[:1], relation="uncorrelated")


def _of_bounds() -> Iterator[tuple[str, Draft]]:
    # The first rung is of what is included, and below what it has.
    for F, truth in (([0], 4.0), ([0, 1], 0.5 * (7 + math.sqrt(5)))):
        x = ONE[F[0]]
        low = 0.9 * truth
        for kind in (SINGLE, SUMS, CAP):
            ladder = [Rung(kind, low)]
            draft = stages([0 * x + ONE[3]], [len(F) + 1], [ladder], [low])
            yield f"{F} below {low} by {kind}", asked(draft, include=[F])
        for bound in (-math.inf, low):
            alone = stages([x], [len(F)], [[Rung(SINGLE, bound)]], [max(low, 4.0)])
            yield f"{F} alone below {bound}", asked(alone, include=[F])
            tree = ((-1, (), ()),)
            for kept in ((0, 1, 2, 3), (1, 2, 3), (2, 3), (0, 1)):
                last = Rung(SIEVE, low, low, kept, tree)
                draft = stages([ONE[3]], [len(F) + 1], [[Rung(SINGLE, bound), last]], [low])
                yield f"{F}, {bound}, {kept} kept", asked(draft, include=[F])
    # A feature that must be in is not ruled out, however small it is.
    little = [Rung(SINGLE, 1.01), Rung(SIEVE, 3.0, 3.0, (), ())]
    yield "included and ruled out", asked(stages([ONE[3]], [2], [little], [3.0]), include=[[3]])
    for kept, level in (((0,), 3.0), ((0,), 3.5), ((1,), 3.0), ((2,), 3.0), ((0, 1, 2), 3.0)):
        for tree in ((), ((-1, kept, ()),), ((-1, (), ()),)):
            little = [Rung(SINGLE, 1.01), Rung(SIEVE, level, level, kept, tree)]
            draft = asked(stages([ONE[3]], [2], [little], [level]), include=[[3]])
            yield f"included and ruled out, {kept} kept {level} {len(tree)}", draft
    # More than the features that are left have, less than all have.
    for kind in (SINGLE, SUMS):
        draft = stages([ONE[3]], [1], [[Rung(kind, 3.5)]], [3.5])
        yield f"excluded later by {kind}", asked(draft, exclude=[[1]])
    # A bound of a stage that asks for more, or for something else.
    ladders = [[Rung(SUMS, 3.5)], [Rung(CAP, 3.5)]]
    for first, second in (([0], []), ([0], [1]), ([0, 1], [1])):
        for given in (ladders, ladders[:1]):
            draft = stages(ONE[[3, 2]], [1, 1], given, [3.5, 3.5])
            name = f"a bound of another question {first} {second} {len(given)}"
            yield name, asked(draft, exclude=[first, second])
    whole = Rung(SIEVE, 4.2, 4.2, (0, 1, 2, 3), ((-1, (), ()),))
    ladders = [[Rung(SINGLE, 1.01), whole], [Rung(SUMS, 4.5), Rung(CAP, 4.2)]]
    for given in (ladders, ladders[:1]):
        draft = stages(ONE[[3, 2]], [2, 2], given, [4.2, 4.2])
        yield f"a bound with another included {len(given)}", asked(draft, include=[[3], []])
    # Nothing is left, it is said.
    for vectors, more in ((ONE[:1], {}), (ONE[:2], {"include": [[], [2]]}), (None, {})):
        draft = stages(ONE[2:3], [1, 2], exhausted=True)
        yield f"exhausted {more} {vectors is None}", asked(draft, vectors, **more)
    draft = stages(ONE[2:3], [1, 1], exhausted=True)
    yield "exhausted but for what is excluded", asked(draft, exclude=[[], [0, 1]])
    yield "exhausted, disjoint", asked(draft, relation="disjoint", exclude=[[], [0, 1]])
    yield "exhausted, uncorrelated", asked(draft, relation="uncorrelated")
    # What is included leaves nothing feasible, it is said.
    never = [Rung(SINGLE, -math.inf), Rung(SIEVE, 1.5, 1.5, (3,), ())]
    draft = stages([ONE[3]], [2], [never], [1.5])
    for vectors in (ONE[:1], 0.5 * (ONE[:1] + ONE[1:2]), 0.5 * (ONE[2:3] + ONE[1:2])):
        yield f"nothing with what is included {vectors}", asked(draft, vectors, include=[[2]])


def _of_relations(both: Draft) -> Iterator[tuple[str, Draft]]:
    # The second ladder is true of what the relation leaves, and not of what is asked.
    half = math.sqrt(0.5)
    first = [Rung(SUMS, HIGH)] * 2
    for bound in (1.2, 2.4, 3.2, 3.9):
        for rows in (ONE[[0, 3]], np.array([[half, half, 0, 0], [0, 0, 0, 1]])):
            ladder = [Rung(SINGLE, bound), Rung(SUMS, bound)]
            draft = stages(rows, [2, 2], [first, ladder], [HIGH, bound])
            for relation in ("disjoint", "uncorrelated"):
                yield f"{relation} below {bound} {rows[0]}", asked(draft, relation=relation)
            yield f"non-negative below {bound} {rows[0]}", asked(draft, nonnegative=True)
    yield "related in two ways", asked(both, relation="disjoint", nonnegative=False)


def _of_lists_and_sets() -> Iterator[tuple[str, Draft]]:
    many = list_of(Q, 2, 0.5)
    for more in ({"relation": "disjoint"}, {"relation": "uncorrelated"}, {"nonnegative": True}):
        yield f"a list {more}", asked(many, **more)
    later = list_of(Q, 2, 0.5, previous=ONE[3:])
    yield "a list after vectors", asked(later, previous=1)
    yield "a list without a feature", asked(many, exclude=[[0]])
    yield "a list with a feature", asked(many, include=[[0]])
    # A support that lacks what is included, with a vector that leaves room for it.
    spare = list_of(np.diag([3.0, 1.0, 1.0]), 2, 0.9, include=[1])
    lacking = with_one_more(spare, [0, 2])
    lacking.arrays["list/loadings.npy"][-1] = [1.0, 0.0]
    lacking.arrays["list/variances.npy"][-1] = 3.0
    yield "a list of one that lacks what is included", lacking
    for more in ({"exclude": [[0], [0]]}, {"include": [[0], []]}, {"relation": "disjoint"}):
        yield f"a set {more}", asked(small_set(), **more)
    yield "a set of signs", asked(small_set(), nonnegative=True)
