"""The consensus ADMM behind ``relaxation``: its iterates and the arithmetic of one iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from orthospca._typing import Array, ArrayLike, BoolArray
from orthospca.bounds.relaxation.multipliers import Multipliers

_OVER_RELAXATION = 1.7
# Weights of the row cones and of the capped simplex relative to the two matrix cones.
_ROW_WEIGHT = 0.3
_CAP_WEIGHT = 0.3
_RESIDUAL_TOLERANCE = 1e-6
#: Least s of a multiplier, relative to the scale of Q: it has to be positive.
SMALLEST_S = 1e-14


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


class SpectralProjection:
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
        """Project V by a full eigendecomposition, and keep its eigenvectors."""
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
        """Project V to first order around the last eigendecomposition."""
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


def first_state(Q: Array, sparsity: int, scale: float) -> State:
    """Return a cold start: the flat feasible point, with the multipliers N = Q and W = |Q|."""
    n = len(Q)
    # A strong diagonal (correlations) wants a stiffer penalty than a few strong variables.
    trace = float(np.abs(Q.diagonal()).sum()) / scale
    penalty = 0.1 * scale * float(np.clip(trace, 1.5, 17.0)) ** 0.75
    X, z = np.eye(n) / n, np.full(n, sparsity / n)
    P = (sparsity - 1) * X + np.abs(Q) / penalty
    return State(X + Q / penalty, P, X, z / sparsity, z, z, penalty)


class Splitting:
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
        self.spectraplex = SpectralProjection(basis, spectraplex=True)
        self.psd = SpectralProjection(None, spectraplex=False)
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
        s = np.maximum(self.s, 0.1 * norms + SMALLEST_S * self.scale)
        N = (self.N + self.N.T) / 2
        np.minimum(N, room, out=N)
        np.maximum(N, -room, out=N)
        N.flat[diagonal] = W.diagonal() + 2 * A.diagonal()
        return Multipliers(W, A, s, N)
