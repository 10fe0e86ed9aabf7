"""Tests of sequences whose ties are resolved in favour of what follows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from helpers.forced import forced_branching
from orthospca import datasets, solve
from orthospca.result import Status


def all_sequences(Q, p, K):
    """Every greedy sequence of variances, whichever optimum is taken; simple eigenvalues only."""
    n = len(Q)

    def extend(vectors):
        if len(vectors) == K:
            yield ()
            return
        found = []
        for support in itertools.combinations(range(n), p):
            s = list(support)
            rows = np.array([x[s] for x in vectors]).reshape(len(vectors), p).T
            basis = np.eye(p)
            if len(vectors):
                left, singular, _ = np.linalg.svd(rows, full_matrices=True)
                basis = left[:, np.count_nonzero(singular > 1e-11) :]
            if basis.shape[1] == 0:
                continue
            values, loadings = np.linalg.eigh(basis.T @ Q[np.ix_(s, s)] @ basis)
            x = np.zeros(n)
            x[s] = basis @ loadings[:, -1]
            found.append((values[-1], x))
        if not found:
            yield ()
            return
        top = max(value for value, _ in found)
        for value, x in found:
            if value >= top - 1e-9:
                for rest in extend([*vectors, x]):
                    yield (top, *rest)

    return list(extend([]))


@pytest.mark.parametrize("seed", range(12))
def test_equals_enumeration(seed):
    """Tests the largest of all greedy sequences, on matrices with many ties."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 6))
    B = rng.integers(0, 3, (n, n))
    Q = (B + B.T).astype(float) + np.diag(rng.integers(3, 6, n))
    result = solve(Q, 2, 2, objective="lexicographic", gap=1e-9)
    best = max(all_sequences(Q, 2, 2))
    if result.status in (Status.OPTIMAL, Status.EXHAUSTED):
        np.testing.assert_allclose(result.variances, best[: len(result)], rtol=1e-7)
    else:
        assert "not all ties were examined" in result.note


def test_without_ties():
    """Tests that it is the stage-wise result where there is nothing to choose."""
    Q = datasets.load_pitprops().covariance()
    stagewise = solve(Q, 4, 3)
    result = solve(Q, 4, 3, objective="lexicographic")
    np.testing.assert_allclose(result.variances, stagewise.variances, rtol=1e-4)
    assert result.status is Status.OPTIMAL
    assert result.objective == "lexicographic" and "all ties were examined" in result.note
    assert all(component.closed_by is not None for component in result)


def test_proof():
    """Tests that a lexicographic sequence can be certified, stage after stage."""
    from orthospca import verify

    result = solve([[5, 1, 0], [1, 5, 2], [0, 2, 2]], 2, 3, objective="lexicographic", proof=True)
    verdict = verify(result.certificate)
    assert verdict.verified, verdict.reason


def test_too_many_ties():
    """Tests that the status says so if ties are left out."""
    result = solve(np.eye(30), 4, 2, objective="lexicographic")
    assert result.status is Status.WORK_LIMIT
    assert "not all ties were examined" in result.note


@pytest.mark.parametrize("scale", [1.0, 0.1, 1 / 3, 7.7, 1e-5, 12345.678])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_exact_ties_without_tolerance(scale, order):
    """Tests that rounding does not hide a tie where no tolerance is given."""
    Q = scale * np.array([[5.0, 1, 0], [1, 5, 2], [0, 2, 2]])[np.ix_(order, order)]
    result = solve(Q, 2, 3, objective="lexicographic", gap=0.0)
    np.testing.assert_allclose(result.variances, scale * np.array([6, 5, 1]), rtol=1e-9)


def test_ties_within_the_tolerance_are_certified():
    """Tests that a component a little below the best of its stage is within the tolerance."""
    Q = np.zeros((5, 5))
    Q[:3, :3] = [[5, 1, 0], [1, 5, 1.9997], [0, 1.9997, 2]]
    Q[3:, 3:] = [[7, 1], [1, 6]]
    result = solve(Q, 2, 4, objective="lexicographic")
    assert result.status is Status.OPTIMAL
    assert max(result.gaps) <= 1e-4


def test_the_limit_that_ended_it_is_named(monkeypatch):
    """Tests a second stage that the nodes do not suffice for, after a first one that is closed."""
    forced_branching(monkeypatch, conditioning=False, eager=True)
    rng = np.random.default_rng(2)
    n = int(rng.integers(4, 7))
    B = rng.integers(-3, 4, (n, n))
    asked = {"previous": rng.integers(-2, 3, size=(2, n)), "gap": 0.1, "node_limit": 2}
    result = solve((B + B.T).astype(float), [n, 3], 2, objective="lexicographic", **asked)
    assert result.statuses == (Status.OPTIMAL,)
    assert result.status is Status.NODE_LIMIT
