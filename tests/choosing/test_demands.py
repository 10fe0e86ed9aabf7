"""Include, exclude, relation and previous where sparsities and features are chosen."""

from __future__ import annotations

import zlib
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from helpers.brute_force import stage_optimum
from helpers.demands import check, lists, some_demands
from helpers.problems import MATRICES
from helpers.seeds import seeds
from helpers.stages import exact_matrix_of
from orthospca import (
    DataCovariance,
    OrthogonalSparsePCA,
    Status,
    alternatives,
    cross_validate_sparsity,
    solve,
    sparsity_path,
    stability,
    stability_path,
    verify,
)

NAMES = list("abcdef")


def table(seed: int = 0, m: int = 40) -> pd.DataFrame:
    """Observations of six features that share a factor."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((m, 1)) * np.linspace(2, 0.5, 6)
    return pd.DataFrame(factor + rng.standard_normal((m, 6)), columns=NAMES)


@pytest.mark.parametrize("seed", seeds(20, 600))
def test_paths_hold_in_exact_arithmetic(seed: int) -> None:
    """Tests every sparsity of a path, whatever is asked."""
    rng = np.random.default_rng([zlib.crc32(b"paths of demands"), seed])
    names = ("include", "exclude", "previous", "disjoint")
    constraints = tuple(name for name in names if rng.random() < 0.5) or ("include",)
    n, count = int(rng.integers(3, 7)), int(rng.integers(1, 3))
    Q = list(MATRICES.values())[seed % len(MATRICES)](rng, n)
    smallest = int(rng.integers(1, n + 1))
    asked = some_demands(rng, n, [smallest] * count, constraints)
    gap = float(rng.choice([0.0, 1e-6, 1e-4, 0.1]))
    path = sparsity_path(Q, range(smallest, n + 1), n_components=count, gap=gap, **asked)
    for result in path.results:
        check(exact_matrix_of(Q), result, asked, 0.0, gap)
    uppers = path.upper_bounds[:, 0]
    assert (np.diff(uppers) >= 0).all()


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("seed", seeds(10, 200))
def test_alternatives_are_all_there_are(
    seed: int, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests lists against every support, with certificates that are verified."""
    rng = np.random.default_rng([zlib.crc32(b"alternatives"), seed])
    n = int(rng.integers(4, 8))
    p = int(rng.integers(1, n))
    given: Any = np.cov(rng.standard_normal((n + 3, n)), rowvar=False)
    if wide:
        from helpers.forced import forced_wide

        forced_wide(monkeypatch)
        given = DataCovariance(rng.standard_normal((n + 3, n)))
    Q = exact_matrix_of(given).rounded
    asked = some_demands(rng, n, [p], ("include", "exclude"))
    (included,), (excluded,) = lists(asked, "include", 1), lists(asked, "exclude", 1)
    previous = solve(Q, 2, int(rng.integers(1, 3))).components if rng.random() < 0.5 else None
    found = alternatives(given, p, 0.2, previous=previous, proof=True, **asked)
    left = [j for j in range(n) if j not in excluded and j not in included]
    before = np.zeros((0, n)) if previous is None else previous
    spent = {int(np.flatnonzero(x)[0]) for x in before if np.count_nonzero(x) == 1}
    for x in before:
        rest = set(np.flatnonzero(x).tolist()) - set(excluded)
        spent |= rest if len(rest) == 1 else set()
    left = [j for j in left if j not in spent]
    values = {}
    size = min(p, len(left) + len(included))
    for rest in combinations(left, size - len(included)):
        T = sorted((*included, *rest))
        best = stage_optimum(Q[np.ix_(T, T)], before[:, T], len(T)) if T else None
        if best is not None:
            values[tuple(T)] = best.value
    if not values:
        assert len(found) == 0
        return
    level = max(values.values()) * 0.8
    expected = {T for T, value in values.items() if value >= level * (1 + 1e-9)}
    near = {T for T, value in values.items() if value >= level * (1 - 1e-9)}
    assert found.complete
    listed = {tuple(support.tolist()) for support in found.supports}
    assert expected <= listed <= near
    assert found.certificate is not None
    assert found.certificate.verify().reason == ""


def test_lists_of_another_question() -> None:
    """Tests that a list is refused as that of another question."""
    Q = np.cov(table().to_numpy(), rowvar=False)
    found = alternatives(Q, 3, 0.3, include=[5], exclude=[0], proof=True)
    assert found.certificate is not None
    manifest = found.certificate.manifest
    assert "with 6, without 1" in found.certificate.verify().statement
    for name in ("include", "exclude"):
        problem = {key: value for key, value in manifest["problem"].items() if key != name}
        forged = type(found.certificate)({**manifest, "problem": problem}, found.certificate.arrays)
        assert not forged.verify()


def test_resampling() -> None:
    """Tests that every fit has what is included, by name."""
    X = table()
    folds = cross_validate_sparsity(X, [2, 3], 2, cv=3, include=["f"], exclude=["a"])
    assert folds.held_out.shape == (3, 2, 2)
    steady = stability(X, 3, 1, n_resamples=5, include=["f"], exclude=["a"])
    assert steady.frequencies[0, 0] == 0.0
    assert steady.result.supports[0].tolist()[-1] == 5
    assert steady.frequencies[0, 5] == 1.0
    path = stability_path(X, [2, 3], 2, n_resamples=4, relation="disjoint")
    for each in path.stabilities if hasattr(path, "stabilities") else path:
        supports = [set(support.tolist()) for support in each.result.supports]
        assert not set.intersection(*supports)


def test_impossible_demands_are_named() -> None:
    """Tests the sentence, of each function."""
    X = table()
    functions: list[Any] = [
        lambda **asked: sparsity_path(X.cov(), [1, 2], **asked),
        lambda **asked: alternatives(X.cov(), 1, **asked),
        lambda **asked: cross_validate_sparsity(X, [1, 2], **asked),
        lambda **asked: stability(X, 1, n_resamples=2, **asked),
        lambda **asked: OrthogonalSparsePCA(2, 1, **asked).fit(X),
    ]
    for function in functions:
        with pytest.raises(ValueError, match="include has 2 features"):
            function(include=["a", "b"])
        with pytest.raises(ValueError, match="exclude names 'z', but Q has no such feature"):
            function(exclude="z")


def test_estimator() -> None:
    """Tests parameters, which are those of solve."""
    X = table()
    pca = OrthogonalSparsePCA(2, 3, include=[["f"], []], exclude="a", relation="disjoint")
    assert clone(pca).get_params()["include"] == [["f"], []]
    pca.fit(X)
    expected = solve(DataCovariance(X), 3, 2, include=[["f"], []], exclude="a", relation="disjoint")
    np.testing.assert_array_equal(pca.components_, expected.components)
    assert not pca.components_[:, 0].any()
    again = OrthogonalSparsePCA(1, 3, previous=pca.components_).fit(X)
    assert np.abs(again.components_ @ pca.components_.T).max() < 1e-12


def test_estimator_with_nothing_left() -> None:
    """Tests what is said if no vector is as is asked."""
    X = table()
    pca = OrthogonalSparsePCA(1, 1, include=["f"], previous=np.eye(6)[5:])
    with pytest.raises(ValueError, match="no vector satisfies include, exclude and previous"):
        pca.fit(X)


def test_non_negative_everywhere() -> None:
    """Tests that loadings are not negative in paths, folds, resamples and the estimator."""
    X = np.random.default_rng(5).standard_normal((40, 6))
    Q = np.cov(X.T)
    path = sparsity_path(Q, [1, 2, 3], n_components=2, nonnegative=True)
    assert path.status is Status.OPTIMAL
    for result in path.results:
        assert (result.components >= 0).all()
        alone = solve(Q, result.sparsity[0], 2, nonnegative=True)
        assert result.variances == pytest.approx(alone.variances, rel=2e-4)
        assert len(alone.path) == result.sparsity[0]
    found = stability(X, 2, 2, n_resamples=4, nonnegative=True)
    assert (found.result.components >= 0).all()
    assert cross_validate_sparsity(X, [1, 2], cv=3, nonnegative=True).sparsities == (1, 2)
    pca = OrthogonalSparsePCA(2, 3, nonnegative=True).fit(X)
    assert (pca.components_ >= 0).all()
    assert pca.get_params()["nonnegative"] is True


def test_paths_of_uncorrelated_scores() -> None:
    """Tests that every sparsity has uncorrelated scores, and that nothing is added up."""
    X = np.random.default_rng(6).standard_normal((40, 6))
    Q = np.cov(X.T)
    for result in sparsity_path(Q, [2, 3], n_components=3, relation="uncorrelated").results:
        products = result.components @ Q @ result.components.T
        assert np.abs(products - np.diag(products.diagonal())).max() < 1e-11
        assert np.isnan(result.joint_upper_bound)
        assert not result.orthogonal


def test_uncorrelated_scores_in_other_rows() -> None:
    """Tests that folds and resamples are fitted as was asked, and that shares held out add up."""
    X = table(5)
    asked = {"relation": "uncorrelated"}
    found = stability(X, 3, 3, n_resamples=4, **asked)
    assert not found.result.orthogonal
    assert found.frequencies.shape == (3, 6)
    folds = [(np.arange(10, 40), np.arange(10))]
    tested = cross_validate_sparsity(X, [2, 4], 3, cv=folds, **asked)
    rest, held = X.to_numpy()[10:], X.to_numpy()[:10] - X.to_numpy()[10:].mean(axis=0)
    for i, p in enumerate(tested.sparsities):
        V = solve(np.cov(rest.T), p, 3, **asked).components
        projected = held @ np.linalg.pinv(V) @ V
        share = np.square(projected).sum() / np.square(held).sum()
        assert tested.mean[i] == pytest.approx(share, rel=1e-9)
        P = np.linalg.pinv(V) @ V
        C = np.cov(rest.T)
        assert tested.fitted_mean[i] == pytest.approx(np.trace(P @ C) / np.trace(C), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("relation", ["disjoint", "uncorrelated"])
def test_alternatives_of_a_later_component(relation: str, seed: int) -> None:
    """Tests the list of a second stage against the best vector of every support."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 7)) @ rng.standard_normal((7, 7))
    Q = np.cov(X.T)
    first = solve(Q, 3).components
    listed = []
    for T in combinations(range(7), 3):
        part = Q[np.ix_(T, T)]
        if relation == "disjoint":
            if not first[0, list(T)].any():
                listed.append((np.linalg.eigvalsh(part)[-1], T))
            continue
        image = (Q @ first[0])[list(T)]
        N = np.linalg.svd(image[None])[2][1:].T
        listed.append((np.linalg.eigvalsh(N.T @ part @ N)[-1], T))
    level = 0.7 * max(listed)[0]
    expected = sorted((pair for pair in listed if pair[0] >= level), reverse=True)
    for given in (Q, DataCovariance(X)):
        found = alternatives(given, 3, 0.3, previous=first, relation=relation)
        assert found.complete
        assert [tuple(T.tolist()) for T in found.supports] == [T for _, T in expected]
        np.testing.assert_allclose(found.variances, [v for v, _ in expected], rtol=1e-9)
    with pytest.raises(ValueError, match="relation must be one of"):
        alternatives(Q, 3, relation="other")
    if relation == "disjoint":
        proved = alternatives(Q, 3, 0.3, previous=first, relation=relation, proof=True)
        assert verify.verify(proved.certificate, Q).verified
    else:
        with pytest.raises(ValueError, match="proof=True does not work with relation='unc"):
            alternatives(Q, 3, previous=first, relation=relation, proof=True)
