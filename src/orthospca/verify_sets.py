"""Check certificates of lists of supports, and of sets of components as a whole.

A part of the checker ``verify.py``, which calls it, and with ``verify_ladder.py`` all that it needs
of the package.  ``docs/theory/trust.md`` derives every inequality used here.

A list says of some supports: *no other one reaches the level L*.  The argument is a ladder as that
of a component, but that it ends with a tree, which may end in supports listed.

A set says: *no such set of components, one orthogonal to the other, has a total variance above U*.
The argument is a matrix A with Q - A positive semidefinite, and for each sparsity a ladder of A:
``Σ xᵀQx ≤ tr(Q - A) + Σ xᵀAx`` for orthonormal x.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

#: No vector on a listed support has more than is said, up to this share of the largest entry.
LARGEST_EXCESS = 1e-9

Array = Any
# ``base`` is the module verify.py, whichever way it was loaded, and ``check`` its check.


def check_list(base: Any, check: Any, source: Any, limits: list[int], asked: Any) -> None:
    """Every support that is listed has its variance, and no other one reaches the level."""
    ladder, Rejected = base.ladder, base.Rejected
    n, claims = source.n, base._entry(check.manifest, "alternatives", dict)
    (p,) = limits
    count = base._entry(claims, "count", int)
    given = base._entry(claims, "previous", int)
    previous = ladder.numbers(check.arrays, "previous.npy", (given, n))
    for k, x in enumerate(previous):
        base.check_vector(x, previous[:k], n, f"previous component {k + 1}")
    if len(asked.previous) or asked.disjoint or asked.uncorrelated:
        raise Rejected("problem: of a list no more is asked than features in or out")
    X, F, E = asked.stage(0, previous, source)
    spent = ladder.used_up(X, F, E)
    p = min(p, n - len(spent))
    if count == 0:
        base.check_exhausted(p, X, F, E)
        check.proved.append(-math.inf)
        check.statement = f"no vector on {base._several(limits[0], 'feature')} is left"
        return
    tolerance = base._entry(claims, "tolerance", float)
    level, within = Fraction(base._entry(claims, "level", float)), Fraction(tolerance)
    variances = ladder.numbers(check.arrays, "list/variances.npy", (count,))
    loadings = ladder.numbers(check.arrays, "list/loadings.npy", (count, p))
    supports = ladder.Lists(check.arrays, "list/supports", n, count)
    listed: dict[tuple[int, ...], float] = {}
    best = -math.inf
    entries = np.abs(source.given) if source.formed else np.square(source.given).sum(axis=0)
    size = float(entries.max()) or 1.0
    for i, value in enumerate(variances.tolist()):
        ladder.check_time()
        where, T = f"support {i + 1}", tuple(supports[i].tolist())
        if len(T) != p or T in listed or not spent.isdisjoint(T):
            raise Rejected(f"{where}: {list(T)} is not one more choice of {p} features")
        if not F.issubset(T):
            raise Rejected(f"{where}: {list(T)} lacks what is included")
        x = np.zeros(n)
        x[supports[i]] = loadings[i]
        exact = base.check_component(source, x, previous, p, value, where, F, E)
        if exact < level:
            raise Rejected(f"{where}: {value!r} does not reach the level")
        best = max(best, exact)
        listed[T] = value + LARGEST_EXCESS * size
    if within < 0 or level > best - within * abs(best):
        raise Rejected(f"list: what is within {tolerance!r} of the best may be below it")

    def reach(T: tuple[int, ...], claimed: float) -> float:
        """How far a support may reach; a feature that is used up is in none that counts."""
        if len(T) == p and not spent.isdisjoint(T):
            return math.inf
        return listed.get(T, claimed)

    proof = ladder.Stage(source, X, F, E, reach)
    bounds = dict(check.ladder(proof, "stage-0", p, [], "list", listing=True))
    if not bounds.get(p, math.inf) <= level:
        raise Rejected(f"list: {float(level)!r} is claimed and only {bounds.get(p)!r} proved")
    check.proved.append(bounds[p])
    for i, (T, value) in enumerate(zip(listed, variances.tolist(), strict=True), start=1):
        features = ", ".join(str(j + 1) for j in T)
        check.said.append(f"support {i}: variance {base._shown(value, False)}, features {features}")
    # As it is written, so that 0.3 are 30 %.
    share = base._shown(100 * Fraction(repr(tolerance)), False)
    check.statement = (
        f"{base._several(count, 'support')} of {n} features{asked.words()} within {share} % of the "
        f"best variance; every other one is below {base._shown(bounds[p], True)}"
    )


def check_set(base: Any, check: Any, source: Any, limits: list[int], asked: Any) -> None:
    """Every component has its variance, and no set of that kind has more than the bound.

    For orthonormal x and M = Q - A ≥ 0, ``Σ xᵀMx ≤ tr M`` because ``Σ xxᵀ ≤ I``.
    """
    ladder, Rejected = base.ladder, base.Rejected
    if not source.formed:
        raise Rejected("problem: only of a matrix is a set certified as a whole")
    if asked.words():
        raise Rejected("problem: of a set no more is asked than sparsities")
    claims = base._entry(check.manifest, "joint", dict)
    values = base._entries(claims, "variances", float)
    upper = base._entry(claims, "upper_bound", float)
    if len(values) != len(limits):
        raise Rejected(f"problem: {len(limits)} components are asked for, not {len(values)}")
    components = ladder.numbers(check.arrays, "components.npy", (len(limits), source.n))
    for k, (x, p) in enumerate(zip(components, limits, strict=True)):
        base.check_component(source, x, components[:k], p, values[k], f"component {k + 1}")
    total = sum(map(Fraction, values), Fraction(0))
    form, proved = _adjusted(base, check, source)
    proof = ladder.Stage(form, np.zeros((source.n, 0)))
    for k, p in enumerate(sorted(set(limits))):
        bounds = dict(check.ladder(proof, f"stage-{k}", p, [], f"sparsity {p}"))
        if not abs(bounds.get(p, math.inf)) < math.inf:
            raise Rejected(f"sparsity {p}: nothing is proved")
        proved += limits.count(p) * Fraction(bounds[p])
    if not proved <= upper:
        raise Rejected(f"set: {upper!r} is claimed and only {rounded_up(proved)!r} proved")
    if total > upper:
        raise Rejected(f"set: {upper!r} is claimed and the components have {float(total)!r}")
    check.joint = (-rounded_up(-total), rounded_up(proved))
    check.said += [
        f"component {k + 1}: variance {base._shown(value, False)}" for k, value in enumerate(values)
    ]
    check.statement = (
        f"{base._several(len(limits), 'component')} of {source.n} features with a total variance "
        f"of {base._shown(total, False)}; no such set exceeds {base._shown(proved, True)}; "
        f"the gap is {base._percent(base._gap(total, proved))}"
    )


def _adjusted(base: Any, check: Any, source: Any) -> tuple[Any, Fraction]:
    """A, which is Q but for some features, with Q - A positive semidefinite; its trace."""
    ladder, Rejected, Q = base.ladder, base.Rejected, source.given
    at = ladder.integers(check.arrays, "joint/at.npy", 0, source.n - 1)
    if not (np.diff(at) > 0).all():
        raise Rejected("joint/at: features are not in order")
    block = ladder.numbers(check.arrays, "joint/block.npy", (len(at), len(at)), 1e150)
    if not (block == block.T).all():
        raise Rejected("joint/block: the matrix is not symmetric")
    difference = Q[np.ix_(at, at)] - block
    # The only rounding so far, and relative to what came out.
    radius = ladder.UNIT * float(np.abs(difference).max(initial=0))
    if not ladder.is_positive_definite(difference, radius):
        raise Rejected("joint/block: the matrix is not proved to be below the one in question")
    A = Q.copy()
    A[np.ix_(at, at)] = block
    pairs = zip(Q.diagonal()[at].tolist(), block.diagonal().tolist(), strict=True)
    trace = sum((Fraction(q) - Fraction(a) for q, a in pairs), Fraction(0))
    return ladder.Source(A, "matrix", source.count + 1), trace


def rounded_up(exact: Fraction) -> float:
    """Return the least double that is not below a number."""
    nearest = float(exact)
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)


CHECKS = {"alternatives": check_list, "joint": check_set}
