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
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh

from orthospca._typing import Array, ArrayLike, BoolArray
from orthospca.sums import row_sums

__all__ = ["Multipliers", "Relaxation", "State", "dual_bound", "solve_relaxation"]

_OVER_RELAXATION = 1.7
# Weights of the row cones and of the capped simplex relative to the two matrix cones.
_ROW_WEIGHT = 0.3
_CAP_WEIGHT = 0.3
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
_RESIDUAL_TOLERANCE = 1e-6
_TINY = 1e-14


@dataclass(frozen=True)
class Multipliers:
    """A feasible point of the dual: a proof of an upper bound.

    Attributes
    ----------
    W : (n, n) array
        Positive semidefinite.
    A : (n, n) array
        Any real matrix; row ``i`` is ``a_i``.
    s : (n,) array
        Positive.
    N : (n, n) array
        Symmetric, ``|N_ij| <= W_ij + A_ij + A_ji`` off the diagonal, ``N_ii = W_ii + 2 A_ii``.
    """

    W: Array
    A: Array
    s: Array
    N: Array

    def matrix(self, Q: Array, sparsity: int, inside: BoolArray) -> Array:
        """Return ``M = Q - N + Diag(r_i / s_i)``.

        ``r_i`` is the largest ``||a_i restricted to T||^2`` over the supports T that contain i and
        the variables forced in (`inside`): y lives on T, so no other entry of a_i counts.
        """
        M = Q - self.N
        M.flat[:: len(M) + 1] += row_sums(self.A * self.A, inside, sparsity) / self.s
        return M

    def costs(self) -> Array:
        """Return ``c_i = W_ii + s_i``, the price of having variable ``i`` in the support."""
        return self.W.diagonal() + self.s

    def restrict(self, keep: ArrayLike) -> Multipliers:
        """Return the multipliers of the variables at positions `keep`; they stay feasible."""
        keep = np.asarray(keep, dtype=np.intp)
        block = np.ix_(keep, keep)
        return Multipliers(self.W[block], self.A[block], self.s[keep], self.N[block])


@dataclass(frozen=True)
class State:
    """Everything a warm start needs: for every copy the sum "consensus + scaled multiplier".

    Attributes
    ----------
    X, P, Y : (n, n) arrays
        For the copies of ``X``, of ``P = Diag(z) - Y`` and of the rows of ``Y``.
    x, z, cap : (n,) arrays
        For the copies of ``diag X`` and ``z`` in the cones, and of ``z`` in the capped simplex.
    penalty : float
        The penalty parameter, in the units of `Q`.
    """

    X: Array
    P: Array
    Y: Array
    x: Array
    z: Array
    cap: Array
    penalty: float

    def restrict(self, keep: ArrayLike) -> State:
        """Return the state of the subproblem on the positions `keep`."""
        keep = np.asarray(keep, dtype=np.intp)
        return self._map(lambda a: a[keep] if a.ndim == 1 else a[np.ix_(keep, keep)])

    def expand(self, positions: ArrayLike, size: int) -> State:
        """Return the state of a larger problem whose variables `positions` are the old ones.

        The new variables start outside the support.  Their entries of `X` and `P` are NaN, which
        stands for the multipliers ``N = Q`` and ``W = |Q|`` on their rows: these decouple them
        from the old ones, and are filled in by the run that starts here.
        """
        positions = np.asarray(positions, dtype=np.intp)

        def embed(old: Array, fill: float = 0.0) -> Array:
            new = np.full((size,) * old.ndim, fill)
            new[positions if old.ndim == 1 else np.ix_(positions, positions)] = old
            return new

        return replace(self._map(embed), X=embed(self.X, np.nan), P=embed(self.P, np.nan))

    def _map(self, change: Callable[[Array], Array]) -> State:
        return State(
            change(self.X),
            change(self.P),
            change(self.Y),
            change(self.x),
            change(self.z),
            change(self.cap),
            self.penalty,
        )


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


class _SpectralProjection:
    """Projection of a slowly changing symmetric matrix on the psd cone or on the spectraplex.

    The spectraplex (psd, trace one, range inside the basis) is the positive part of the matrix
    minus a shift.  `exact` eigendecomposes.  `update` reuses the eigenvectors U of the last exact
    call: where ``B = U'VU`` has diagonal d and is otherwise small, the positive part of B is to
    first order B itself on the block d_i, d_j > 0, zero on the block d_i, d_j <= 0, and
    ``B_ij d_i / (d_i - d_j)`` for d_i > 0 >= d_j.  That takes a few matrix products, a fraction
    of the time of an eigendecomposition, and does not slow the convergence of the outer method.
    """

    def __init__(self, basis: Array | None, *, spectraplex: bool) -> None:
        self.basis, self.spectraplex = basis, spectraplex
        self.U = np.empty((0, 0))

    def exact(self, V: Array) -> Array:
        if self.basis is None:
            d, self.U = np.linalg.eigh(V)
        else:
            d, U = np.linalg.eigh(self.basis.T @ V @ self.basis)
            self.U = self.basis @ U
        if self.spectraplex:
            d -= _simplex_shift(d)
        first = int(np.searchsorted(d, 0.0, side="right"))
        U = self.U[:, first:]
        return np.asarray((U * d[first:]) @ U.T)

    def update(self, V: Array) -> Array:
        U = self.U
        VU = V @ U
        d = np.einsum("ij,ij->j", U, VU)
        shift = 0.0
        if self.spectraplex:
            shift = _simplex_shift(np.sort(d))
            d -= shift
        # Columns keep the order of the last exact call: one that changed sign out of order is
        # near zero, and the next exact call sets it right.
        first = len(d) - int(np.count_nonzero(d > 0))
        plus, minus, sign = slice(first, None), slice(None, first), 1.0
        # The smaller part is the cheaper one: max(V, 0) = V + max(-V, 0).
        flip = not self.spectraplex and 2 * first < len(d)
        if flip:
            plus, minus, sign = minus, plus, -1.0
            d = -d
        B = (sign * U[:, plus].T) @ VU
        d_plus, d_minus = np.maximum(d[plus], 1e-300)[:, None], np.minimum(d[minus], 0.0)
        B[:, minus] *= d_plus / (d_plus - d_minus)
        B[:, plus] *= 0.5
        half = B @ U.T - (0.5 * shift) * U[:, plus].T
        R = U[:, plus] @ half
        R = R + R.T
        if flip:
            R += V
        return np.asarray(R)


def _simplex_shift(ascending: Array) -> float:
    """Return t with ``sum(max(values - t, 0)) = 1``."""
    descending = ascending[::-1]
    shifts = (np.cumsum(descending) - 1.0) / np.arange(1, len(descending) + 1)
    return float(shifts[np.count_nonzero(descending > shifts) - 1])


def _clip_to_capped_simplex(values: Array, total: float, shift: float) -> tuple[Array, float]:
    """Project on ``{0 <= z <= 1, sum z = total}``: return ``clip(values - t, 0, 1)`` and t.

    Newton's method from `shift`, the answer to a similar question; bisection if that fails.
    """
    for _ in range(8):
        clipped = np.minimum(np.maximum(values - shift, 0.0), 1.0)
        surplus = float(clipped.sum()) - total
        if abs(surplus) < 1e-13 * len(values):
            return clipped, shift
        slope = np.count_nonzero((clipped > 0.0) & (clipped < 1.0))
        if slope == 0:
            break
        shift += surplus / slope
    low, high = float(values.min()) - 1.0, float(values.max())
    for _ in range(60):
        shift = (low + high) / 2
        clipped = np.minimum(np.maximum(values - shift, 0.0), 1.0)
        if clipped.sum() > total:
            low = shift
        else:
            high = shift
    return clipped, shift


def _square(a: Array) -> float:
    return float(np.vdot(a, a))


def _first_state(Q: Array, sparsity: int, scale: float) -> State:
    """Return a cold start: the flat feasible point, with the multipliers N = Q and W = |Q|."""
    n = len(Q)
    # A strong diagonal (correlations) wants a stiffer penalty than a few strong variables.
    trace = float(np.abs(Q.diagonal()).sum()) / scale
    penalty = 0.1 * scale * float(np.clip(trace, 1.5, 17.0)) ** 0.75
    X, z = np.eye(n) / n, np.full(n, sparsity / n)
    P = (sparsity - 1) * X + np.abs(Q) / penalty
    return State(X + Q / penalty, P, X, z / sparsity, z, z, penalty)


class _Splitting:
    """The consensus ADMM, in Douglas-Rachford form, on ``Q / scale``.

    There are six copies: X in the spectraplex, P = Diag(z) - Y in the psd cone, the rows of Y,
    diag X and z in the rotated cones, z in the capped simplex.  For each, `sums` holds the
    consensus point plus the scaled multiplier; the consensus point is a function of the sums.
    The inner product counts Y twice, as it enters the cones through ``2 a_i' y_i``, and weighs
    diag X and z reciprocally, because in a support of p variables x is of the order of z / p.
    """

    def __init__(
        self,
        Q: Array,
        sparsity: int,
        forced: BoolArray,
        basis: Array | None,
        state: State,
        scale: float,
    ) -> None:
        self.Q, self.scale = Q / scale, scale
        self.free = np.flatnonzero(~forced)
        self.room = sparsity - int(forced.sum())
        self.skew = float(np.sqrt(sparsity))
        w = _ROW_WEIGHT
        self.weights = (1.0, 1.0, 2 * w, w * self.skew**2, w / self.skew**2, _CAP_WEIGHT)
        self.shift = 0.0
        self.spectraplex = _SpectralProjection(basis, spectraplex=True)
        self.psd = _SpectralProjection(None, spectraplex=False)
        self.penalty = state.penalty / scale
        X = np.where(np.isnan(state.X), self.Q / self.penalty, state.X)
        P = np.where(np.isnan(state.P), np.abs(self.Q) / self.penalty, state.P)
        self.sums = [X, P, *(a.copy() for a in (state.Y, state.x, state.z, state.cap))]
        self._agree()

    def state(self) -> State:
        """Return the iterates, without copying them."""
        X, P, Y, x, z, cap = self.sums
        return State(X, P, Y, x, z, cap, self.penalty * self.scale)

    def has_converged(self) -> bool:
        """Tell whether neither the copies nor the consensus point move any more."""
        return max(self.primal, self.dual) < _RESIDUAL_TOLERANCE**2

    def balance(self) -> None:
        """Set the penalty so that the copies and the consensus point move equally fast."""
        ratio = float(np.clip(np.sqrt(self.primal / max(self.dual, 1e-300)), 0.2, 5.0))
        if 1 / 1.2 < ratio < 1.2:
            return
        # The multipliers themselves, penalty * (sum - consensus), stay what they are.
        for total, point in zip(self.sums, self._points(self.X, self.Y, self.z), strict=True):
            total += (1 / ratio - 1) * (total - point)
        self.penalty *= ratio

    def _points(self, X: Array, Y: Array, z: Array) -> tuple[Array, ...]:
        slack = -Y
        slack.flat[:: len(z) + 1] += z
        return X, slack, Y, X.diagonal(), z, z

    def _norm(self, moves: tuple[Array, ...]) -> float:
        return sum(w * _square(move) for w, move in zip(self.weights, moves, strict=True))

    def _agree(self) -> None:
        """Consensus: the weighted least-squares point with |X_ij| <= Y_ij and Y_ii = X_ii."""
        sX, sP, sY, sx, sz, sc = self.sums
        _, _, w_Y, w_x, w_z, w_c = self.weights
        # Off the diagonal: the mean of the copies of Y_ij; if |X_ij| exceeds it, both meet.
        Y = sY + sY.T
        Y *= w_Y / 2
        Y -= sP
        Y /= 1 + w_Y
        meet = np.abs(sX)
        meet -= Y
        meet /= 2 + w_Y
        np.maximum(meet, 0.0, out=meet)
        Y += meet
        np.maximum(Y, 0.0, out=Y)
        X = np.minimum(sX, Y)
        np.negative(Y, out=meet)
        np.maximum(X, meet, out=X)
        # On the diagonal: two normal equations for X_ii = Y_ii and z_i.
        p = sP.diagonal()
        right_x = sX.diagonal() - p + w_Y * sY.diagonal() + w_x * sx
        right_z = p + w_z * sz + w_c * sc
        on_x, on_z = 2 + w_Y + w_x, 1 + w_z + w_c
        x = (on_z * right_x + right_z) / (on_x * on_z - 1)
        X.flat[:: len(x) + 1] = x
        Y.flat[:: len(x) + 1] = x
        self.X, self.Y, self.z = X, Y, (right_x + on_x * right_z) / (on_x * on_z - 1)

    def step(self, *, exact: bool, measure: bool) -> None:
        """Project every copy on its set, then move the sums and the consensus point.

        `measure` also records the residuals and the multipliers, read at the projections, where
        they lie in their cones; for that the projections have to be `exact`.
        """
        sX, sP, sY, sx, sz, sc = self.sums
        X, Y, z = self.X, self.Y, self.z
        points = self._points(X, Y, z)
        slack, x = points[1], points[3]

        V = X + X
        V -= sX
        V += self.Q / self.penalty
        new_X = self.spectraplex.exact(V) if exact else self.spectraplex.update(V)

        # V is minus the matrix to project: the positive part of V is what projecting cuts off.
        V = sP - slack
        V -= slack
        W = self.psd.exact(V) if exact else self.psd.update(V)
        new_P = W - V

        # The rotated cones ||y_i||^2 <= x_i z_i, turned into t >= ||(sqrt(2) y_i, d)||.
        rows = Y + Y
        rows -= sY
        to_x, to_z = self.skew * np.sqrt(0.5), np.sqrt(0.5) / self.skew
        v_x, v_z = to_x * (2 * x - sx), to_z * (2 * z - sz)
        t, d = v_x + v_z, v_x - v_z
        radius = np.sqrt(2 * np.einsum("ij,ij->i", rows, rows) + d * d)
        shrink = np.minimum(np.maximum((1 + t / np.maximum(radius, 1e-300)) / 2, 0.0), 1.0)
        t = np.where(radius <= t, t, np.maximum(t + radius, 0.0) / 2)
        d = d * shrink
        new_x, new_z = (t + d) * to_z, (t - d) * to_x

        new_c = np.ones(len(z))
        new_c[self.free] = 0.0
        if self.room > 0:
            values = (2 * z - sc)[self.free]
            new_c[self.free], self.shift = _clip_to_capped_simplex(values, self.room, self.shift)

        if measure:
            unit = self.penalty * self.scale
            self.W = unit * W
            self.A = rows * ((_ROW_WEIGHT * unit) * (1 - shrink))[:, None]
            self.s = (self.weights[4] * unit) * (new_z - (2 * z - sz))
            self.N = unit * (sX + new_X - X)
        rows *= shrink[:, None]
        moves = (new_X, new_P, rows, new_x, new_z, new_c)
        for move, point in zip(moves, points, strict=True):
            move -= point
        if measure:
            self.primal = self._norm(moves)
        for total, move in zip(self.sums, moves, strict=True):
            move *= _OVER_RELAXATION
            total += move
        self._agree()
        if measure:
            self.dual = self._norm(self._points(self.X - X, self.Y - Y, self.z - z))

    def multipliers(self) -> Multipliers:
        """Repair the multipliers of the last measured step to a feasible dual point.

        A is raised where ``W + A + A'`` is negative, N is clipped to it, and s, whose best value
        is ``||a_i|| sqrt(X_ii / z_i)``, is kept away from zero.
        """
        diagonal = slice(None, None, len(self.z) + 1)
        W = (self.W + self.W.T) / 2
        room = self.A + self.A.T
        room += W
        lack = np.minimum(room, 0.0)
        lack.flat[diagonal] = 0.0
        room -= lack
        lack *= 0.5
        A = self.A - lack
        norms = np.sqrt(np.einsum("ij,ij->i", A, A))
        s = np.maximum(self.s, 0.1 * norms + _TINY * self.scale)
        N = (self.N + self.N.T) / 2
        np.minimum(N, room, out=N)
        np.maximum(N, -room, out=N)
        N.flat[diagonal] = W.diagonal() + 2 * A.diagonal()
        return Multipliers(W, A, s, N)


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
    best = Multipliers(zero, zero, np.full(n, _TINY * scale), zero)
    bound = dual_bound(Q, sparsity, best, included=included, basis=basis)
    first = state or _first_state(Q, sparsity, scale)
    splitting = _Splitting(Q, sparsity, forced, basis, first, scale)
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
