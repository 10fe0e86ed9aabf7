"""Certificates of non-negative loadings and of uncorrelated scores, and forged ones."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.exact import ExactMatrix
from helpers.forger import checker
from helpers.nonnegative import above, allowed
from orthospca import Certificate, Status, solve, verify
from orthospca.supports.nonnegative import best_nonnegative, faces_below


def matrix_of(seed: int, n: int = 7) -> np.ndarray:
    """A covariance with entries of both signs."""
    data = np.random.default_rng(seed).standard_normal((12, n))
    return np.asarray(data.T @ data / 12)


def changed(certificate: Certificate, arrays: dict[str, Any] | None = None, **problem: Any) -> Any:
    """The certificate with other entries of its problem (None: dropped), or other arrays."""
    manifest = copy.deepcopy(certificate.manifest)
    for name, value in problem.items():
        manifest["problem"][name] = value
        if value is None:
            del manifest["problem"][name]
    return Certificate(manifest, {**certificate.arrays, **(arrays or {})})


@pytest.mark.parametrize("asked", [{"nonnegative": True}, {"relation": "uncorrelated"}])
def test_the_file_proves_what_the_result_says(asked: dict[str, Any], tmp_path: Path) -> None:
    """Tests the bounds and the words of a file that was saved."""
    for seed in range(6):
        result = solve(matrix_of(seed), 3, 2, proof=True, **asked)
        assert result.certificate is not None
        result.certificate.save(tmp_path / "file.zip")
        verdict = verify(tmp_path / "file.zip")
        assert verdict.verified, verdict.reason
        assert all(np.array(verdict.upper_bounds) <= result.upper_bounds)
        word = "non-negative, disjoint" if "nonnegative" in asked else "uncorrelated"
        assert word in verdict.statement
        assert set(result.statuses) <= {Status.OPTIMAL, Status.PROOF_LIMIT}


def _open() -> tuple[np.ndarray, Any]:
    """A problem whose plain bound is larger than that of Q⁺, and its certificate."""
    for seed in range(50):
        Q = matrix_of(seed)
        result = solve(Q, 3, 2, proof=True, nonnegative=True)
        if solve(Q, 3).variances[0] > 1.01 * result.upper_bounds[0]:
            assert result.certificate is not None
            return Q, result.certificate
    raise AssertionError


def test_forgeries_are_refused() -> None:
    """Tests a flag that is dropped, a negative loading, and a bound that is too small."""
    Q, certificate = _open()
    assert certificate.verify()
    assert not changed(certificate, nonnegative=None).verify()
    assert not changed(certificate, nonnegative=None, relation="disjoint").verify()
    assert not changed(certificate, nonnegative=False).verify()
    assert not changed(certificate, nonnegative=1).verify()
    assert "cannot be" in changed(certificate, relation="uncorrelated").verify().reason
    X = certificate.arrays["components.npy"].copy()
    at = np.flatnonzero(X[0])[-1]
    for value in (-X[0, at], -5e-324):
        forged = X.copy()
        forged[0, at] = value
        verdict = changed(certificate, {"components.npy": forged}).verify()
        assert "a loading is negative" in verdict.reason
    lower = changed(certificate)
    stage = lower.manifest["stages"][0]
    stage["upper_bound"] = stage["variance"] * (1 - 1e-9)
    assert not lower.verify()
    with pytest.raises(AssertionError):
        # The oracle of the next test would notice.
        assert above(ExactMatrix.of(Q), allowed(7, 3, [], set()), stage["upper_bound"]) is None


def test_vectors_before_are_held_to() -> None:
    """Tests that a negative vector before is refused, by solver and checker."""
    Q = matrix_of(3)
    before = np.array([[1.0, 1, 0, 0, 0, 0, 0]])
    certificate = solve(Q, 3, previous=before, nonnegative=True, proof=True).certificate
    assert certificate is not None
    assert certificate.verify()
    forged = changed(certificate, {"previous.npy": before * [1, -1, 1, 1, 1, 1, 1] / 2})
    assert "a vector before that is negative" in forged.verify().reason
    assert not changed(certificate, {"previous.npy": np.eye(7)[3:4]}).verify()


def test_uncorrelated_is_no_other_relation() -> None:
    """Tests that components with uncorrelated scores are not passed off as orthogonal ones."""
    Q = matrix_of(1)
    certificate = solve(Q, 3, 3, relation="uncorrelated", proof=True).certificate
    assert certificate is not None
    assert certificate.verify()
    assert not changed(certificate, relation=None).verify()
    assert not changed(certificate, relation="disjoint").verify()
    orthogonal = solve(Q, 3, 3, proof=True).certificate
    assert orthogonal is not None
    assert not changed(orthogonal, relation="uncorrelated").verify()


@pytest.mark.parametrize("asked", [{"nonnegative": True}, {"relation": "uncorrelated"}])
def test_a_run_is_taken_up_again(asked: dict[str, Any], tmp_path: Path) -> None:
    """Tests that a file is resumed, and refused for another question."""
    Q, file = matrix_of(2), tmp_path / "file.zip"
    first = solve(Q, 3, 2, resume=file, **asked)
    again = solve(Q, 3, 2, resume=file, **asked)
    assert first.components.tolist() == again.components.tolist()
    assert again.certificate is not None
    assert again.certificate.verify()
    with pytest.raises(ValueError, match="is for another problem"):
        solve(Q, 3, 2, resume=file)


def branched(seed: int) -> tuple[np.ndarray, Certificate]:
    """A matrix, and the certificate of a component that needs parts."""
    Q = matrix_of(seed, 6)
    found = solve(Q, 4, nonnegative=True, proof=True)
    assert found.status is Status.OPTIMAL
    assert found.certificate is not None
    return Q, found.certificate


@pytest.fixture(scope="module")
def cases() -> list[tuple[np.ndarray, Certificate]]:
    """Matrices that the bound of Q⁺ leaves open."""
    return [made for s in range(12) if "stage-0/parts.npy" in (made := branched(s))[1].arrays]


Cases = list[tuple[np.ndarray, Certificate]]


def test_branching_is_in_the_file(cases: Cases, tmp_path: Path) -> None:
    """Tests that what is claimed with a proof is what is claimed without, and resumes."""
    assert len(cases) > 3
    for Q, found in cases[:4]:
        plain = solve(Q, 4, nonnegative=True)
        assert found.manifest["stages"][0]["upper_bound"] <= plain.upper_bounds[0] * (1 + 2e-4)
        found.save(tmp_path / "file.zip")
        assert verify(tmp_path / "file.zip").verified
        again = solve(Q, 4, nonnegative=True, resume=tmp_path / "file.zip").certificate
        assert again is not None
        assert again.verify().verified
        name = "stage-0/parts.npy"
        assert again.arrays[name].tolist() == found.arrays[name].tolist()


def without(found: Certificate, **arrays: Any) -> Certificate:
    """The same with other arrays of its stage."""
    changed = {f"stage-0/{name}.npy": array for name, array in arrays.items()}
    return Certificate(copy.deepcopy(found.manifest), {**found.arrays, **changed})


def test_trees_that_are_forged(cases: Cases) -> None:
    """Tests that a part that is dropped, cut otherwise or bounded by nothing is noticed."""
    for Q, found in cases[:4]:
        truth = solve(Q, 4, nonnegative=True, gap=1e-9).variances[0]
        cuts = found.arrays["stage-0/parts.npy"]
        ended = np.array([-1, -1], cuts.dtype)
        assert "too early" in without(found, parts=cuts[:-2]).verify().reason
        longer = np.concatenate([cuts, ended])
        assert "nothing is left" in without(found, parts=longer).verify().reason
        assert not without(found, parts=ended).verify()
        for other in ((0, 0), (cuts[0], cuts[0])):
            forged = np.concatenate([np.array(other, cuts.dtype), cuts[2:]])
            assert not without(found, parts=forged).verify()
        for name in list(found.arrays):
            if "/part-" in name and name.endswith("kinds.npy"):
                arrays = {k: v for k, v in found.arrays.items() if k != name}
                # What is left may be proved by what it is a part of.
                forged = Certificate(found.manifest, arrays)
                verdict = forged.verify()
                assert not verdict.verified or verdict.upper_bounds[0] >= truth * (1 - 1e-12)


def test_no_bound_below_the_truth(cases: Cases) -> None:
    """Tests that nothing makes the checker accept a bound that a vector exceeds."""
    rng = np.random.default_rng(0)
    for Q, found in cases[:5]:
        truth = solve(Q, 4, nonnegative=True, gap=1e-9).variances[0]
        for _ in range(8):
            forged = without(found)
            stage = forged.manifest["stages"][0]
            stage["upper_bound"] = float(truth * (1 - 10.0 ** rng.uniform(-9, -2)))
            stage["variance"] = min(stage["variance"], stage["upper_bound"])
            for name, array in list(forged.arrays.items()):
                inside = name.startswith("stage-0/") and len(array)
                if inside and rng.random() < 0.15:
                    changed = array.copy()
                    changed[rng.integers(len(array))] = array[rng.integers(len(array))]
                    forged.arrays[name] = changed
                if inside and name.endswith(("levels.npy", "bounds.npy")) and rng.random() < 0.5:
                    forged.arrays[name] = np.minimum(array, stage["upper_bound"])
                if name.endswith("weights.npy") and rng.random() < 0.5:
                    forged.arrays[name] = np.abs(rng.standard_normal(len(array)))
            assert not forged.verify()


def test_weights_of_faces_are_needed() -> None:
    """Tests supports with eigenvalues above the level: no weights, or others, prove nothing."""
    checked = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((4, 4))
        Q, F = A @ A.T, frozenset(range(4))
        value = best_nonnegative(Q, -np.inf, 100).upper
        level = value * (1 + 1e-6)
        faces = faces_below(Q, np.arange(4), level)
        assert faces is not None
        assert checker._faces_are_below(Q, F, level, faces)
        assert not checker._faces_are_below(Q, F, value * (1 - 1e-6), faces)
        if faces:
            checked += 1
            assert not checker._faces_are_below(Q, F, level, {})
            zero = {face: 0 * y for face, y in faces.items()}
            assert not checker._faces_are_below(Q, F, level, zero)
            turned = {face: -y for face, y in faces.items()}
            assert not checker._faces_are_below(Q, F, level, turned)
    assert checked > 4


def test_a_support_that_is_given() -> None:
    """Tests that where everything is included, the faces of the one support are in the file."""
    Q = np.array(
        [
            [-15.6, -9.0, 6.4, -0.4],
            [-9.0, -12.8, -0.7, 0.5],
            [6.4, -0.7, -6.3, 11.1],
            [-0.4, 0.5, 11.1, -8.5],
        ]
    )
    found = solve(Q, 4, nonnegative=True, include=[0, 1, 2, 3], proof=True)
    assert found.status is Status.OPTIMAL
    assert found.certificate is not None
    assert len(found.certificate.arrays["stage-0/faces.npy"])
    assert found.certificate.verify().verified
    assert not without(found.certificate, weights=np.zeros(0)).verify()
