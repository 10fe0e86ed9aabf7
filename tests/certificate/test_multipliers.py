"""Proofs by multipliers of the share relaxation: written, checked, attacked, taken up."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.certificates import (
    Draft,
    count_of_claims,
    falsehood,
    relaxed,
    solved_by_relaxation,
)
from helpers.corruptions import other_float
from helpers.forger import checker, ladder, lowest, stage_of
from helpers.multipliers import REFUSED, base
from helpers.problems import DATA, MATRICES
from helpers.seeds import SHARE, later, spread
from helpers.share import ShareNode, random_multipliers
from helpers.wide import tuned
from orthospca import Certificate, DataCovariance, Status, solve
from orthospca.bounds.share.claim import Multipliers
from orthospca.facade import solve_with
from orthospca.model.settings import Settings
from orthospca.model.tuning import DEFAULT, SavingTuning


def noise(n: int, seed: int = 0, rows: int = 60) -> np.ndarray:
    """The covariance of as many rows without structure."""
    A = np.random.default_rng(seed).standard_normal((rows, n))
    return A.T @ A / rows


def communities(n: int, seed: int = 0) -> np.ndarray:
    """Correlations of features in groups, with something that all have in common."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.eye(4), n // 4, axis=0)
    rows = rng.standard_normal((200, 4)) @ groups.T + 0.5 * rng.standard_normal((200, 1))
    return np.corrcoef(rows + rng.standard_normal((200, n)), rowvar=False)


# Written and checked


@pytest.mark.parametrize(
    ("Q", "sparsity", "count"),
    [
        pytest.param(noise(50), 8, 1, marks=pytest.mark.slow),
        (noise(50, 1), 12, 1),
        pytest.param(noise(30, 2), 6, 3, marks=pytest.mark.slow),
        (noise(24, 3), [7, 3, 5], 3),
        (communities(40), 7, 2),
    ],
)
def test_what_only_the_relaxation_closes(Q: np.ndarray, sparsity: Any, count: int) -> None:
    """Tests that a proof gets as far as a run without one, and is accepted."""
    proved = solved_by_relaxation(Q, sparsity, count)
    plain = solve(Q, sparsity, count)
    assert proved.status is Status.OPTIMAL
    np.testing.assert_allclose(proved.variances, plain.variances, rtol=2e-4)
    assert count_of_claims(proved.certificate) > 0
    verdict = proved.certificate.verify()
    assert verdict.verified, verdict
    assert (np.array(verdict.upper_bounds) <= proved.upper_bounds).all()


def test_without_the_compiled_walk() -> None:
    """Tests that no gap is left where walks in Python are too slow and coarse levels fail."""
    tuning = replace(DEFAULT, walk=replace(DEFAULT.walk, compiled_after=math.inf))
    result = solve_with(noise(50), 12, 1, Settings.validate(tuning=tuning, proof=True))
    assert result.status is Status.OPTIMAL
    assert result.certificate.verify().verified


def test_data_that_are_never_formed() -> None:
    """Tests that entries of a factor that are known up to rounding will do."""
    data = DataCovariance(np.random.default_rng(4).standard_normal((30, 40)))
    result = solved_by_relaxation(data, 5, 2, tuning=relaxed(tuned(formed=0)))
    assert result.status is Status.OPTIMAL
    assert result.certificate.manifest["problem"]["kind"] == "factor"
    assert count_of_claims(result.certificate) > 0
    assert result.certificate.verify().verified


@pytest.mark.parametrize("nodes", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_a_limit_leaves_a_proof_of_the_bound_told(nodes: int) -> None:
    """Tests that the bound told at a limit is the one proved, and as good as without a proof."""
    # Leaves are smaller with a proof, and here they are the same.
    Q, tuning = noise(70, 3, rows=50), relaxed()
    tuning = replace(tuning, tree=replace(tuning.tree, enumerate_below_strong=1))
    result = solved_by_relaxation(Q, 10, node_limit=nodes)
    assert result.status is Status.NODE_LIMIT
    verdict = result.certificate.verify()
    assert verdict.verified, verdict
    assert verdict.upper_bounds[0] == result.upper_bounds[0]
    plain = solve_with(Q, 10, 1, Settings.validate(tuning=tuning, node_limit=nodes))
    assert result.upper_bounds[0] <= plain.upper_bounds[0] * (1 + 1e-9)


def test_a_proof_that_takes_too_much_memory_ends() -> None:
    """Tests that the bound reached by then is proved."""
    tuning = relaxed()
    tuning = replace(tuning, tree=replace(tuning.tree, largest_proof=10_000))
    result = solved_by_relaxation(noise(70, 3, rows=50), 10, tuning=tuning)
    assert result.status is Status.PROOF_LIMIT
    assert result.certificate.verify().verified


def small(seed: int) -> tuple[Any, Any]:
    """A small problem of any kind solved by the relaxation alone, and its certificate."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 9))
    p, count = int(rng.integers(2, 4)), int(rng.integers(1, 4))
    wide = bool(rng.random() < 0.3)
    generators = DATA if wide else MATRICES
    Q = generators[list(generators)[int(rng.integers(len(generators)))]](rng, n)
    sparsity = [int(s) for s in rng.integers(1, p + 1, size=count)] if rng.random() < 0.3 else p
    gap = float(rng.choice([0.0, 1e-6, 1e-3]))
    tuning = relaxed(tuned(formed=0) if wide else DEFAULT, tested=int(rng.choice([1, 20])))
    given = DataCovariance(Q) if wide else Q
    result = solved_by_relaxation(
        given, sparsity, count, tuning=tuning, gap=gap, eps=0.0, node_limit=200
    )
    return result, result.certificate


def check_small(seeds: range) -> int:
    claims = 0
    for seed in seeds:
        _, certificate = small(seed)
        verdict = certificate.verify()
        assert verdict.verified, (seed, verdict)
        assert not falsehood(certificate, verdict), seed
        claims += count_of_claims(certificate)
    return claims


def test_small_problems() -> None:
    """Tests that what is proved is true, decided in exact arithmetic."""
    assert check_small(range(16)) > 6


@pytest.mark.slow
def test_many_small_problems() -> None:
    """Tests the same at length."""
    assert check_small(spread(16, 1000)) > 500 * SHARE


# What the checker takes for proved of a node


def given(multipliers: Multipliers) -> Any:
    """Multipliers as the checker reads them."""
    at = np.tril_indices(len(multipliers.features), -1)
    N, r, c = (a.astype(float) for a in (multipliers.N, multipliers.ratios, multipliers.c))
    unit = multipliers.unit
    return ladder.Multipliers(multipliers.features, N[at] * unit, r[at], c * unit)


def claims_of(seed: int) -> int:
    """Check the lowest levels that are accepted of a node; how many there were."""
    node, rng = ShareNode.random(seed), np.random.default_rng([seed, 3])
    stage = stage_of(node.matrix, node.previous)
    free, nothing, count = node.free, node.free[:0], 0
    if stage.spent[node.allowed].any() or len(free) == 0 or len(node.included) >= node.p:
        return 0
    choices = [random_multipliers(rng, node)]
    if seed % 4 == 0:
        choices.append(node.converged(60))
    group = rng.permutation(free)[: int(rng.integers(1, len(free) + 1))]
    some = int(rng.choice(free))
    for multipliers in choices:
        asked = [
            (free, nothing, node.supports),
            (np.sort(group), nothing, node.having(group)),
            (nothing, np.array([some]), node.lacking(some)),
        ]
        for removed, forced, among in asked:

            def accepted(
                level: float, removed: Any = removed, forced: Any = forced, m: Any = multipliers
            ) -> bool:
                walk = ladder.Walk(stage, np.sort(stage.usable), node.p, level, level)
                try:
                    walk.check_claim(node.included, free, removed, forced, given(m), "")
                except checker.Rejected:
                    return False
                return True

            high = 16 * len(node.matrix) * node.scale
            if not accepted(high):
                continue
            level = lowest(accepted, -high, high)
            assert node.above(level, among) is None, (seed, level)
            count += 1
    return count


def test_no_level_is_accepted_that_is_exceeded() -> None:
    """Tests removed groups, forced features and whole nodes with multipliers of any kind."""
    assert sum(claims_of(seed) for seed in range(16)) > 5


@pytest.mark.slow
def test_no_level_is_accepted_that_is_exceeded_at_length() -> None:
    """Tests many more nodes."""
    assert sum(claims_of(seed) for seed in spread(16, 3000)) > 1000 * SHARE


def test_the_checker_proves_what_the_solver_proves() -> None:
    """Tests that the bound of a claim is accepted, up to rounding."""
    proved = 0
    for seed in range(60):
        node = ShareNode.random(seed)
        stage = stage_of(node.matrix, node.previous)
        if stage.spent[node.allowed].any() or len(node.allowed) <= node.p:
            continue
        if len(node.included) >= node.p or not node.supports:
            continue
        multipliers = node.converged(40)
        upper = node.claim(multipliers).upper
        if upper > 16 * node.scale:
            # Components parallel up to rounding.
            continue
        level = upper + 1e-11 * max(abs(upper), node.scale)
        walk = ladder.Walk(stage, np.sort(stage.usable), node.p, level, level)
        walk.check_claim(node.included, node.free, node.free, node.free[:0], given(multipliers), "")
        proved += 1
    assert proved > 15


# Forged ones


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(what: str) -> None:
    """Tests multipliers that are none, and steps that do not follow from them."""
    draft = base().copy()
    REFUSED[what](draft)
    assert not checker.verify(draft).verified
    try:
        manifest, arrays = checker.read(_file(draft))
    except checker.Unreadable:
        return
    assert not checker.verify(Draft(manifest, arrays)).verified


def _file(draft: Draft) -> Any:
    return io.BytesIO(draft.to_bytes())


@pytest.mark.parametrize("name", ["N", "removed", "forced"])
def test_more_than_follows_is_refused(name: str) -> None:
    """Tests that no feature of the best support is removed, and no other one is forced."""
    Q = noise(9, 5)
    result = solved_by_relaxation(Q, 3)
    best = np.flatnonzero(result.components[0])
    others = np.setdiff1d(np.arange(9), best)
    stage = stage_of(Q, np.empty((0, 9)))
    level = float(result.variances[0]) * (1 - 1e-9)
    walk = ladder.Walk(stage, np.arange(9), 3, level, level)
    method = ShareNode(Q, np.empty((0, 9)), 3, best[:0], np.arange(9)).converged(400)
    nothing = best[:0]
    asked = {
        "N": [(np.arange(9), nothing)],
        "removed": [(best[i : i + 1], nothing) for i in range(3)],
        "forced": [(nothing, others[i : i + 1]) for i in range(6)],
    }
    for removed, forced in asked[name]:
        with pytest.raises(checker.Rejected):
            walk.check_claim(nothing, np.arange(9), removed, forced, given(method), "")


def attacked(kind: str, seed: int) -> bool:
    """One change at random, as an object or as a file; whether it is accepted all the same."""
    rng = np.random.default_rng(seed)
    draft = base(kind).copy()
    names = [
        n
        for n in sorted(draft.arrays)
        if n.startswith("stage-") and draft.arrays[n].size and draft.arrays[n].ndim == 1
    ]
    for _ in range(int(rng.integers(1, 4))):
        array = draft.arrays[names[int(rng.integers(len(names)))]]
        at = int(rng.integers(len(array)))
        with np.errstate(all="ignore"):
            if array.dtype.kind == "f":
                array[at] = other_float(float(array[at]), rng)
            else:
                array[at] += int(rng.choice([-2, -1, 1, 2]))
    if rng.random() < 0.5:
        # And a claim that is hard to keep.
        k = int(rng.integers(2))
        stage = draft.manifest["stages"][k]
        bound = stage["variance"] * (1 + float(rng.choice([-1e-3, -1e-6, 0.0, 1e-6])))
        draft.arrays[f"stage-{k}/levels.npy"][-1] = bound
        draft.arrays[f"stage-{k}/bounds.npy"][-1] = bound
        stage["upper_bound"] = max(bound, stage["variance"])
    try:
        if seed % 2:
            draft = Draft(*checker.read(_file(draft)))
        verdict = checker.verify(draft)
    except checker.Unreadable:
        return False
    assert not falsehood(draft, verdict), (seed, str(verdict))
    return bool(verdict.verified)


@pytest.mark.parametrize("kind", ["matrix", *later("factor")])
def test_changes_at_random(kind: str) -> None:
    """Tests that nothing false is ever accepted."""
    accepted = sum(attacked(kind, seed) for seed in range(40))
    assert 0 < accepted < 27


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["matrix", "factor"])
def test_many_changes_at_random(kind: str) -> None:
    """Tests the same at length."""
    for seed in spread(40, 5000):
        attacked(kind, seed)


# Taken up


def test_resuming(tmp_path: Path) -> None:
    """Tests that finished stages with multipliers are read, written again and accepted."""
    Q, file = noise(20, 6), tmp_path / "certificate.zip"
    tuning = replace(relaxed(), saving=SavingTuning(0.0, 0.0))
    settings = Settings.validate(tuning=tuning, proof=True)
    whole = solve_with(Q, 5, 3, settings)

    def stop(progress: Any) -> bool:
        return bool(progress.stage >= 2)

    solve_with(Q, 5, 3, settings, callback=stop, resume=file)
    saved = Certificate.load(file)
    assert saved.verify().verified
    before = count_of_claims(saved)
    assert before > 0
    resumed = solve_with(Q, 5, 3, settings, resume=file)
    np.testing.assert_array_equal(resumed.components, whole.components)
    assert count_of_claims(resumed.certificate) >= before
    assert resumed.certificate.verify().verified
    for name, array in saved.arrays.items():
        if name.startswith("stage-0/"):
            np.testing.assert_array_equal(array, resumed.certificate.arrays[name])
