"""Certificates: what is written is accepted, whatever the problem."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import orthospca
from helpers.problems import MATRICES
from orthospca import Certificate, Status, datasets, solve, verify
from orthospca._errors import InputError


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


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", MATRICES)
def test_random_problems(kind: str, seed: int) -> None:
    """Tests matrices of every kind, every stage."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    matrix = MATRICES[kind](rng, n)
    verified(matrix, int(rng.integers(1, n + 1)), int(rng.integers(1, n + 1)), gap=1e-3)


def test_a_gap_that_is_left_is_proved_too() -> None:
    """Tests that a limit leaves a certificate of what is known."""
    rows = np.random.default_rng(0).standard_normal((80, 60))
    matrix = np.corrcoef(rows.T)
    result = solve(matrix, 10, 3, gap=0.0, time_limit=0.3, proof=True)
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
    assert "another matrix" in verify(certificate, other).reason
    assert not verify(certificate, np.eye(3)).verified


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
