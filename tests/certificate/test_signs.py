"""Certificates of non-negative loadings and of uncorrelated scores, and forged ones."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.exact import ExactMatrix
from helpers.nonnegative import above, allowed
from orthospca import Certificate, Status, solve, verify


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
    with pytest.raises(ValueError, match="is of another problem"):
        solve(Q, 3, 2, resume=file)
