"""Published problems and their optima, found beforehand by exhaustive enumeration.

Pitprops comes with the package, so its optima are typed in and always tested. The others need the
folder of reference data.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from helpers.brute_force import candidates
from helpers.cases import check_statuses
from helpers.seeds import crossed
from orthospca import Result, Status, datasets, solve

METHODS = ("enumeration", "eigenvalue", "branch-and-bound")

#: Agreement of variances with the reference, relative.
AGREEMENT = 1e-9
#: The gap asked for: what floating point can just about prove where nothing is lost to rounding.
GAP = 1e-12

FILES = {
    "pitprops": "pitprops_13.csv",
    "wine": "wine_13.csv",
    "normwine": "normwine_13.csv",
    "mtcars": "mtcars_corr_11.csv",
    "covcolon20": "CovColon_20.csv",
}

#: The optimal sequences of Pitprops by sparsity: variance and support, features counted from 0.
PITPROPS = {
    3: [
        (2.4753313531906596, (0, 1, 8)),
        (2.203512595823812, (5, 6, 9)),
        (1.960804880698725, (2, 3, 11)),
        (1.2919508810691414, (4, 7, 12)),
        (1.1174597931628174, (5, 9, 10)),
        (0.9960017135509163, (4, 7, 12)),
        (0.9227420572183586, (2, 3, 11)),
        (0.7120474053799424, (4, 7, 12)),
        (0.6102840862121386, (5, 9, 10)),
        (0.4814964750629081, (0, 1, 8)),
        (0.11645306208291584, (2, 3, 11)),
        (0.06874352480123404, (5, 6, 9)),
        (0.043172171746434784, (0, 1, 8)),
    ],
    4: [
        (2.937478946711729, (0, 1, 8, 9)),
        (2.280093078882318, (4, 5, 6, 12)),
        (1.9949907422573188, (2, 3, 10, 11)),
        (1.2902488638767848, (3, 7, 10, 11)),
        (0.9427049041902552, (2, 3, 10, 11)),
        (0.8501680357437578, (0, 5, 9, 12)),
        (0.7996197625919226, (4, 5, 6, 12)),
        (0.6406067692008922, (3, 7, 10, 11)),
        (0.4613386362878601, (0, 1, 8, 9)),
        (0.3073604432404484, (0, 5, 9, 12)),
        (0.22855925993433923, (4, 5, 6, 12)),
        (0.13538183660762287, (0, 1, 8, 9)),
        (0.13144872047474873, (2, 3, 10, 11)),
    ],
    5: [
        (3.406154946789761, (0, 1, 6, 8, 9)),
        (2.1117489704222088, (2, 3, 5, 10, 11)),
        (1.7396796177985072, (4, 5, 7, 11, 12)),
        (1.189289814380895, (4, 5, 7, 10, 11)),
        (0.8816893633187983, (2, 4, 7, 10, 11)),
        (0.8035340590077893, (2, 4, 5, 11, 12)),
        (0.7625612484649074, (0, 1, 6, 8, 9)),
        (0.473282710040026, (0, 1, 6, 8, 9)),
        (0.31502243028211185, (0, 1, 6, 8, 9)),
        (0.16356483847917622, (2, 3, 5, 10, 11)),
        (0.04297866442319376, (0, 1, 6, 8, 9)),
    ],
    6: [
        (3.7709595523461017, (0, 1, 6, 7, 8, 9)),
        (2.2091444605989645, (0, 2, 3, 5, 7, 11)),
        (1.94437022179588, (0, 4, 5, 6, 11, 12)),
        (1.178933844225814, (1, 2, 7, 8, 9, 10)),
        (0.8947628760285808, (2, 5, 6, 7, 9, 11)),
        (0.8310935786113698, (1, 4, 6, 9, 10, 12)),
        (0.5122084034254062, (2, 4, 5, 10, 11, 12)),
        (0.1981857434291567, (0, 2, 3, 5, 7, 11)),
    ],
    7: [
        (3.9961896448533016, (0, 1, 5, 6, 7, 8, 9)),
        (2.213998151215425, (0, 2, 3, 5, 7, 9, 11)),
        (1.9188267036467477, (0, 1, 4, 5, 6, 11, 12)),
        (1.1559444594421018, (2, 6, 7, 8, 9, 10, 11)),
        (0.9747399597354364, (2, 3, 5, 7, 9, 10, 11)),
        (0.8348659271355208, (1, 2, 3, 4, 9, 11, 12)),
        (0.5175568269269335, (1, 2, 4, 6, 7, 10, 11)),
    ],
}

#: The best variance of one Pitprops component by sparsity.
PITPROPS_SINGLE = [
    1.0,
    1.954,
    2.475331353190658,
    2.937478946711731,
    3.406154946789761,
    3.7709595523461017,
    3.9961896448532994,
    4.068607327249529,
    4.138646907082007,
    4.172637661588205,
    4.208275954323851,
    4.21824518649393,
    4.218632853310137,
]


def check_support(matrix: np.ndarray, result: Result, k: int, expected: tuple[int, ...]) -> None:
    """The component uses the expected features, or those of them that do not load zero.

    A reference support always has p features. Where an optimal vector needs fewer, the others are
    arbitrary; the vector on the expected support must then be this very component.
    """
    support = tuple(result.supports[k].tolist())
    if support == expected:
        return
    assert len(support) < len(expected), f"stage {k}: {support} instead of {expected}"
    block = np.ix_(expected, expected)
    ((best, _),) = candidates(
        matrix[block], result.components[:k][:, list(expected)], len(expected)
    )
    assert abs(best.vector @ result.components[k][list(expected)]) == pytest.approx(1, abs=1e-9)


def check_sequence(matrix: np.ndarray, result: Result, expected: list) -> None:
    """Variances, supports and the end of a sequence; a None at its end means that none exists."""
    finite = [entry for entry in expected if entry[0] is not None]
    np.testing.assert_allclose(
        result.variances, [value for value, _ in finite], rtol=AGREEMENT, atol=0
    )
    for k, (_, support) in enumerate(finite):
        check_support(matrix, result, k, tuple(support))
    # No bound can be closer than rounding allows, which depends on the largest entry of the matrix.
    resolution = 1e-11 * np.abs(matrix).max()
    np.testing.assert_allclose(
        result.upper_bounds, result.variances, rtol=AGREEMENT, atol=resolution
    )
    check_statuses(result, np.abs(matrix).max(), gap=GAP)
    assert result.exhausted == (len(finite) < len(matrix))


def solve_all(matrix: np.ndarray, p: int, method: str) -> Result:
    """All components, each as far as floating point goes."""
    return solve_once(matrix.tobytes(), len(matrix), p, len(matrix), method)


def solve_first(matrix: np.ndarray, p: int, method: str) -> Result:
    """The first component, as far as floating point goes."""
    return solve_once(matrix.tobytes(), len(matrix), p, 1, method)


@cache
def solve_once(matrix: bytes, n: int, p: int, count: int, method: str) -> Result:
    """Solve; the bundled Pitprops is the published one, so that both are solved together."""
    return solve(np.frombuffer(matrix).reshape(n, n), p, count, method=method, gap=GAP)


@pytest.mark.parametrize(("p", "method"), crossed(sorted(PITPROPS), METHODS))
def test_bundled_pitprops(p: int, method: str) -> None:
    """Tests that the bundled Pitprops gives its known optima, and ends where none exists."""
    matrix = datasets.load_pitprops().covariance()
    check_sequence(matrix, solve_all(matrix, p, method), PITPROPS[p])


@pytest.mark.parametrize("method", METHODS)
def test_bundled_pitprops_single(method: str) -> None:
    """Tests that the first component of Pitprops has its known variance at every sparsity."""
    matrix = datasets.load_pitprops().covariance()
    found = [solve_first(matrix, p, method) for p in range(1, 14)]
    variances = [result.variances[0] for result in found]
    np.testing.assert_allclose(variances, PITPROPS_SINGLE, rtol=AGREEMENT, atol=0)
    for result in found:
        check_statuses(result, 1.0, gap=GAP)


def test_bundled_pitprops_is_the_published_one(load_matrix) -> None:
    """Tests that the bundled Pitprops is the matrix of the reference data."""
    np.testing.assert_array_equal(
        datasets.load_pitprops().covariance(), load_matrix(FILES["pitprops"])
    )


#: The sequences of the reference, the last of them with the slow tests.
SEQUENCES = [
    ("pitprops", 3),
    ("pitprops", 4),
    ("pitprops", 5),
    ("pitprops", 6),
    ("pitprops", 7),
    ("pitprops", 10),
    ("wine", 5),
    ("wine", 10),
    ("normwine", 5),
    ("normwine", 10),
    ("mtcars", 4),
    ("covcolon20", 3),
    ("covcolon20", 5),
    ("covcolon20", 8),
]


@pytest.mark.parametrize(
    ("sequence", "method"),
    [
        *crossed(SEQUENCES[:-1], METHODS),
        *(pytest.param(SEQUENCES[-1], method, marks=pytest.mark.slow) for method in METHODS),
    ],
)
def test_sequence(sequence: tuple[str, int], method: str, load_matrix, optima: dict) -> None:
    """Tests that variances, supports and the end of the sequence are those of the reference."""
    name, p = sequence
    matrix = load_matrix(FILES[name])
    check_sequence(matrix, solve_all(matrix, p, method), optima[f"{name}_gs_p{p}"])


def test_every_reference_sequence_is_tested(optima: dict) -> None:
    """Tests that no sequence of the reference was forgotten above."""
    reference = {tuple(key.split("_gs_p")) for key in optima if "_gs_p" in key}
    assert {(name, int(p)) for name, p in reference} == set(SEQUENCES)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["pitprops", "wine", "normwine"])
def test_single(name: str, method: str, load_matrix, optima: dict) -> None:
    """Tests that the first component has the variance of the reference at every sparsity."""
    matrix = load_matrix(FILES[name])
    for p, variance in optima[f"{name}_single"].items():
        result = solve_first(matrix, int(p), method)
        assert result.variances[0] == pytest.approx(variance, rel=AGREEMENT, abs=0)
        check_statuses(result, np.abs(matrix).max(), gap=GAP)


@pytest.mark.parametrize("p", [3, 5])
def test_deflation(p: int, load_matrix, optima: dict) -> None:
    """Tests that the deflation baseline gives its known variances and cosines."""
    matrix = load_matrix(FILES["covcolon20"])
    result = solve(matrix, p, 20, method="deflation", gap=GAP)
    plain, deflated = np.array(optima[f"covcolon20_defl_p{p}"]).T
    np.testing.assert_allclose(result.variances, plain, rtol=AGREEMENT, atol=0)
    np.testing.assert_allclose(result.deflated_variances, deflated, rtol=AGREEMENT, atol=0)
    cosines = np.abs(result.components @ result.components.T)
    np.fill_diagonal(cosines, 0.0)
    largest = [cosines[:r, :r].max() for r in range(1, 21)]
    np.testing.assert_allclose(
        largest[1:], optima[f"covcolon20_defl_p{p}_maxabscos"][1:], atol=1e-8
    )


@pytest.mark.parametrize(
    ("name", "p", "least"),
    [("CovColon_500.csv", 5, 1646.454127864364), ("LymphomaCov_500.csv", 5, 4300.496759637838)],
)
@pytest.mark.slow
def test_large_first_component(name: str, p: int, least: float, load_matrix, real_clock) -> None:
    """Tests that on 500 genes the first component is no worse than the best value known."""
    result = solve(load_matrix(name), p, gap=1e-6, time_limit=120)
    assert result.upper_bounds[0] >= least * (1 - 1e-12)
    if result.status is Status.OPTIMAL:
        assert result.variances[0] >= least * (1 - 1e-6)
