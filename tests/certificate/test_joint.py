"""Certificates of sets as a whole: accepted if they are true, refused if anything is not."""

from __future__ import annotations

import io
import math
import re
import warnings
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from helpers.certificates import Draft
from helpers.corruptions import CORRUPTIONS, DAMAGES, other_float
from helpers.exact import stated
from helpers.forger import checker, sets
from helpers.joint import (
    adjusted,
    altered,
    best_disjoint,
    claimed,
    false_set,
    forged_sets,
    is_below,
    nearly_singular,
    random_set,
    root_of,
    set_of,
    set_with,
    small_set,
)
from helpers.seeds import later, seeds, spread
from orthospca import Certificate, DataCovariance, alternatives, datasets, solve, verify
from orthospca._errors import InputError
from orthospca.certificate.joint import make_joint_certificate
from orthospca.interface.cli import app

#: Sets of every kind: with and without an A of its own, of one sparsity and of several.
SEEDS = (25, 29, 44, 64, 86, 89)


@cache
def pitprops(*limits: int) -> Draft:
    """A set of Pitprops that is accepted."""
    draft = set_of(datasets.load_pitprops().covariance(), limits)
    check(draft)
    return draft


@cache
def base(seed: int) -> Draft:
    """A small set that is accepted."""
    draft = random_set(seed)
    check(draft)
    return draft


def check(draft: Draft) -> Any:
    """A set that is accepted, and true."""
    verdict = checker.verify(draft)
    assert verdict.verified, verdict.reason
    assert not false_set(draft, verdict)
    return verdict


def refused(draft: Any, because: str, Q: Any = None) -> None:
    """Fail unless a set is refused for this reason, and nothing is said of its bound."""
    verdict = checker.verify(draft, Q)
    assert not verdict.verified
    assert because in verdict.reason, verdict.reason
    assert verdict.joint_upper_bound is verdict.joint_variance is None


def judged(certificate: Any) -> str:
    """Check, and return what came of it; fail if something false is taken for proved."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if not isinstance(certificate, Draft):
                certificate = Draft(*checker.read(io.BytesIO(certificate)))
            verdict = checker.verify(certificate)
        except checker.Unreadable:
            return "unreadable"
    if certificate.manifest.get("claim") != "joint":
        assert not verdict.verified
    false = false_set(certificate, verdict)
    assert not false, f"{verdict}: {false}"
    return "harmless" if verdict.verified else "rejected"


# What is true


@pytest.mark.parametrize("limits", [(5, 5), (5, 2), (3, 3, 3), (2, 4, 3)])
def test_pitprops(limits: tuple[int, ...], tmp_path: Path) -> None:
    """Tests what the solver finds, as an object and as a file."""
    Q = datasets.load_pitprops().covariance()
    components = solve(Q, list(limits), len(limits)).components
    root = root_of(Q, limits, components)
    ladders = {p: outcome.rungs for p, outcome in root.outcomes.items()}
    made = make_joint_certificate(Q, limits, components, root.matrix, ladders)
    verdict = verify(made, Q)
    assert verdict.verified, verdict.reason
    assert not false_set(made, verdict)
    assert verdict.upper_bounds == ()
    assert verdict.joint_variance == pytest.approx(sum(float(x @ Q @ x) for x in components))
    assert verdict.joint_upper_bound == made.manifest["joint"]["upper_bound"]
    assert root.upper - 1e-12 <= verdict.joint_upper_bound <= root.upper
    # Less than both bounds that cost nothing: each component by itself, and without sparsity.
    alone = sum(float(solve(Q, p).upper_bounds[0]) for p in limits)
    assert verdict.joint_upper_bound < alone
    made.save(tmp_path / "set.zip")
    assert verify(tmp_path / "set.zip") == verdict
    again = Certificate.load(tmp_path / "set.zip")
    assert again.to_bytes() == made.to_bytes()
    assert (again.manifest["version"], again.claim) == (7, "joint")


@pytest.mark.parametrize(
    ("Q", "limits"),
    [
        (np.eye(5), (2, 2)),
        (np.ones((5, 5)) + np.eye(5), (2, 2, 2)),
        (np.kron(np.eye(3), [[2.0, 1.0], [1.0, 2.0]]), (2, 2, 2)),
        (np.diag([4.0, 3.0, 2.0, 1.0]), (1, 3)),
    ],
    ids=["identity", "exchangeable", "equal blocks", "diagonal"],
)
def test_ties(Q: np.ndarray, limits: tuple[int, ...]) -> None:
    """Tests matrices with many best sets."""
    verdict = check(set_of(Q, limits))
    assert verdict.joint_upper_bound >= best_disjoint(Q, limits) - 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_indefinite(seed: int) -> None:
    """Tests random matrices that are not semidefinite, with one sparsity for each component."""
    rng = np.random.default_rng(seed)
    square = rng.standard_normal((7, 7))
    limits = [(3, 3), (1, 2, 3), (2, 2), (3, 1)][seed]
    verdict = check(set_of(square + square.T, limits))
    assert verdict.joint_upper_bound >= best_disjoint(square + square.T, limits) - 1e-9


def test_few_of_many_features() -> None:
    """Tests that A is written only where it differs from Q."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((100, 90)) * np.geomspace(3, 0.3, 90)
    Q = rows.T @ rows / 100
    draft = set_of(0.5 * (Q + Q.T), (3, 3))
    at = draft.arrays["joint/at.npy"]
    assert 0 < len(at) < 90
    assert draft.arrays["joint/block.npy"].shape == (len(at), len(at))
    assert checker.verify(draft)


def test_no_time() -> None:
    """Tests that what is known when time is up is certified, for what it is worth."""
    draft = set_of(datasets.load_pitprops().covariance(), (2, 5), time_limit=0.0)
    verdict = check(draft)
    assert verdict.joint_upper_bound > verdict.joint_variance + 0.5


@pytest.mark.parametrize("part", seeds(1, 4))
def test_random_problems(part: int) -> None:
    """Tests every kind of matrix and of A; what is verified is true in exact arithmetic."""
    for seed in range(25 * part, 25 * part + 25):
        draft = random_set(seed)
        verdict = check(draft)
        Q, limits = draft.arrays["matrix.npy"], draft.manifest["problem"]["sparsity"]
        slack = 1e-9 * float(np.abs(Q).max())
        assert verdict.joint_upper_bound >= best_disjoint(Q, limits) - slack


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))
def test_many_random_problems(part: int) -> None:
    """Tests more of them."""
    for seed in spread(100 + 150 * part, 250 + 150 * part):
        check(random_set(seed))


def test_what_is_damaged_has_all_there_is() -> None:
    """Tests that the sets to begin with are of every kind."""
    drafts = [base(seed) for seed in SEEDS]
    limits = [draft.manifest["problem"]["sparsity"] for draft in drafts]
    assert {len(p) for p in limits} >= {2, 3}
    assert any(len(set(p)) > 1 for p in limits)
    assert any(len(set(p)) < len(p) for p in limits)
    sizes = [len(draft.arrays["joint/at.npy"]) for draft in drafts]
    assert min(sizes) == 0
    assert max(sizes) > 2
    steps = [
        len(array)
        for draft in drafts
        for name, array in draft.arrays.items()
        if name.endswith("/steps.npy")
    ]
    assert len(steps) > len(drafts)
    assert max(steps) > 3


def test_rounding() -> None:
    """Tests that sums are rounded up, and no further than to the next number."""
    third = Fraction(1, 3)
    assert Fraction(math.nextafter(sets.rounded_up(third), 0)) < third
    assert Fraction(sets.rounded_up(third)) > third
    assert sets.rounded_up(-third) == -1 / 3 or Fraction(-1 / 3) < -third
    assert sets.rounded_up(Fraction(8)) == 8.0


def test_other_verdicts_have_no_joint_bound() -> None:
    """Tests that of components one by one, and of lists, nothing is said of the set."""
    Q = datasets.load_pitprops().covariance()
    for made in (solve(Q, 3, 2, proof=True), alternatives(Q, 3, 0.05, proof=True)):
        verdict = verify(made.certificate)
        assert verdict.verified
        assert verdict.joint_variance is verdict.joint_upper_bound is None


# What is not


def test_forged() -> None:
    """Tests small sets of which one thing is wrong, next to one that is right."""
    check(small_set())
    for name, draft in forged_sets():
        verdict = checker.verify(draft)
        assert not verdict.verified, name
        assert verdict.joint_upper_bound is None


def test_an_eigenvalue_below_zero() -> None:
    """Tests A's that are not below Q, by much and by little: the trace would be smaller."""
    draft = pitprops(3, 3, 3)
    Q, at = draft.arrays["matrix.npy"], draft.arrays["joint/at.npy"]
    block = draft.arrays["joint/block.npy"]
    values, vectors = np.linalg.eigh(Q[np.ix_(at, at)] - block)
    for share in (1e-9, 1e-4, 1.0):
        for i in (0, len(values) - 1):
            push = (values[i] + share) * np.outer(vectors[:, i], vectors[:, i])
            changed = draft.copy()
            changed.arrays["joint/block.npy"] = block + 0.5 * (push + push.T)
            assert not is_below(adjusted(changed), Q)
            refused(changed, "not proved to be below")
            refused(claimed(changed, upper_bound=100.0), "not proved to be below")


def test_units_in_the_last_place() -> None:
    """Tests differences that are definite by a few units: refused, unless that is proved."""
    accepted = [units for units in range(-40, 60) if checker.verify(nearly_singular(units))]
    assert accepted == list(range(16, 60))
    for units in range(-40, 60):
        judged(nearly_singular(units))


def test_the_trace_counts() -> None:
    """Tests that an A that is lowered costs its trace."""
    draft = pitprops(3, 3, 3)
    upper = draft.manifest["joint"]["upper_bound"]
    block = draft.arrays["joint/block.npy"]
    for lower in (1e-9, 1e-3, 1.0):
        changed = draft.copy()
        changed.arrays["joint/block.npy"] = block - lower * np.eye(len(block))
        refused(changed, "is claimed and only")
        changed = claimed(changed, upper_bound=upper + lower * (len(block) + 1))
        # Then it is true, if the argument still is one.
        judged(changed)


@pytest.mark.parametrize("share", [1e-15, *later(1e-9, 0.1)])
def test_lower_bounds(share: float) -> None:
    """Tests a bound, a rung or a level that is lower than what was proved."""
    for limits in ((5, 5), (2, 4, 3)):
        draft = pitprops(*limits)
        upper = draft.manifest["joint"]["upper_bound"]
        refused(claimed(draft, upper_bound=upper * (1 - share)), "is claimed and only")
        for k, p in enumerate(sorted(set(limits))):
            for s in range(p):
                for names in (("bounds",), ("levels",), ("bounds", "levels")):
                    changed = claimed(draft, upper_bound=upper * (1 - share))
                    for name in names:
                        array = changed.arrays[f"stage-{k}/{name}.npy"]
                        array[s] -= 2 * share * abs(array[s])
                    judged(changed)
    lowest = draft.copy()
    for k in range(3):
        lowest.arrays[f"stage-{k}/bounds.npy"][:] -= 10.0
        lowest.arrays[f"stage-{k}/levels.npy"][:] -= 10.0
    assert judged(claimed(lowest, upper_bound=upper - 1)) == "rejected"


def test_supports_that_are_missed() -> None:
    """Tests trees with a step less, and sieves that keep a feature less."""
    draft = pitprops(3, 3, 3)
    steps = draft.arrays["stage-0/steps.npy"]
    for at in range(len(steps)):
        changed = draft.copy()
        changed.arrays["stage-0/steps.npy"] = np.delete(steps, at)
        changed.arrays["stage-0/steps_ends.npy"][changed.arrays["stage-0/steps_ends.npy"] > at] -= 1
        for name in ("removed", "forced"):
            values, ends = (draft.arrays[f"stage-0/{name}{end}.npy"] for end in ("", "_ends"))
            start = int(ends[at - 1]) if at else 0
            changed.arrays[f"stage-0/{name}.npy"] = np.delete(values, np.arange(start, ends[at]))
            ends = np.where(np.arange(len(ends)) >= at, ends - (ends[at] - start), ends)
            changed.arrays[f"stage-0/{name}_ends.npy"] = np.delete(ends, at)
        judged(changed)
    kept = draft.arrays["stage-0/kept.npy"]
    found = []
    for at in range(len(kept)):
        changed = draft.copy()
        changed.arrays["stage-0/kept.npy"] = np.delete(kept, at)
        ends = changed.arrays["stage-0/kept_ends.npy"]
        ends[ends > at] -= 1
        found.append(judged(changed))
    assert found.count("rejected") > len(found) / 2


def test_another_matrix() -> None:
    """Tests that a set is one of its matrix alone."""
    draft, Q = pitprops(3, 3, 3), datasets.load_pitprops().covariance()
    assert checker.verify(draft, Q)
    refused(draft, "not the matrix that was certified", Q + 1e-9 * np.eye(13))
    for i, j in ((0, 0), (3, 5), (12, 12)):
        for shift in (1e-9, -1e-9, 0.1, -0.1, 1.0):
            changed = draft.copy()
            matrix = changed.arrays["matrix.npy"]
            matrix[i, j] = matrix[j, i] = matrix[i, j] + shift
            refused(changed, "not the matrix that was certified")
            changed.manifest["problem"]["sha256"] = checker.fingerprint(matrix)
            judged(changed)
    data = draft.copy()
    data.arrays["factor.npy"] = data.arrays.pop("matrix.npy")
    data.manifest["problem"]["kind"] = "factor"
    refused(data, "only of a matrix")
    absent = altered(draft, lambda changed: changed.arrays.pop("matrix.npy"))
    refused(absent, "does not hold the matrix")
    assert checker.verify(absent, Q)


def test_components() -> None:
    """Tests components that are not orthogonal, too dense, too long, or others."""
    draft = pitprops(3, 3, 3)

    def with_row(k: int, x: np.ndarray, right: bool = True) -> Draft:
        changed = draft.copy()
        changed.arrays["components.npy"][k] = x
        if right and np.isfinite(x).all():
            changed.manifest["joint"]["variances"][k] = stated(draft.arrays["matrix.npy"], x)
        return changed

    rows = draft.arrays["components.npy"]
    refused(with_row(1, rows[0]), "component 2: not orthogonal to component 1")
    # On the same support, turned towards another component by 1e-11.
    support = np.flatnonzero(rows[2])
    turned = rows[2].copy()
    turned[support] += 1e-11 * rows[:2, support].sum(axis=0)
    if np.abs(turned @ rows[:2].T).max() > 2e-12:
        refused(with_row(2, turned / math.sqrt(turned @ turned)), "component 3: not orthogonal")
    dense = np.zeros(13)
    dense[np.flatnonzero(rows[0])] = rows[0][np.flatnonzero(rows[0])]
    dense[np.flatnonzero(rows[0] == 0)[0]] = 1e-9
    refused(with_row(0, dense / math.sqrt(dense @ dense)), "component 1: 4 nonzeros")
    refused(with_row(0, rows[0] * (1 + 1e-11)), "unit length")
    refused(with_row(0, np.zeros(13), right=False), "0 nonzeros")
    refused(with_row(0, np.full(13, math.nan), right=False), "not numbers")
    refused(with_row(1, np.eye(13)[4], right=False), "has the variance")
    assert judged(with_row(0, -rows[0])) == "harmless"
    for k in range(3):
        more = draft.copy()
        value = more.manifest["joint"]["variances"][k]
        more.manifest["joint"]["variances"][k] = math.nextafter(value, math.inf)
        refused(more, f"component {k + 1}: the component has the variance")


def test_counts() -> None:
    """Tests another number of components, of sparsities, or of variances."""
    draft = pitprops(3, 3, 3)
    for limits in ([3, 3], [3] * 4, [3], [], [2, 3, 3], [3, 3, 4], [14] * 3, [0] * 3, [3.0] * 3):
        changed = draft.copy()
        changed.manifest["problem"]["sparsity"] = limits
        assert judged(changed) == "rejected", limits
    for count in (0, 1, 2):
        changed = draft.copy()
        changed.arrays["components.npy"] = changed.arrays["components.npy"][:count]
        assert judged(changed) == "rejected"
        changed.manifest["joint"]["variances"] = changed.manifest["joint"]["variances"][:count]
        refused(changed, "3 components are asked for")
        changed.manifest["problem"]["sparsity"] = [3] * count
        # Fewer components than before have the same argument, and a bound that is true.
        assert judged(changed) == ("harmless" if count else "rejected")
    for wrong in (None, "x", {}, [None] * 3, [math.nan] * 3, [math.inf] * 3):
        assert judged(claimed(draft, variances=wrong)) == "rejected"
    for wrong in (None, "x", {}, [], math.nan, math.inf, -math.inf):
        assert judged(claimed(draft, upper_bound=wrong)) == "rejected"


def test_claims_are_not_taken_for_each_other() -> None:
    """Tests that a set is no list and none of components, whatever it says, and the other way."""
    Q = datasets.load_pitprops().covariance()
    draft = pitprops(3, 3, 3)
    for version in (1, 3, 7, 8, "7", None):
        for claim in ("components", "alternatives", "joint", "x", None, 3):
            changed = draft.copy()
            changed.manifest |= {"version": version, "claim": claim}
            assert checker.verify(changed).verified == ((version, claim) == (7, "joint"))
    stages = [{"variance": v, "upper_bound": 9.0} for v in draft.manifest["joint"]["variances"]]
    changed = draft.copy()
    del changed.manifest["claim"]
    changed.manifest |= {"stages": stages, "exhausted": False}
    # A ladder of A says nothing of Q.
    assert not checker.verify(changed)
    for made in (solve(Q, 3, 3, proof=True), alternatives(Q, 3, 0.05, proof=True)):
        other = Draft(made.certificate.manifest, made.certificate.arrays).copy()
        other.manifest["claim"] = "joint"
        refused(other, "malformed")
        other.manifest["joint"] = {"variances": made.variances[:1].tolist(), "upper_bound": 99.0}
        assert not checker.verify(other)
    # The ladder of the first component is one of A = Q: what it proves of a set is true.
    result = solve(Q, 3, 3, proof=True)
    other = Draft(result.certificate.manifest, result.certificate.arrays).copy()
    other.manifest["claim"] = "joint"
    bound = math.nextafter(3 * float(other.arrays["stage-0/bounds.npy"][-1]), math.inf)
    other.manifest["joint"] = {"variances": result.variances.tolist(), "upper_bound": bound}
    other.arrays["joint/at.npy"] = np.zeros(0, dtype=np.int32)
    other.arrays["joint/block.npy"] = np.zeros((0, 0))
    assert judged(other) == "harmless"


# Damage


def corrupted(how: str, seed: int, number: int) -> str:
    rng = np.random.default_rng([seed, number])
    try:
        draft = CORRUPTIONS[how](base(seed).copy(), rng)
    except (KeyError, ValueError, IndexError):
        # A change of something that sets do not have.
        return "nothing"
    return judged(draft)


@pytest.mark.parametrize("problems", [SEEDS[::3], *later(SEEDS)], ids=["few", "all"])
@pytest.mark.parametrize("how", CORRUPTIONS)
def test_corruptions(how: str, problems: tuple[int, ...]) -> None:
    """Tests every way to damage what a set says: nothing false is accepted."""
    for seed in problems:
        for number in range(4):
            corrupted(how, seed, number)


@pytest.mark.slow
@pytest.mark.parametrize("how", CORRUPTIONS)
def test_many_corruptions(how: str) -> None:
    """Tests more of them."""
    for seed in SEEDS:
        for number in spread(4, 100):
            corrupted(how, seed, number)


#: Arrays that are not looked at by the checker.
FOUND = ("found", "found_ends", "loadings", "values")


def test_every_array() -> None:
    """Tests that each array counts: without it, cut short, of another kind, with another entry."""
    draft = pitprops(2, 4, 3)
    rng = np.random.default_rng(0)
    for name, array in draft.arrays.items():
        if name.startswith("stage-") and Path(name).stem in FOUND:
            continue
        for wrong in (
            None,
            array[:-1],
            array[None],
            array.astype(np.float32 if array.dtype.kind == "f" else float),
        ):
            changed = draft.copy()
            if wrong is None:
                del changed.arrays[name]
            else:
                changed.arrays[name] = wrong
            # There may be nothing in it to be cut short.
            assert judged(changed) == "rejected" or (wrong is not None and not array.size), name
        for _ in range(4 if array.size else 0):
            changed = draft.copy()
            at = tuple(int(rng.integers(size)) for size in array.shape)
            value = other_float(float(array[at]), rng)
            if array.dtype.kind == "i":
                value = int(array[at]) + int(rng.choice([-2, -1, 1, 2, 1000]))
            changed.arrays[name][at] = value
            judged(changed)
        if array.dtype.kind == "f" and array.size:
            changed = draft.copy()
            changed.arrays[name].flat[0] = math.nan
            assert judged(changed) == "rejected", name


def test_every_entry_of_a() -> None:
    """Tests that entries of A that are changed, in both halves, prove nothing false."""
    for seed in SEEDS:
        draft = base(seed)
        m = len(draft.arrays["joint/at.npy"])
        for i in range(m):
            for j in range(i + 1):
                for shift in (1e-13, -1e-6, 0.3, -5.0):
                    changed = claimed(draft, upper_bound=1e200)
                    block = changed.arrays["joint/block.npy"]
                    value = block[i, j] + shift * float(np.abs(block).max())
                    block[i, j] = block[j, i] = value
                    judged(changed)


@pytest.mark.parametrize("how", DAMAGES)
def test_damaged_files(how: str) -> None:
    """Tests bytes that were changed."""
    for seed in SEEDS[:3]:
        for number in range(4):
            judged(DAMAGES[how](base(seed).to_bytes(), np.random.default_rng([seed, number])))


# Writing, and what is shown


def test_an_argument_that_is_not_complete() -> None:
    """Tests that nothing is written if a rung has no argument."""
    Q = datasets.load_pitprops().covariance()
    components = solve(Q, 3, 2).components
    root = root_of(Q, (3, 3), components)
    rungs = list(root.outcomes[3].rungs)
    for ladder in (rungs[:2], [*rungs[:2], replace(rungs[2], argument=None)], []):
        with pytest.raises(ValueError, match="ladder of sparsity 3 has arguments up to"):
            make_joint_certificate(Q, (3, 3), components, root.matrix, {3: ladder})


def test_a_bound_that_is_reached() -> None:
    """Tests that the bound claimed is not below the variance, whatever rounding does."""
    draft = set_with(np.diag([3.0, 2.0, 1.0]), [1, 1], np.diag([1.0, 0.0, 0.0]))
    verdict = check(draft)
    assert verdict.joint_variance == 5.0
    assert verdict.joint_upper_bound == pytest.approx(5.0)
    half = math.sqrt(0.5)
    turned = altered(draft, lambda d: d.manifest["problem"].update(sparsity=[3, 3]))
    turned.arrays["components.npy"][:2, :2] = [[half, half], [half, -half]]
    assert judged(turned) == "rejected"


def test_a_set_is_nothing_to_go_on_from(tmp_path: Path) -> None:
    """Tests that a run one by one does not resume from the certificate of a set."""
    Q = datasets.load_pitprops().covariance()
    draft = pitprops(3, 3, 3)
    Certificate(draft.manifest, draft.arrays).save(tmp_path / "set.zip")
    with pytest.raises(InputError, match="is a certificate of a set as a whole"):
        solve(Q, 3, 3, resume=tmp_path / "set.zip")


def test_the_command(tmp_path: Path) -> None:
    """Tests that ``orthospca verify`` says what is proved, in one line and in several."""
    draft = pitprops(2, 4, 3)
    file = tmp_path / "set.zip"
    Certificate(draft.manifest, draft.arrays).save(file)
    ended = CliRunner().invoke(app, ["verify", str(file)])
    assert ended.exit_code == 0, ended.output
    (line,) = ended.output.splitlines()
    assert line.startswith("VERIFIED: 3 components of 13 features, with a total variance of ")
    verdict = checker.verify(draft)
    # Rounded to ten digits away from each other.
    total, bound = re.search(r"of ([\d.]+); no such set exceeds ([\d.]+); the gap", line).groups()
    values = [Fraction(value) for value in draft.manifest["joint"]["variances"]]
    assert 0 <= sum(values) - Fraction(total) < Fraction(1e-9)
    assert 0 <= Fraction(bound) - Fraction(verdict.joint_upper_bound) < Fraction(1e-9)
    assert line.endswith("the matrix is the one in the certificate")
    ended = CliRunner().invoke(app, ["verify", str(file), "-v"])
    assert [text.split(":")[0] for text in ended.output.splitlines()[1:]] == [
        "component 1", "component 2", "component 3"
    ]  # fmt: skip
    changed = claimed(draft, upper_bound=float(verdict.joint_upper_bound) * (1 - 1e-9))
    Certificate(changed.manifest, changed.arrays).save(file)
    ended = CliRunner().invoke(app, ["verify", str(file), "-v"])
    assert ended.exit_code == 1
    assert ended.output.startswith("REJECTED: set: ")
    assert len(ended.output.splitlines()) == 1


def test_data_are_not_certified_as_a_set() -> None:
    """Tests that a factor is refused, and Q computed from it is not."""
    rows = np.random.default_rng(1).standard_normal((20, 5))
    Q = DataCovariance(rows).submatrix(np.arange(5))
    check(set_of(0.5 * (Q + Q.T), (2, 2)))
