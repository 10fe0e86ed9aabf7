"""What a manifest may say, what may be given beside it, and how long a check may take."""

from __future__ import annotations

import itertools
import math
import re
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.certificates import Draft, Rung, draft_of, draft_of_matrix, forge, strings_of
from helpers.forger import checker, ladder
from helpers.joint import small_set
from helpers.lists import list_of
from orthospca import Certificate, DataCovariance, datasets, solve, verify

SINGLE, SIEVE, CAP, SUMS = range(4)


# What is given


def of_a_factor(B: np.ndarray) -> Draft:
    """A true certificate of ``BᵀB``: its second feature, and what nothing exceeds."""
    squares = np.square(B).sum(axis=0)
    worst = int(squares.argmin())
    bound = float(squares.max()) * (1 + 1e-12)
    # Rounded, and so perhaps a little more than it has: a little less is stated.
    claims = [(float(squares[worst]) * (1 - 1e-14), bound)]
    ladders = [[Rung(SINGLE, bound)]]
    return forge(B, [1], np.eye(B.shape[1])[worst][None], claims, ladders, "factor")


def test_a_matrix_is_no_factor() -> None:
    """Tests that what is proved of QᵀQ is not taken for a proof of Q."""
    Q = np.array([[0.1, 0.02], [0.02, 0.1]])
    draft = of_a_factor(Q)
    verdict = checker.verify(draft)
    assert verdict.verified
    assert verdict.upper_bounds[0] < 0.011 < Q[0, 0]
    for held in (True, False):
        if not held:
            del draft.arrays["factor.npy"]
        given = checker.verify(draft, Q)
        assert not given.verified
        assert given.undecided
        assert "is about data, but a matrix is given" in given.reason
        assert checker.verify(draft, factor=Q).verified
    other = checker.verify(draft, factor=2 * Q)
    assert "not the matrix that was certified" in other.reason
    assert not other.undecided


def test_a_factor_is_no_matrix() -> None:
    """Tests the other way round, and that only one of them can be given."""
    Q = np.diag([3.0, 2.0, 1.0])
    certificate = solve(Q, 1, 1, proof=True).certificate
    given = verify(certificate, factor=Q)
    assert not given.verified
    assert "a factor is given" in given.reason
    assert verify(certificate, Q).verified
    with pytest.raises(ValueError, match="give Q or factor, not both"):
        verify(certificate, Q, factor=Q)
    with pytest.raises(TypeError):
        verify(certificate, Q, Q)


def test_by_how_much_a_matrix_differs() -> None:
    """Tests that the difference is that from the matrix certified, and not from any other."""
    Q = datasets.load_pitprops().covariance()
    draft = draft_of_matrix(Q, 2)
    reason = checker.verify(draft, 2 * Q).reason
    assert (
        "they differ by 1 of the largest entry, which may be due to how the data were read"
        in reason
    )
    nearly = Q + 1e-15 * np.eye(13)
    assert "rounding on another machine" in checker.verify(draft, nearly).reason
    draft.arrays["matrix.npy"] = nearly
    for given in (None, nearly, 2 * Q):
        assert checker.verify(draft, given).reason.endswith("not the matrix that was certified")


# Types


def drafts() -> Iterator[tuple[str, Draft]]:
    """A certificate of each claim, which is accepted."""
    yield "components", draft_of_matrix(np.diag([3.0, 2.0, 1.0]) + 0.5, 2, 2)
    yield "list", list_of(np.diag([3.0, 2.0, 1.0]) + 0.5, 2, 0.5)
    yield "set", small_set()
    yield "data", draft_of(0, "factor")


UNREAD = ("eps", "gap", "status")


def test_every_entry_has_its_kind() -> None:
    """Tests that no entry that is read may be the same number, or yes, in another form."""
    tried = 0
    for name, draft in drafts():
        assert checker.verify(draft), name
        for path in strings_of(draft.manifest):
            value = draft.manifest
            for key in path:
                value = value[key]
            if path[-1] in UNREAD:
                continue
            others: list[Any] = [None, [value], {"": value}, f"{value} "]
            if isinstance(value, bool):
                others += [int(value), float(value)]
            elif isinstance(value, int):
                others += [float(value), complex(value), np.float64(value), Fraction(value)]
                others += [bool(value)] if value in (0, 1) else []
            elif isinstance(value, float):
                others += [complex(value), Fraction(value)]
                others += [bool(value)] if value in (0.0, 1.0) else []
            elif isinstance(value, list):
                others += [tuple(value), dict(enumerate(value))]
            for other in others:
                changed = draft.copy()
                holder = changed.manifest
                for key in path[:-1]:
                    holder = holder[key]
                holder[path[-1]] = other
                verdict = checker.verify(changed)
                assert not verdict.verified, (name, path, other)
                assert all(verdict.lines(details=True))
                tried += 1
    assert tried > 150


def test_whole_numbers_are_not_rounded() -> None:
    """Tests that a bound which no double is is refused: rounded up it would be a true one."""
    top = 2.0**53 + 4
    Q = np.diag([top, 1.0])
    for upper in (2**53 + 3, 10**400, 2**53 + 4):
        draft = forge(Q, [1], np.eye(2)[1:], [(1.0, 1.0)], [[Rung(SINGLE, top)]])
        draft.manifest["stages"][0]["upper_bound"] = upper
        assert checker.verify(draft).verified == (upper == 2**53 + 4), upper
    draft.manifest["stages"][0]["variance"] = 1
    assert checker.verify(draft)


def test_what_claims_nothing() -> None:
    """Tests that no component is nothing to be verified, whatever is said of more of them."""
    for limits, exhausted in itertools.product(([1], [1, 1], []), (False, True)):
        draft = forge(np.eye(3), limits, np.zeros((0, 3)), [], [], exhausted=exhausted)
        assert not checker.verify(draft)
    empty = small_set()
    empty.manifest["joint"]["variances"] = empty.manifest["problem"]["sparsity"] = []
    empty.arrays["components.npy"] = empty.arrays["components.npy"][:0]
    assert not checker.verify(empty)


def test_a_run_that_found_nothing_is_resumed(tmp_path: Path) -> None:
    """Tests that a file without a stage, which is refused, is a beginning all the same."""
    Q = np.diag([3.0, 2.0, 1.0])
    certificate = solve(Q, 1, 1, proof=True).certificate
    certificate.manifest["stages"] = []
    arrays = {"components.npy": np.zeros((0, 3)), "matrix.npy": Q}
    Certificate(certificate.manifest, arrays).save(tmp_path / "c.zip")
    assert not verify(tmp_path / "c.zip")
    assert solve(Q, 1, 1, resume=tmp_path / "c.zip").variances[0] == 3.0


# Figures


def figures(line: str) -> dict[str, Fraction]:
    """The numbers of a line by the words before them."""
    return {
        word: Fraction(number)
        for word, number in re.findall(r"(\w+) (-?[\d.]+(?:e[-+]\d+)?)", line)
    }


def test_bounds_are_rounded_up_and_variances_down() -> None:
    """Tests that no printed figure claims more than was proved, in exact arithmetic."""
    rng = np.random.default_rng(0)
    strict = 0
    for _ in range(20):
        value, bound = sorted(rng.uniform(-1, 1, 2) * 10.0 ** rng.uniform(-12, 12))
        Q = np.diag([bound, value])
        draft = forge(Q, [1], np.eye(2)[1:], [(value, bound)], [[Rung(SINGLE, bound)]])
        verdict = checker.verify(draft)
        assert verdict.verified, verdict.reason
        found = figures(verdict.details[0])
        assert found["variance"] <= Fraction(value)
        assert found["bound"] >= Fraction(bound)
        gap = 100 * (Fraction(bound) - Fraction(value)) / abs(Fraction(value))
        assert gap <= found["gap"] <= gap * Fraction(1.1)
        strict += found["bound"] > Fraction(bound)
        assert figures(verdict.lines()[0])["is"] == found["gap"]
    assert strict > 10


def test_figures_of_lists_and_sets() -> None:
    """Tests the level, the tolerance and the total of the lines."""
    Q = datasets.load_pitprops().covariance()
    draft = list_of(Q, 3, 0.3)
    verdict = checker.verify(draft)
    (line,) = verdict.lines()
    assert "within 30 % of the best variance" in line
    assert figures(line)["below"] >= Fraction(verdict.upper_bounds[0])
    values = draft.arrays["list/variances.npy"].tolist()
    for value, detail in zip(values, verdict.details, strict=True):
        assert 0 <= Fraction(value) - figures(detail)["variance"] < Fraction(1e-9)
    for tolerance, shown in (
        (0.05, "5 %"),
        (0.0, "0 %"),
        (1e-5, "0.001 %"),
        (1 / 3, "33.33333333 %"),
    ):
        (line,) = checker.verify(list_of(np.diag([3.0, 1.0, 0.5]), 1, tolerance)).lines()
        assert f"within {shown} of" in line


def test_odd_figures() -> None:
    """Tests gaps of nothing, of everything, and of what has no variance."""
    for value, bound, shown in (
        (1.0, 1.0, "<1e-9 %"),
        (0.0, 1.0, "open"),
        (1e-150, 1e150, "e+302 %"),
    ):
        Q = np.diag([bound, value])
        draft = forge(Q, [1], np.eye(2)[1:], [(value, bound)], [[Rung(SINGLE, bound)]])
        verdict = checker.verify(draft)
        assert verdict.verified, verdict.reason
        assert verdict.lines()[0].split("; ")[1].endswith(shown)


# Limits


class Clock:
    """One that goes on by a second whenever it is looked at."""

    def __init__(self) -> None:
        self.looks = 0

    def monotonic(self) -> float:
        self.looks += 1
        return float(self.looks)


def long_checks() -> Iterator[tuple[str, Draft]]:
    """Small certificates that take very long."""
    leaf = (-1, (), ())
    n, p = 400, 2
    every = tuple(range(n))
    low = [Rung(SUMS, 2.0)] * (p - 1)
    many = [*low, Rung(SIEVE, 3.0, 3.0, every, (leaf,))]
    yield "a leaf", forge(np.eye(n), [p], np.eye(1, n), [(1.0, 3.0)], [many])
    branches: list[Any] = [(j, (), ()) for j in range(n - 1)]
    tree = (*branches, *[leaf] * n)
    yield (
        "a tree",
        forge(
            np.eye(n), [p], np.eye(1, n), [(1.0, 3.0)], [[*low, Rung(SIEVE, 3.0, 3.0, every, tree)]]
        ),
    )
    rungs = [[Rung(SUMS, 2.0)] * n]
    yield "rungs", forge(np.eye(n), [n], np.eye(1, n), [(1.0, 2.0)], rungs)
    B, wide = np.ones((1, 5000)), 5000
    sieve = [Rung(SINGLE, 1.1), Rung(SIEVE, 1.2, 1.2, (0,))]
    yield "sums of rows", forge(B, [2], np.eye(1, wide), [(1.0, 1.2)], [sieve], "factor")
    k = 14
    rows = np.full((1, k), math.sqrt(1 / k))
    rows /= math.sqrt((rows @ rows.T)[0, 0])
    ladders = [[Rung(SUMS, 2.0)] * k]
    # Of the identity every vector has the variance one.
    claims = [(1.0, 2.0)]
    yield "the end", forge(np.eye(k), [k, 1], rows, claims, ladders, exhausted=True)


@pytest.mark.parametrize("name", dict(long_checks()))
def test_a_time_limit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the clock is looked at wherever work is long, and the check then ends."""
    clock = Clock()
    for file in (checker, ladder):
        monkeypatch.setattr(file, "time", clock)
    draft = dict(long_checks())[name]
    verdict = checker.verify(draft, time_limit=9.5)
    assert not verdict.verified
    assert verdict.undecided
    assert verdict.reason == "the time limit of 9.5 s was reached: raise time_limit (--time-limit)"
    assert str(verdict).startswith("UNDECIDED: ")
    assert verdict.lines() == [str(verdict)]
    assert clock.looks == 11


def test_no_limit_and_enough_time() -> None:
    """Tests that a limit that is not met changes nothing, nor does one of another thread."""
    draft = draft_of_matrix(datasets.load_pitprops().covariance(), 4, 2)
    usual = checker.verify(draft)
    assert usual.verified
    assert checker.verify(draft, time_limit=None, max_bytes=None) == usual
    found = []
    hurried = threading.Thread(target=lambda: found.append(checker.verify(draft, time_limit=0.0)))
    hurried.start()
    assert checker.verify(draft) == usual
    hurried.join()
    assert found[0].undecided
    assert checker.verify(draft) == usual


def test_a_limit_of_bytes(tmp_path: Path) -> None:
    """Tests that what a file unpacks to is known before, and that it is no fault of the file."""
    certificate = solve(np.eye(3), 1, 1, proof=True).certificate
    certificate.save(tmp_path / "c.zip")
    verdict = verify(tmp_path / "c.zip", max_bytes=1000)
    assert verdict.undecided
    assert "the limit is 1000: raise max_bytes (--max-bytes)" in verdict.reason
    assert verify(tmp_path / "c.zip", max_bytes=10**5).verified
    with pytest.raises(checker.Undecided, match="raise max_bytes"):
        Certificate.load(tmp_path / "c.zip", max_bytes=1000)
    assert Certificate.load(tmp_path / "c.zip", max_bytes=None).verify(time_limit=None)


def test_data_are_given_by_name() -> None:
    """Tests that a certificate of data is checked with their factor."""
    data = DataCovariance(np.random.default_rng(0).standard_normal((6, 4100)))
    certificate = solve(data, 2, 1, gap=0.5, proof=True).certificate
    assert certificate.verify(factor=data.factor(np.arange(4100))).verified
    assert certificate.verify(np.eye(4100)).undecided


@pytest.mark.parametrize("given", [None, 3, b"abc", solve(np.eye(2), 1)])
def test_what_is_no_certificate(given: Any) -> None:
    """Tests that whoever has none is told where it comes from."""
    with pytest.raises(ValueError, match=r"is expected, got .*; a result has one, result.certific"):
        verify(given)
