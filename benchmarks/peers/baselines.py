"""The literature's heuristics, as their papers describe them; all of them deflate by projection.

After a component x the data become ``X (I − xxᵀ)``, the projection deflation of Mackey (2008),
so that components are found on what is left, and need not be orthogonal.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.instances import Array

#: Iterations of the truncated power method, and the change at which it ends.
ITERATIONS, CHANGE = 500, 1e-9


def truncated_power(data: Array, n_components: int, sparsity: int) -> Array:
    """Power iterations that keep the p largest entries (Yuan and Zhang, JMLR 2013).

    They start, as the paper advises, at the feature of the largest variance with those that are
    most correlated with it.
    """
    return _deflated(data, n_components, lambda left: _power(left, sparsity))


def _power(data: Array, sparsity: int) -> Array:
    first = int(np.argmax(np.square(data).sum(axis=0)))
    x = kept(data.T @ data[:, first], sparsity)
    for _ in range(ITERATIONS):
        following = kept(data.T @ (data @ x), sparsity)
        if np.linalg.norm(following - x) < CHANGE:
            return following
        x = following
    return x


def greedy(data: Array, n_components: int, sparsity: int) -> Array:
    """Forward selection (d'Aspremont, Bach and El Ghaoui, JMLR 2008, the approximate path).

    From the feature of the largest variance, each step adds the one with the largest ``(qᵢᵀx)²``,
    where x is the leading eigenvector on the features chosen so far.
    """
    return _deflated(data, n_components, lambda left: _selected(left, sparsity))


def _selected(data: Array, sparsity: int) -> Array:
    chosen = [int(np.argmax(np.square(data).sum(axis=0)))]
    scores = data[:, chosen[0]]
    while len(chosen) < sparsity:
        products = np.square(data.T @ scores)
        products[chosen] = -1.0
        chosen.append(int(np.argmax(products)))
        left, values, _ = np.linalg.svd(data[:, chosen], full_matrices=False)
        scores = left[:, 0] * values[0]
    x = np.zeros(data.shape[1])
    x[chosen] = np.linalg.svd(data[:, chosen], full_matrices=False)[2][0]
    return x


def thresholded(data: Array, n_components: int, sparsity: int) -> Array:
    """Ordinary PCA, of which each component keeps its p largest loadings."""
    vectors = dense(data, n_components, sparsity)
    return np.array([kept(x, sparsity) for x in vectors])


def dense(data: Array, n_components: int, sparsity: int) -> Array:
    """Ordinary PCA: what no components can exceed."""
    found: Array = np.linalg.svd(data, full_matrices=False)[2][:n_components]
    return found


def _deflated(data: Array, n_components: int, find: Callable[[Array], Array]) -> Array:
    left = data.copy()
    components = []
    for _ in range(n_components):
        x = find(left)
        components.append(x)
        left = left - np.outer(left @ x, x)
    return np.array(components)


def kept(x: Array, sparsity: int) -> Array:
    """The unit vector of the entries of largest magnitude."""
    places = np.argsort(-np.abs(x), kind="stable")[:sparsity]
    result = np.zeros_like(x)
    result[places] = x[places]
    length = np.linalg.norm(result)
    unit: Array = result / length if length > 0.0 else result
    return unit
