"""First-order method for the convex relaxation behind the certified bounds.

The relaxation (docs/theory) is, for allowed variables ``0..n-1`` of which ``F`` are forced in,

    max <Q, X>   X psd, tr X = 1, range(X) inside range(basis)
                 |X_ij| <= Y_ij (i != j), Y_ii = X_ii, Y <= Diag(z) in the Loewner order
                 sum_j Y_ij^2 <= X_ii z_i for every i
                 0 <= z <= 1, z_F = 1, sum z = sparsity

and every feasible point of its dual (:class:`Multipliers`) proves an upper bound on the sparse
eigenvalue problem, whether or not the method that produced it has converged.  The method is a
consensus ADMM: one copy of the variables for each convex set, each projected on its set, and a
closed-form consensus step that is separable over the pairs (i, j).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from orthospca._typing import Array, ArrayLike, BoolArray
from orthospca.bounds.relaxation.multipliers import Multipliers
from orthospca.bounds.relaxation.splitting import SMALLEST_S, Splitting, State, first_state

__all__ = ["Multipliers", "Relaxation", "State", "dual_bound", "solve_relaxation"]

# The last iteration of a cycle eigendecomposes exactly and evaluates the dual bound; the others
# update the last eigendecompositions to first order, except at the start, where everything moves
# too fast for that.
_CYCLE = 6
_EXACT_COLD_START = 8
_EXACT_WARM_START = 2
# Iterations of a cold start after which the penalty is balanced: more often would set off
# oscillations.  Warm starts keep theirs, because their first residuals mislead and a bad penalty
# would be handed down a whole branch of a search.
_BALANCE_AT = (12, 24, 48, 96, 192)
# Cycles before a run may be given up as stalled above its target.
_PATIENCE_COLD = 6
_PATIENCE_WARM = 4
_PATIENCE_TO_BEAT = 12


@dataclass(frozen=True)
class Relaxation:
    """What :func:`solve_relaxation` found.

    Attributes
    ----------
    bound : float
        The bound that `multipliers` prove (a floating-point estimate of it).
    multipliers : Multipliers
        The best of the run.
    z : (n,) array
        The relaxed indicator of the support, in [0, 1].
    direction : (n,) array
        Leading eigenvector of the primal ``X``, a start for rounding.
    state : State
        For a warm start.
    iterations : int
        Iterations done.
    converged : bool
        Whether the run ended because `target` was reached or progress was exhausted, as opposed
        to a limit.
    """

    bound: float
    multipliers: Multipliers
    z: Array
    direction: Array
    state: State
    iterations: int
    converged: bool


def dual_bound(
    Q: Array,
    sparsity: int,
    multipliers: Multipliers,
    *,
    included: ArrayLike | None = None,
    basis: Array | None = None,
) -> float:
    """Return the bound ``lambda* + sum_F c + (sum of the r largest free c)``.

    ``lambda*`` is the largest eigenvalue of ``multipliers.matrix(Q)`` on the range of `basis`.
    The value is an estimate in floating point, not yet a rigorous bound.
    """
    forced = _forced(included, len(Q))
    return _largest_eigenvalue(multipliers.matrix(Q, sparsity, forced), basis) + _price(
        multipliers.costs(), sparsity, forced
    )


def _forced(included: ArrayLike | None, n: int) -> BoolArray:
    forced = np.zeros(n, dtype=bool)
    if included is not None:
        forced[np.asarray(included, dtype=np.intp)] = True
    return forced


def _price(costs: Array, sparsity: int, forced: BoolArray) -> float:
    """Return the largest total cost of a support: all of F and the r dearest free variables."""
    room = sparsity - int(forced.sum())
    free = np.sort(costs[~forced])
    return float(costs[forced].sum() + free[max(len(free) - room, 0) :].sum())


def _largest_eigenvalue(M: Array, basis: Array | None) -> float:
    if basis is not None:
        M = basis.T @ M @ basis
    n = len(M)
    if n == 0:
        return -np.inf
    # For one eigenvalue the subset driver beats a full eigvalsh by a factor of about two, but it
    # gives up on a few matrices.
    with suppress(np.linalg.LinAlgError):
        largest = eigh(
            M, eigvals_only=True, subset_by_index=(n - 1, n - 1), driver="evr", check_finite=False
        )
        return float(largest[0])
    return float(np.linalg.eigvalsh(M)[-1])


def solve_relaxation(
    Q: Array,
    sparsity: int,
    *,
    scale: float,
    included: ArrayLike | None = None,
    basis: Array | None = None,
    target: float = -np.inf,
    beat: float = np.inf,
    state: State | None = None,
    max_iterations: int = 300,
    should_stop: Callable[[], bool] | None = None,
) -> Relaxation:
    """Solve the relaxation approximately and return the best dual point met.

    Parameters
    ----------
    Q : (n, n) array
        Symmetric, possibly indefinite.
    sparsity : int
        Largest size of a support, forced variables included.
    scale : float
        Positive magnitude of the optimum, usually the incumbent's value; the method works on
        ``Q / scale``.
    included : array of int, optional
        Positions forced into the support; at most `sparsity` of them.
    basis : (n, d) array, optional
        Orthonormal basis of the directions allowed.
    target : float
        Stop as soon as the bound is at most this, or once it seems out of reach.
    beat : float
        A bound that is known already: as long as it has not been beaten, an unreachable target is
        a reason to give up only after `_PATIENCE_TO_BEAT` cycles.
    state : State, optional
        Warm start.
    max_iterations : int
        Limit on the iterations.
    should_stop : callable, optional
        Polled now and then; the best so far is returned once it says True.

    Returns
    -------
    Relaxation
        Its multipliers are feasible however early the run ended.
    """
    n = len(Q)
    forced = _forced(included, n)
    if forced.sum() > sparsity:
        raise ValueError(f"{forced.sum()} included variables exceed the sparsity {sparsity}.")
    sparsity = min(sparsity, n)
    zero = np.zeros((n, n))
    best = Multipliers(zero, zero, np.full(n, SMALLEST_S * scale), zero)
    bound = dual_bound(Q, sparsity, best, included=included, basis=basis)
    first = state or first_state(Q, sparsity, scale)
    splitting = Splitting(Q, sparsity, forced, basis, first, scale)
    exact_start = _EXACT_COLD_START if state is None else _EXACT_WARM_START
    patience = _PATIENCE_COLD if state is None else _PATIENCE_WARM
    history: list[float] = []
    iteration = 0
    # Where every variable may be in the support the eigenvalue bound is the optimum.
    converged = bound <= target or sparsity == n
    while not converged and iteration < max_iterations:
        iteration += 1
        cycle_ends = iteration % _CYCLE == 0
        measure = cycle_ends or iteration in (exact_start, max_iterations)
        splitting.step(exact=measure or iteration <= exact_start, measure=measure)
        if not measure:
            continue
        multipliers = splitting.multipliers()
        value = dual_bound(Q, sparsity, multipliers, included=included, basis=basis)
        if value < bound:
            bound, best = value, multipliers
        converged = bound <= target
        if should_stop is not None and should_stop():
            break
        if cycle_ends:
            history.append(bound)
            tired = len(history) >= (patience if bound < beat else _PATIENCE_TO_BEAT)
            stalled = tired and _out_of_reach(history, target)
            converged = converged or stalled or splitting.has_converged()
            if state is None and iteration in _BALANCE_AT:
                splitting.balance()
    if iteration == 0:
        splitting.step(exact=True, measure=False)
    z = np.clip(splitting.z, 0.0, 1.0)
    direction = splitting.spectraplex.U[:, -1].copy()
    return Relaxation(bound, best, z, direction, splitting.state(), iteration, converged)


def _out_of_reach(history: list[float], target: float) -> bool:
    """Tell whether the bound will stay above a (finite) target.

    Bounds that fall like ``limit + constant / iterations`` will lose once more what they lost in
    the second half of the run.  Giving up a little too early only costs a branching.
    """
    last = history[-1]
    loss = history[max(len(history) // 2 - 1, 0)] - last
    return target > -np.inf and last - loss > target
