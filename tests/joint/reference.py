"""The best set by brute force: all supports, and many starts on each."""

from __future__ import annotations

import itertools
import math

import numpy as np


def best_total(Q, limits, rng, starts=3):
    """The largest total variance of orthonormal vectors, found by going through all supports.

    For each choice of supports vectors are improved one at a time from several starts; no bound of
    the package is used.
    """
    n, K = len(Q), len(limits)
    lists = [list(itertools.combinations(range(n), p)) for p in limits]
    alike = len(set(limits)) == 1
    best = -math.inf
    for chosen in itertools.product(*lists):
        if alike and list(chosen) != sorted(chosen):
            continue
        supports = [np.array(s) for s in chosen]
        most = sum(np.linalg.eigvalsh(Q[np.ix_(s, s)])[-1] for s in supports)
        if most <= best + 1e-10 * abs(best):
            continue
        for start in range(starts):
            vectors = _begin(Q, supports, rng.permutation(K), rng if start else None)
            if vectors is not None:
                best = max(best, _improved(Q, supports, vectors))
    return best


def _basis(rows):
    if rows.shape[1] == 0:
        return np.eye(rows.shape[0])
    left, singular, _ = np.linalg.svd(rows, full_matrices=True)
    return left[:, np.count_nonzero(singular > 1e-11) :]


def _best_on(Q, support, others):
    rows = np.array([x[support] for x in others]).reshape(len(others), len(support)).T
    basis = _basis(rows)
    if basis.shape[1] == 0:
        return None
    vectors = np.linalg.eigh(basis.T @ Q[np.ix_(support, support)] @ basis)[1]
    x = np.zeros(len(Q))
    x[support] = basis @ vectors[:, -1]
    return x


def _begin(Q, supports, order, rng):
    found = {}
    for place, k in enumerate(order):
        others = list(found.values())
        x = _best_on(Q, supports[k], others)
        if x is None:
            return None
        if rng is not None and place < len(order) - 1:
            support = supports[k]
            rows = np.array([y[support] for y in others]).reshape(len(others), len(support)).T
            basis = _basis(rows)
            mixed = basis @ rng.standard_normal(basis.shape[1])
            x = np.zeros(len(Q))
            x[support] = mixed / np.linalg.norm(mixed)
        found[k] = x
    return [found[k] for k in range(len(supports))]


def _improved(Q, supports, vectors):
    value = sum(x @ Q @ x for x in vectors)
    for _ in range(60):
        before = value
        for k, support in enumerate(supports):
            x = _best_on(Q, support, vectors[:k] + vectors[k + 1 :])
            if x is not None and x @ Q @ x > vectors[k] @ Q @ vectors[k]:
                vectors[k] = x
        value = sum(x @ Q @ x for x in vectors)
        if value <= before + 1e-12 * abs(before):
            break
    return value


KINDS = (
    "psd", "indefinite", "negative", "integer", "tied", "diagonal", "low rank", "positive",
    "tiny", "huge",
)  # fmt: skip


def matrix_of(kind, n, rng):
    """A symmetric matrix of one kind."""
    A = rng.standard_normal((n, n))
    B = rng.integers(-3, 4, (n, n))
    zeros_and_ones = rng.integers(0, 2, (n, n))
    return {
        "psd": A @ A.T,
        "indefinite": A + A.T,
        "negative": -A @ A.T,
        "integer": (B + B.T).astype(float),
        "tied": (zeros_and_ones @ zeros_and_ones.T).astype(float),
        "diagonal": np.diag(rng.integers(0, 4, n).astype(float)),
        "low rank": A[:, :2] @ A[:, :2].T,
        "positive": np.abs(A) @ np.abs(A).T,
        "tiny": 1e-90 * (A @ A.T),
        "huge": 1e90 * (A @ A.T),
    }[kind]
