"""Certificates of alternatives: accepted if they are true, refused if anything is not."""

from __future__ import annotations

import io
import math
import os
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.certificates import Draft
from helpers.corruptions import CORRUPTIONS, DAMAGES
from helpers.exact import stated
from helpers.forger import checker
from helpers.lists import (
    false_list,
    forged_lists,
    list_of,
    lists_of_ties,
    random_list,
    with_one_more,
    without,
)
from helpers.seeds import crossed, later, seeds, spread
from orthospca import Certificate, DataCovariance, alternatives, datasets, solve, verify
from orthospca._errors import InputError

#: Lists of every kind: of a matrix and of data, of a first component and of later ones.
SEEDS = (0, 4, 7, 15, 24, 37, 43)


@cache
def pitprops() -> Draft:
    """Four supports of four features, within five percent."""
    return list_of(datasets.load_pitprops().covariance(), 4, 0.05)


@cache
def base(seed: int) -> Draft:
    """A list that is accepted."""
    draft = random_list(seed)
    assert checker.verify(draft), checker.verify(draft).reason
    return draft


def test_what_is_damaged_has_all_there_is() -> None:
    """Tests that the lists to begin with are of every kind."""
    drafts = [base(seed) for seed in SEEDS]
    assert {draft.manifest["problem"]["kind"] for draft in drafts} == {"matrix", "factor"}
    before = [draft.arrays["previous.npy"] for draft in drafts]
    assert {len(rows) for rows in before} >= {0, 1, 2}
    assert any((np.count_nonzero(rows, axis=1) == 1).any() for rows in before)
    counts = [draft.manifest["alternatives"]["count"] for draft in drafts]
    assert min(counts) == 0
    assert max(counts) > 2
    steps = [draft.arrays.get("stage-0/steps.npy", np.zeros(0)) for draft in drafts]
    assert max(map(len, steps)) > 8


def refused(draft: Any, because: str, Q: Any = None) -> bool:
    """Whether a list is refused for this reason."""
    verdict = checker.verify(draft, Q)
    assert not verdict.verified
    assert because in verdict.reason, verdict.reason
    return True


@pytest.mark.parametrize(("tolerance", "p"), crossed([0.0, 0.05, 0.15], [3, 5]))
def test_pitprops(p: int, tolerance: float, tmp_path: Path) -> None:
    """Tests lists of every stage, as objects and as files."""
    Q = datasets.load_pitprops().covariance()
    components = solve(Q, p, 3).components
    for k in range(4):
        found = alternatives(Q, p, tolerance, previous=components[:k], proof=True)
        verdict = verify(found.certificate, Q)
        assert verdict.verified, verdict.reason
        assert verdict.upper_bounds[0] <= found.level
        assert verdict.upper_bounds[0] == pytest.approx(found.level)
    found.certificate.save(tmp_path / "list.zip")
    assert verify(tmp_path / "list.zip").verified
    again = Certificate.load(tmp_path / "list.zip")
    assert again.to_bytes() == found.certificate.to_bytes()
    assert again.manifest["version"] == 7


def check_random(seed: int) -> None:
    draft = random_list(seed)
    verdict = checker.verify(draft)
    assert verdict.verified, verdict.reason
    assert not false_list(draft, verdict)


@pytest.mark.parametrize("part", seeds(1, 4))
def test_random_problems(part: int) -> None:
    """Tests every kind of matrix and of data; what is verified is true in exact arithmetic."""
    for seed in range(20 * part, 20 * part + 20):
        check_random(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_many_random_problems(part: int) -> None:
    """Tests more of them."""
    for seed in spread(100 + 100 * part, 200 + 100 * part):
        check_random(seed)


def test_wide_data() -> None:
    """Tests data whose covariance is not formed, also with a feature that is used up."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((30, 4100)) * np.geomspace(3, 0.5, 4100)
    data = DataCovariance(rows)
    for previous in (None, solve(data, 3, 1).components, np.eye(1, 4100)):
        found = alternatives(data, 3, 0.02, previous=previous, proof=True)
        assert found.complete
        assert found.certificate.manifest["problem"]["kind"] == "factor"
        verdict = verify(found.certificate)
        assert verdict.verified, verdict.reason
    assert found.frequencies[0] == 0.0


def test_colon() -> None:
    """Tests five hundred genes: the list within one percent, and its proof."""
    folder = os.environ.get("ORTHOSPCA_DATA")
    if not folder:
        pytest.skip("the environment variable ORTHOSPCA_DATA names no folder of reference data")
    Q = np.loadtxt(Path(folder) / "CovColon_500.csv", delimiter=",", comments="#", ndmin=2)
    found = alternatives(0.5 * (Q + Q.T), 10, 0.01, proof=True)
    assert found.complete
    assert len(found) == 10
    assert verify(found.certificate).verified


def test_nothing_feasible() -> None:
    """Tests that an empty list is proved too, and that no list is empty that should not be."""
    Q = np.diag([3.0, 2.0, 1.0])
    third = np.full((1, 3), math.sqrt(1 / 3))
    third /= math.sqrt((third @ third.T)[0, 0])
    draft = list_of(Q, 1, 0.1, previous=third)
    assert draft.manifest["alternatives"]["count"] == 0
    assert checker.verify(draft)
    assert checker.verify(list_of(Q, 2, 0.1, previous=np.eye(3)))
    draft.manifest["problem"]["sparsity"] = [2]
    refused(draft, "is left")
    empty = pitprops().copy()
    empty.manifest["alternatives"]["count"] = 0
    refused(empty, "is left")


def test_no_certificate_of_part_of_a_list() -> None:
    """Tests that nothing is certified where a cap was met."""
    Q = datasets.load_pitprops().covariance()
    assert alternatives(Q, 5, 0.3, max_supports=3, proof=True).certificate is None
    assert alternatives(Q, 5, 0.3).certificate is None
    with pytest.raises(InputError, match="proof must be True or False"):
        alternatives(Q, 5, proof="yes")


# Forgeries


def test_a_missing_support() -> None:
    """Tests that a list from which any support was taken is refused."""
    draft = pitprops()
    for i in range(draft.manifest["alternatives"]["count"]):
        refused(without(draft, i), "is not below the bound" if i else "may be below it")


@pytest.mark.parametrize("part", seeds(1, 2))
def test_missing_supports_of_random_lists(part: int) -> None:
    """Tests the same of every kind of matrix and of data, and of later components."""
    tried = 0
    for seed in range(part, 25, 2):
        draft = random_list(seed)
        p = draft.arrays.get("list/loadings.npy", np.zeros((0, 0))).shape[1]
        for i in range(draft.manifest["alternatives"]["count"]):
            assert not checker.verify(without(draft, i, p)), (seed, i)
            tried += 1
    assert tried > 30


def test_one_of_many_that_are_tied() -> None:
    """Tests that a bound which some reach is no proof that others are below it."""
    drafts = dict(lists_of_ties())
    assert len(drafts) > 70
    for name, draft in drafts.items():
        verdict = checker.verify(draft)
        assert not verdict.verified, name
    for name in ("correlations 0", "pairs 3"):
        refused(drafts[name], "a list needs a tree")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_forged_lists() -> None:
    """Tests that no list of which one thing is false is accepted."""
    for name, draft in forged_lists():
        assert not false_list(draft, checker.verify(draft)), name


@pytest.mark.parametrize(("tolerance", "p"), crossed([0.0, 0.1], [1, 2, 3, 6]))
def test_ties_are_all_listed(p: int, tolerance: float) -> None:
    """Tests matrices and data in which all supports are equally good, as they are written."""
    correlations = np.full((6, 6), 0.5) + 0.5 * np.eye(6)
    rows = np.vstack([np.eye(6), -np.eye(6)])
    for Q in (np.eye(6), correlations, DataCovariance(rows)):
        draft = list_of(Q, p, tolerance)
        assert draft.manifest["alternatives"]["count"] == math.comb(6, p)
        verdict = checker.verify(draft)
        assert verdict.verified, verdict.reason
        assert not false_list(draft, verdict)
        for i in range(math.comb(6, p) if p < 6 else 0):
            assert not checker.verify(without(draft, i))
    known = list_of(np.diag([3.0, 3.0, 2.0, 1.0]), 1, tolerance, previous=np.eye(4)[:1])
    assert checker.verify(known)
    assert known.arrays["list/supports.npy"].tolist() == [1]


def test_a_support_that_is_none() -> None:
    """Tests supports that do not reach the level, are there already, or are of another size."""
    draft = pitprops()
    refused(with_one_more(draft, [4, 5, 6, 7]), "does not reach the level")
    best = draft.arrays["list/supports.npy"][:4].tolist()
    refused(with_one_more(draft, best), "not one more choice")
    shorter = with_one_more(draft, [*best[:3], 12])
    shorter.arrays["list/supports.npy"] = shorter.arrays["list/supports.npy"][:-1]
    shorter.arrays["list/supports_ends.npy"][-1] -= 1
    refused(shorter, "not one more choice")
    # With a feature that a component has used up.
    Q = datasets.load_pitprops().covariance()
    later = list_of(Q, 2, 0.3, previous=np.eye(13)[:1])
    assert checker.verify(later)
    refused(with_one_more(later, [0, 1]), "not one more choice")


def test_levels() -> None:
    """Tests a level that was raised, or lowered, with its argument or without."""
    draft = pitprops()
    values = draft.arrays["list/variances.npy"]
    for level in (values[-1] + 1e-9, values[0], values[0] + 1, math.inf, math.nan, -math.inf, None):
        changed = draft.copy()
        changed.manifest["alternatives"]["level"] = level
        changed.arrays["stage-0/bounds.npy"][-1] = 0.0 if level is None else level
        assert not checker.verify(changed)
    for lower in (1e-9, 0.1, 2.0):
        changed = draft.copy()
        changed.manifest["alternatives"]["level"] -= lower
        refused(changed, "only")
        changed.arrays["stage-0/bounds.npy"][-1] -= lower
        assert not checker.verify(changed)
        changed.arrays["stage-0/levels.npy"][-1] -= lower
        assert not checker.verify(changed) or not false_list(changed, checker.verify(changed))
    # A level between the supports, so that the last one is listed in vain.
    changed = draft.copy()
    changed.manifest["alternatives"]["level"] = float(0.5 * (values[-1] + values[-2]))
    refused(changed, "does not reach the level")


def test_tolerances() -> None:
    """Tests that the list is as wide as it says."""
    for tolerance in (0.051, 0.5, 1.0, -0.1, math.nan, math.inf, "x", None):
        changed = pitprops().copy()
        changed.manifest["alternatives"]["tolerance"] = tolerance
        assert not checker.verify(changed), tolerance
    changed.manifest["alternatives"]["tolerance"] = 0.04
    assert checker.verify(changed)


def test_counts_and_variances() -> None:
    """Tests another number of supports, and variances that are not theirs."""
    draft = pitprops()
    for count in (3, 5, -1, 4.5, "4", None, math.nan, 10**9):
        changed = draft.copy()
        changed.manifest["alternatives"]["count"] = count
        assert not checker.verify(changed), count
    for i in range(4):
        for shift in (1e-14, 1e-9, -1e-9, 0.1, -0.1, math.nan, math.inf):
            changed = draft.copy()
            changed.arrays["list/variances.npy"][i] += shift
            assert not checker.verify(changed)
    # A vector that is not the best one on its support: what it has is less than the support has.
    changed = draft.copy()
    x = changed.arrays["list/loadings.npy"][1]
    turned = x + 0.03 * np.array([x[1], -x[0], 0.0, 0.0])
    turned /= math.sqrt(turned @ turned)
    support = changed.arrays["list/supports.npy"][4:8]
    changed.arrays["list/loadings.npy"][1] = turned
    Q = changed.arrays["matrix.npy"][np.ix_(support, support)]
    changed.arrays["list/variances.npy"][1] = stated(Q, turned)
    refused(changed, "is not below the bound")


def test_components_before() -> None:
    """Tests that what the vectors are orthogonal to are unit vectors, and that they are."""
    Q = datasets.load_pitprops().covariance()
    draft = list_of(Q, 3, 0.05, previous=solve(Q, 3, 2).components)
    assert checker.verify(draft)
    changed = draft.copy()
    changed.arrays["previous.npy"][0] *= 1 + 1e-11
    refused(changed, "unit length")
    changed = draft.copy()
    changed.arrays["previous.npy"] = changed.arrays["previous.npy"][[0, 0]]
    refused(changed, "not orthogonal")
    changed = draft.copy()
    changed.arrays["previous.npy"] = np.eye(13)[[3, 4]]
    assert not checker.verify(changed)
    changed.manifest["alternatives"]["previous"] = 0
    refused(changed, "previous.npy")
    changed.arrays["previous.npy"] = np.zeros((0, 13))
    assert not checker.verify(changed)
    nothing = pitprops().copy()
    nothing.arrays["previous.npy"] = np.full((1, 13), math.nan)
    nothing.manifest["alternatives"]["previous"] = 1
    refused(nothing, "not numbers")


def test_another_matrix() -> None:
    """Tests that a list is one of its matrix alone."""
    draft, Q = pitprops(), datasets.load_pitprops().covariance()
    assert checker.verify(draft, Q)
    refused(draft, "not the matrix that was certified", Q + 1e-9 * np.eye(13))
    changed = draft.copy()
    changed.arrays["matrix.npy"][0, 0] += 1e-9
    refused(changed, "not the matrix that was certified")
    changed.manifest["problem"]["sha256"] = checker.fingerprint(changed.arrays["matrix.npy"])
    assert not checker.verify(changed)


def test_claims_are_not_taken_for_each_other() -> None:
    """Tests versions: a list is none of components, whatever it says, and the other way round."""
    draft = pitprops()
    for version in (1, 3, 8, "7", None):
        changed = draft.copy()
        changed.manifest["version"] = version
        assert not checker.verify(changed), version
    for claim in ("components", "x", None, 3):
        changed = draft.copy()
        changed.manifest["claim"] = claim
        assert not checker.verify(changed), claim
    changed = draft.copy()
    del changed.manifest["claim"]
    assert not checker.verify(changed)
    result = solve(datasets.load_pitprops().covariance(), 4, 2, proof=True)
    one = Draft(result.certificate.manifest, result.certificate.arrays).copy()
    one.manifest["claim"] = "alternatives"
    assert not checker.verify(one)
    assert not checker.verify(one)
    for limits in ([4, 4], [], [14], [0], [3], [5]):
        changed = draft.copy()
        changed.manifest["problem"]["sparsity"] = limits
        assert not checker.verify(changed), limits


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
    if certificate.manifest.get("claim") != "alternatives":
        assert not verdict.verified
    false = false_list(certificate, verdict)
    assert not false, f"{verdict}: {false}"
    return "harmless" if verdict.verified else "rejected"


def corrupted(how: str, seed: int, number: int) -> str:
    rng = np.random.default_rng([seed, number])
    try:
        draft = CORRUPTIONS[how](base(seed).copy(), rng)
    except (KeyError, ValueError, IndexError):
        # A change of something that lists do not have.
        return "nothing"
    return judged(draft)


@pytest.mark.parametrize("problems", [SEEDS[::3], *later(SEEDS)], ids=["few", "all"])
@pytest.mark.parametrize("how", CORRUPTIONS)
def test_corruptions(how: str, problems: tuple[int, ...]) -> None:
    """Tests every way to damage what a list says: nothing false is accepted."""
    for seed in problems:
        for number in range(3):
            corrupted(how, seed, number)


@pytest.mark.slow
@pytest.mark.parametrize("how", CORRUPTIONS)
def test_many_corruptions(how: str) -> None:
    """Tests more of them."""
    for seed in SEEDS:
        for number in spread(3, 120):
            corrupted(how, seed, number)


@pytest.mark.parametrize("how", DAMAGES)
def test_damaged_files(how: str) -> None:
    """Tests bytes that were changed."""
    for seed in SEEDS[:3]:
        for number in range(4):
            judged(DAMAGES[how](base(seed).to_bytes(), np.random.default_rng([seed, number])))


def test_a_list_is_nothing_to_go_on_from(tmp_path: Path) -> None:
    """Tests that a run does not resume from the certificate of a list."""
    Q = datasets.load_pitprops().covariance()
    alternatives(Q, 4, 0.05, proof=True).certificate.save(tmp_path / "list.zip")
    with pytest.raises(InputError, match="is a certificate of alternatives"):
        solve(Q, 4, 1, resume=tmp_path / "list.zip")


def test_odd_matrices() -> None:
    """Tests a matrix of zeros, one that is negative, and data that do not vary."""
    for Q, tolerance in ((np.zeros((6, 6)), 0.1), (-np.eye(6), 0.1), (-np.eye(6), 3.0)):
        draft = list_of(Q, 2, tolerance)
        assert draft.manifest["alternatives"]["count"] == 15
        assert checker.verify(draft), checker.verify(draft).reason
    draft = list_of(DataCovariance(np.ones((5, 6))), 2, 0.1)
    assert checker.verify(draft), checker.verify(draft).reason
