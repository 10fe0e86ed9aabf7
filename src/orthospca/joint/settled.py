"""The bound of a node in which every component has one pattern left.

The bound of one matrix is often tight there, and not always: where two components share two
features it knows only that the sum of their projections is at most the identity.  Being orthogonal,
their parts on the two features are at a right angle: if the one is between two lines, the other is
between these lines turned.  That u is between the lines along a and b is ``(u·n)(u·m) ≥ 0`` with n
orthogonal to a and m to b, a quadratic form N with ``uᵀNu ≥ 0``; so for every ``μ ≥ 0`` the value
of a component is at most the largest eigenvalue of ``Q - M + μN`` on its pattern.  The plane is
divided into smaller and smaller angles until the bound is low enough.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.joint.bound import rigorous
from orthospca.numerics.rigor import upper_eigenvalue
from orthospca.numerics.rounding import UNIT, add_up

#: Parts into which the angles of one node are divided, at most.
MOST_PARTS = 60
#: Temperatures of the smoothed maximum, relative to the variance of a component.
TEMPERATURES = (1e-2, 1e-3, 1e-4, 1e-5)
#: Iterations of the quasi-Newton method at each of them.
ITERATIONS = 80


@dataclass(frozen=True)
class Angle:
    """Two components that share two features, and two lines between which the first one is there.

    Attributes
    ----------
    pair : tuple of int
        The components.
    features : tuple of int
        What they share.
    first, second : tuple of float
        Directions of the lines.
    """

    pair: tuple[int, int]
    features: tuple[int, int]
    first: tuple[float, float] = (1.0, 0.0)
    second: tuple[float, float] = (0.0, 1.0)

    def halves(self) -> tuple[Angle, Angle]:
        """The two parts on both sides of a line between."""
        middle = np.array(self.first) + np.array(self.second)
        middle /= math.hypot(*middle)
        line = float(middle[0]), float(middle[1])
        return (
            Angle(self.pair, self.features, self.first, line),
            Angle(self.pair, self.features, line, self.second),
        )

    def forms(self) -> tuple[Array, Array]:
        """N of the first component and of the second, on the two features."""
        (a, b), (c, d) = self.first, self.second
        return _product((-b, a), (d, -c)), _product((-a, -b), (c, d))


def _product(n: tuple[float, float], m: tuple[float, float]) -> Array:
    mixed = 0.5 * (n[0] * m[1] + n[1] * m[0])
    return np.array([[n[0] * m[0], mixed], [mixed, n[1] * m[1]]])


class SettledNode:
    """Components with one pattern each.

    Parameters
    ----------
    Q : array of shape (n, n)
    patterns : sequence of integer arrays
        One for each component.
    scale : float
        Size of the variance of one component.
    """

    def __init__(self, Q: Array, patterns: Sequence[IntArray], scale: float) -> None:
        used = np.unique(np.concatenate(patterns))
        self.Q = np.ascontiguousarray(Q[np.ix_(used, used)])
        self.patterns = [np.searchsorted(used, pattern) for pattern in patterns]
        self.scale = scale
        self._shared = {}
        for k, m in itertools.combinations(range(len(patterns)), 2):
            both = np.intersect1d(self.patterns[k], self.patterns[m])
            if len(both) == 2:
                self._shared[k, m] = int(both[0]), int(both[1])

    def close(self, cut: float, upper: float, stop: Callable[[], bool]) -> float:
        """Return a proved bound, at most ``upper``; ``cut`` is low enough."""
        if not self._shared or upper <= cut:
            return upper
        n = len(self.Q)
        start = 0.3 * math.sqrt(self.scale) * np.eye(n)
        queue: list[tuple[float, int, tuple[Angle, ...], Array]] = [(-upper, 0, (), start)]
        parts = 0
        while queue and -queue[0][0] > cut and parts < MOST_PARTS and not stop():
            bound, _, angles, root = heapq.heappop(queue)
            for smaller in self._divided(angles, root):
                parts += 1
                found, better = self._bound(smaller, root, cut, stop)
                heapq.heappush(queue, (max(-found, bound), parts, smaller, better))
        return min(upper, max(-queue[0][0], cut)) if queue else min(upper, cut)

    def _divided(self, angles: tuple[Angle, ...], root: Array) -> list[tuple[Angle, ...]]:
        """Divide the angle of the pair that is farthest from a right angle."""
        pair = max(self._shared, key=lambda pair: self._slant(pair, angles, root))
        for place, angle in enumerate(angles):
            if angle.pair == pair:
                rest = angles[:place] + angles[place + 1 :]
                return [(*rest, half) for half in angle.halves()]
        features = self._shared[pair]
        return [
            (*angles, Angle(pair, features)),
            (*angles, Angle(pair, features, (0.0, 1.0), (-1.0, 0.0))),
        ]

    def _slant(self, pair: tuple[int, int], angles: tuple[Angle, ...], root: Array) -> float:
        """How far two components are from being orthogonal, where the bound puts them."""
        width = math.pi
        for angle in angles:
            if angle.pair == pair:
                cosine = np.dot(angle.first, angle.second)
                width = math.acos(min(max(float(cosine), -1.0), 1.0))
        parts = []
        for k in pair:
            pattern = self.patterns[k]
            A = self.Q - root @ root.T
            x = np.zeros(len(self.Q))
            x[pattern] = np.linalg.eigh(A[np.ix_(pattern, pattern)])[1][:, -1]
            parts.append(x[list(self._shared[pair])])
        return (abs(float(parts[0] @ parts[1])) + 1e-6) * width

    def _forms(self, angles: tuple[Angle, ...]) -> list[tuple[int, Array]]:
        """For each multiplier its component and its form, on the component's pattern."""
        forms = []
        for angle in angles:
            for k, form in zip(angle.pair, angle.forms(), strict=True):
                pattern = self.patterns[k]
                at = np.searchsorted(pattern, angle.features)
                whole = np.zeros((len(pattern), len(pattern)))
                whole[np.ix_(at, at)] = form
                forms.append((k, whole))
        return forms

    def _bound(
        self, angles: tuple[Angle, ...], root: Array, cut: float, stop: Callable[[], bool]
    ) -> tuple[float, Array]:
        """The proved bound of one part, and the root of its M."""
        from scipy.optimize import minimize  # here, since the package is imported more often

        n, forms = len(self.Q), self._forms(angles)
        given = [self.Q[np.ix_(pattern, pattern)] for pattern in self.patterns]
        best: list[tuple[float, Array]] = [(math.inf, np.zeros(0))]

        def smoothed(point: Array, temperature: float) -> tuple[float, Array]:
            L, weights = point[: n * n].reshape(n, n), point[n * n :]
            M = L @ L.T
            total = plain = float(np.einsum("ij,ij->", L, L))
            P, slopes = np.zeros((n, n)), np.zeros(len(forms))
            for k, pattern in enumerate(self.patterns):
                at = np.ix_(pattern, pattern)
                matrix = given[k] - M[at]
                for weight, (owner, form) in zip(weights, forms, strict=True):
                    if owner == k:
                        matrix = matrix + weight * form
                values, vectors = np.linalg.eigh(matrix)
                powers = np.exp((values - values[-1]) / temperature)
                mass = float(powers.sum())
                total += float(values[-1]) + temperature * math.log(mass)
                plain += float(values[-1])
                block = (vectors * (powers / mass)) @ vectors.T
                P[at] += block
                for i, (owner, form) in enumerate(forms):
                    if owner == k:
                        slopes[i] = float(np.einsum("ij,ij->", block, form))
            if plain < best[0][0]:
                best[0] = plain, point.copy()
            return total, np.concatenate([(2 * (L - P @ L)).ravel(), slopes])

        point = np.concatenate([(root + 0.02 * math.sqrt(self.scale) * np.eye(n)).ravel(),
                                np.full(len(forms), 0.1 * self.scale)])  # fmt: skip
        limits = [(None, None)] * (n * n) + [(0.0, None)] * len(forms)
        for temperature in TEMPERATURES:
            found = minimize(
                smoothed,
                point,
                args=(temperature * self.scale,),
                jac=True,
                method="L-BFGS-B",
                bounds=limits,
                options={"maxiter": ITERATIONS, "maxcor": 15},
            )
            point = found.x
            if best[0][0] < cut - 1e-3 * self.scale or stop():
                break
        point = best[0][1]
        L = point[: n * n].reshape(n, n)
        return self._proved(L, point[n * n :], forms), L

    def _proved(self, L: Array, weights: Array, forms: list[tuple[int, Array]]) -> float:
        found = rigorous(self.Q, L @ L.T, np.arange(len(self.Q)))
        if found is None:
            return math.inf
        A, trace = found
        size = float(np.abs(A).max(initial=0.0))
        levels = []
        for k, pattern in enumerate(self.patterns):
            matrix = A[np.ix_(pattern, pattern)].copy()
            heavy = 0.0
            for weight, (owner, form) in zip(weights, forms, strict=True):
                if owner == k:
                    matrix += weight * form
                    heavy += float(weight) * float(np.abs(form).max())
            # Each form is rounded three times, weighted once, and added.
            radius = 8 * (len(forms) + 4) * UNIT * (size + heavy)
            levels.append(upper_eigenvalue(0.5 * (matrix + matrix.T), None, radius))
        return add_up(trace, *levels)
