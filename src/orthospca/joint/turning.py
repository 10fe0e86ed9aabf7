"""Two components at a time: the angle at which they meet on the features that they share.

Improving one component with all others held fixed cannot change that angle: what it may do on the
shared features is decided by the other one.  Here both give way.  Once the direction d of the one
on the shared features is chosen, the other one is orthogonal to d there, and each is the best one
of a subspace of its own; so what is left is a search over directions, turned in one plane after
another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.supports.best import complement_basis

#: Angles of a plane that are tried at once, and how often that is done around the best of them.
ANGLES, ZOOMS = 12, 8
#: Planes in which a direction is turned where more than two features are shared.
PLANES = 3
#: A penalty for what is forbidden, relative to the form: it is to tell good angles from others.
HARD = 1e6


def turned(
    Q: Array,
    patterns: Sequence[IntArray],
    vectors: Sequence[Array],
    pair: tuple[int, int],
    rng: np.random.Generator,
) -> list[Array]:
    """Return the vectors with two of them improved together, or as they are.

    Parameters
    ----------
    Q : array of shape (n, n)
    patterns : sequence of integer arrays
        Where each vector may be nonzero.
    vectors : sequence of arrays
        Orthonormal.
    pair : tuple of int
        The two that are improved.
    rng : Generator
        Chooses the planes.
    """
    meeting = _Meeting(Q, patterns, vectors, pair)
    best = list(vectors)
    if len(meeting.shared) < 2:
        return best
    k, m = pair
    value = float(best[k] @ Q @ best[k] + best[m] @ Q @ best[m])
    direction = best[k][meeting.shared]
    size = float(np.linalg.norm(direction))
    if size == 0.0:
        direction, size = rng.standard_normal(len(meeting.shared)), 1.0
    direction = direction / np.linalg.norm(direction)
    for _ in range(1 if len(direction) == 2 else PLANES):
        across = np.array([-direction[1], direction[0]])
        if len(direction) > 2:
            across = rng.standard_normal(len(direction))
            across -= (across @ direction) * direction
            across /= np.linalg.norm(across)

        theta = _best_angle(meeting, direction, across)
        candidate = math.cos(theta) * direction + math.sin(theta) * across
        found = meeting.best(candidate)
        if found is not None and found[0] > value + 1e-13 * abs(value):
            value, best[k], best[m] = found
            direction = candidate / np.linalg.norm(candidate)
    return best


def _best_angle(meeting: _Meeting, direction: Array, across: Array) -> float:
    """The best of some angles, then of some around it, and so on."""
    best, width = 0.0, 0.5 * math.pi
    for _ in range(ZOOMS):
        angles = best + width * np.linspace(-1, 1, ANGLES + 1)
        tried = np.outer(np.cos(angles), direction) + np.outer(np.sin(angles), across)
        best = float(angles[np.argmax(meeting.values(tried))])
        width *= 2 / ANGLES
    return best


class _Meeting:
    """Two patterns, what they share, and the vectors that stay as they are."""

    def __init__(
        self,
        Q: Array,
        patterns: Sequence[IntArray],
        vectors: Sequence[Array],
        pair: tuple[int, int],
    ) -> None:
        self.Q = Q
        self.first, self.second = (np.asarray(patterns[k]) for k in pair)
        self.shared: IntArray = np.intersect1d(self.first, self.second)
        others = [x for k, x in enumerate(vectors) if k not in pair]
        self.others = np.column_stack([np.zeros((len(Q), 0)), *others])
        self._bases = [
            self._basis(pattern, np.eye(len(self.shared))) for pattern in (self.first, self.second)
        ]

    def values(self, directions: Array) -> Array:
        """What both have together, for each of some directions, about."""
        total = np.zeros(len(directions))
        for basis, along in zip(self._bases, (True, False), strict=True):
            if basis.shape[1] == 0:
                return total
            form, meeting = basis.T @ self.Q @ basis, basis[self.shared]
            images = directions @ meeting
            forbidden = images[:, :, None] * images[:, None, :]
            if along:
                forbidden = meeting.T @ meeting - forbidden
            penalty = HARD * float(np.abs(form).max())
            total += np.linalg.eigvalsh(form - penalty * forbidden)[:, -1]
        return total

    def best(self, direction: Array) -> tuple[float, Array, Array] | None:
        """The best pair for one direction."""
        along = (direction / np.linalg.norm(direction))[:, None]
        across = np.linalg.svd(along, full_matrices=True)[0][:, 1:]
        first = self._best_on(self.first, along)
        second = self._best_on(self.second, across)
        if first is None or second is None:
            return None
        return first[0] + second[0], first[1], second[1]

    def _basis(self, pattern: IntArray, meeting: Array) -> Array:
        """Vectors on a pattern, orthogonal to the others, with the shared part in a subspace."""
        n, own = len(self.Q), np.setdiff1d(pattern, self.shared)
        basis = np.zeros((n, len(own) + meeting.shape[1]))
        basis[own, np.arange(len(own))] = 1.0
        basis[np.ix_(self.shared, np.arange(len(own), basis.shape[1]))] = meeting
        left = complement_basis(basis.T @ self.others)
        return basis if left is None else basis @ left

    def _best_on(self, pattern: IntArray, meeting: Array) -> tuple[float, Array] | None:
        """The best vector on a pattern whose part on the shared features is in a subspace."""
        basis = self._basis(pattern, meeting)
        if basis.shape[1] == 0:
            return None
        values, vectors = np.linalg.eigh(basis.T @ self.Q @ basis)
        x = basis @ vectors[:, -1]
        return float(values[-1]), x / np.linalg.norm(x)
