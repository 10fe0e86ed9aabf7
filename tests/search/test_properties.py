"""Properties that hold for every problem, on random problems, against an independent brute force.

Optima tie, and which of several a stage returns decides what is left for the next. So each stage is
compared with the brute force *given the components that the solver returned before it*.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from helpers.brute_force import is_unique
from helpers.cases import BRANCHING, EAGER, RELAXING
from helpers.exact import ExactMatrix, support_above
from helpers.optimality import AGREEMENT, check_feasible, check_stages
from helpers.seeds import seeds
from helpers.strategies import KINDS, Problem, problems
from orthospca import Result, Status, solve
from orthospca.facade import solve_with
from orthospca.model.settings import Settings
from orthospca.model.tuning import Tuning

METHODS = ("enumeration", "eigenvalue", "branch-and-bound", "relaxation")

examples = settings.default.max_examples
few = settings(max_examples=examples)
some = settings(max_examples=5 * examples)
#: For the promises of the package; tests of every kind of matrix have as many by their kinds.
promised = settings(max_examples=10 * examples)


def solve_exactly(problem: Problem, method: str, **options) -> Result:
    """All components of a problem, each to floating-point resolution."""
    return branch(problem, problem.n, method=method, gap=0.0, eps=0.0, **options)


def branch(
    problem: Problem, n_components: int, *, method: str, tuning: Tuning = BRANCHING, **options
) -> Result:
    """Solve without the shortcut that enumerates small nodes: here every node would be small."""
    if method == "relaxation":
        method, tuning = "branch-and-bound", RELAXING
    asked = Settings.validate(method=method, tuning=tuning, **options)
    return solve_with(problem.matrix, problem.sparsity, n_components, asked)


def has_one_optimum(problem: Problem, result: Result, k: int) -> bool:
    """Whether stage k of a result has one optimum only, by a clear margin."""
    margin = 1e-5 * problem.scale
    return is_unique(problem.matrix, result.components[:k], problem.sparsity_of(k), margin)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
@few
@given(data=st.data())
def test_every_stage_is_optimal(kind: str, method: str, data: st.DataObject) -> None:
    """Tests that every stage, until none exists, matches the brute force on each kind of matrix."""
    problem = data.draw(problems(kind))
    result = solve_exactly(problem, method)
    check_feasible(problem, result)
    check_stages(problem, result)


@pytest.mark.parametrize("method", METHODS[:3])
@promised
@given(problem=problems())
def test_shortcuts_are_optimal_too(method: str, problem: Problem) -> None:
    """Tests the same with all defaults, where small nodes are enumerated."""
    result = solve(problem.matrix, problem.sparsity, problem.n, method=method, gap=0.0)
    check_feasible(problem, result)
    check_stages(problem, result)


@some
@given(problem=problems())
def test_features_fixed_at_once(problem: Problem) -> None:
    """Tests the same where the relaxation rules features out and in as soon as it can."""
    tuning = replace(RELAXING, share=replace(EAGER, cost=-1))
    result = solve_exactly(problem, "branch-and-bound", tuning=tuning)
    check_feasible(problem, result)
    check_stages(problem, result)


@pytest.mark.parametrize("method", METHODS)
@few
@given(problem=problems(per_component=True))
def test_one_sparsity_per_component(method: str, problem: Problem) -> None:
    """Tests that a list of sparsities gives each stage its own, whether they grow or shrink."""
    result = solve_exactly(problem, method)
    check_feasible(problem, result)
    check_stages(problem, result)


@pytest.mark.parametrize("method", METHODS)
@promised
@given(problem=problems(largest=6))
def test_bounds_hold_in_exact_arithmetic(method: str, problem: Problem) -> None:
    """Tests that no upper bound is below the truth, decided in rational arithmetic.

    Variances do not increase, since each stage adds a constraint, and add up to the trace of Q
    wherever all n components exist.
    """
    result = solve_exactly(problem, method)
    assert (np.diff(result.variances) <= AGREEMENT * problem.scale).all()
    if len(result.components) == problem.n:
        total = np.trace(problem.matrix)
        assert abs(result.variances.sum() - total) <= 1e-11 * problem.scale
    else:
        assert result.exhausted
    exact = ExactMatrix.of(problem.matrix)
    for k, bound in enumerate(result.upper_bounds):
        previous = result.components[:k]
        above = support_above(exact, previous, problem.sparsity_of(k), bound)
        assert above is None, f"stage {k}: a vector on {above} has more than {bound!r}"


@pytest.mark.parametrize("method", METHODS)
@promised
@given(
    problem=problems(),
    gap=st.sampled_from([0.0, 1e-6, 1e-2, 0.3, 2.0]),
    eps=st.sampled_from([0.0, 1e-6, 0.1, 1.0]),
)
def test_tolerances_are_kept(method: str, problem: Problem, gap: float, eps: float) -> None:
    """Tests that with a tolerance each stage is that close to its optimum and says so."""
    eps = eps * problem.scale
    result = branch(problem, problem.n, method=method, gap=gap, eps=eps)
    check_feasible(problem, result)
    check_stages(problem, result, eps=eps, gap=gap)


@pytest.mark.parametrize("method", METHODS)
@few
@given(problem=problems(), count=st.integers(1, 8))
def test_fewer_components_are_the_first_ones(method: str, problem: Problem, count: int) -> None:
    """Tests that asking for fewer components gives the first of them."""
    count = min(count, problem.n)
    every = solve_exactly(problem, method)
    fewer = branch(problem, count, method=method, gap=0.0)
    found = min(count, len(every.components))
    assert fewer.components.tobytes() == every.components[:found].tobytes()
    assert fewer.upper_bounds.tobytes() == every.upper_bounds[:found].tobytes()
    check_stages(problem, fewer, count=count)


@pytest.mark.parametrize("method", METHODS)
@few
@given(problem=problems())
def test_full_sparsity_is_ordinary_pca(method: str, problem: Problem) -> None:
    """Tests that p = n gives the eigenvalues of Q, all of them."""
    full = Problem(problem.kind, problem.matrix, problem.n)
    result = solve_exactly(full, method)
    eigenvalues = np.linalg.eigvalsh(problem.matrix)[::-1]
    np.testing.assert_allclose(result.variances, eigenvalues, atol=1e-11 * problem.scale)
    check_stages(full, result)


@pytest.mark.parametrize("method", METHODS)
@few
@given(problem=problems())
def test_single_features(method: str, problem: Problem) -> None:
    """Tests that p = 1 sorts the diagonal, and that all n components exist."""
    single = Problem(problem.kind, problem.matrix, 1)
    result = solve_exactly(single, method)
    assert result.variances.tolist() == np.sort(np.diag(problem.matrix))[::-1].tolist()
    assert (np.count_nonzero(result.components, axis=1) == 1).all()
    assert result.status is Status.OPTIMAL


def compare_transformed(
    problem: Problem, other: Problem, method: str, back: np.ndarray, factor: float
) -> None:
    """The other problem's components, mapped `back`, are this one's, until a stage has a tie.

    The first variance is compared whatever ties; a later stage only while all before it had one
    optimum, because a tie may be broken in two ways.
    """
    mine, its = solve_exactly(problem, method), solve_exactly(other, method)
    tolerance = AGREEMENT * problem.scale
    for k in range(min(len(mine.variances), len(its.variances))):
        assert abs(mine.variances[k] * factor - its.variances[k]) <= tolerance * factor
        if not has_one_optimum(problem, mine, k):
            return
        cosine = mine.components[k] @ (its.components[k] @ back)
        assert abs(abs(cosine) - 1) <= 1e-8
    assert len(mine.variances) == len(its.variances)


@pytest.mark.parametrize("method", METHODS)
@some
@given(
    problem=problems(),
    factor=st.one_of(st.integers(-40, 40).map(lambda k: 2.0**k), st.floats(1e-9, 1e9)),
    data=st.data(),
)
def test_equivariance(method: str, problem: Problem, factor: float, data: st.DataObject) -> None:
    """Tests that features in another order, with other signs and units, change nothing else."""
    n = problem.n
    order = list(data.draw(st.permutations(range(n))))
    signs = data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n))
    back = np.diag(signs) @ np.eye(n)[order]
    moved = problem.matrix[np.ix_(order, order)] * np.outer(signs, signs) * factor
    other = Problem(problem.kind, moved, problem.sparsity)
    compare_transformed(problem, other, method, back, factor)


@pytest.mark.parametrize("method", METHODS)
@few
@given(problem=problems(), k=st.integers(-30, 30))
def test_power_of_two_changes_no_bit(method: str, problem: Problem, k: int) -> None:
    """Tests that a power of two, which rounds nothing, changes no bit of the components."""
    assume(np.abs(problem.matrix).max() > 0)
    factor = 2.0**k
    mine = solve_exactly(problem, method)
    its = solve_exactly(Problem(problem.kind, problem.matrix * factor, problem.sparsity), method)
    assert its.components.tobytes() == mine.components.tobytes()
    assert its.variances.tobytes() == (mine.variances * factor).tobytes()


def trajectory(result: Result) -> list:
    """Everything in a result except the time it took."""
    steps = [(e.stage, e.nodes, e.open_nodes, e.lower, e.upper) for e in result.history]
    arrays = (result.components, result.variances, result.upper_bounds)
    return [result.status, result.statuses, result.nodes, steps, *(a.tobytes() for a in arrays)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", seeds(1, 2))
def test_same_bytes_whatever_the_jobs(method: str, seed: int) -> None:
    """Tests that the number of jobs changes no bit of the result."""
    rows = np.random.default_rng(seed).standard_normal((20, 12))
    matrix = rows.T @ rows
    problem = Problem("psd", matrix, 4)
    results = [branch(problem, 4, method=method, gap=1e-9, n_jobs=jobs) for jobs in (1, 2)]
    assert trajectory(results[0]) == trajectory(results[1])


@pytest.mark.parametrize("method", METHODS)
@promised
@given(problem=problems())
def test_same_bytes_whatever_the_jobs_of_any_problem(method: str, problem: Problem) -> None:
    """Tests the same of every kind of matrix, until no component is left: every step, again."""
    results = [solve_exactly(problem, method, n_jobs=jobs) for jobs in (1, 2)]
    assert trajectory(results[0]) == trajectory(results[1])


@pytest.mark.parametrize("method", METHODS[:3])
def test_the_input_is_left_alone(method: str) -> None:
    """Tests that solving changes neither the matrix nor the list of sparsities given to it."""
    rows = np.random.default_rng(5).standard_normal((10, 6))
    matrix = rows.T @ rows
    copy, sparsity = matrix.copy(), [3, 2, 1]
    solve(matrix, sparsity, 3, method=method)
    assert matrix.tobytes() == copy.tobytes()
    assert sparsity == [3, 2, 1]
