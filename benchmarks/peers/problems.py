"""Data for all tools: rows are observations, columns have mean zero."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from benchmarks.instances import Array, data_file, load
from orthospca import datasets


@dataclass(frozen=True, eq=False)
class Problem:
    """What every tool is asked.

    Attributes
    ----------
    name : str
    data : array of shape (m, n)
        Columns have mean zero.
    divisor : float
        The covariance is ``dataᵀ data / divisor``.
    n_components, sparsity : int
    given : array or None
        The covariance, where that is what was published; the data are then a root of it.
    """

    name: str
    data: Array
    divisor: float
    n_components: int
    sparsity: int
    given: Array | None = None

    def covariance(self) -> Array:
        """The matrix, exactly symmetric."""
        if self.given is not None:
            return self.given
        product: Array = self.data.T @ self.data / self.divisor
        return 0.5 * (product + product.T)


def standardised(data: Array) -> Array:
    """Columns of mean zero and variance one; constant ones are left out."""
    deviation = data.std(axis=0, ddof=1)
    varying = deviation > 0.0
    result: Array = (data[:, varying] - data[:, varying].mean(axis=0)) / deviation[varying]
    return result


def centred_root(matrix: Array) -> Array:
    """Data with mean zero and ``dataᵀ data`` equal to a positive semidefinite matrix.

    The root ``√λ vᵀ`` of rank r is turned into r + 1 rows by a matrix with orthonormal columns
    that are orthogonal to (1, …, 1), so that a package that centres does no harm.
    """
    values, vectors = np.linalg.eigh(matrix)
    kept = values > values[-1] * 1e-10
    root = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    rank = len(root)
    first = np.eye(rank + 1)
    first[:, 0] = 1.0
    basis = np.linalg.qr(first)[0][:, 1:]
    result: Array = basis @ root
    return result


def _columns(read: Callable[[], Array]) -> Callable[[], tuple[Array, float, Array | None]]:
    def made() -> tuple[Array, float, Array | None]:
        data = standardised(np.asarray(read(), dtype=float))
        return data, len(data) - 1.0, None

    return made


def _matrix(name: str, *, divided: bool = True) -> Callable[[], tuple[Array, float, Array | None]]:
    """A published matrix; the scale of its root is that of data, of which penalties depend."""

    def made() -> tuple[Array, float, Array | None]:
        matrix = load(name)
        root = centred_root(matrix)
        divisor = len(root) - 1.0 if divided else 1.0
        return root * np.sqrt(divisor), divisor, matrix

    return made


def _archive(name: str) -> Array:
    with np.load(data_file(name)) as archive:
        return np.asarray(archive["X"], dtype=float)


def _csv(name: str) -> Array:
    return np.loadtxt(data_file(name), delimiter=",", comments="#")


#: Name, how it is made, components, sparsity, whether it belongs to a quick run.
WANTED: dict[str, tuple[Callable[[], tuple[Array, float, Array | None]], int, int, bool]] = {
    "breast cancer 569×30": (_columns(lambda: datasets.load_breast_cancer().data), 5, 10, True),
    "digits 1797×61": (_columns(lambda: datasets.load_digits().data), 5, 10, False),
    "CovColon-500": (_matrix("CovColon-500", divided=False), 5, 10, False),
    "Alon 62×2000": (_columns(lambda: _csv("alon_colon_X_62x2000.csv")), 5, 10, False),
    "golub 72×7129": (_columns(lambda: _archive("golub_X_72x7129.npz")), 5, 10, False),
    "mtcars": (_matrix("mtcars_corr_11"), 3, 4, False),
    "Pitprops": (_matrix("Pitprops-13"), 6, 4, True),
}
#: The five of the headline.
HEADLINE = tuple(WANTED)[:5]


@lru_cache(maxsize=1)
def problem(name: str) -> Problem:
    """Make a problem; :class:`~benchmarks.instances.MissingData` if its file is not there."""
    make, n_components, sparsity, _ = WANTED[name]
    data, divisor, given = make()
    return Problem(name, data, divisor, n_components, sparsity, given)


def tiny() -> Problem:
    """A problem on which a package loads and compiles what it needs."""
    data = standardised(np.random.default_rng(0).standard_normal((20, 8)))
    return Problem("tiny", data, 19.0, 2, 3)
