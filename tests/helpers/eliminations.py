"""Single eliminations against all supports: what a rule has ruled out at a level is not above it.

Every support is compared with the level without any allowance: in floating point where that shows,
by the argument of `helpers.exact.clear_levels`, that there is no doubt, in integers otherwise.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from helpers.exact import (
    CLEARLY_BELOW,
    ExactMatrix,
    as_integers,
    clear_levels,
    dot,
    is_psd,
    null_space,
    supports_of,
)
from helpers.problems import MATRICES, rotation
from orthospca.model.stage import Subproblem

#: An elimination is close if a support that it concerns is within this share of the level.
CLOSE = 1e-9


class ExactStage:
    """The supports of one size of a stage, each of them compared with levels in integers.

    Parameters
    ----------
    matrix : ExactMatrix
    previous : array of shape (k - 1, n)
        The components before, as rows.
    size : int

    Attributes
    ----------
    supports : integer array of shape (count, size)
    inside : boolean array of shape (count, n)
        Which features each support has.
    values : array of shape (count,)
        The value of each support, in floating point; it may be too large where components nearly
        depend on each other.
    clear : array of shape (count,)
        From this level on there is no doubt that a support is below it.
    """

    def __init__(self, matrix: ExactMatrix, previous: np.ndarray, size: int) -> None:
        self.matrix = matrix
        self.supports = supports_of(matrix.n_features, size)
        self.inside = np.zeros((len(self.supports), matrix.n_features), dtype=bool)
        np.put_along_axis(self.inside, self.supports, True, axis=1)
        self.clear = clear_levels(matrix.rounded, previous, self.supports)
        parts = matrix.rounded[self.supports[:, :, None], self.supports[:, None, :]]
        self.values = self.clear - CLEARLY_BELOW * np.sqrt(np.einsum("bij,bij->b", parts, parts))
        self._components = [as_integers(row[None])[0][0] for row in previous]
        self._proved = np.full(len(self.supports), math.inf)
        self._exceeded = np.full(len(self.supports), -math.inf)
        self._forms: dict[int, tuple[list[list[int]], list[list[int]]]] = {}

    def _form(self, k: int) -> tuple[list[list[int]], list[list[int]]]:
        """``NᵀN`` and ``NᵀQN``, the columns of N spanning the feasible vectors of a support."""
        if k not in self._forms:
            support = self.supports[k].tolist()
            restricted = [[component[i] for i in support] for component in self._components]
            basis = []
            for vector in null_space(restricted, len(support)):
                factor = math.gcd(*vector)
                basis.append([entry // factor for entry in vector])
            part = [[self.matrix.integers[i][j] for j in support] for i in support]
            images = [[dot(row, vector) for row in part] for vector in basis]
            self._forms[k] = (
                [[dot(a, b) for b in basis] for a in basis],
                [[dot(a, image) for image in images] for a in basis],
            )
        return self._forms[k]

    def exceeds(self, k: int, level: float) -> bool:
        """Whether a feasible vector on the k-th support has more than the level, exactly."""
        if level >= self._proved[k]:
            return False
        if level <= self._exceeded[k]:
            return True
        gram, form = self._form(k)
        numerator, denominator = level.as_integer_ratio()
        shift = denominator.bit_length() - 1
        exponent = max(shift, self.matrix.exponent)
        own, factor = numerator << (exponent - shift), 1 << (exponent - self.matrix.exponent)
        below = is_psd(
            [
                [own * g - factor * q for g, q in zip(*rows, strict=True)]
                for rows in zip(gram, form, strict=True)
            ]
        )
        (self._proved if below else self._exceeded)[k] = level
        return not below

    def above(self, level: float, chosen: np.ndarray | None = None) -> tuple[int, ...] | None:
        """One of the chosen supports with more than the level, or None, without any doubt."""
        doubtful = self.clear > level
        if chosen is not None:
            doubtful &= chosen
        for k in np.flatnonzero(doubtful):
            if self.exceeds(int(k), level):
                return tuple(self.supports[k].tolist())
        return None

    def above_exactly(self, level: float, chosen: np.ndarray) -> tuple[int, ...] | None:
        """The same, all of them decided in integers."""
        for k in np.flatnonzero(chosen):
            if self.exceeds(int(k), level):
                return tuple(self.supports[k].tolist())
        return None

    @cached_property
    def ceiling(self) -> float:
        """The smallest float that no support exceeds; -inf if nothing is feasible."""
        feasible = [k for k in range(len(self.supports)) if self._form(k)[0]]
        if not feasible:
            return -math.inf
        value = max(float(self.values[k]) for k in feasible)
        step = math.ulp(value)
        low = high = value
        while self.above(high) is not None:
            low, high, step = high, high + step, 2 * step
        while self.above(low) is None:
            low, high, step = low - step, low, 2 * step
        return first_level(low, high, lambda level: self.above(level) is None)


def first_level(low: float, high: float, holds: Callable[[float], bool]) -> float:
    """A level at which something holds while it does not at the float before it.

    It holds at ``high`` and not at ``low``.
    """
    while True:
        middle = low + 0.5 * (high - low)
        if not low < middle < high:
            return high
        low, high = (low, middle) if holds(middle) else (middle, high)


@dataclass
class Tally:
    """Counts what was ruled out and what was decided in integers; collects what is wrong.

    Attributes
    ----------
    rng : Generator
    share : float
        Of the eliminations that floating point decides, so many are decided in integers too.
    eliminations, exact, close : Counter
        By rule: all of them, those decided in integers, and those with a support near the level.
    wrong : list of str
    """

    rng: np.random.Generator
    share: float = 0.0
    eliminations: Counter[str] = field(default_factory=Counter)
    exact: Counter[str] = field(default_factory=Counter)
    close: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def ruled_out(
        self, rule: str, label: str, stage: ExactStage, level: float, chosen: np.ndarray
    ) -> None:
        """Check one elimination: no chosen support has more than the level."""
        self.eliminations[rule] += 1
        distance = np.abs(stage.values[chosen] - level).min(initial=math.inf)
        self.close[rule] += bool(distance <= CLOSE * abs(level))
        if self.rng.random() < self.share:
            self.exact[rule] += 1
            found = stage.above_exactly(level, chosen)
        else:
            doubtful = chosen & (stage.clear > level)
            self.exact[rule] += bool(doubtful.any())
            found = stage.above(level, doubtful)
        if found is not None:
            self.wrong.append(f"{label}: {rule} at {level!r}, but {found} has more")

    def dropped(
        self, rule: str, label: str, stage: ExactStage, level: float, features: np.ndarray
    ) -> None:
        """Check features that no support above the level may contain."""
        for j in np.asarray(features).tolist():
            self.ruled_out(rule, f"{label}, feature {j}", stage, level, stage.inside[:, j])

    @property
    def total(self) -> int:
        return self.eliminations.total()


def random_components(rng: np.random.Generator, n: int, count: int) -> np.ndarray:
    """Orthonormal rows that leave at least one feature alone, some with loadings near nothing."""
    count = min(count, n - 1)
    if count == 0:
        return np.zeros((0, n))
    used = np.sort(rng.permutation(n)[: int(rng.integers(count, n))])
    square = rng.standard_normal((len(used), len(used)))
    square[rng.random(len(used)) < 0.2] *= 10.0 ** rng.uniform(-16, -6)
    rows = np.zeros((count, n))
    rows[:, used] = np.linalg.qr(square)[0][:, :count].T
    return rows


def border_edge(
    rng: np.random.Generator, n: int, size: int, count: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """A matrix, components and a feature of which the border rule gives nothing away.

    The row of one feature is a multiple of the best vector on ``size - 1`` others, so that the
    larger eigenvalue of two by two numbers is the value of all of them. What components take away
    may be far larger than what is left.
    """
    order = rng.permutation(n)
    j, Y = order[0], order[1:size]
    y = np.zeros(n)
    y[Y] = rng.choice([-1.0, 1.0], size - 1) * rng.uniform(0.7, 1.3, size - 1)
    y /= np.linalg.norm(y)
    own = float(rng.uniform(-1.0, 0.9))
    strength = float(rng.uniform(0.05, 0.6)) * math.sqrt((1 - own) / (size - 1))
    matrix = np.outer(y, y) - np.diag(rng.uniform(0.0, 1e-3, n) * (y == 0))
    matrix[j] += strength * y
    matrix[:, j] += strength * y
    matrix[j, j] = own
    matrix += float(rng.choice([0.0, 0.0, 1.0, -1.0, -3.0])) * np.eye(n)
    others = np.setdiff1d(np.arange(n), [j])
    # With fewer components than the others, one of these vectors is exactly orthogonal to them.
    count = min(count, size - 2)
    rows = np.zeros((count, n))
    if count:
        columns = np.column_stack([y[others], rng.standard_normal((n - 1, count))])
        rows[:, others] = np.linalg.qr(columns)[0][:, 1:].T
        away = rng.standard_normal((n, count)) * 10.0 ** float(rng.choice([0.0, 5.0, 6.0, 7.0]))
        folded = rows.T @ away.T
        matrix += folded + folded.T
    matrix *= 10.0 ** float(rng.choice([0.0, 0.0, -8.0, 8.0]))
    return np.triu(matrix) + np.triu(matrix, 1).T, rows, int(j)


def parallel_columns(rng: np.random.Generator, n: int) -> np.ndarray:
    """Small integers, some columns multiples of others: variances alone decide, exactly."""
    columns = rng.integers(-9, 10, size=(int(rng.integers(1, n + 2)), n)).astype(float)
    copies = rng.integers(0, max(1, n // 2), size=n)
    return columns[:, copies] * rng.choice([1.0, 1.0, -1.0, 2.0, 0.5, 3.0], size=n)


def conditioned_edge(rng: np.random.Generator, n: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """A matrix for which the norm of the complement gives nothing away, and what is included."""
    order = rng.permutation(n)
    f = int(rng.integers(0, size - 1))
    F, R = order[:f], order[f:size]
    r = size - f
    C = np.tril(rng.standard_normal((f, f)))
    C[np.diag_indices(f)] = 10.0 ** -rng.uniform(0, rng.choice([0.5, 3]), f)
    half = rng.standard_normal((f, r)) * 10.0 ** rng.uniform(-2, 0.5)
    diagonal = 10.0 ** rng.uniform(-rng.choice([0.5, 6]), 1, r)
    signs = rng.choice([-1.0, 1.0], r)
    W = (np.outer(signs, signs) - np.eye(r)) / (r - 1)
    level = float(rng.choice([0.0, 1.0, -1.0]))
    matrix = np.diag(level - 10.0 ** rng.uniform(0, 2, n))
    matrix[np.ix_(F, F)] = level * np.eye(f) - C @ C.T
    matrix[np.ix_(F, R)] = C @ half
    matrix[np.ix_(R, F)] = (C @ half).T
    scaled = np.sqrt(np.outer(diagonal, diagonal)) * (np.eye(r) - W)
    matrix[np.ix_(R, R)] = level * np.eye(r) - half.T @ half - scaled
    matrix *= 10.0 ** float(rng.choice([0.0, 0.0, -8.0, 8.0]))
    return np.triu(matrix) + np.triu(matrix, 1).T, np.sort(F)


#: Kinds of problems: of every matrix, and ones at the edge of the border rule or of a step.
KINDS = (
    *MATRICES,
    *("parallel columns", "border edge", "conditioned edge"),
    *("parallel columns", "border edge"),
)


class Problem:
    """A random problem with the components before it, and all its supports.

    Attributes
    ----------
    matrix : array of shape (n, n)
    previous : array of shape (k - 1, n)
    size : int
        The sparsity.
    untouched : integer array
        Features that no component uses.
    included : integer array
        Features on which a step gives nothing away; mostly none.
    focus : int
        A feature of which the border rule gives nothing away; mostly -1 for none.
    """

    def __init__(self, seed: int, n: int, size: int, count: int, kind: str = "") -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.kind = kind or KINDS[seed % len(KINDS)]
        self.label = f"seed {seed}, {self.kind}, n = {n}, size {size}, {count} components"
        self.size = size
        self.included = np.arange(0)
        self.focus = -1
        if self.kind == "border edge":
            self.matrix, self.previous, self.focus = border_edge(rng, n, size, count)
        else:
            if self.kind == "conditioned edge":
                self.matrix, self.included = conditioned_edge(rng, n, size)
            elif self.kind == "parallel columns":
                columns = parallel_columns(rng, n)
                self.matrix = columns.T @ columns
            else:
                self.matrix = MATRICES[self.kind](rng, n)
            self.previous = random_components(rng, n, count)
        if rng.random() < 0.1:
            self.matrix = self.matrix * 2.0 ** int(rng.integers(-80, 80))
        self.problem = Subproblem(self.matrix, size, np.ascontiguousarray(self.previous.T))
        self.untouched = np.setdiff1d(np.arange(n), self.problem.touched)
        self.exact = ExactMatrix.of(self.matrix)
        self.scale = float(np.abs(self.matrix).max()) or 1.0
        self._stages: dict[int, ExactStage] = {}

    def stage(self, size: int) -> ExactStage:
        """All supports of a size."""
        if size not in self._stages:
            self._stages[size] = ExactStage(self.exact, self.previous, size)
        return self._stages[size]

    @cached_property
    def is_psd(self) -> bool:
        """Whether the matrix is positive semidefinite, exactly."""
        return is_psd(self.exact.integers)


def turned(rng: np.random.Generator, columns: np.ndarray) -> np.ndarray:
    """The same columns in another orthonormal basis, up to rounding."""
    return rotation(rng, len(columns)) @ columns
