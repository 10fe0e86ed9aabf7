"""Bad input is an InputError that names the argument, the value and, in a matrix, the place."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from helpers.cases import check_statuses
from orthospca import (
    DataCovariance,
    OrthogonalSparsePCA,
    Result,
    Status,
    cross_validate_sparsity,
    significance,
    solve,
    stability,
)
from orthospca._errors import InputError

GOOD = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])


def refuse(*mentions: str, Q: object = GOOD, sparsity: object = 2, **options: object) -> None:
    """Solving raises an InputError whose message has each of the mentions as a word or phrase."""
    with pytest.raises(InputError) as raised:
        solve(Q, sparsity, **options)
    message = str(raised.value)
    assert "\n" not in message
    for mention in mentions:
        pattern = rf"(?<![\w.]){re.escape(mention)}(?![\w])"
        assert re.search(pattern, message), f"no {mention!r} in {message!r}"


def test_input_errors_are_value_errors() -> None:
    """Tests that whoever catches a ValueError, as is usual, catches what is said of the input."""
    assert issubclass(InputError, ValueError)


def with_entry(i: int, j: int, value: float) -> np.ndarray:
    matrix = GOOD.copy()
    matrix[i, j] = matrix[j, i] = value
    return matrix


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_not_finite(value: float) -> None:
    """Tests that NaN and infinities are refused with their value and first position."""
    refuse("Q", str(value), "row 0, column 2", Q=with_entry(0, 2, value))
    refuse("Q", str(value), "row 1, column 1", Q=with_entry(1, 1, value))


@pytest.mark.parametrize(
    ("Q", "shape"),
    [
        (np.ones((2, 3)), "(2, 3)"),
        (np.ones(4), "(4,)"),
        (np.ones((2, 2, 2)), "(2, 2, 2)"),
        (np.ones((0, 0)), "(0, 0)"),
        (5.0, "()"),
    ],
)
def test_not_square(Q: object, shape: str) -> None:
    """Tests that anything but a square matrix is refused with its shape."""
    refuse("Q", Q=Q)
    with pytest.raises(InputError, match=re.escape(shape)):
        solve(Q, 1)


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, pl.DataFrame])
def test_data_in_the_place_of_a_matrix(make: Any) -> None:
    """Tests that observations are recognised by their shape, and what to do with them is said."""
    data = np.random.default_rng(0).standard_normal((7, 3))
    for rows in (7, 3):  # as many observations as variables are square, but not symmetric
        refuse(
            "Q",
            f"{rows} observations of 3 variables",
            "orthospca.DataCovariance(X)",
            "OrthogonalSparsePCA",
            Q=make(data[:rows]),
        )


@pytest.mark.parametrize("library", [pd, pl])
def test_text_in_a_data_frame(library: Any) -> None:
    """Tests that columns of text are named, and that true and false are numbers."""
    columns: dict[str, list[Any]] = {"a": [1.0, 2.5, 4.0], "b": [3, 1, 2]}
    frame = library.DataFrame({**columns, "kind": ["x", "y", "x"], "who": ["p", "q", "r"]})
    refuse("shape (3, 4)", "text in columns 'kind', 'who'", "orthospca.DataCovariance(X)", Q=frame)
    with pytest.raises(InputError, match="data must be real numbers, got text in columns 'kind'"):
        DataCovariance(frame)
    flags = library.DataFrame({**columns, "flag": [True, False, True]})
    covariance = DataCovariance(flags)
    assert covariance.feature_names == ("a", "b", "flag")
    np.testing.assert_allclose(
        covariance.submatrix(np.arange(3)), np.cov([*columns.values(), [1, 0, 1]]), atol=1e-15
    )


def test_asymmetric() -> None:
    """Tests that asymmetry beyond rounding is refused with both values and the first position."""
    matrix = GOOD.copy()
    matrix[2, 1] = 0.25
    refuse("Q", "symmetric", "0.2", "0.25", "row 1, column 2", Q=matrix)


def test_asymmetry_is_measured_against_the_matrix() -> None:
    """Tests that a tiny matrix may not be asymmetric either, though all differences are tiny."""
    matrix = GOOD * 1e-14
    matrix[2, 1] = 0.25e-14
    refuse("Q", "symmetric", "row 1, column 2", Q=matrix)


@pytest.mark.parametrize("largest", [1.01e100, 1e200, 1.7e308, 0.99e-100, 1e-200, 5e-324])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_numbers_out_of_range(largest: float, sign: float) -> None:
    """Tests that what would overflow or vanish when squared is refused, with its largest entry."""
    refuse(
        "Q", "1e-100", "1e+100", "rescale", f"{largest:g}", Q=np.diag([0.0, sign * largest, 0.0])
    )


@pytest.mark.parametrize("scale", [1e-100, 1e-90, 1e90, 1e100])
def test_ends_of_the_range_are_accepted(scale: float) -> None:
    """Tests matrices at both ends of the range, whose smallest entries may be far below it."""
    matrix = scale * np.array([[1.0, 0.25, 0.0], [0.25, 0.5, 0.0], [0.0, 0.0, -1e-300 / scale]])
    result = solve(matrix, 2, 3)
    expected = np.sort(np.linalg.eigvalsh(matrix / scale))[::-1]
    np.testing.assert_allclose(result.variances / scale, expected, rtol=1e-10, atol=1e-15)
    check_statuses(result, scale, gap=1e-4)


def test_zero_is_in_range() -> None:
    """Tests that a matrix of zeros is one: every variance is zero, and proved so."""
    result = solve(np.zeros((3, 3)), 2, 3)
    assert result.variances.tolist() == [0.0, 0.0, 0.0]
    check_statuses(result, 1.0)


@pytest.mark.parametrize(
    "Q", ["matrix", None, [["a", "b"], ["c", "d"]], [[1.0, 2.0], [3.0]], object(), {}, {"a": 1}]
)
def test_not_a_matrix_of_numbers(Q: object) -> None:
    """Tests that what is no matrix of numbers is refused by name."""
    refuse("Q", Q=Q, sparsity=1)


@pytest.mark.parametrize(
    "Q", [GOOD + 1j * np.eye(3), GOOD.astype(complex), GOOD.astype(complex).tolist()]
)
def test_complex(Q: object) -> None:
    """Tests that complex matrices are refused, not silently cut to their real parts."""
    refuse("Q", Q=Q)


@pytest.mark.parametrize("sparsity", [0, -1, 4, 10**20])
def test_sparsity_out_of_range(sparsity: int) -> None:
    """Tests that a sparsity below 1 or above n is refused with its value."""
    refuse("sparsity", str(sparsity), sparsity=sparsity)


@pytest.mark.parametrize(
    "sparsity",
    [2.0, 2.5, True, False, np.True_, np.float64(2), "2", None, np.nan, 2 + 0j, {2}, {1: 2}],
)
def test_sparsity_of_another_type(sparsity: object) -> None:
    """Tests that a sparsity that is no integer is refused, truth values and 2.0 included."""
    refuse("sparsity", sparsity=sparsity)


@pytest.mark.parametrize(
    ("sparsity", "mention"),
    [
        ([2], "2"),
        ([2, 2, 2], "2"),
        ([], "2"),
        ([2, 0], "0"),
        ([4, 2], "4"),
        ([2, 1.0], "1.0"),
        ([True, 2], "True"),
        (["2", 1], "'2'"),
        ([[2, 1]], "2"),
        ([None, 1], "None"),
        (np.array([2.0, 1.0]), "2"),
    ],
)
def test_bad_list_of_sparsities(sparsity: object, mention: str) -> None:
    """Tests that a list of sparsities of the wrong length or with a bad entry is refused."""
    with pytest.raises(InputError, match="sparsity"):
        solve(GOOD, sparsity, 2)
    with pytest.raises(InputError, match=re.escape(mention)):
        solve(GOOD, sparsity, 2)


@pytest.mark.parametrize("n_components", [0, -1, 4, 2.0, 1.5, True, "1", None, np.nan, [1]])
def test_bad_number_of_components(n_components: object) -> None:
    """Tests that a number of components below 1, above n or of another type is refused."""
    with pytest.raises(InputError, match="n_components") as raised:
        solve(GOOD, 2, n_components)
    assert str(n_components) in str(raised.value)


@pytest.mark.parametrize("method", ["magic", "", "Enumeration", "branch_and_bound", None, 3, []])
def test_unknown_method(method: object) -> None:
    """Tests that an unknown method is refused, and that the message names those that exist."""
    with pytest.raises(InputError, match="method") as raised:
        solve(GOOD, 2, method=method)
    message = str(raised.value)
    assert repr(method) in message
    for known in ("enumeration", "branch-and-bound", "eigenvalue", "deflation"):
        assert known in message


@pytest.mark.parametrize("name", ["eps", "gap", "threshold", "time_limit"])
@pytest.mark.parametrize("value", [-1.0, -1e-300, np.nan, -np.inf, "0.1", [0.1], True, 1j])
def test_bad_tolerance(name: str, value: object) -> None:
    """Tests that negative, infinite, NaN and non-numeric tolerances are refused by name."""
    with pytest.raises(InputError, match=name) as raised:
        solve(GOOD, 2, **{name: value})
    assert str(value) in str(raised.value)


@pytest.mark.parametrize("name", ["eps", "gap", "threshold"])
@pytest.mark.parametrize("value", [None, np.inf])
def test_no_tolerance(name: str, value: object) -> None:
    """Tests that None and infinity are no tolerances."""
    with pytest.raises(InputError, match=name):
        solve(GOOD, 2, **{name: value})


@pytest.mark.parametrize("value", [-1, 1.5, "10", True, np.nan])
def test_bad_node_limit(value: object) -> None:
    """Tests that a node limit is a whole number that is not negative."""
    with pytest.raises(InputError, match="node_limit"):
        solve(GOOD, 2, node_limit=value)


@pytest.mark.parametrize("value", [0, 1.5, "2", True])
def test_bad_number_of_jobs(value: object) -> None:
    """Tests that a number of jobs is a whole number other than 0."""
    with pytest.raises(InputError, match="n_jobs"):
        solve(GOOD, 2, n_jobs=value)


@pytest.mark.parametrize("value", ["print", 3, [print]])
def test_bad_callback(value: object) -> None:
    """Tests that a callback that cannot be called is refused before the search."""
    with pytest.raises(InputError, match="callback"):
        solve(GOOD, 2, callback=value)


@pytest.mark.parametrize("value", ["seed", 1.5])
def test_bad_random_state(value: object) -> None:
    """Tests that a random state that is no seed is refused by name."""
    with pytest.raises(InputError, match="random_state"):
        solve(GOOD, 2, random_state=value)


def test_too_large_to_enumerate() -> None:
    """Tests that a hopeless enumeration is refused with its number of supports and a way out."""
    with pytest.raises(InputError, match="enumeration") as raised:
        solve(np.eye(200) + 1, 50, method="enumeration")
    message = str(raised.value)
    assert "e+47" in message or "4538" in message.replace(",", "").replace("_", "")
    assert "branch-and-bound" in message


def test_a_later_stage_too_large_to_enumerate() -> None:
    """Tests that the refusal comes before the first stage is solved, not after it."""
    seen = []
    with pytest.raises(InputError, match="enumeration"):
        solve(np.eye(200) + 1, [1, 50], 2, method="enumeration", callback=seen.append)
    assert not seen


def first_variance(result: Result) -> float:
    assert result.status is Status.OPTIMAL
    return float(result.variances[0])


def test_rounding_level_asymmetry_is_accepted() -> None:
    """Tests that differences at the level of rounding are no error and change nothing."""
    expected = first_variance(solve(GOOD, 2))
    noise = np.random.default_rng(0).standard_normal((3, 3))
    assert first_variance(solve(GOOD + 1e-15 * noise, 2)) == pytest.approx(expected, rel=1e-12)
    assert first_variance(solve(1e9 * (GOOD + 1e-15 * noise), 2)) == pytest.approx(
        1e9 * expected, rel=1e-12
    )


def test_tiny_negative_eigenvalues_are_accepted() -> None:
    """Tests that a singular covariance whose smallest eigenvalue came out negative is solved."""
    rows = np.random.default_rng(1).standard_normal((3, 8))
    matrix = rows.T @ rows - 1e-16 * np.eye(8)
    result = solve(matrix, 3, 4)
    assert len(result.components) == 4
    assert result.status is Status.OPTIMAL


def test_indefinite_is_accepted() -> None:
    """Tests that a matrix with large negative eigenvalues is solved."""
    result = solve([[1.0, 3.0], [3.0, 1.0]], 2, gap=0.0)
    assert result.variances[0] == pytest.approx(4.0)
    check_statuses(result, 3.0)
    assert first_variance(solve([[-5.0]], 1)) == -5.0


@pytest.mark.parametrize(
    "Q",
    [
        GOOD.tolist(),
        tuple(map(tuple, GOOD)),
        np.asfortranarray(GOOD),
        np.kron(GOOD, np.ones((2, 2)))[::2, ::2],
        GOOD.astype(np.longdouble),
        GOOD.astype(">f8"),
        np.ma.masked_array(GOOD),
    ],
)
def test_any_array_like_is_accepted(Q: object) -> None:
    """Tests that lists, views and other layouts give the same component as a plain array."""
    expected = solve(GOOD, 2)
    assert solve(Q, 2).components.tobytes() == expected.components.tobytes()


def test_integers_are_accepted() -> None:
    """Tests that an integer matrix is solved, and a read-only one."""
    matrix = np.array([[5, 1, 0], [1, 5, 2], [0, 2, 2]])
    matrix.setflags(write=False)
    assert first_variance(solve(matrix, 2)) == pytest.approx(6.0)


@pytest.mark.parametrize("sparsity", [np.int64(2), np.int8(2), np.array(2), np.uint16(2)])
def test_numpy_integers_are_accepted(sparsity: object) -> None:
    """Tests that NumPy's integers are integers."""
    assert solve(GOOD, sparsity, np.int32(2)).sparsity == (2, 2)


@pytest.mark.parametrize("sparsity", [[3, 1], (3, 1), np.array([3, 1]), np.array([3, 1], np.uint8)])
def test_one_sparsity_per_component(sparsity: object) -> None:
    """Tests that lists, tuples and arrays of sparsities are taken component by component."""
    assert solve(GOOD, sparsity, 2).sparsity == (3, 1)


def test_masked_entries_are_refused() -> None:
    """Tests that what lies below a mask is not taken for a number; a mask of nothing is fine."""
    Q = np.ma.masked_array([[5.0, 1.0], [1.0, 3.0]], mask=[[False, True], [True, False]])
    with pytest.raises(InputError, match=r"Q must have no masked entries, got 2, the first at \(0"):
        solve(Q, 1)
    X = np.ma.masked_equal([[1.0, 2.0], [3.0, -9.0], [4.0, 1.0]], -9.0)
    with pytest.raises(InputError, match=r"data must have no masked entries, got 1, .* \(1, 1\)"):
        solve(DataCovariance(X), 1)
    assert solve(np.ma.masked_array(np.eye(2)), 1).status.name == "OPTIMAL"


@pytest.mark.parametrize("name", ["previous", "start"])
def test_vectors_of_features_in_another_order(name: str) -> None:
    """Tests that a data frame is not read by position where its names say otherwise."""
    Q = pd.DataFrame(np.diag([3.0, 2.0, 1.0]), columns=list("abc"))
    vector = pd.DataFrame([[1.0, 0.0, 0.0]], columns=list("abc"))
    assert solve(Q, 1, **{name: vector}).n_components == 1
    with pytest.raises(InputError, match=f"{name} must have the features in their order, got 'c'"):
        solve(Q, 1, **{name: vector[["c", "a", "b"]]})
    # Of other names, or of none, nothing is said.
    assert solve(Q, 1, **{name: vector.set_axis(range(3), axis=1)}).n_components == 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda X: OrthogonalSparsePCA(1, 1).fit(X),
        lambda X: stability(X, 1, n_resamples=2),
        lambda X: cross_validate_sparsity(X, [1], cv=2),
        lambda X: significance(X, 1, 1),
    ],
)
def test_masked_observations_are_refused(ask: Any) -> None:
    """Tests everything that is given observations."""
    X = np.ma.masked_greater(np.arange(12.0).reshape(6, 2) ** 2, 100.0)
    with pytest.raises(InputError, match=r"X must have no masked entries, got 1, .* \(5, 1\)"):
        ask(X)
