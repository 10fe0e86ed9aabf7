"""Damaged certificates: rejected, unreadable, or true all the same; never anything else.

What is true is decided in exact arithmetic on small problems, whatever the checker says.
"""

from __future__ import annotations

import io
import time
import warnings
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

from helpers.certificates import Draft, draft_of, falsehood
from helpers.corruptions import CORRUPTIONS, DAMAGES
from helpers.forger import checker, ladder

#: Seeds of problems that together have all there is: branches, features that are forced, supports
#: tested one by one, every kind of rung, penalties, features used up, exhaustion, a limit of time.
SEEDS = (236, 4, 193, 64, 223, 255, 16, 106, 52, 24, 6, 199, 0)
#: Seconds that no check of such a small problem may take.
LONGEST = 60.0


@cache
def base(seed: int) -> Draft:
    """A certificate that is accepted; some were written when time was up."""
    for other in range(seed, seed + 10_000, 1000):
        draft = draft_of(other, **({"time_limit": 0.0} if seed % 10 == 0 else {}))
        if checker.verify(draft).verified:
            return draft
    raise AssertionError(f"no certificate is accepted from {seed} on")


def judged(certificate: Any, Q: Any = None) -> str:
    """Check, and return what came of it; fail if something false is taken for proved."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if not isinstance(certificate, Draft):
                certificate = Draft(*checker.read(io.BytesIO(certificate)))
            verdict = checker.verify(certificate, Q)
        except checker.Unreadable:
            return "unreadable"
    assert time.process_time() - start < LONGEST
    false = falsehood(certificate, verdict, Q)
    assert not false, f"{verdict}: {false}"
    return "harmless" if verdict.verified else "rejected"


def corrupted(how: str, seed: int, number: int) -> str:
    """One corruption of what a certificate says, as an object or as a file."""
    rng = np.random.default_rng([seed, number])
    draft = CORRUPTIONS[how](base(seed).copy(), rng)
    if number % 2:
        return judged(draft)
    try:
        return judged(draft.to_bytes())
    except (ValueError, TypeError):
        return judged(draft)


def test_what_is_damaged_has_all_there_is() -> None:
    """Tests that the certificates to begin with contain every kind of argument."""
    found: Counter[str] = Counter()
    for seed in SEEDS:
        draft = base(seed)
        found["exhausted"] += draft.manifest["exhausted"]
        found[draft.manifest["problem"]["kind"]] += 1
        single = np.count_nonzero(draft.arrays["components.npy"], axis=1)[:-1] == 1
        found["spent"] += int(single.sum())
        for k in range(len(draft.manifest["stages"])):
            found.update(f"kind {kind}" for kind in draft.arrays[f"stage-{k}/kinds.npy"])
            branches = draft.arrays[f"stage-{k}/steps.npy"]
            forced = np.diff(draft.arrays[f"stage-{k}/forced_ends.npy"], prepend=0)
            removed = np.diff(draft.arrays[f"stage-{k}/removed_ends.npy"], prepend=0)
            found["branches"] += int((branches >= 0).sum())
            found["forced"] += int((forced > 0).sum())
            found["tested"] += int(((branches < 0) & (forced == 0) & (removed == 0)).sum())
    wanted = {f"kind {kind}" for kind in range(4)}
    wanted |= {"exhausted", "matrix", "factor", "spent", "branches", "forced", "tested"}
    assert wanted <= {name for name, count in found.items() if count}, found


def test_files_of_them_are_readable() -> None:
    """Tests that what is damaged as a file is accepted as a file."""
    assert {judged(base(seed).to_bytes()) for seed in SEEDS} == {"harmless"}


def test_penalties_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that some of them need vectors that are not feasible pushed down."""
    drafts = [base(seed) for seed in SEEDS]
    monkeypatch.setattr(ladder, "PENALTIES", (0.0,))
    assert not all(checker.verify(draft).verified for draft in drafts)


@pytest.mark.parametrize("how", CORRUPTIONS)
def test_a_few_corruptions(how: str) -> None:
    """Tests three certificates damaged in each way."""
    names = list(CORRUPTIONS)
    for number in range(3):
        corrupted(how, SEEDS[(3 * names.index(how) + number) % len(SEEDS)], number)


@pytest.mark.parametrize("how", DAMAGES)
def test_a_few_damaged_files(how: str) -> None:
    """Tests six files damaged in each way."""
    for number in range(6):
        rng = np.random.default_rng([7, number])
        judged(DAMAGES[how](base(SEEDS[number]).to_bytes(), rng))


@pytest.mark.slow
@pytest.mark.parametrize("how", CORRUPTIONS)
def test_many_corruptions(how: str) -> None:
    """Tests 104 certificates damaged in each way; together more than three thousand."""
    found = Counter(corrupted(how, seed, number) for seed in SEEDS for number in range(8))
    print(how, dict(found))
    assert sum(found.values()) == 104


@pytest.mark.slow
@pytest.mark.parametrize("how", DAMAGES)
def test_many_damaged_files(how: str) -> None:
    """Tests 130 files damaged in each way; together more than a thousand."""
    found = Counter(
        judged(DAMAGES[how](base(seed).to_bytes(), np.random.default_rng([seed, number])))
        for seed in SEEDS
        for number in range(10)
    )
    print(how, dict(found))


@pytest.mark.slow
def test_a_file_cut_off_anywhere() -> None:
    """Tests that a file is unreadable whatever its end lacks."""
    data = base(SEEDS[1]).to_bytes()
    for end in range(0, len(data), 7):
        assert judged(data[:end]) == "unreadable"


def test_what_must_be_rejected() -> None:
    """Tests corruptions that are false for certain, one by one."""
    for seed in SEEDS:
        draft = base(seed)
        for k in range(len(draft.manifest["stages"])):
            raised, lowered = draft.copy(), draft.copy()
            stage = raised.manifest["stages"][k]
            stage["variance"] += 1e-6 * abs(stage["variance"]) + 1e-9
            stage["upper_bound"] = max(stage["upper_bound"], stage["variance"])
            assert judged(raised) == "rejected"
            stage = lowered.manifest["stages"][k]
            stage["upper_bound"] = stage["variance"] - 1e-6 * abs(stage["variance"]) - 1e-290
            assert judged(lowered) == "rejected"
        other = np.array(draft.arrays[f"{draft.manifest['problem']['kind']}.npy"])
        other[0, 0] += 1.0
        assert judged(draft, other) == "rejected"
        assert judged(draft, other.T[:1]) == "rejected"
