"""Certificates of sets that hold the branching on patterns, and forged ones."""

from __future__ import annotations

import copy
import functools
import itertools
from typing import Any

import numpy as np
import pytest

from helpers.forger import checker
from helpers.problems import MATRICES
from helpers.seeds import FULL, seeds
from orthospca import Certificate, Status, datasets, solve, verify

STEPS, MATRIX, PRICES = "joint/steps.npy", "joint/matrices.npy", "joint/prices.npy"


def matrix_of(seed: int, n: int = 6) -> np.ndarray:
    rng = np.random.default_rng(seed)
    names = list(MATRICES)
    Q = MATRICES[names[seed % len(names)]](rng, n)
    return 0.5 * (Q + Q.T)


def branched(Q: np.ndarray, p: Any, K: int, **options: Any) -> Certificate | None:
    """The certificate of a set, if it has a tree."""
    found = solve(Q, p, K, objective="joint", proof=True, **options).certificate
    assert found is not None
    return found if STEPS in found.arrays else None


@pytest.fixture(scope="module")
def cases() -> list[tuple[np.ndarray, Certificate]]:
    """Small sets that one matrix leaves open, some with unequal sparsities."""
    made = []
    for seed in range(30):
        Q = np.corrcoef(np.random.default_rng(seed).standard_normal((8, 6)).T)
        p = [3, 2] if seed % 3 == 0 else 3
        if (found := branched(Q, p, 2)) is not None:
            made.append((Q, found))
        if len(made) == (6 if FULL else 4):
            break
    return made


Cases = list[tuple[np.ndarray, Certificate]]


def test_the_file_proves_what_is_claimed_without_it() -> None:
    """Tests that a set of Pitprops is as well proved as without a file."""
    Q = datasets.load_pitprops().covariance()
    plain = solve(Q, 3, 2, objective="joint")
    proved = solve(Q, 3, 2, objective="joint", proof=True)
    assert plain.status is proved.status is Status.OPTIMAL
    assert proved.certificate is not None
    assert STEPS in proved.certificate.arrays
    verdict = verify(proved.certificate)
    assert verdict.verified, verdict.reason
    assert verdict.joint_upper_bound == proved.joint_upper_bound
    assert verdict.joint_upper_bound <= plain.joint_variance * (1 + 1.01e-4)


def lower_bound(Q: np.ndarray, found: Certificate) -> float:
    """The total of a set that is as good as any, or nearly."""
    limits = found.manifest["problem"]["sparsity"]
    best = solve(Q, limits, len(limits), objective="joint", gap=1e-7).joint_variance
    return float(best)


@pytest.mark.parametrize("seed", seeds(3, 6))
def test_random_sets_are_verified(seed: int) -> None:
    """Tests matrices of every kind, with no bound below sets of single features."""
    Q = matrix_of(seed)
    found = solve(Q, [3, 2], 2, objective="joint", proof=True)
    assert found.certificate is not None
    verdict = found.certificate.verify()
    assert verdict.verified, verdict.reason
    assert verdict.joint_upper_bound is not None
    singles = itertools.combinations(Q.diagonal(), 2)
    assert verdict.joint_upper_bound >= max(a + b for a, b in singles) - 1e-12 * np.abs(Q).max()
    assert verdict.joint_upper_bound <= found.joint_upper_bound


def changed(found: Certificate, upper: float | None = None, **arrays: Any) -> Certificate:
    manifest = copy.deepcopy(found.manifest)
    if upper is not None:
        manifest["joint"]["upper_bound"] = upper
    names = {"steps": STEPS, "matrices": MATRIX, "prices": PRICES}
    return Certificate(manifest, {**found.arrays, **{names[k]: v for k, v in arrays.items()}})


def test_trees_that_are_forged(cases: Cases) -> None:
    """Tests that steps that are missing, too many or others are noticed."""
    assert len(cases) >= 4
    for _, found in cases:
        steps, matrices, prices = (found.arrays[name] for name in (STEPS, MATRIX, PRICES))
        assert found.verify().verified
        assert "too early" in changed(found, steps=steps[:-3]).verify().reason
        longer = np.append(steps, steps[-3:])
        assert "nothing is left" in changed(found, steps=longer).verify().reason
        alone = np.array([-1, -1, 0], steps.dtype)
        if len(steps) > 3:
            assert "above the bound" in changed(found, steps=alone).verify().reason
        without = steps.reshape(-1, 3).copy()
        without[:, 2] = -1
        assert not changed(found, steps=without.ravel()).verify()
        # A matrix that is not below Q.
        assert "not proved to be below" in changed(found, matrices=matrices + 10).verify().reason
        assert not changed(found, matrices=matrices[:, :-1]).verify()
        for number in (np.nan, np.inf):
            assert not changed(found, matrices=np.full_like(matrices, number)).verify()
            assert not changed(found, prices=np.full_like(prices, number)).verify()
        assert not changed(found, prices=prices[:, :-1]).verify()
        assert not changed(found, steps=steps[:-1]).verify()


def test_no_bound_below_the_truth(cases: Cases) -> None:
    """Tests that nothing makes the checker accept a bound that a set exceeds."""
    rng = np.random.default_rng(1)
    for Q, found in cases:
        truth = lower_bound(Q, found)
        steps, matrices = found.arrays[STEPS], found.arrays[MATRIX]
        for _ in range(10):
            upper = truth * (1 - 10.0 ** rng.uniform(-8, -2))
            forged = changed(found, upper, steps=steps.copy(), matrices=matrices.copy())
            values = forged.manifest["joint"]["variances"]
            forged.manifest["joint"]["variances"] = [v * (1 - 1e-12) for v in values]
            for _ in range(int(rng.integers(0, 4))):
                at = rng.integers(len(steps))
                forged.arrays[STEPS][at] = rng.choice(steps)
            if rng.random() < 0.5:
                forged.arrays[MATRIX][rng.integers(len(matrices))] -= 0.1 * rng.random()
            if rng.random() < 0.7:
                noise = rng.standard_normal(found.arrays[PRICES].shape)
                forged.arrays[PRICES] = found.arrays[PRICES] + 10.0 ** rng.uniform(-4, 1) * noise
            # A set that has less than the bound that is claimed, so that only the tree is wrong.
            limits = forged.manifest["problem"]["sparsity"]
            forged.arrays["components.npy"] = np.eye(len(Q))[: len(limits)]
            forged.manifest["joint"]["variances"] = Q.diagonal()[: len(limits)].tolist()
            assert not forged.verify()


def test_stacks_are_tested_as_single_matrices_are() -> None:
    """Tests that of many matrices at once nothing more is taken for proved."""
    rng = np.random.default_rng(2)
    Q = matrix_of(0)
    draft = {"arrays": {STEPS: np.array([-1, -1, -1]), MATRIX: np.zeros((0, 21))}}
    check = checker._Check(lambda share: None)
    check.arrays = draft["arrays"]
    sets = checker._second_file()
    asked = checker._asked({}, {"kind": "matrix"}, 6, [3, 3])
    tree = sets._Tree(checker, check, Q, [3, 3], 1.0, asked)
    for _ in range(200):
        A = rng.standard_normal((6, 6))
        A = A + A.T
        rows = tree.rows[2][rng.integers(20)][None]
        part = A[np.ix_(rows[0], rows[0])]
        top = float(np.linalg.eigvalsh(part)[-1])
        for level in top + np.array([-1e-3, -1e-15, 0.0, 1e-15, 1e-13, 1e-3]):
            proved = bool(tree._stack_is_below(A, rows, np.array([level]))[0])
            assert proved == checker.ladder.proves_below(part, level, 0.0) or level < top + 1e-13
            assert not proved or level >= top - 1e-15


@functools.lru_cache
def if_nothing_is_asked(seed: int) -> Certificate:
    """The certificate of the best pair, with no demands."""
    Q = np.corrcoef(np.random.default_rng(seed).standard_normal((8, 6)).T)
    found = solve(Q, 3, 2, objective="joint", proof=True).certificate
    assert found is not None
    return found


@pytest.mark.parametrize("seed", seeds(1, 3))
@pytest.mark.parametrize(
    "asked",
    [
        {"relation": "disjoint"},
        {"include": [0]},
        {"exclude": [[1], [2]]},
        {"relation": "disjoint", "include": [[3], []]},
    ],
)
def test_what_is_asked(asked: dict[str, Any], seed: int) -> None:
    """Tests sets with demands: what is proved is not below sets found, and demands are held to."""
    Q = np.corrcoef(np.random.default_rng(seed).standard_normal((8, 6)).T)
    plain = solve(Q, 3, 2, objective="joint", **asked)
    proved = solve(Q, 3, 2, objective="joint", proof=True, **asked)
    assert proved.certificate is not None
    verdict = proved.certificate.verify()
    assert verdict.verified, verdict.reason
    assert verdict.joint_upper_bound >= plain.joint_variance * (1 - 1e-9)
    assert proved.status is plain.status
    # The set that is best if nothing is asked is no answer.
    other = if_nothing_is_asked(seed)
    forged = copy.deepcopy(other.manifest)
    forged["problem"] |= proved.certificate.manifest["problem"]
    answer = Certificate(forged, other.arrays).verify()
    assert not answer or plain.joint_variance >= float(other.verify().joint_variance) - 1e-9
    # Nor does the tree of a question prove what another one asks for.
    forged = dict(proved.certificate.manifest["problem"])
    for name in asked:
        forged.pop(name)
    manifest = {**proved.certificate.manifest, "problem": forged}
    answer = Certificate(manifest, proved.certificate.arrays).verify()
    best = float(other.verify().joint_variance)
    assert not answer or answer.joint_upper_bound >= best * (1 - 1e-12)
