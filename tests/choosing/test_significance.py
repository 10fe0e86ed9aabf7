"""Components beside noise: p-values by brute force, false positives, what is planted is found."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse

from helpers.brute_force import stage_optimum
from orthospca import DataCovariance, Status, datasets, significance


def noise(seed: int, m: int = 30, n: int = 8) -> np.ndarray:
    """Independent columns of different variances."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, n)) * rng.uniform(0.5, 2.0, n)


def test_bounds_and_p_values_against_brute_force():
    """Tests that each bound is that of the permuted data, and the p-values those of its formula."""
    X = noise(1) + 1.2 * np.random.default_rng(2).standard_normal((30, 1)) * (np.arange(8) < 3)
    found = significance(X, 3, 2, n_permutations=19, correlation=True, null_gap=0.01)
    seeds = np.random.SeedSequence(0).spawn(2 * 19)
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    nothing, left = np.empty((0, 8)), np.ones(8)
    for k in range(2):
        above, shown = 0, Z / np.sqrt(left)
        for b in range(19):
            rng = np.random.default_rng(seeds[19 * k + b])
            best = stage_optimum(np.cov(rng.permuted(shown, axis=0).T), nothing, 3).value
            # Where a coarse bound is clearly below the variance it is as good as a close one.
            coarse = 1.5001 * best if found.null[k, b] < 0.9 * found.variances[k] else 0.0
            assert best * (1 - 1e-9) <= found.null[k, b] <= max(best * 1.0101, coarse)
            above += found.null[k, b] >= found.variances[k]
        assert found.p_values[k] == pytest.approx((1 + above) / 20)
        x = found.result.components[k]
        Z, left = Z - np.outer(Z @ x, x), left - x**2
    assert found.n_components == int(found.p_values[0] <= 0.05) * (
        1 + int(found.p_values[1] <= 0.05)
    )


def test_what_is_planted_is_found():
    """Tests that groups that share a factor are more than noise, and nothing after them is."""
    planted = datasets.make_planted_samples(40, 100, sparsity=5, n_groups=3, random_state=3)
    found = significance(planted.data, 5, 4)
    assert found.n_components == 3
    assert found.p_values[:3].tolist() == pytest.approx([1 / 21] * 3)
    assert found.p_values[3] > 0.05
    assert found.status is Status.OPTIMAL
    assert "the first 3 components are more than noise" in found.summary()
    assert "n_components=3" in repr(found)
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["n_components"] == 3 and len(content["null"]) == 4


def test_single_features_are_never_more_than_noise():
    """Tests that permuting leaves single variances as they are: every p-value is one."""
    found = significance(noise(5), 1, 3)
    assert found.p_values.tolist() == [1.0, 1.0, 1.0]
    assert found.n_components == 0


def test_every_kind_of_data_and_any_number_of_jobs():
    """Tests that sparse data, a covariance of data and two processes give the same numbers."""
    X = np.where(np.abs(noise(4)) < 0.8, 0.0, noise(4))
    first = significance(X, 3, 2, n_jobs=1)
    for given in (sparse.csr_matrix(X), DataCovariance(X)):
        found = significance(given, 3, 2, n_jobs=1)
        np.testing.assert_allclose(found.null, first.null, rtol=1e-9)
    two = significance(X, 3, 2, n_jobs=2)
    np.testing.assert_array_equal(two.null, first.null)
    other = significance(X, 3, 2, random_state=1)
    assert (other.null != first.null).any()


def test_limits_and_stops():
    """Tests that what was done counts, and that the status says what was not."""
    X = noise(6)
    stopped = significance(X, 3, 2, n_jobs=1, callback=lambda done, total: done == 5)
    assert stopped.status is Status.INTERRUPTED
    assert stopped.n_permutations.tolist() == [5, 0]
    above = (stopped.null[0, :5] >= stopped.variances[0]).sum()
    assert stopped.p_values.tolist() == pytest.approx([(1 + above) / 6, 1.0])
    assert "not all permutations were done" in stopped.summary()
    json.dumps(stopped.to_dict(), allow_nan=False)


def test_refusals():
    """Tests that each is one sentence that names the argument and the value."""
    X = noise(7)
    for given, told in (
        ({"n_permutations": 10}, "n_permutations must be at least 19 for the level 0.05, got 10"),
        ({"level": 1.5}, "level must be between 0 and 1, got 1.5"),
        ({"null_gap": -1}, "null_gap must be finite and not negative, got -1"),
        ({"sparsity": 9}, "sparsity must be at most 8"),
    ):
        with pytest.raises(ValueError, match=told):
            significance(X, **({"sparsity": 3} | given))


@pytest.mark.slow
def test_false_positives_after_a_planted_component():
    """Tests that one strong component is found, and noise beside it not taken for a second."""
    hits, missed = 0, 0
    for seed in range(200):
        planted = datasets.make_planted_samples(
            15,
            40,
            sparsity=3,
            n_groups=1,
            strengths=(4.0, 4.0),
            noise=(1.0, 1.0),
            random_state=seed,
        )
        found = significance(planted.data, 3, 2, random_state=seed, n_jobs=1)
        missed += found.p_values[0] > 0.05
        hits += found.p_values[1] <= 0.05
    assert missed <= 10
    assert hits / 200 <= 1 / 21 + 5 * np.sqrt(20 / 21**2 / 200)


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [False, True])
def test_false_positives(correlation):
    """Tests that on pure noise a first component is found in no more than 5 % of 300 data sets.

    With 20 permutations the level is 1 in 21 at most; five standard errors more is too many.
    """
    hits = sum(
        significance(
            noise(seed), 3, 1, correlation=correlation, random_state=seed, n_jobs=1
        ).n_components
        for seed in range(300)
    )
    assert hits / 300 <= 1 / 21 + 5 * np.sqrt(20 / 21**2 / 300)


def test_what_was_not_tested_is_not_ruled_out():
    """Tests the sentence where permutations are missing: it says what is shown, not what is so."""
    data = np.random.default_rng(0).standard_normal((20, 6))
    assert "no component is more than noise" in significance(data, 2, 1).verdict()
    stopped = significance(data, 2, 1, callback=lambda done, total: True)
    assert stopped.status is Status.INTERRUPTED
    assert "no component is shown to be more than noise at the level 0.05" in stopped.verdict()
