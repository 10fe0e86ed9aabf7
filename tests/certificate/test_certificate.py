"""Certificates: what is written is accepted, whatever the problem."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import orthospca
from helpers.clocks import ticking
from helpers.problems import DATA, MATRICES
from helpers.seeds import later, seeds, split, spread
from helpers.wide import tuned
from orthospca import (
    Certificate,
    DataCovariance,
    Status,
    block_diagonalize,
    datasets,
    solve,
    verify,
)
from orthospca._errors import InputError
from orthospca.facade import solve_with
from orthospca.model.settings import Settings


def verified(matrix: np.ndarray, sparsity: int, count: int, **options: object) -> None:
    """Solve with a proof, and check it; bounds are those that are claimed."""
    result = solve(matrix, sparsity, count, proof=True, **options)
    verdict = verify(result.certificate, result_matrix(matrix))
    assert verdict.verified, verdict.reason
    assert len(verdict.upper_bounds) == len(result.stages)
    assert (np.array(verdict.upper_bounds) <= result.upper_bounds).all()


def result_matrix(matrix: np.ndarray) -> np.ndarray:
    """The matrix as it is certified: exactly symmetric."""
    return 0.5 * (matrix + matrix.T)


@pytest.mark.parametrize("p", [1, 2, 4, 7, 13])
def test_every_stage_of_pitprops(p: int) -> None:
    """Tests that all stages are verified, to the last component."""
    verified(datasets.load_pitprops().covariance(), p, 13)


def check_random(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    matrix = MATRICES[kind](rng, n)
    gap = 10.0 ** rng.uniform(-8, -1)
    verified(matrix, int(rng.integers(1, n + 1)), int(rng.integers(1, n + 1)), gap=gap)


@pytest.mark.parametrize("seed", [2, *later(7)])
@pytest.mark.parametrize("kind", MATRICES)
def test_random_problems(kind: str, seed: int) -> None:
    """Tests matrices of every kind, every stage."""
    check_random(kind, seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", MATRICES)
def test_many_random_problems(kind: str) -> None:
    """Tests more of them."""
    for seed in spread(100, 120):
        check_random(kind, seed)


def test_a_gap_that_is_left_is_proved_too() -> None:
    """Tests that a limit leaves a certificate of what is known."""
    rows = np.random.default_rng(0).standard_normal((80, 60))
    matrix = np.corrcoef(rows.T)
    for looks in (10.0, 100.0, 1000.0):
        with ticking():
            result = solve(matrix, 10, 3, gap=0.0, time_limit=looks, proof=True)
        assert Status.TIME_LIMIT in result.statuses
        verdict = verify(result.certificate)
        assert verdict.verified, verdict.reason
        assert (np.array(verdict.upper_bounds) <= result.upper_bounds).all()


def test_a_file_is_checked_by_another_process(tmp_path: Path) -> None:
    """Tests that the file stands on its own, and that the same content gives the same bytes."""
    matrix = datasets.load_pitprops().covariance()
    result = solve(matrix, 5, 3, proof=True)
    file = tmp_path / "certificate.zip"
    result.certificate.save(file)
    assert file.read_bytes() == Certificate.load(file).to_bytes()
    assert [entry.name for entry in tmp_path.iterdir()] == ["certificate.zip"]
    script = f"from orthospca.verify import verify; print(verify({str(file)!r}))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert found.stdout == "VERIFIED\n", found.stderr


def test_another_matrix_is_refused() -> None:
    """Tests that a certificate speaks of one matrix only."""
    matrix = datasets.load_pitprops().covariance()
    certificate = solve(matrix, 5, 1, proof=True).certificate
    other = matrix.copy()
    other[0, 0] = np.nextafter(other[0, 0], 2)
    assert "not the matrix that was certified" in verify(certificate, other).reason
    assert not verify(certificate, np.eye(3)).verified


def test_the_sign_of_a_zero_says_nothing(tmp_path: Path) -> None:
    """Tests that a matrix with negative zeros is the same one, also when a solve is resumed."""
    matrix = np.diag([3.0, 2.0, 1.0])
    signed = np.where(matrix == 0, -0.0, matrix)
    signed[0, 1] = 0.0
    for given, others in ((signed, (signed, matrix)), (matrix, (signed, matrix))):
        file = tmp_path / f"{len(list(tmp_path.iterdir()))}.zip"
        certificate = solve(given, 2, 2, proof=True, resume=file).certificate
        for other in others:
            assert verify(certificate, other).verified
            assert solve(other, 2, 2, resume=file).status.name == "OPTIMAL"
    B = np.array([[0.0, 1.0], [2.0, -0.0], [-2.0, -1.0]])
    data = [DataCovariance(X) for X in (B, np.where(B == 0, -0.0, B))]
    settings = Settings.validate(tuning=tuned(formed=0), proof=True)
    certificate = solve_with(data[0], 1, 2, settings).certificate
    assert verify(certificate, factor=data[1].factor(np.arange(2))).verified


def test_thresholds_and_blocks() -> None:
    """Tests that a proof is one of the whole matrix, whatever blocks there are."""
    blocks = np.kron(np.diag([3.0, 2.0, 1.0]), np.full((4, 4), 0.5) + np.eye(4))
    for threshold in (0.0, 0.1, "auto", block_diagonalize(blocks, 0.1)):
        result = solve(blocks, 3, 4, threshold=threshold, proof=True)
        assert verify(result.certificate, blocks).verified
        assert ("threshold was not used" in result.note) == (threshold != 0.0)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("correlation", [False, True])
@pytest.mark.parametrize("seed", seeds(1, 4))
def test_data_that_are_never_formed(seed: int, correlation: bool, sparse: bool) -> None:
    """Tests the factor of a covariance as the problem, every stage."""
    rng = np.random.default_rng(seed)
    data = rng.poisson(0.3, (40, 60)) * rng.uniform(0.5, 3, 60)
    data[0] += 1e-3 * np.arange(60)
    covariance = DataCovariance(csr_array(data) if sparse else data, correlation=correlation)
    settings = Settings.validate(gap=1e-3, tuning=tuned(formed=10, few=5), proof=True)
    result = solve_with(covariance, 4, 5, settings, 0.2 * seed)
    assert result.certificate.manifest["problem"]["kind"] == "factor"
    verdict = verify(result.certificate, factor=covariance.factor(np.arange(60)))
    assert verdict.verified, verdict.reason
    assert (np.array(verdict.upper_bounds) <= result.upper_bounds).all()


@pytest.mark.parametrize("problems", split(range(6), 3))
@pytest.mark.parametrize("kind", DATA)
def test_data_of_every_kind(kind: str, problems: range) -> None:
    """Tests badly scaled data, near duplicates, few samples: the checker adds up in its own way."""
    for seed in problems:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 8))
        covariance = DataCovariance(DATA[kind](rng, n))
        settings = Settings.validate(gap=1e-3, tuning=tuned(formed=0, few=0), proof=True)
        result = solve_with(covariance, int(rng.integers(1, n + 1)), 1 + n // 4, settings)
        verdict = verify(result.certificate)
        assert verdict.verified, verdict.reason


def test_constant_data() -> None:
    """Tests that a covariance of zeros has a certificate, of zeros."""
    settings = Settings.validate(tuning=tuned(formed=10, few=5), proof=True)
    result = solve_with(DataCovariance(np.ones((7, 60))), 2, 1, settings)
    assert result.certificate.manifest["problem"]["kind"] == "factor"
    assert verify(result.certificate).verified and result.variances[0] == 0


def test_what_proofs_need() -> None:
    """Tests that a proof is refused in a sentence where there is none yet."""
    with pytest.raises(InputError, match="proof needs method='branch-and-bound'"):
        solve(np.eye(3), 1, proof=True, method="enumeration")
    with pytest.raises(InputError, match="proof must be True or False, got 1"):
        solve(np.eye(3), 1, proof=1)
    assert solve(np.eye(3), 1).certificate is None


def test_the_checker_imports_nothing_of_the_package() -> None:
    """Tests that the checker needs NumPy and the standard library only."""
    path = Path(orthospca.__file__).parent / "verify.py"
    script = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("checker", {str(path)!r})
module = importlib.util.module_from_spec(spec)
sys.modules["checker"] = module
spec.loader.exec_module(module)
assert not [name for name in sys.modules if name.startswith(("orthospca", "scipy"))]
"""
    subprocess.run([sys.executable, "-c", script], check=True)
