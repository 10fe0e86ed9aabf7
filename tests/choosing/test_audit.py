"""Audits of given components: against brute force, algebra, and every shape loadings come in."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import SparsePCA

from helpers.brute_force import stage_optimum
from helpers.seeds import seeds
from orthospca import DataCovariance, Status, audit, datasets, solve


def some_loadings(rng: np.random.Generator, K: int, n: int) -> np.ndarray:
    """Sparse vectors of any length, in rows; none is zero."""
    X = rng.standard_normal((K, n)) * (rng.random((K, n)) < 0.5)
    X[np.arange(K), rng.integers(0, n, K)] += 1.0
    return X * rng.uniform(0.1, 10, (K, 1))


@pytest.mark.parametrize("seed", seeds(30, 60))
def test_bounds_against_brute_force(seed):
    """Tests each bound against all supports, the angles, and the variance of the span."""
    rng = np.random.default_rng(seed)
    n, K = int(rng.integers(3, 8)), int(rng.integers(1, 4))
    B = rng.standard_normal((n + 2, n))
    Q = B.T @ B - (2.0 * np.eye(n) if seed % 3 == 0 else 0.0)
    X = some_loadings(rng, min(K, n), n)
    if seed % 4 == 0 and len(X) > 1:
        X = np.linalg.qr(X.T)[0].T  # orthogonal, so that each is offered as a start
    found = audit(Q, X)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(found.variances, [x @ Q @ x for x in unit], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.cosines, np.tril(np.abs(unit @ unit.T), -1), atol=1e-12)
    for k in range(len(X)):
        p = int(np.count_nonzero(X[k]))
        best = stage_optimum(Q, unit[:k], p)
        if best is None:
            assert math.isnan(found.upper_bounds[k])
            continue
        assert found.upper_bounds[k] >= best.value - 1e-9 * abs(best.value)
        assert found.upper_bounds[k] <= best.value + 2e-4 * abs(best.value) + 1e-9
        gap = (found.upper_bounds[k] - found.variances[k]) / abs(found.variances[k])
        assert found.gaps[k] == pytest.approx(gap)
        better = found.better[k]
        if best.value > found.variances[k] * (1 + math.copysign(1e-3, found.variances[k])):
            assert better is not None and better.variances[0] > found.variances[k]
        if better is not None:
            x = better.components[0]
            assert np.count_nonzero(x) <= p and np.abs(unit[:k] @ x).max(initial=0) < 1e-10
    P = np.linalg.pinv(X) @ X
    assert found.joint_variance == pytest.approx(np.trace(P @ Q), rel=1e-9, abs=1e-9)
    assert np.nansum(found.added) == pytest.approx(found.joint_variance)
    # No orthogonal components have more than all eigenvalues, or than each can have alone.
    top = np.sort(np.linalg.eigvalsh(Q))[::-1][: len(X)].sum()
    alone = sum(stage_optimum(Q, np.empty((0, n)), p).value for p in found.sparsity)
    assert found.joint_upper_bound <= min(top, alone) + 2e-4 * abs(alone) + 1e-9
    sequence = solve(Q, list(found.sparsity), len(X))
    assert found.joint_upper_bound >= sequence.joint_variance - 1e-9 or len(sequence) < len(X)


def test_components_of_a_solve_are_near_the_best():
    """Tests that what is certified has no gap beyond the tolerance, and nothing better."""
    result = solve(datasets.load_pitprops().covariance(), 5, 3)
    found = audit(datasets.load_pitprops().covariance(), result)
    assert (found.gaps <= 2e-4).all() and (found.gaps >= -1e-9).all()
    assert found.better == (None, None, None)
    assert found.orthogonal == (True, True, True)
    np.testing.assert_allclose(found.added, result.variances, rtol=1e-9)
    assert found.status is Status.OPTIMAL
    assert "no component with" in found.summary().lower() or "0.01 %" in found.summary()


def test_the_whole_by_a_search_of_sets():
    """Tests that a joint search proves less than the sum of what single components can have."""
    Q = datasets.load_pitprops().covariance()
    result = solve(Q, 2, 3)
    cheap, dear = audit(Q, result), audit(Q, result, objective="joint", gap=1e-3)
    assert dear.joint_upper_bound < cheap.joint_upper_bound
    assert dear.joint_upper_bound >= solve(Q, 2, 3, objective="joint").joint_variance
    assert 0 <= dear.joint_gap <= cheap.joint_gap


def test_shapes_and_names():
    """Tests that rows or columns, arrays, frames, estimators and sparse ones say the same."""
    pandas = pytest.importorskip("pandas")
    wine = datasets.load_wine()
    names = list(wine.feature_names)
    Z = (wine.data - wine.data.mean(axis=0)) / wine.data.std(axis=0, ddof=1)
    fitted = SparsePCA(3, alpha=3, random_state=0).fit(Z)
    X = fitted.components_
    data = pandas.DataFrame(wine.data, columns=names)
    first = audit(data, X, correlation=True)
    assert first.sparsity == tuple(np.count_nonzero(X, axis=1).tolist())
    shuffled = np.random.default_rng(0).permutation(13)
    ways = [
        X.T,
        fitted,
        sparse.csr_matrix(X),
        X.tolist(),
        pandas.DataFrame(X.T, index=names),
        pandas.DataFrame(X, columns=names),
        pandas.DataFrame(X.T[shuffled], index=[names[j] for j in shuffled]),
    ]
    for given in ways:
        found = audit(data, given, correlation=True)
        np.testing.assert_array_equal(found.loadings, first.loadings)
        np.testing.assert_array_equal(found.upper_bounds, first.upper_bounds)
        assert found.notes == ()
    for Q in (wine.correlation(), DataCovariance(wine.data, correlation=True)):
        found = audit(Q, X, feature_names=names)
        np.testing.assert_allclose(found.variances, first.variances, rtol=1e-9)
        np.testing.assert_allclose(found.upper_bounds, first.upper_bounds, rtol=3e-4)
    used = [j for j in range(13) if X[:, j].any()]
    part = pandas.DataFrame(X[:, used], columns=[names[j] for j in used])
    found = audit(data, part, correlation=True)
    np.testing.assert_array_equal(found.loadings, first.loadings)
    if len(used) < 13:
        assert "count as zero" in found.notes[0]


def test_what_is_noticed():
    """Tests squares, zero vectors, dependent ones, rounding left over, and no vector left."""
    Q = np.diag([4.0, 3.0, 2.0])
    found = audit(Q, np.array([[0, 1.0, 0], [2, 0, 0], [0, 0, 3]]))
    assert "rows were taken as components" in found.notes[0]
    assert found.variances.tolist() == [3, 4, 2]
    assert found.gaps[:2].tolist() == pytest.approx([1 / 3, 0], abs=1e-3)
    assert found.joint_variance == 9 and found.joint_upper_bound >= 9
    found = audit(Q, [[1, 0, 0], [0, 0, 0], [2, 0, 0], [0, 1, 1e-15]])
    assert found.numbers == (1, 3, 4) and found.sparsity == (1, 1, 1)
    assert "component 2 is all zero" in found.notes[0]
    assert found.notes[1] == "component 3 is a linear combination of those before it"
    assert math.isnan(found.added[1]) and found.cosines[1, 0] == 1
    assert found.joint_variance == pytest.approx(7)
    assert audit(Q, [[1, 0, 0], [0, 1, 1e-15]], zero=0.0).sparsity == (1, 2)
    # Two features, two vectors on them: a third one of these two does not exist.
    found = audit(np.diag([4.0, 3.0]), [[1, 1], [1, -1]])
    assert found.upper_bounds[1] == pytest.approx(3.5, rel=1e-3)
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("sign", [0.0, -1.0])
def test_nothing_to_have_a_share_of(sign):
    """Tests the summary of a matrix whose trace is not positive."""
    Q = np.array([[sign, 1.0], [1.0, sign]])
    told = audit(Q, np.eye(2)).summary()
    assert "span a variance of" in told and "of the total" not in told


def test_refusals():
    """Tests that each is one sentence that names the argument and the value."""
    pandas = pytest.importorskip("pandas")
    Q = pandas.DataFrame(np.eye(3), columns=list("abc"), index=list("abc"))
    for given, told in (
        (np.ones((2, 4)), r"for each of the 3 features, got shape \(2, 4\)"),
        ([[0, 0, 0]], "must not be all zero"),
        ([[1, math.nan, 0]], "must be finite, got nan for feature 'b' in component 1"),
        ("loadings.csv", "got the path 'loadings.csv': read it with"),
        ([["x", "y", "z"]], "must be numbers"),
        (pandas.DataFrame(np.ones((1, 3)), columns=list("abx")), "name 'x', but the data have no"),
        (pandas.DataFrame(np.ones((1, 4)), columns=list("wxyz")), "none of their names"),
    ):
        with pytest.raises(ValueError, match=told):
            audit(Q, given)
    with pytest.raises(ValueError, match="correlation=True needs observations"):
        audit(Q, np.eye(3), correlation=True)
    with pytest.raises(ValueError, match="objective must be one of"):
        audit(Q, np.eye(3), objective="lexicographic")


def test_limits_and_stops():
    """Tests that no time, and whoever stops, leave valid numbers and a status that says so."""
    X = datasets.make_planted_samples(60, 40, sparsity=5, n_groups=3, random_state=1).data
    Q = np.cov(X.T)
    given = solve(Q, 5, 3).components
    late = audit(Q, given, time_limit=0.0)
    assert late.status is Status.TIME_LIMIT
    assert (late.upper_bounds >= late.variances * (1 - 1e-9)).all()
    seen = []
    stopped = audit(Q, given, callback=lambda done, total: seen.append((done, total)) or done == 1)
    assert stopped.status is Status.INTERRUPTED and seen[0] == (1, 3)
    assert (stopped.upper_bounds >= stopped.variances * (1 - 1e-9)).all()


def test_data_that_are_never_formed():
    """Tests that wide data give the numbers of their matrix, and bounds with a certificate."""
    planted = datasets.make_planted_samples(500, 60, sparsity=5, n_groups=4, random_state=0)
    given = np.zeros((2, 500))
    for k in range(2):
        given[k, planted.supports[k]] = 1.0
    wide = audit(DataCovariance(planted.data), given)
    Q = np.cov(planted.data.T)
    small = audit(Q, given, proof=True)
    np.testing.assert_allclose(wide.variances, small.variances, rtol=1e-9)
    np.testing.assert_allclose(wide.upper_bounds, small.upper_bounds, rtol=3e-4)
    assert all(result.certificate is not None for result in small.results)


@pytest.mark.parametrize("count", [1, 3, 9])
def test_the_bound_of_ordinary_pca_for_wide_data(count):
    """Tests it against eigenvalues known from algebra: those of orthogonal rows.

    Columns are +a and -a in pairs, so that their means are zero and B is known.
    """
    from scipy.linalg import hadamard

    from orthospca.choosing._auditing import ordinary_bound

    scales = np.array([8.0, 4.0, 2.0, 1.0])
    half = scales[:, None] * np.tile(hadamard(64)[1:5], (1, 8))  # orthogonal rows of 512 numbers
    X = np.vstack([half, -half])
    # XᵀX = 2 Σ rᵀr with ‖r‖² = 512·scale²; the divisor is 7.
    exact = np.sort(2 * 512 * scales**2 / 7)[::-1][:count].sum()
    bound = ordinary_bound(DataCovariance(X), count, few=400)
    assert exact <= bound <= exact * (1 + 1e-9)
    assert ordinary_bound(np.cov(X.T), min(count, 4), few=400) >= exact * (1 - 1e-12)
    assert ordinary_bound(DataCovariance(X), count, few=600) >= exact * (1 - 1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_the_same_for_what_is_orthogonal_to_given_vectors(seed):
    """Tests that no vector orthogonal to given ones has more, and that it is what one has.

    Against the largest eigenvalue on an exact basis of their complement: columns that are +a and -a
    in pairs have mean zero, and all numbers are integers.
    """
    from orthospca.choosing._auditing import ordinary_bound

    rng = np.random.default_rng(seed)
    n, k = 40, int(rng.integers(1, 4))
    half = rng.integers(-9, 10, (5, n)).astype(float)
    data = DataCovariance(np.vstack([half, -half]))
    before = np.zeros((k, n))
    for row in before:
        row[rng.choice(n, 6, replace=False)] = rng.integers(1, 5, 6)
    complement = np.linalg.svd(before)[2][np.linalg.matrix_rank(before) :]
    exact = np.linalg.eigvalsh(complement @ (2 * half.T @ half / 9) @ complement.T)[-1]
    bound = ordinary_bound(data, 1, 0, before)
    assert exact * (1 - 1e-12) <= bound <= exact * (1 + 1e-9)
    assert bound <= ordinary_bound(data, 1, 0)
    # In integers, that of vectors which are orthogonal without rounding.
    for _ in range(20):
        x = rng.integers(-3, 4, n)
        for j, row in enumerate(before.astype(int)):
            alone = np.flatnonzero((row != 0) & ~np.delete(before, j, axis=0).any(axis=0))
            x = x * int(row[alone[0]])
            x[alone[0]] = 0
            x[alone[0]] = -(row @ x) // int(row[alone[0]])
        if x.any() and not (before.astype(int) @ x).any():
            assert Fraction(int(2 * ((half.astype(int) @ x) ** 2).sum()), 9 * int(x @ x)) <= bound


def test_verbose(capsys):
    """Tests a line for each search if that is asked for, the callback heard all the same."""
    Q, heard = np.diag([3.0, 2.0, 1.0]), []
    audit(Q, np.eye(3)[:2], callback=lambda *counts: heard.append(counts))
    assert capsys.readouterr().out == ""
    audit(Q, np.eye(3)[:2], callback=lambda *counts: heard.append(counts), verbose=True)
    printed = capsys.readouterr().out.splitlines()
    assert [line.partition(",")[0] for line in printed] == [
        "[audit] 1 of 2 searches done", "[audit] 2 of 2 searches done",
    ]  # fmt: skip
    assert heard.count((2, 2)) >= 2
    with pytest.raises(ValueError, match="verbose must be an integer, got 'yes'"):
        audit(Q, np.eye(3)[:2], verbose="yes")


@pytest.mark.parametrize("zero", [1.0, 1.5])
def test_no_loading_would_be_left(zero):
    """Tests that the largest loading of a component is never taken for zero."""
    with pytest.raises(ValueError, match="zero must be below 1"):
        audit(np.eye(3), np.eye(3)[:2], zero=zero)
