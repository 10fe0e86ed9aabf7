"""Held-out variance by sparsity: against the estimator's score and against numbers by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.model_selection import GroupKFold, KFold

from orthospca import (
    DataCovariance,
    OrthogonalSparsePCA,
    Status,
    cross_validate_sparsity,
    datasets,
    solve,
)


def wine() -> np.ndarray:
    return datasets.load_wine().data


@pytest.mark.filterwarnings("ignore:.*unless all features have the same unit:UserWarning")
@pytest.mark.parametrize("covariance", ["empirical", "correlation"])
def test_it_is_the_score_of_the_estimator(covariance):
    """Tests every fold and sparsity against the score of an estimator fitted to the others."""
    X = wine()
    correlation = covariance == "correlation"
    found = cross_validate_sparsity(X, [2, 4], n_components=3, cv=3, correlation=correlation)
    for f, (train, test) in enumerate(KFold(3, shuffle=True, random_state=0).split(X)):
        for i, p in enumerate((2, 4)):
            estimator = OrthogonalSparsePCA(3, p, covariance=covariance).fit(X[train])
            assert found.ratios[f, i] == pytest.approx(estimator.score(X[test]), rel=1e-9)
            ratio = estimator.explained_variance_ratio_
            np.testing.assert_allclose(found.fitted[f, i], ratio, rtol=1e-9)


def test_each_component_by_hand():
    """Tests the share of each component against squares of scores of the rows held out."""
    X = wine()
    train, test = np.arange(100), np.arange(100, 178)
    found = cross_validate_sparsity(X, [3], n_components=2, cv=[(train, test)])
    result = solve(np.cov(X[train].T), 3, 2)
    Z = X[test] - X[train].mean(axis=0)
    shares = np.square(Z @ result.components.T).sum(axis=0) / np.square(Z).sum()
    np.testing.assert_allclose(found.held_out[0, 0], shares, rtol=1e-9)
    assert found.n_folds == 1
    assert np.isnan(found.standard_error).all()
    assert found.suggested == found.best == 3


def test_shares_of_orthogonal_components_add_up():
    """Tests that with all components everything is explained, in rows held out too."""
    found = cross_validate_sparsity(wine(), [13], n_components=13, cv=2)
    np.testing.assert_allclose(found.mean, 1.0, rtol=1e-9)
    assert ((found.ratios >= 0) & (found.ratios <= 1 + 1e-12)).all()


def test_components_that_run_out():
    """Tests that components that do not exist are NaN and explain nothing."""
    X = np.random.default_rng(0).standard_normal((40, 4))
    found = cross_validate_sparsity(X, [3], n_components=4, cv=3)
    missing = np.isnan(found.held_out)
    np.testing.assert_array_equal(missing, np.isnan(found.fitted))
    assert np.isfinite(found.mean).all()


def test_the_rule_of_one_standard_error():
    """Tests that the smallest sparsity within one standard error of the best is suggested."""
    from dataclasses import replace

    found = cross_validate_sparsity(wine(), [2, 3, 4], cv=3, correlation=True)
    table = np.array([[[0.1], [0.50], [0.52]], [[0.2], [0.60], [0.58]], [[0.1], [0.55], [0.58]]])
    made = replace(found, held_out=table)
    assert made.best == 4
    assert made.suggested == made.one_standard_error == 3
    means, errors = table[:, :, 0].mean(axis=0), table[:, :, 0].std(axis=0, ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(made.mean, means)
    np.testing.assert_allclose(made.standard_error, errors)
    assert means[1] >= means[2] - errors[2] > means[0]


def test_noise_does_not_hold_out_of_sample():
    """Tests that what is found in pure noise is less in rows held out."""
    X = np.random.default_rng(0).standard_normal((40, 15))
    found = cross_validate_sparsity(X, [1, 2, 4])
    assert (found.mean < found.fitted_mean).all()


def test_the_same_whatever_n_jobs_and_form():
    """Tests threads, data frames, sparse matrices and covariances of data."""
    pandas = pytest.importorskip("pandas")
    X = np.where(wine() < 2.0, 0.0, wine())
    options = {"n_components": 2, "cv": 3}
    expected = cross_validate_sparsity(X, [2, 4], correlation=True, **options)
    with parallel_config(backend="threading"):
        again = cross_validate_sparsity(X, [4, 2], correlation=True, n_jobs=2, **options)
    np.testing.assert_array_equal(again.held_out, expected.held_out)
    for form in (pandas.DataFrame(X), sparse.csr_matrix(X)):
        found = cross_validate_sparsity(form, [2, 4], correlation=True, **options)
        np.testing.assert_allclose(found.held_out, expected.held_out, rtol=1e-6)
    found = cross_validate_sparsity(DataCovariance(X, correlation=True), [2, 4], **options)
    np.testing.assert_array_equal(found.held_out, expected.held_out)


def test_folds_of_ones_own():
    """Tests splitters with groups, seeds, and that rows of a group stay together."""
    X = wine()
    groups = np.arange(178) % 7
    found = cross_validate_sparsity(X, [3], cv=GroupKFold(4), groups=groups)
    assert found.n_folds == 4
    one, other = (cross_validate_sparsity(X, [3], random_state=seed) for seed in (0, 1))
    assert not np.array_equal(one.held_out, other.held_out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cv": 1}, "cv must be at least 2, got 1"),
        ({"cv": 179}, r"cv must be at most 178 \(the number of rows\), got 179"),
        ({"cv": 2.5}, "cv must be an integer, got 2.5"),
        ({"cv": []}, "cv must have at least one fold, got none"),
        ({"cv": [([0], [1])]}, "cv must leave at least 2 rows to fit"),
        ({"sparsities": []}, "sparsities must have at least one entry"),
        ({"sparsities": [14]}, r"sparsities\[0\] must be at most 13"),
        ({"n_components": 14}, "n_components must be at most 13"),
        ({"random_state": "x"}, "random_state must be an integer"),
        ({"method": "deflation"}, "method must not be 'deflation'"),
        ({"X": np.ones(3)}, "X must be observations by features"),
    ],
)
def test_bad_arguments(arguments, message):
    """Tests that bad arguments are named."""
    with pytest.raises(ValueError, match=message):
        cross_validate_sparsity(**{"X": wine(), "sparsities": [2], **arguments})


def test_stopping():
    """Tests that the callback and Ctrl-C leave the folds that are done."""
    found = cross_validate_sparsity(wine(), [2], cv=5, callback=lambda done, total: done == 2)
    assert found.n_folds == 2
    assert found.status is Status.INTERRUPTED

    def interrupt(done, total):
        raise KeyboardInterrupt

    one = cross_validate_sparsity(wine(), [2], cv=5, callback=interrupt)
    assert one.n_folds == 1
    assert one.status is Status.INTERRUPTED


def test_nothing_was_done():
    """Tests that a cross-validation without a fold says so instead of choosing."""
    from dataclasses import replace

    found = cross_validate_sparsity(wine(), [2, 3], cv=2)
    nothing = replace(found, held_out=np.zeros((0, 2, 1)), fitted=np.zeros((0, 2, 1)))
    with pytest.raises(ValueError, match="no fold was done"):
        _ = nothing.suggested
    assert "0 folds" in nothing.summary()
    assert nothing._repr_html_()
    assert repr(nothing)


def test_views():
    """Tests text, HTML, the data frame and plain objects."""
    pytest.importorskip("pandas")
    found = cross_validate_sparsity(wine(), [2, 3], cv=3)
    lines = found.summary().splitlines()
    assert lines[0].split() == ["sparsity", "held", "out", "±", "s.e.", "fitted"]
    assert sum("suggested" in line for line in lines[:3]) == 1
    assert found._repr_html_().count("<tr>") == 3
    np.testing.assert_array_equal(found.to_frame()["held_out"], found.mean)
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["suggested"] == found.suggested
    assert "CrossValidation(3 folds, sparsities=[2, 3]" in repr(found)
