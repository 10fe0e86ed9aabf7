"""Selection frequencies over resamples: against counting by hand, the same whatever n_jobs."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from scipy.sparse import csr_array

from orthospca import DataCovariance, Status, solve, stability, stability_path
from orthospca.choosing._resampling import seeds
from orthospca.choosing._running import _outcomes
from orthospca.choosing.selection import Stability
from orthospca.choosing.stability import match_components
from orthospca.facade import solve_with
from orthospca.model.settings import Settings


def planted(m: int = 60, n: int = 12) -> np.ndarray:
    """Two groups of three features that move together, and noise."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((m, n))
    X[:, :3] += 4 * rng.standard_normal((m, 1))
    X[:, 3:6] += 2.5 * rng.standard_normal((m, 1))
    return X


def noise() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((40, 15))


def same(first: Stability, second: Stability) -> bool:
    arrays = ("frequencies", "overall", "similarities", "overlaps")
    agree = (np.array_equal(getattr(first, name), getattr(second, name)) for name in arrays)
    return all(agree) and first.result == second.result and first.status == second.status


# ---------------------------------------------------------------------------- the counts


def test_what_is_planted_is_always_found():
    """Tests that strong groups are selected in every resample, and matched as themselves."""
    found = stability(planted(), 3, 2, n_resamples=12)
    assert found.frequencies.shape == (2, 12)
    expected = np.zeros((2, 12))
    expected[0, :3] = expected[1, 3:6] = 1.0
    np.testing.assert_array_equal(found.frequencies, expected)
    np.testing.assert_array_equal(found.indices, [1.0, 1.0])
    np.testing.assert_array_equal(found.overlaps, np.ones((12, 2)))
    assert (found.similarities > 0.9).all()
    assert found.selected() == (("0", "1", "2"), ("3", "4", "5"))
    assert found.certified == found.n_resamples == 12
    assert (found.n_rows, found.n_samples) == (30, 60)
    assert found.status is Status.OPTIMAL


@pytest.mark.parametrize("bootstrap", [False, True])
def test_counts_by_hand(bootstrap):
    """Tests the frequencies of the first component against solving each resample here."""
    X, B = noise(), 7
    found = stability(X, 3, n_resamples=B, bootstrap=bootstrap, random_state=5)
    counts = np.zeros(15)
    for seed in np.random.SeedSequence(5).spawn(B):
        size = 40 if bootstrap else 20
        rows = np.random.default_rng(seed).choice(40, size=size, replace=bootstrap)
        assert bootstrap or len(set(rows.tolist())) == size
        counts[solve(np.cov(X[np.sort(rows)].T), 3).supports[0]] += 1
    np.testing.assert_allclose(found.frequencies[0], counts / B)
    np.testing.assert_array_equal(found.overall, found.frequencies[0])


def test_noise_is_not_stable():
    """Tests that a certified component of pure noise is told from one that is there."""
    found = stability(noise(), 3, n_resamples=20)
    assert found.result.status is Status.OPTIMAL
    assert found.indices[0] < 0.6 < stability(planted(), 3, n_resamples=20).indices[0]


def test_the_same_whatever_n_jobs():
    """Tests that processes, threads and a plain loop count the same."""
    X = noise()
    alone = stability(X, 3, 2, n_resamples=6)
    assert same(stability(X, 3, 2, n_resamples=6, n_jobs=2), alone)
    with parallel_config(backend="threading"):
        assert same(stability(X, 3, 2, n_resamples=6, n_jobs=3), alone)


def test_seeds():
    """Tests that the seed decides the draws, that each is its own, and that None is different."""
    X = noise()
    assert same(stability(X, 3, n_resamples=5), stability(X, 3, n_resamples=5, random_state=0))
    assert not same(stability(X, 3, n_resamples=5), stability(X, 3, n_resamples=5, random_state=1))
    few, many = seeds(0, 3), seeds(0, 9)
    assert [s.spawn_key for s in few] == [s.spawn_key for s in many[:3]]
    assert seeds(None, 2)[0].entropy != seeds(None, 2)[0].entropy


def test_index_by_hand():
    """Tests the index on counts for which it is known, and that it is 0 for all at random."""
    found = stability(planted(), 3, n_resamples=2)

    def with_frequencies(frequencies, resamples) -> float:
        table = np.array([frequencies], dtype=float)
        return float(replace(found, frequencies=table, n_resamples=resamples).indices[0])

    # Every feature half of the time, six on average: as unstable as four resamples can be.
    expected = 1 - (4 / 3) * 12 * 0.25 / (6 * 0.5)
    assert with_frequencies([0.5] * 12, 4) == pytest.approx(expected)
    assert with_frequencies([1.0] * 3 + [0.0] * 9, 4) == 1.0
    assert math.isnan(with_frequencies([1.0] * 12, 4))
    assert math.isnan(with_frequencies([1.0] * 3 + [0.0] * 9, 1))


# ---------------------------------------------------------------------------- matching


def as_sparse(rows) -> csr_array:
    rows = np.asarray(rows, dtype=float)
    return csr_array(np.atleast_2d(rows))


def test_matching_ignores_order_and_sign():
    """Tests that components are found again in another order and with other signs."""
    reference = np.eye(4)[:3]
    others = as_sparse([-reference[2], reference[0], -reference[1]])
    matched = match_components(reference, others)
    assert [(k, i) for k, i, _ in matched] == [(0, 1), (1, 2), (2, 0)]
    assert all(cosine == 1.0 for *_, cosine in matched)


def test_matching_is_best_for_all_together():
    """Tests that the sum of |cos| decides, and not the first come."""
    reference = np.array([[1.0, 0, 0], [0, 1.0, 0]])
    a = np.array([0.8, 0.6, 0])  # nearer to the first, but the other can only have the first
    b = np.array([0.6, 0.0, 0.8])
    matched = match_components(reference, as_sparse([a, b]))
    assert [(k, i) for k, i, _ in matched] == [(0, 1), (1, 0)]


def test_ties_go_to_the_same_place():
    """Tests that components that have nothing in common are matched by their place."""
    reference = np.eye(6)[:3]
    matched = match_components(reference, as_sparse(np.eye(6)[3:]))
    assert [(k, i) for k, i, _ in matched] == [(0, 0), (1, 1), (2, 2)]


def test_components_that_are_missing():
    """Tests that a reference component without a partner has none, and that nothing breaks."""
    reference = np.eye(4)[:3]
    assert match_components(reference, as_sparse(reference[1:2])) == [(1, 0, 1.0)]
    assert match_components(reference, csr_array((0, reference.shape[1]))) == []


# ---------------------------------------------------------------------------- what is given


def test_data_in_every_form():
    """Tests that arrays, data frames, sparse matrices and covariances of data count the same."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X = np.where(np.abs(planted()) < 1.5, 0.0, planted())
    names = [f"gene{j}" for j in range(12)]
    options = {"n_resamples": 5, "correlation": True}
    expected = stability(X, 3, 2, feature_names=names, **options)
    assert expected.feature_names == tuple(names)
    forms = [
        pandas.DataFrame(X, columns=names),
        polars.DataFrame(X, schema=names),
        DataCovariance(pandas.DataFrame(X, columns=names), correlation=True),
    ]
    for form in forms:
        assert same(stability(form, 3, 2, **options), expected)
    for form in (sparse.csr_matrix(X), DataCovariance(sparse.csc_matrix(X), correlation=True)):
        found = stability(form, 3, 2, **options)
        np.testing.assert_array_equal(found.frequencies, expected.frequencies)
    own = stability(DataCovariance(X, correlation=True), 3, 2, n_resamples=5)
    np.testing.assert_array_equal(own.frequencies, expected.frequencies)


def test_correlation_is_that_of_the_resample():
    """Tests that the scale of a feature does not matter for correlations."""
    X = planted()
    scaled = X * np.geomspace(1e-3, 1e3, 12)
    one = stability(X, 3, 2, n_resamples=5, correlation=True)
    other = stability(scaled, 3, 2, n_resamples=5, correlation=True)
    np.testing.assert_array_equal(one.frequencies, other.frequencies)


def test_a_feature_that_is_constant_in_some_rows():
    """Tests that a feature that does not vary in a resample is not selected there, and no error."""
    X = planted()
    X[:, 11] = 0.0
    X[0, 11] = 1.0
    found = stability(X, 3, 2, n_resamples=6, correlation=True)
    assert found.n_resamples == 6


def test_one_sparsity_for_each_component():
    """Tests a list of sparsities, one for each component."""
    found = stability(planted(), [3, 2], 2, n_resamples=4)
    assert found.frequencies.sum(axis=1).round(9).tolist() == [3.0, 2.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_resamples": 1}, "n_resamples must be at least 2, got 1"),
        ({"n_resamples": 2.5}, "n_resamples must be an integer, got 2.5"),
        ({"fraction": 0.0}, "fraction must be more than 0 and at most 1, got 0.0"),
        ({"fraction": 1.5}, "fraction must be more than 0 and at most 1, got 1.5"),
        ({"fraction": "half"}, "fraction must be more than 0 and at most 1, got 'half'"),
        ({"fraction": 1.0}, "fraction must be less than 1 without bootstrap"),
        ({"fraction": 0.01}, "fraction must leave at least 2 of the 60 rows, got 0.01"),
        ({"bootstrap": 1}, "bootstrap must be True or False, got 1"),
        ({"correlation": "yes"}, "correlation must be True or False"),
        ({"random_state": -1}, "random_state must be at least 0, got -1"),
        ({"method": "deflation"}, "method must not be 'deflation'"),
        ({"sparsity": 13}, "sparsity must be at most 12"),
        ({"n_components": 0}, "n_components must be at least 1"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"feature_names": ["a"]}, "one name for each of the 12 features, got 1"),
        ({"X": [1.0, 2.0]}, r"X must be observations by features, got shape \(2,\)"),
        ({"X": [["a", "b"], ["c", "d"]]}, "X must be real numbers"),
        ({"X": [[1.0, np.nan], [2.0, 3.0]]}, "X must be finite"),
    ],
)
def test_bad_arguments(arguments, message):
    """Tests that bad arguments are named."""
    with pytest.raises(ValueError, match=message):
        stability(**{"X": planted(), "sparsity": 3, **arguments})


def test_what_a_covariance_says_of_itself():
    """Tests that correlation and covariance of data do not contradict each other."""
    with pytest.raises(ValueError, match="correlation=True needs X"):
        stability(DataCovariance(planted()), 3, correlation=True)


# ---------------------------------------------------------------------------- stopping


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_callback_stops(n_jobs):
    """Tests that the callback hears of each resample and can stop, with those that are done."""
    heard = []

    def stop_at_three(done, total):
        heard.append((done, total))
        return done == 3

    found = stability(planted(), 3, n_resamples=9, n_jobs=n_jobs, callback=stop_at_three)
    assert heard == [(1, 9), (2, 9), (3, 9)]
    assert found.n_resamples == 3
    assert found.status is Status.INTERRUPTED
    assert "interrupted" in found.summary()


def test_an_interrupt_leaves_what_is_done():
    """Tests that Ctrl-C ends the counting, not the program."""

    def interrupt(done, total):
        if done == 2:
            raise KeyboardInterrupt

    found = stability(planted(), 3, n_resamples=9, callback=interrupt)
    assert found.n_resamples == 2
    assert found.status is Status.INTERRUPTED


def test_open_gaps_are_counted():
    """Tests that fits that are stopped by a limit are not said to be certified."""
    X = np.random.default_rng(1).standard_normal((50, 30))
    found = stability(X, 8, n_resamples=3, method="eigenvalue", gap=1e-9, node_limit=1)
    assert found.certified < 3
    assert found.status is Status.NODE_LIMIT


def test_a_start_changes_no_optimum():
    """Tests resamples from the supports of all rows, of other rows, and from absurd ones."""
    for X in (planted(), noise()):
        Q = np.cov(X.T)
        alone = solve(Q, 3, 3, gap=1e-9)
        for supports in (alone.supports, [np.arange(3)], [np.arange(5)], [np.array([0]), [1]]):
            settings = Settings.validate(gap=1e-9)
            start = tuple(np.asarray(support) for support in supports)
            found = solve_with(Q, 3, 3, replace(settings, start=start))
            assert found.status is Status.OPTIMAL
            np.testing.assert_allclose(found.variances, alone.variances, rtol=1e-8)


def doubled(number, share, hear):
    """A job."""
    return 2 * number


@pytest.mark.parametrize(("n_jobs", "starting"), [(None, 0.0), (None, 1e9), (1, 0.0), (2, 0.0)])
def test_jobs_come_in_order(n_jobs, starting):
    """Tests that it does not matter when processes are started, if they are."""
    jobs = [(number,) for number in range(7)]
    found = _outcomes(doubled, jobs, math.inf, n_jobs, None, starting)
    assert list(found) == [0, 2, 4, 6, 8, 10, 12]


# ---------------------------------------------------------------------------- several sparsities


def test_path_of_stability():
    """Tests that each sparsity of a path counts what it counts alone."""
    X = planted()
    path = stability_path(X, [4, 2, 3, 3], 2, n_resamples=5)
    assert path.sparsities == (2, 3, 4)
    assert len(path) == 3
    assert path.indices.shape == (3, 2)
    for p, found in zip(path.sparsities, path, strict=True):
        alone = stability(X, p, 2, n_resamples=5)
        np.testing.assert_array_equal(found.frequencies, alone.frequencies)
    assert path[1].result.sparsity == (3, 3)
    assert path.status is Status.OPTIMAL
    with pytest.raises(ValueError, match="sparsities must be a sequence of integers, got 3"):
        stability_path(X, 3)


# ---------------------------------------------------------------------------- for people


def test_summary():
    """Tests that the text has the frequencies, and brackets around what all rows do not select."""
    found = stability(noise(), 2, n_resamples=10, feature_names=[f"x {j}" for j in range(15)])
    text = found.summary()
    used = found.result.supports[0].tolist()
    for j in used:
        assert f"x {j} {found.frequencies[0, j]:.0%}" in text
    other = next(j for j in range(15) if found.frequencies[0, j] >= 0.1 and j not in used)
    assert f"(x {other} {found.frequencies[0, other]:.0%})" in text
    assert "10 resamples of 20 of 40 rows, without replacement" in text
    assert repr(found).startswith("Stability(10 resamples of 20 of 40 rows, n_components=1")


def test_views():
    """Tests HTML, the data frame and plain objects."""
    pytest.importorskip("pandas")
    found = stability(planted(), 3, 2, n_resamples=4, feature_names=["<i>", *"bcdefghijkl"])
    assert "<i>" not in found._repr_html_()
    assert found._repr_html_().count("<tr>") == 3
    frame = found.to_frame()
    assert frame.columns.tolist() == ["component1", "component2", "any"]
    np.testing.assert_array_equal(frame["any"], found.overall)
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["frequencies"] == found.frequencies.tolist()
    path = stability_path(planted(), [2, 12], 1, n_resamples=4)
    assert path._repr_html_().count("<tr>") == 3
    assert len(json.loads(json.dumps(path.to_dict(), allow_nan=False))["stabilities"]) == 2
    assert "StabilityPath(sparsities=[2, 12]" in repr(path)
    assert len(path.summary().splitlines()) == 5


def test_selected_by_frequency():
    """Tests that only features that are selected often enough are listed, and bad shares named."""
    found = stability(noise(), 3, n_resamples=10)
    for least in (0.0, 0.3, 1.0):
        chosen = found.selected(least)[0]
        assert set(chosen) == {str(j) for j in range(15) if found.frequencies[0, j] >= least}
    with pytest.raises(ValueError, match="frequency must be between 0 and 1, got 2"):
        found.selected(2)


def test_summary_without_resamples():
    """Tests that no share of nothing is told where no resample was done."""
    data = np.random.default_rng(0).standard_normal((20, 6))
    text = stability(data, 2, time_limit=0.0).summary()
    assert "0 resamples of 10 of 20 rows" in text
    assert "%" not in text and "nan" not in text
    assert "\n1 resample of 10" in stability(data, 2, n_resamples=2, callback=_after(1)).summary()


def _after(count):
    return lambda done, total: done >= count
