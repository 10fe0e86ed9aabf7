"""The scikit-learn estimator: its conventions, its numbers, and what it accepts."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.truth import is_finished
from helpers.wide import tuned
from orthospca import OrthogonalSparsePCA, Status, datasets, solve
from orthospca import estimator as module
from orthospca.data.moments import sum_of_squares
from orthospca.facade import solve_with

UNEVEN = "ignore:.*unless all features have the same unit:UserWarning"
pytestmark = pytest.mark.filterwarnings(UNEVEN)

CONTAINERS = [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.coo_array]


@pytest.fixture(scope="module")
def wine() -> np.ndarray:
    return datasets.load_wine().data


@pytest.fixture
def counts() -> np.ndarray:
    """Mostly zeros, with one full column that is far from zero and hardly varies."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.3, size=(60, 8)).astype(float)
    X[:, 1] += 2 * X[:, 0]
    X[:, 5] = 1e6 + rng.standard_normal(60)
    assert (X == 0).mean() > 0.5
    return X


def hard() -> np.ndarray:
    """Noise: no method closes the gap at the root."""
    return np.random.default_rng(0).standard_normal((80, 40))


# ---------------------------------------------------------------------------- conventions


@parametrize_with_checks(
    [
        OrthogonalSparsePCA(),
        OrthogonalSparsePCA(1, [2], method="enumeration", covariance="correlation", n_jobs=2),
    ]
)
def test_obeys_every_convention(estimator, check):
    """Tests scikit-learn's own checks, with no expected failures."""
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        OrthogonalSparsePCA(covariance="correlation", sparsity=3),
        OrthogonalSparsePCA(method="eigenvalue", sparsity=2, gap=1e-9),
        OrthogonalSparsePCA(sparsity=1, proof=True),
        OrthogonalSparsePCA(relation="uncorrelated", sparsity=3),
    ]
)
def test_obeys_every_convention_whatever_is_asked(estimator, check):
    """Tests the same with other parameters."""
    check(estimator)


def test_clone_and_pickle_keep_everything(wine):
    """Tests that a clone has the parameters only, and a pickle the fit as well."""
    fitted = OrthogonalSparsePCA(3, 4, covariance="correlation", gap=1e-6).fit(wine)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "components_")
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.transform(wine), fitted.transform(wine))
    assert again.result_.to_dict() == fitted.result_.to_dict()


def test_unfitted():
    """Tests that every method that needs a fit says so."""
    unfitted = OrthogonalSparsePCA()
    for method in (unfitted.transform, unfitted.inverse_transform, unfitted.score):
        with pytest.raises(NotFittedError):
            method(np.zeros((2, 2)))
    with pytest.raises(NotFittedError):
        unfitted.get_covariance()


def test_pipeline_and_grid_search(wine):
    """Tests that sparsity can be chosen inside a pipeline, by its own score or a classifier's."""
    search = GridSearchCV(
        OrthogonalSparsePCA(2, covariance="correlation"), {"sparsity": [1, 4, 13]}, cv=KFold(3)
    ).fit(wine)
    assert search.best_params_["sparsity"] > 1
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    labels = np.array(datasets.load_wine().target)
    pipeline = make_pipeline(StandardScaler(), OrthogonalSparsePCA(4, 4), LogisticRegression())
    choice = GridSearchCV(pipeline, {"orthogonalsparsepca__sparsity": [3, 5]}, cv=3)
    assert choice.fit(wine, labels).best_score_ > 0.9


def test_feature_names(wine):
    """Tests the names of the scores without names of the features."""
    fitted = OrthogonalSparsePCA(2, 3).fit(wine)
    assert fitted.get_feature_names_out().tolist() == [
        "orthogonalsparsepca0",
        "orthogonalsparsepca1",
    ]
    assert fitted.result_.feature_names is None


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(library, wine):
    """Tests frames in and frames out, with the names of the features in the result."""
    frames = pytest.importorskip(library)
    names = list(datasets.load_wine().feature_names)
    frame = frames.DataFrame(dict(zip(names, wine.T, strict=True)))
    estimator = OrthogonalSparsePCA(2, 3, covariance="correlation").set_output(transform=library)
    scores = estimator.fit_transform(frame)
    assert isinstance(scores, frames.DataFrame)
    assert list(scores.columns) == ["orthogonalsparsepca0", "orthogonalsparsepca1"]
    plain = OrthogonalSparsePCA(2, 3, covariance="correlation").fit_transform(wine)
    np.testing.assert_allclose(scores.to_numpy(), plain, atol=1e-10)
    assert estimator.feature_names_in_.tolist() == names
    assert "flavanoids" in estimator.result_.summary()
    square = frames.DataFrame(dict(zip(names, np.cov(wine.T), strict=True)))
    precomputed = OrthogonalSparsePCA(2, 3, covariance="precomputed").fit(square)
    assert precomputed.result_.feature_names == tuple(names)


def test_frame_out_of_an_array(wine):
    """Tests that a frame can come out where none went in, inside a pipeline too."""
    frames = pytest.importorskip("pandas")
    pipeline = make_pipeline(StandardScaler(), OrthogonalSparsePCA(2, 3))
    scores = pipeline.set_output(transform="pandas").fit_transform(wine)
    assert isinstance(scores, frames.DataFrame)
    assert scores.shape == (len(wine), 2)


# ---------------------------------------------------------------------------- numbers


@pytest.mark.parametrize("kind", ["empirical", "correlation"])
def test_agrees_with_solve(kind, wine):
    """Tests that the fit is that of `solve` on NumPy's covariance or correlation."""
    Q = np.cov(wine.T) if kind == "empirical" else np.corrcoef(wine.T)
    fitted = OrthogonalSparsePCA(3, 4, covariance=kind, gap=1e-8).fit(wine)
    result = solve(Q, 4, 3, gap=1e-8)
    np.testing.assert_allclose(fitted.components_, result.components, atol=1e-7)
    np.testing.assert_allclose(fitted.explained_variance_, result.variances, rtol=1e-10)
    np.testing.assert_allclose(fitted.upper_bounds_, result.upper_bounds, rtol=1e-6)
    assert (fitted.upper_bounds_ >= fitted.explained_variance_).all()
    assert (fitted.gaps_ <= 1e-8).all()
    assert fitted.status_ is Status.OPTIMAL
    assert fitted.n_components_ == 3
    np.testing.assert_allclose(fitted.mean_, wine.mean(axis=0))
    scale = wine.std(axis=0, ddof=1) if kind == "correlation" else np.ones(13)
    np.testing.assert_allclose(fitted.scale_, scale)


@pytest.mark.parametrize("kind", ["empirical", "correlation", "precomputed"])
def test_proof(kind, wine):
    """Tests that the proof asked for is accepted, outlives a pickle, and is of these bounds."""
    X = np.cov(wine.T) if kind == "precomputed" else wine
    fitted = OrthogonalSparsePCA(3, 4, covariance=kind, proof=True).fit(X)
    for certificate in (fitted.certificate_, pickle.loads(pickle.dumps(fitted)).certificate_):
        verdict = certificate.verify()
        assert verdict.verified, verdict.reason
        assert (np.array(verdict.upper_bounds) <= fitted.upper_bounds_).all()
        np.testing.assert_array_equal(certificate.arrays["components.npy"], fitted.components_)
    assert OrthogonalSparsePCA(covariance=kind).fit(X).certificate_ is None


def test_proof_of_wide_data():
    """Tests data whose covariance is not formed, dense and sparse."""
    X = datasets.make_planted_samples(4100, 30).data
    fitted = OrthogonalSparsePCA(1, 3, proof=True).fit(X)
    assert fitted.certificate_.manifest["problem"]["kind"] == "factor"
    assert fitted.certificate_.verify().verified
    assert fitted.fit(sparse.csr_array(X)).certificate_.verify().verified


def test_certificates_cover_the_optimum(wine):
    """Tests the bounds against exhaustive enumeration."""
    fitted = OrthogonalSparsePCA(3, 3, covariance="correlation", gap=1e-2).fit(wine)
    best = solve(np.corrcoef(wine.T), 3, method="enumeration").variances[0]
    assert fitted.explained_variance_[0] <= best * (1 + 1e-12)
    assert best <= fitted.upper_bounds_[0]


@pytest.mark.parametrize("kind", ["empirical", "correlation"])
def test_explained_variance_is_the_variance_of_the_scores(kind, wine):
    """Tests the variance of each score, and that of the projection, which is their sum."""
    fitted = OrthogonalSparsePCA(4, 3, covariance=kind).fit(wine)
    scores = fitted.transform(wine)
    np.testing.assert_allclose(scores.var(axis=0, ddof=1), fitted.explained_variance_)
    np.testing.assert_allclose(scores.mean(axis=0), 0, atol=1e-10)
    projected = (fitted.inverse_transform(scores) - fitted.mean_) / fitted.scale_
    np.testing.assert_allclose(
        projected.var(axis=0, ddof=1).sum(), fitted.explained_variance_.sum()
    )
    V = fitted.components_
    np.testing.assert_allclose(V @ V.T, np.eye(4), atol=1e-12)
    assert (np.count_nonzero(V, axis=1) <= 3).all()
    assert (V[np.arange(4), np.abs(V).argmax(axis=1)] > 0).all()


def test_without_sparsity_it_is_pca(wine):
    """Tests that a sparsity of all features, or more, gives ordinary PCA."""
    X = StandardScaler().fit_transform(wine)
    fitted = OrthogonalSparsePCA(13, 100, gap=0.0)
    with pytest.warns(ConvergenceWarning, match=r"\(precision\); the largest gap is <1e-9 %"):
        fitted.fit(X)
    assert is_finished(fitted.result_, np.cov(X.T))
    pca = PCA().fit(X)
    np.testing.assert_allclose(fitted.explained_variance_, pca.explained_variance_)
    np.testing.assert_allclose(fitted.explained_variance_ratio_, pca.explained_variance_ratio_)
    np.testing.assert_allclose(fitted.explained_variance_ratio_.sum(), 1)
    np.testing.assert_allclose(
        np.abs(fitted.components_ @ pca.components_.T), np.eye(13), atol=1e-6
    )
    np.testing.assert_allclose(fitted.inverse_transform(fitted.transform(X)), X, atol=1e-9)
    np.testing.assert_allclose(fitted.get_covariance(), pca.get_covariance(), atol=1e-9)
    assert fitted.noise_variance_ == 0.0


def test_exhausted_basis_explains_less_than_the_trace():
    """Tests that components that run out are announced, and that their ratios stay below 1."""
    Q = datasets.load_pitprops().covariance()
    estimator = OrthogonalSparsePCA(13, 5, covariance="precomputed")
    with pytest.warns(UserWarning, match="only 11 exist: it is proved"):
        estimator.fit(Q)
    assert estimator.status_ is Status.EXHAUSTED
    assert estimator.n_components_ == 11
    assert estimator.components_.shape == (11, 13)
    assert len(estimator.get_feature_names_out()) == 11
    assert estimator.explained_variance_ratio_.sum() == pytest.approx(11.890 / 13, rel=1e-3)
    left = 13 - estimator.explained_variance_.sum()
    assert estimator.noise_variance_ == pytest.approx(left / 2)


def test_one_sparsity_for_each_component(wine):
    """Tests a sequence of sparsities, clipped at the number of features."""
    fitted = OrthogonalSparsePCA(3, np.array([20, 3, 2]), covariance="correlation").fit(wine)
    assert fitted.result_.sparsity == (13, 3, 2)
    assert (np.count_nonzero(fitted.components_, axis=1) <= [13, 3, 2]).all()


@pytest.mark.parametrize("kind", ["empirical", "correlation"])
def test_score_is_the_explained_share(kind, wine):
    """Tests the score on the training data, on new data, and with weights."""
    train, test = wine[::2], wine[1::2]
    fitted = OrthogonalSparsePCA(3, 4, covariance=kind).fit(train)
    assert fitted.score(train) == pytest.approx(fitted.explained_variance_ratio_.sum())
    Z = (test - fitted.mean_) / fitted.scale_
    rest = Z - Z @ fitted.components_.T @ fitted.components_
    assert fitted.score(test) == pytest.approx(1 - np.square(rest).sum() / np.square(Z).sum())
    assert 0 < fitted.score(test) < 1
    weights = np.arange(len(test)) % 3
    assert fitted.score(test, sample_weight=weights) == pytest.approx(
        fitted.score(np.repeat(test, weights, axis=0))
    )
    more = OrthogonalSparsePCA(4, 4, covariance=kind).fit(train)
    assert more.score(test) >= fitted.score(test)


@pytest.mark.parametrize("kind", ["empirical", "correlation"])
def test_model_covariance(kind, wine):
    """Tests that the model has the variance of each component and the trace, in the units of X."""
    fitted = OrthogonalSparsePCA(3, 4, covariance=kind).fit(wine)
    C = fitted.get_covariance()
    assert np.array_equal(C, C.T)
    standardised = C / np.outer(fitted.scale_, fitted.scale_)
    V = fitted.components_
    np.testing.assert_allclose(
        V @ standardised @ V.T, np.diag(fitted.explained_variance_), atol=1e-6
    )
    np.testing.assert_allclose(np.trace(standardised), fitted.result_.total_variance)
    assert (np.linalg.eigvalsh(C) > 0).all()


def test_inverse_transform(wine):
    """Tests that scores survive the way back and forth, and that their number is checked."""
    fitted = OrthogonalSparsePCA(3, 4, covariance="correlation").fit(wine)
    scores = np.random.default_rng(0).standard_normal((7, 3))
    np.testing.assert_allclose(fitted.transform(fitted.inverse_transform(scores)), scores)
    with pytest.raises(ValueError, match="one column for each of the 3 components, got 2"):
        fitted.inverse_transform(scores[:, :2])


def test_same_fit_whatever_the_threads_and_the_seed(wine):
    """Tests that jobs and random states leave every bit as it is."""
    first = OrthogonalSparsePCA(3, 4, covariance="correlation").fit(wine)
    for options in (
        {"n_jobs": 2},
        {"random_state": 7},
        {"random_state": np.random.RandomState(3)},
    ):
        other = OrthogonalSparsePCA(3, 4, covariance="correlation", **options).fit(wine)
        assert other.components_.tobytes() == first.components_.tobytes()
        assert other.upper_bounds_.tobytes() == first.upper_bounds_.tobytes()


# ---------------------------------------------------------------------------- weights


@pytest.mark.parametrize("kind", ["empirical", "correlation"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_weights_are_frequencies(kind, container, wine):
    """Tests that a weight is a number of copies, in every number of the fit."""
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 4, len(wine))
    weighted = OrthogonalSparsePCA(2, 3, covariance=kind).fit(
        container(wine), sample_weight=weights
    )
    repeated = OrthogonalSparsePCA(2, 3, covariance=kind).fit(
        container(np.repeat(wine, weights, axis=0))
    )
    for name in ("components_", "explained_variance_", "upper_bounds_", "mean_", "scale_"):
        np.testing.assert_allclose(
            getattr(weighted, name), getattr(repeated, name), rtol=1e-6, atol=1e-9
        )


def test_fractional_weights(wine):
    """Tests the divisor with weights that are not whole, and that it does not move components."""
    weights = np.random.default_rng(0).uniform(0.5, 2, len(wine))
    fitted = OrthogonalSparsePCA(1, 1, gap=0.0).fit(wine, sample_weight=weights)
    mean = np.average(wine, axis=0, weights=weights)
    variances = weights @ (wine - mean) ** 2 / (weights.sum() - 1)
    np.testing.assert_allclose(fitted.explained_variance_, variances.max())
    doubled = OrthogonalSparsePCA(1, 1, gap=0.0).fit(wine, sample_weight=2 * weights)
    assert np.array_equal(doubled.components_, fitted.components_)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(5), "one number for each of the 178 observations, got shape"),
        (np.ones((178, 2)), "got shape"),
        (np.r_[1.0, -2.0, np.ones(176)], "not be negative, got -2.0 at position 1"),
        (np.zeros(178), "must not be zero for every observation"),
        (np.full(178, 1 / 178), "sum must be more than 1"),
        (np.r_[np.nan, np.ones(177)], "NaN"),
    ],
)
def test_bad_weights(weights, message, wine):
    """Tests that bad weights are refused with what is wrong with them."""
    with pytest.raises(ValueError, match=message):
        OrthogonalSparsePCA().fit(wine, sample_weight=weights)


# ---------------------------------------------------------------------------- sparse data


@pytest.mark.parametrize("kind", ["empirical", "correlation"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_sparse_data_as_dense(kind, container, counts):
    """Tests that sparse and dense data give the same fit, scores and score."""
    dense = OrthogonalSparsePCA(3, 3, covariance=kind).fit(counts)
    X = container(counts)
    fitted = OrthogonalSparsePCA(3, 3, covariance=kind).fit(X)
    for name in ("components_", "explained_variance_", "mean_", "scale_"):
        np.testing.assert_allclose(
            getattr(fitted, name), getattr(dense, name), rtol=1e-9, atol=1e-9
        )
    np.testing.assert_allclose(fitted.transform(X), dense.transform(counts), atol=1e-7)
    assert isinstance(fitted.transform(X), np.ndarray)
    assert fitted.score(X) == pytest.approx(dense.score(counts), rel=1e-9)
    weights = np.arange(len(counts)) % 3
    assert fitted.score(X, sample_weight=weights) == pytest.approx(
        dense.score(counts, sample_weight=weights), rel=1e-9
    )


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_sparse_data_stay_sparse(layout, monkeypatch):
    """Tests that no dense array of the size of X is made on the way."""
    X = sparse.random_array((300, 40), density=0.1, format=layout, rng=np.random.default_rng(0))
    expected = OrthogonalSparsePCA(2, 3).fit_transform(X.toarray())

    def guarded(original):
        def toarray(self, *args, **kwargs):
            assert max(self.shape) < 300, "X was made dense"
            return original(self, *args, **kwargs)

        return toarray

    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array):
        for name in ("toarray", "todense"):
            monkeypatch.setattr(kind, name, guarded(getattr(kind, name)))
    estimator = OrthogonalSparsePCA(2, 3)
    np.testing.assert_allclose(estimator.fit_transform(X), expected, atol=1e-10)
    estimator.fit(X, sample_weight=np.arange(300) % 2)
    estimator.score(X)


def test_entries_stored_twice():
    """Tests a sparse matrix that holds an entry as a sum of two."""
    rows, columns = [0, 0, 1, 2, 3], [0, 0, 1, 0, 1]
    X = sparse.csr_array((np.array([1.0, 2.0, 5.0, 4.0, 1.0]), (rows, columns)), shape=(4, 3))
    split = sparse.csr_array(
        (np.array([1.0, 2.0, 5.0, 4.0, 1.0]), np.array([0, 0, 1, 0, 1]), [0, 2, 3, 4, 5]),
        shape=(4, 3),
    )
    a, b = OrthogonalSparsePCA(2, 2).fit(X), OrthogonalSparsePCA(2, 2).fit(split)
    np.testing.assert_allclose(a.components_, b.components_)
    assert a.score(X) == pytest.approx(b.score(split))


# ---------------------------------------------------------------------------- types


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_single_precision(container, wine):
    """Tests that scores keep the type of the data, and the certificate stays in double."""
    X = wine.astype(np.float32)
    single = OrthogonalSparsePCA(2, 3, covariance="correlation").fit(container(X))
    double = OrthogonalSparsePCA(2, 3, covariance="correlation").fit(X.astype(np.float64))
    for name in ("components_", "mean_", "scale_"):
        assert getattr(single, name).dtype == np.float32
        np.testing.assert_allclose(getattr(single, name), getattr(double, name), rtol=1e-5)
    for name in ("explained_variance_", "upper_bounds_", "gaps_"):
        assert getattr(single, name).dtype == np.float64
        np.testing.assert_allclose(
            getattr(single, name), getattr(double, name), rtol=1e-6, atol=1e-12
        )
    scores = single.transform(container(X))
    assert scores.dtype == np.float32
    assert single.inverse_transform(scores).dtype == np.float32
    np.testing.assert_allclose(scores, double.transform(X), atol=2e-4)


def test_integers_and_lists():
    """Tests that whole numbers are read as numbers."""
    X = [[1, 2, 0], [3, 1, 1], [0, 0, 5], [2, 2, 2]]
    assert OrthogonalSparsePCA(2, 2).fit_transform(X).dtype == np.float64


def test_blocks_of_rows(wine):
    """Tests that what is explained does not depend on how many rows are centred at a time."""
    mean, scale, weights = wine.mean(axis=0), wine.std(axis=0), np.arange(len(wine)) % 3.0
    found = sum_of_squares(wine, mean, scale, weights, together=100)
    expected = (weights @ np.square((wine - mean) / scale)).sum()
    assert found == pytest.approx(expected, rel=1e-12)


# ---------------------------------------------------------------------------- constant features


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_constant_features(container, wine):
    """Tests that a constant feature is not blown up by its rounding error."""
    X = np.column_stack([np.full(178, 0.1), wine[:, :4], np.zeros(178), np.full(178, 1e5 / 3)])
    fitted = OrthogonalSparsePCA(4, 2, covariance="correlation").fit(container(X))
    assert fitted.scale_[[0, 5, 6]].tolist() == [1, 1, 1]
    assert (fitted.components_[:, [0, 5, 6]] == 0).all()
    assert fitted.result_.total_variance == pytest.approx(4, rel=1e-14)
    plain = OrthogonalSparsePCA(4, 2).fit(container(X))
    assert (plain.components_[:, [0, 5, 6]] == 0).all()


def test_nothing_varies():
    """Tests that data without variance have components, and no share of nothing."""
    X = np.full((5, 3), 0.1)
    for kind in ("empirical", "correlation"):
        fitted = OrthogonalSparsePCA(2, 2, covariance=kind).fit(X)
        assert fitted.explained_variance_.tolist() == [0, 0]
        assert np.isnan(fitted.explained_variance_ratio_).all()
        np.testing.assert_allclose(fitted.transform(X), 0, atol=1e-15)
    assert np.isnan(OrthogonalSparsePCA(2, 2).fit(np.ones((5, 3))).score(np.ones((5, 3))))


# ---------------------------------------------------------------------------- precomputed


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_precomputed(container, wine):
    """Tests that the matrix gives the components, and observations are used as they are."""
    Q = np.cov(wine.T)
    fitted = OrthogonalSparsePCA(2, 3, covariance="precomputed").fit(container(Q))
    direct = OrthogonalSparsePCA(2, 3).fit(wine)
    np.testing.assert_allclose(fitted.components_, direct.components_, atol=1e-9)
    assert (fitted.mean_ == 0).all()
    assert (fitted.scale_ == 1).all()
    np.testing.assert_allclose(fitted.transform(wine), wine @ fitted.components_.T)
    centred = wine - wine.mean(axis=0)
    assert fitted.score(centred) == pytest.approx(direct.score(wine))


def test_precomputed_indefinite():
    """Tests a matrix that is no covariance: shares of a negative trace are not defined."""
    fitted = OrthogonalSparsePCA(2, 1, covariance="precomputed").fit([[-2.0, 1.0], [1.0, -3.0]])
    assert fitted.explained_variance_.tolist() == [-2, -3]
    assert np.isnan(fitted.explained_variance_ratio_).all()


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones((3, 2)), r"X must be a square matrix .* got shape \(3, 2\)"),
        ([[1.0, 2.0], [0.0, 1.0]], "X must be symmetric, got 2.0 at row 0, column 1"),
        ([[1.0, np.nan], [np.nan, 1.0]], "NaN"),
    ],
)
def test_bad_matrices(X, message):
    """Tests that what is no symmetric matrix is refused."""
    with pytest.raises(ValueError, match=message):
        OrthogonalSparsePCA(1, 1, covariance="precomputed").fit(X)


def test_precomputed_has_no_weights_and_no_scores():
    """Tests that what makes no sense for a matrix is refused."""
    estimator = OrthogonalSparsePCA(1, 1, covariance="precomputed")
    with pytest.raises(ValueError, match="sample_weight must be None"):
        estimator.fit(np.eye(2), sample_weight=[1, 1])
    with pytest.raises(ValueError, match="fit_transform needs observations"):
        estimator.fit_transform(np.eye(2))


# ---------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 14}, "n_components=14 must be at most n_features=13"),
        ({"n_components": 0}, "n_components must be at least 1, got 0"),
        ({"n_components": 1.5}, "n_components must be an integer, got 1.5"),
        ({"sparsity": 0}, "sparsity must be at least 1, got 0"),
        ({"sparsity": 2.0}, "sparsity must be an integer, got 2.0"),
        ({"sparsity": True}, "sparsity must be an integer, got True"),
        ({"sparsity": [3]}, "one for each of the 2 components"),
        ({"sparsity": "5"}, "sparsity must be an integer"),
        ({"covariance": "robust"}, "covariance must be one of 'empirical', 'correlation'"),
        ({"method": "deflation"}, "method must be one of .*, got 'deflation'"),
        ({"method": "magic"}, "method must be one of .*, got 'magic'"),
        ({"gap": -1.0}, "gap must be finite and not negative"),
        ({"random_state": "x"}, "cannot be used to seed"),
    ],
)
def test_bad_parameters(options, message, wine):
    """Tests that bad parameters are accepted at first and refused by `fit`."""
    estimator = OrthogonalSparsePCA(**options)
    with pytest.raises(ValueError, match=message):
        estimator.fit(wine)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_missing_values_are_refused(value, container):
    """Tests missing and infinite values, dense and sparse."""
    X = np.arange(12.0).reshape(4, 3)
    fitted = OrthogonalSparsePCA(1, 1).fit(X)
    X[1, 2] = value
    for method in (OrthogonalSparsePCA().fit, fitted.transform, fitted.score):
        with pytest.raises(ValueError, match="contains"):
            method(container(X))


@pytest.mark.parametrize("container", [np.array, sparse.csr_array, sparse.csc_array])
def test_missing_values_are_counted(container, wine):
    """Tests that missing values are told by feature, with the imputer that helps, and it does."""
    X = wine.copy()
    X[3, 1] = X[5:9, 4] = np.nan
    sentence = (
        r"X contains NaN: 5 missing values in 2 of 13 features \(4 in feature 4, 1 in feature 1\), "
        r"the first at row 3, feature 1; fill them in first, as make_pipeline\(SimpleImputer\(\)"
    )
    with pytest.raises(ValueError, match=sentence):
        OrthogonalSparsePCA().fit(container(X))
    frame = pd.DataFrame(X, columns=datasets.load_wine().feature_names)
    with pytest.raises(ValueError, match=r"4 in 'magnesium', 1 in 'malic_acid'"):
        OrthogonalSparsePCA().fit(frame)
    pipeline = make_pipeline(SimpleImputer(), OrthogonalSparsePCA())
    assert pipeline.fit_transform(X).shape == (178, 2)
    # By pairs of features, as pandas does it: the matrix may be indefinite.
    by_pairs = OrthogonalSparsePCA(2, 3, covariance="precomputed").fit(frame.cov())
    assert by_pairs.status_ is Status.OPTIMAL


def test_constant_features_are_noted(wine):
    """Tests that the note lists every constant feature, by name if there are names."""
    X = np.column_stack([np.full(178, 0.1), wine[:, :4], np.zeros(178)])
    for data, listed in (
        (X, "0, 5"),
        (sparse.csr_array(X), "0, 5"),
        (pd.DataFrame(X, columns=list("abcdef")), "'a', 'f'"),
    ):
        note = OrthogonalSparsePCA(1, 2).fit(data).result_.note
        assert note.endswith(f"; 2 constant features have no variance: {listed}")
    wide = OrthogonalSparsePCA(1, 2)
    wide._tuning = tuned(formed=3)
    assert wide.fit(X).result_.note.endswith("2 constant features have no variance: 0, 5")
    assert OrthogonalSparsePCA(1, 2).fit(X[:, 1:5]).result_.note == ""
    given = OrthogonalSparsePCA(1, 1, covariance="precomputed").fit(np.diag([1, 0]))
    assert "constant" not in given.result_.note


@pytest.mark.parametrize("kind", ["empirical", "correlation"])
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_a_feature_that_cannot_be_squared_is_named(kind, container, wine):
    """Tests that one feature out of range is refused by name, not taken for a constant one."""
    names = datasets.load_wine().feature_names
    for unit in (1e190, 1e-190):
        X = wine.copy()
        X[:, 3] *= unit
        with pytest.raises(ValueError, match=r"feature 3.*rescale the data"):
            OrthogonalSparsePCA(1, 2, covariance=kind).fit(container(X))
        with pytest.raises(ValueError, match=rf"feature '{names[3]}'.*rescale the data"):
            OrthogonalSparsePCA(1, 2, covariance=kind).fit(pd.DataFrame(X, columns=names))


def test_overflow_is_refused():
    """Tests numbers whose squares are none."""
    sentence = r"of X, in feature [01], must be between 1e-50 and .*: rescale the data"
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    for unit in (1e200, 1e60, 1e-60, 1e-200):
        with pytest.raises(ValueError, match=sentence):
            OrthogonalSparsePCA(1, 1).fit(unit * X)


# ---------------------------------------------------------------------------- what is left open


def test_open_gap_is_announced():
    """Tests that an open gap is a warning with advice, and that bounds are still given."""
    estimator = OrthogonalSparsePCA(2, 8, method="eigenvalue", gap=1e-9, node_limit=1)
    with pytest.warns(
        ConvergenceWarning, match=r"2 of 2 components .*node limit.* raise node_limit"
    ):
        estimator.fit(hard())
    assert estimator.status_ is Status.NODE_LIMIT
    assert (estimator.gaps_ > 1e-9).all()
    assert estimator.n_components_ == 2


def stopped_after(count):
    def stopped(*args, **kwargs):
        result = solve_with(*args, **kwargs)
        return replace(result, stages=result.stages[:count], status=Status.TIME_LIMIT)

    return stopped


def test_fewer_components_than_asked(monkeypatch, wine):
    """Tests that a limit that came before a component was found is announced."""
    monkeypatch.setattr(module, "solve_with", stopped_after(1))
    estimator = OrthogonalSparsePCA(3, 4, covariance="correlation")
    with pytest.warns(ConvergenceWarning, match=r"n_components=3 .* only 1 were found \(time"):
        scores = estimator.fit_transform(wine)
    assert scores.shape == (178, 1)
    assert estimator.n_components_ == 1


def test_interrupt_before_the_first_component(monkeypatch, wine):
    """Tests that there is no fitted estimator without a component."""
    monkeypatch.setattr(module, "solve_with", stopped_after(0))
    with pytest.raises(KeyboardInterrupt):
        OrthogonalSparsePCA().fit(wine)


def test_wide_data_need_no_covariance_matrix() -> None:
    """Tests that data with many features give the components of their covariance matrix."""
    planted = datasets.make_planted_samples(400, 120, sparsity=5, n_groups=3)
    matrix_based = OrthogonalSparsePCA(2, 5, gap=1e-3).fit(planted.data)
    data_based = OrthogonalSparsePCA(2, 5, gap=1e-3)
    data_based._tuning = tuned(formed=100, few=50)
    data_based.fit(planted.data)
    np.testing.assert_allclose(data_based.components_, matrix_based.components_, atol=1e-8)
    np.testing.assert_allclose(
        data_based.transform(planted.data).var(axis=0, ddof=1), data_based.explained_variance_
    )
    assert "400 features reduced to" in data_based.result_.note


def test_verbose_prints_a_line_for_each_component(capsys):
    """Tests that verbose says what was found, and that silence is the default."""
    X = datasets.load_wine().data
    OrthogonalSparsePCA(2, 3, covariance="correlation").fit(X)
    assert capsys.readouterr().out == ""
    estimator = OrthogonalSparsePCA(2, 3, covariance="correlation", verbose=1).fit(X)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    for k, (line, variance) in enumerate(zip(lines, estimator.explained_variance_, strict=True)):
        said = f"[OrthogonalSparsePCA] component {k + 1} of 2 done: variance {variance:.6g}, "
        assert line.startswith(said)
    with pytest.raises(ValueError, match="verbose must be an integer, got 'loud'"):
        OrthogonalSparsePCA(2, 3, verbose="loud").fit(X)


def test_a_fitted_estimator_shows_what_it_found():
    """Tests that scikit-learn's diagram stays, with the components below it once fitted."""
    estimator = OrthogonalSparsePCA(2, 3, covariance="correlation")
    before = estimator._repr_mimebundle_()["text/html"]
    assert "sk-top-container" in before
    assert "Orthogonal sparse components" not in before
    estimator.fit(datasets.load_wine().data)
    for text in (estimator._repr_mimebundle_()["text/html"], estimator._repr_html_()):
        assert "sk-top-container" in text
        assert text.count("Orthogonal sparse components") == 1
        assert "each is certified within the tolerance" in text


# ------------------------------------------------------------ missing values, shares, parts


@pytest.fixture(scope="module")
def lacking(wine) -> np.ndarray:
    """Six properties of wines, of which one in fifteen is missing."""
    X = StandardScaler().fit_transform(wine)[:60, :6] * [3.0, 1.0, 2.0, 1.0, 2.5, 1.5]
    X[np.random.default_rng(0).random(X.shape) < 1 / 15] = np.nan
    return X


@pytest.mark.parametrize("covariance", ["empirical", "correlation"])
@pytest.mark.parametrize("missing", ["mean", "pairwise"])
def test_missing_values(lacking, covariance, missing):
    """Tests both ways against imputation, and against the covariances of pandas."""
    fitted = OrthogonalSparsePCA(2, 3, covariance=covariance, missing=missing).fit(lacking)
    frame = pd.DataFrame(lacking)
    filled = frame.fillna(frame.mean()).to_numpy()
    if missing == "mean":
        same = OrthogonalSparsePCA(2, 3, covariance=covariance).fit(filled)
        np.testing.assert_allclose(fitted.components_, same.components_)
        np.testing.assert_allclose(fitted.transform(lacking), same.transform(filled))
        assert fitted.score(lacking) == pytest.approx(same.score(filled))
        assert "were replaced by means, which understates variances" in fitted.result_.note
    else:
        Q = (frame.corr() if covariance == "correlation" else frame.cov()).to_numpy()
        result = solve(Q, 3, 2)
        np.testing.assert_allclose(fitted.components_, result.components, atol=1e-9)
        np.testing.assert_allclose(fitted.upper_bounds_, result.upper_bounds)
        assert "the matrix may be indefinite" in fitted.result_.note
        Z = (lacking - fitted.mean_) / fitted.scale_
        for x, scores in zip(fitted.components_, fitted.transform(lacking).T, strict=True):
            used = np.flatnonzero(x)
            np.testing.assert_allclose(scores, Z[:, used] @ x[used])
    assert f"{np.isnan(lacking).sum()} missing values in 6 features" in fitted.result_.note


def test_missing_values_that_cannot_be_helped(lacking):
    """Tests sentences for what is not possible, and that complete data need no word."""
    complete = np.nan_to_num(lacking)
    fitted = OrthogonalSparsePCA(1, 3, missing="pairwise").fit(complete)
    assert "missing" not in fitted.result_.note
    empty = lacking.copy()
    empty[:, 2] = np.nan
    apart = np.full((6, 2), np.nan)
    apart[:3, 0], apart[3:, 1] = [1, 2, 4], [1, 3, 2]
    for X, options, weights, said in (
        (lacking, {}, None, "X contains NaN"),
        (lacking, {"missing": "drop"}, None, "missing must be one of 'error', 'mean', 'pairwise'"),
        (empty, {"missing": "mean"}, None, "feature 2 of X has no values"),
        (apart, {"missing": "pairwise"}, None, "X has 0 rows with both 0 and 1; .* missing='mean'"),
        (lacking, {"missing": "pairwise"}, np.ones(60), "sample_weight must be None with missing"),
        (sparse.csr_array(lacking), {"missing": "mean"}, None, "needs a dense X"),
    ):
        with pytest.raises(ValueError, match=said):
            OrthogonalSparsePCA(1, 2, **options).fit(X, sample_weight=weights)


def test_weights_with_means_in_place_of_missing_values(lacking):
    """Tests that a weight of 2 is the same as the observation twice, means included."""
    weights = np.arange(60) % 3
    options = {"covariance": "correlation", "missing": "mean"}
    weighted = OrthogonalSparsePCA(2, 3, **options).fit(lacking, sample_weight=weights)
    repeated = OrthogonalSparsePCA(2, 3, **options).fit(np.repeat(lacking, weights, axis=0))
    np.testing.assert_allclose(weighted.explained_variance_, repeated.explained_variance_)
    np.testing.assert_allclose(weighted.mean_, repeated.mean_)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_weights_on_wide_data(kind):
    """Tests weights where the covariance is never formed."""
    X = datasets.make_planted_samples(600, 40, sparsity=4, n_groups=3).data
    weights = np.arange(40) % 3
    wide = tuned(few=10, formed=20)
    estimator = OrthogonalSparsePCA(2, 4, gap=0.01)
    estimator._tuning = wide
    weighted = estimator.fit(kind(X), sample_weight=weights)
    repeated = solve(np.cov(np.repeat(X, weights, axis=0).T), 4, 2, gap=0.01)
    np.testing.assert_allclose(weighted.explained_variance_, repeated.variances, rtol=0.01)
    assert (weighted.upper_bounds_ >= repeated.variances * (1 - 1e-9)).all()


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_as_many_components_as_explain_a_share(wine, share):
    """Tests that one component less would not do, and that they are those of the number."""
    fitted = OrthogonalSparsePCA(share, 4, covariance="correlation").fit(wine)
    ratios = fitted.explained_variance_ratio_
    assert ratios.sum() >= share > ratios[:-1].sum()
    same = OrthogonalSparsePCA(fitted.n_components_, 4, covariance="correlation").fit(wine)
    np.testing.assert_allclose(fitted.components_, same.components_, atol=1e-12)
    np.testing.assert_allclose(fitted.upper_bounds_, same.upper_bounds_)
    assert fitted.status_ is Status.OPTIMAL and fitted.result_.sparsity == same.result_.sparsity


def test_a_share_that_is_not_reached(wine):
    """Tests the limit, and what a share does not go with."""
    estimator = OrthogonalSparsePCA(0.9, 2, covariance="correlation")
    estimator._most_for_share = 3
    with pytest.warns(UserWarning, match=r"n_components=0.9 was requested, but the 3 components f"):
        fitted = estimator.fit(wine)
    assert fitted.n_components_ == 3
    for options in ({"proof": True}, {"objective": "joint"}, {"relation": "uncorrelated"}):
        with pytest.raises(
            ValueError, match=r"n_components=0.9 must be an integer with proof=True"
        ):
            OrthogonalSparsePCA(0.9, 2, **options).fit(wine)
    for wrong in (1.5, 0.0, 1.0, -0.1):
        with pytest.raises(ValueError, match="n_components must be an integer"):
            OrthogonalSparsePCA(wrong, 2).fit(wine)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("covariance", ["empirical", "correlation"])
def test_parts_are_as_good_as_all(wine, counts, covariance, kind):
    """Tests that rows that come in parts give what all of them give, weighted or not."""
    X, weights = counts if kind is sparse.csr_array else wine, None
    for weights in (None, np.random.default_rng(0).integers(0, 3, len(X)).astype(float)):
        parts = OrthogonalSparsePCA(3, 3, covariance=covariance)
        for rows in np.array_split(np.arange(len(X)), 4):
            part = None if weights is None else weights[rows]
            parts.partial_fit(kind(X[rows]), sample_weight=part)
        whole = OrthogonalSparsePCA(3, 3, covariance=covariance).fit(kind(X), sample_weight=weights)
        np.testing.assert_allclose(parts.explained_variance_, whole.explained_variance_, rtol=1e-9)
        np.testing.assert_allclose(parts.components_, whole.components_, atol=1e-6)
        np.testing.assert_allclose(parts.mean_, whole.mean_)
        np.testing.assert_allclose(parts.scale_, whole.scale_)


def test_parts_are_solved_when_something_is_asked(wine):
    """Tests that taking in rows solves nothing, and that more of them are solved anew."""
    X = StandardScaler().fit_transform(wine)
    heard = []
    estimator = OrthogonalSparsePCA(2, 3)
    estimator._find, find = lambda *a: heard.append(a) or find(*a), estimator._find
    with pytest.raises(AttributeError, match="has no attribute 'components_'"):
        estimator.components_  # noqa: B018
    with pytest.raises(NotFittedError):
        estimator.transform(X)
    for row in X[:100]:
        estimator.partial_fit(row[None])
    assert not heard
    assert estimator.components_.shape == (2, 13) and estimator.status_ is Status.OPTIMAL
    assert len(heard) == 1
    estimator.partial_fit(X[100:])
    np.testing.assert_allclose(
        estimator.transform(X), OrthogonalSparsePCA(2, 3).fit(X).transform(X), atol=1e-9
    )
    assert len(heard) == 2
    again = pickle.loads(pickle.dumps(OrthogonalSparsePCA(2, 3).partial_fit(X)))
    np.testing.assert_allclose(again.components_, estimator.components_, atol=1e-9)
    assert OrthogonalSparsePCA(1, 3).partial_fit(X).set_params(sparsity=2).result_.sparsity == (2,)
    with pytest.raises(ValueError, match="X must have more than 1 observation in all, got 1"):
        OrthogonalSparsePCA(1, 3).partial_fit(X[:1]).components_  # noqa: B018


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_uncorrelated_scores(wine, dtype):
    """Tests scores, the way back, shares and the covariance of loadings that are not orthogonal."""
    Z = StandardScaler().fit_transform(wine).astype(dtype)
    X, tolerance = Z * 3 + 7, 1e-4 if dtype is np.float32 else 1e-10
    fitted = OrthogonalSparsePCA(4, 4, relation="uncorrelated", covariance="correlation").fit(X)
    V, scores = fitted.components_, fitted.transform(X)
    assert V.dtype == scores.dtype == dtype
    assert np.abs(V @ V.T - np.eye(4)).max() > 0.01
    C = np.cov(scores.T.astype(float))
    np.testing.assert_allclose(C, np.diag(fitted.explained_variance_), atol=1e2 * tolerance)
    P = np.linalg.pinv(V.astype(float)) @ V
    Z = (X - fitted.mean_) / fitted.scale_
    back = fitted.inverse_transform(scores)
    np.testing.assert_allclose((back - fitted.mean_) / fitted.scale_, Z @ P, atol=1e2 * tolerance)
    share = np.square(Z @ P).sum() / np.square(Z).sum()
    assert fitted.score(X) == pytest.approx(share, rel=tolerance)
    assert share > fitted.explained_variance_ratio_.sum()
    assert fitted.noise_variance_ == pytest.approx(13 * (1 - share) / 9, rel=tolerance)
    model = fitted.get_covariance() / np.outer(fitted.scale_, fitted.scale_)
    np.testing.assert_allclose(V @ model @ V.T, C, atol=1e2 * tolerance)
    assert np.trace(model) == pytest.approx(13, rel=tolerance)
    assert clone(fitted).get_params()["relation"] == "uncorrelated"
    assert "uncorrelated scores" in fitted.result_.summary()
    with pytest.raises(ValueError, match="relation must be one of"):
        OrthogonalSparsePCA(2, 3, relation="apart").fit(X)


def test_uncorrelated_scores_of_few_dimensions():
    """Tests vectors that depend on each other, as they do where the data have fewer dimensions."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 5))
    fitted = OrthogonalSparsePCA(5, 3, relation="uncorrelated", eps=1e-9).fit(X)
    V, Z = fitted.components_, X - X.mean(axis=0)
    rank = np.linalg.matrix_rank(V, tol=1e-9)
    assert rank < len(V) == 5
    projected = Z @ np.linalg.pinv(V, 1e-9) @ V
    share = np.square(projected).sum() / np.square(Z).sum()
    np.testing.assert_allclose(fitted.score(X), share)
    back = fitted.inverse_transform(fitted.transform(X))
    np.testing.assert_allclose(back - fitted.mean_, projected, atol=1e-9)
    rest = (1 - share) * np.trace(np.cov(X.T)) / (5 - rank)
    np.testing.assert_allclose(fitted.noise_variance_, rest)


def test_the_seed_reaches_the_search():
    """Tests that whole numbers and generators become the seed of the search."""
    drawn = int(np.random.RandomState(3).randint(2**31))
    for given, seed in ((None, 0), (7, 7), (np.random.RandomState(3), drawn)):
        assert OrthogonalSparsePCA(random_state=given)._asked()[0].random_state == seed


def test_fit_forgets_parts(wine):
    """Tests that a fit begins anew, also for the parts after it, and what parts cannot be."""
    X = StandardScaler().fit_transform(wine)
    estimator = OrthogonalSparsePCA(1, 3).partial_fit(X[:50]).fit(X[50:])
    again = OrthogonalSparsePCA(1, 3).partial_fit(X[:90])
    np.testing.assert_allclose(estimator.partial_fit(X[:90]).mean_, again.mean_)
    with pytest.raises(ValueError, match="X has 5 features, but"):
        again.partial_fit(X[:, :5])
    for options, said in (
        ({"covariance": "precomputed"}, "partial_fit needs observations"),
        ({"memory_limit": 1000}, "needs a matrix of 13 × 13 numbers"),
    ):
        with pytest.raises(ValueError, match=said):
            OrthogonalSparsePCA(1, 3, **options).partial_fit(X)
