"""The problems of the reference, proved to the end."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.seeds import later
from orthospca import Status, solve, verify

FILES = {
    "pitprops": "pitprops_13",
    "wine": "wine_13",
    "normwine": "normwine_13",
    "mtcars": "mtcars_corr_11",
    "covcolon20": "CovColon_20",
}


@pytest.mark.parametrize("name", [*list(FILES)[:-1], *later(*list(FILES)[-1:])])
def test_sequences_are_verified(name: str, load_matrix, optima: dict) -> None:
    """Tests that every sequence with a known optimum has a proof, the end of it too."""
    matrix = load_matrix(f"{FILES[name]}.csv")
    keys = [key for key in optima if key.startswith(f"{name}_gs_p")]
    assert keys
    for key in keys:
        p = int(key.rsplit("p", 1)[1])
        if name == "covcolon20" and p > 5:
            continue
        result = solve(matrix, p, len(matrix), gap=1e-9, proof=True)
        assert result.status in (Status.OPTIMAL, Status.EXHAUSTED, Status.PRECISION)
        np.testing.assert_allclose(
            result.variances[0], optima[key][0][0], rtol=1e-8, err_msg=f"{name}, p = {p}"
        )
        verdict = verify(result.certificate, matrix)
        assert verdict.verified, f"{name}, p = {p}: {verdict.reason}"
        best = np.array([entry[0] for entry in optima[key]])[: len(verdict.upper_bounds)]
        assert (np.array(verdict.upper_bounds)[: len(best)] >= best * (1 - 1e-8)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "p", "count", "gap"),
    [
        ("CovColon_20", 8, 20, 1e-6),
        ("normCommunities_101", 10, 10, 1e-3),
        ("normCommunities_101", 50, 2, 1e-2),
        ("CovColon_500", 50, 1, 1e-4),
        ("LymphomaCov_500", 10, 10, 1e-3),
        ("normArrhythmia_257", 10, 10, 1e-3),
        ("uci_digits_64", 10, 10, 1e-3),
    ],
)
def test_larger_problems_are_verified(
    file: str, p: int, count: int, gap: float, load_matrix
) -> None:
    """Tests ten stages, sparsities up to 50, hundreds of features."""
    matrix = load_matrix(f"{file}.csv")
    result = solve(matrix, p, count, gap=gap, proof=True)
    verdict = verify(result.certificate, matrix)
    assert verdict.verified, verdict.reason
    assert (np.array(verdict.upper_bounds) <= result.upper_bounds).all()
