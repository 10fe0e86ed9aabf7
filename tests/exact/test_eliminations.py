"""Single features ruled out at a level, by each rule, against all supports that contain them.

A rule may rule out too little, never too much: if a feature is out at a level, no feasible vector
that uses it has more. Levels are where rounding shows, at the float where a rule changes its mind,
and around the values of supports; nothing is forgiven.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from helpers.eliminations import (
    ExactStage,
    Problem,
    Tally,
    first_level,
    parallel_columns,
    random_components,
    turned,
)
from helpers.exact import ExactMatrix
from helpers.problems import DATA
from helpers.seeds import SHARE, spread
from helpers.wide import tuned
from orthospca import DataCovariance
from orthospca.bounds.border import largest_squares, stays, stays_by_variance
from orthospca.bounds.conditioning.walk import Conditioning
from orthospca.model.tuning import WalkTuning
from orthospca.numerics.threads import single_threaded_blas
from orthospca.search.views import MatrixView, sieve_within
from orthospca.wide.part import FormedPart, bytes_for
from orthospca.wide.view import DataView


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """As in a solve: for matrices this small, more threads cost more than they give."""
    with single_threaded_blas():
        yield


def never() -> bool:
    return False


def problems(seeds: range, largest: int, *edges: str) -> Iterator[Problem]:
    """Problems of every kind, with up to three components before; half of them at an edge."""
    for seed in seeds:
        rng = np.random.default_rng([seed, 1])
        n = int(rng.integers(3, largest + 1))
        size = int(rng.integers(2, min(n, 6 if largest > 7 else 5)))
        kind = str(rng.choice(edges)) if rng.random() < 0.5 else ""
        count = int(rng.integers(0, 4))
        if kind == "border edge":
            n, size, count = max(n, 4), max(size, 3), max(count, 1)
        yield Problem(seed, n, size, count, kind)


def around(rng: np.random.Generator, value: float, scale: float) -> float:
    """A level at a value, a few units beside it, or farther away."""
    units = float(rng.choice([-64, -4, -1, 0, 0, 1, 4, 64, 4096]))
    share = float(rng.choice([0.0, 0.0, 0.0, 1e-12, -1e-9, 1e-6, 1e-2, 0.3]))
    return value + units * math.ulp(value) + share * scale


def critical(low: float, high: float, ruled_out: Callable[[float], bool]) -> float | None:
    """The level from which on something is ruled out, in floating point; None if it never is."""
    if ruled_out(low):
        return low
    return first_level(low, high, ruled_out) if ruled_out(high) else None


# The border rule


def border_rules(case: Problem) -> dict[str, Callable[[float, float], np.ndarray]]:
    """Each way to ask the border rule: the features kept at a level, given a bound below."""
    problem, size, n = case.problem, case.size, len(case.matrix)
    form = MatrixView(problem)
    everything = np.arange(n)
    plain = largest_squares(case.matrix, size - 1)[:, -1]
    adjusted = largest_squares(problem.projected, size - 1, problem.projected_radius)[:, -1]
    plain[problem.touched] = adjusted[problem.touched] = math.inf
    diagonal = case.matrix.diagonal()

    def within(level: float, below: float) -> np.ndarray:
        bounds = problem.projected.diagonal() + problem.projected_radius
        return sieve_within(problem, bounds, everything, size, level, below)

    rules = {
        "stays": lambda L, U: np.flatnonzero(stays(L, U, diagonal, plain)),
        "stays, adjusted": lambda L, U: np.flatnonzero(stays(L, U, diagonal, adjusted)),
        "sieve_within": within,
        "MatrixView.sieve": lambda L, U: form.sieve(size, L, U, never).kept,
    }
    if case.is_psd:
        touched = np.isin(everything, problem.touched)
        rules["stays_by_variance"] = lambda L, U: np.flatnonzero(
            stays_by_variance(L, U, diagonal) | touched
        )
    return rules


def check_border(tally: Tally, seeds: range, largest: int, asked: int) -> None:
    """Ask each rule at levels where it changes its mind, and at values of supports."""
    for case in problems(seeds, largest, "border edge", "parallel columns"):
        rng, n = case.rng, len(case.matrix)
        below = case.stage(case.size - 1).ceiling
        stage = case.stage(case.size)
        if not math.isfinite(below) or len(case.untouched) == 0:
            continue
        everything, rules = np.arange(n), border_rules(case)
        for k in range(asked):
            rule = str(rng.choice(list(rules)))
            U = below if k % 6 else below + float(rng.choice([1e-12, 1e-3, 0.1])) * case.scale
            if k % 2:
                j = int(rng.choice(case.untouched))
                if case.focus >= 0 and rng.random() < 0.8:
                    j = case.focus
                found = critical(
                    U,
                    U + 8 * n * case.scale,
                    lambda L, j=j, U=U, kept_at=rules[rule]: j not in kept_at(L, U),
                )
                levels = [] if found is None else [found, math.nextafter(found, -math.inf)]
            else:
                values = stage.values[np.isfinite(stage.values)]
                levels = [around(rng, float(rng.choice(values)), case.scale)]
            for level in levels:
                for name, kept_at in rules.items():
                    gone = np.setdiff1d(everything, kept_at(level, U))
                    assert not set(gone) & set(case.problem.touched)
                    tally.dropped(name, case.label, stage, level, gone)


BORDER = ("stays", "stays, adjusted", "sieve_within", "MatrixView.sieve", "stays_by_variance")


def test_the_border_rule() -> None:
    """Tests some thousand features that the border rule has ruled out, in integers."""
    tally = Tally(np.random.default_rng(0))
    check_border(tally, range(80), 6, 4)
    assert tally.wrong == []
    assert all(tally.exact[rule] > 5 for rule in BORDER), tally.exact
    assert tally.total > 1000, tally.eliminations


def check_large_components(tally: Tally, seeds: range) -> None:
    """Each rule at its own critical level, where components take far more than they leave."""
    for seed in seeds:
        case = Problem(seed, 5, 3 + seed % 2, 1 + seed % 2, "border edge")
        below, stage = case.stage(case.size - 1).ceiling, case.stage(case.size)
        rules = border_rules(case)
        for name in BORDER[1:4]:

            def drops(level: float, case=case, below=below, kept_at=rules[name]) -> bool:
                return case.focus not in kept_at(level, below)

            level = critical(below, below + 40 * case.scale, drops)
            if level is not None:
                gone = np.setdiff1d(np.arange(5), rules[name](level, below))
                tally.dropped(name, case.label, stage, level, gone)


def test_what_components_take_away_is_far_larger() -> None:
    """Tests that the rounding of the adjusted covariance is in each rule that uses it."""
    tally = Tally(np.random.default_rng(0))
    check_large_components(tally, range(24))
    assert tally.wrong == []
    assert all(tally.close[rule] > 10 for rule in BORDER[1:4]), tally.close


# Data


WAYS: tuple[dict[str, Any], ...] = (
    {},
    {"few": 0, "trace_budget": 0},
    {"few": 0, "few_traced": 0, "trace_budget": 60, "cheap_products": 0},
)


def check_data(tally: Tally, seeds: range, largest: int, asked: int) -> None:
    """The sieve of data: what it leaves out is bounded by what it says, of ``BᵀB`` exactly."""
    kinds = [*DATA.values(), parallel_columns, parallel_columns]
    for seed in seeds:
        rng = np.random.default_rng([seed, 2])
        n = int(rng.integers(3, largest + 1))
        size = int(rng.integers(2, min(n, 5)))
        columns = kinds[seed % len(kinds)](rng, n)
        if rng.random() < 0.3:
            columns = turned(rng, columns)
        mirrored = np.vstack([columns, -columns])  # so that centring takes nothing away
        Q = DataCovariance(mirrored, correlation=bool(rng.random() < 0.2))
        exact = ExactMatrix.gram(Q.factor(np.arange(n)))
        previous = random_components(rng, n, int(rng.integers(0, 3)))
        smaller, stage = (ExactStage(exact, previous, s) for s in (size - 1, size))
        below = smaller.ceiling
        if not math.isfinite(below) or not exact.rounded.any():
            continue
        way = WAYS[seed % len(WAYS)]
        room = bytes_for(n if rng.random() < 0.7 else n - 1)
        part = FormedPart(Q, room, int(rng.integers(size - 1, n + 1)))
        form = DataView(Q, size, previous.T, part, np.ones(n, dtype=bool), tuned(**way))
        if rng.random() < 0.7:
            form.find(never)
        scale = float(exact.rounded.diagonal().max())
        untouched = np.setdiff1d(np.arange(n), form.touched)

        def drops(level: float, j: int, form=form, below=below, size=size) -> bool:
            return j not in form.sieve(size, level, below, never).kept

        for k in range(asked):
            if k % 2:
                j = int(rng.choice(untouched))
                found = critical(below, below + 4 * scale, lambda L, j=j, drops=drops: drops(L, j))
                levels = [] if found is None else [found]
            else:
                value = float(rng.choice(stage.values[np.isfinite(stage.values)]))
                levels = [around(rng, value, scale)]
            for level in levels:
                sieve = form.sieve(size, level, below, never)
                gone = np.setdiff1d(untouched, sieve.kept)
                outside = max(sieve.outside, level)
                label = f"data, seed {seed}"
                tally.dropped("DataView.sieve", label, stage, outside, gone)


def test_the_sieve_of_data() -> None:
    """Tests some hundred features that the sieve of data has ruled out, in integers.

    What it says holds without what the rounding of entries may take from the value of a support.
    """
    tally = Tally(np.random.default_rng(0))
    check_data(tally, range(32), 5, 3)
    assert tally.wrong == []
    assert tally.exact["DataView.sieve"] > 30, tally.exact
    assert tally.total > 100, tally.eliminations


# Steps of the conditioned search


STEPS = {
    "costs": WalkTuning(full_share=0, largest_weighted=0),
    "costs, tiled": WalkTuning(full_share=0, largest_weighted=0, tile=1, first_rows=1),
    "weights": WalkTuning(full_share=0),
}
PENALTIES = WalkTuning().penalties


class Node:
    """A node of a problem: what is included, what is free, and the supports of it."""

    def __init__(self, case: Problem) -> None:
        rng, n, p = case.rng, len(case.matrix), case.size
        self.case = case
        edge = case.kind == "conditioned edge" and rng.random() < 0.8
        self.allowed = np.arange(n)
        self.included = case.included
        if not edge:
            self.allowed = np.sort(rng.permutation(n)[: int(rng.integers(p, n + 1))])
            self.included = np.sort(rng.permutation(self.allowed)[: int(rng.integers(0, p))])
        self.room = p - len(self.included)
        self.penalty = float(rng.choice(PENALTIES)) if case.problem.constrained else 0.0
        self.work = Conditioning(case.problem)

    def step(self, level: float) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """What each rule leaves and forces at a level, and among which free features."""
        frame = self.work.frame(self.allowed, level, self.penalty)
        places = np.searchsorted(self.allowed, self.included)
        found = frame.conditioned(places)
        if found is None:
            return {}
        keep = found.matrix.diagonal() < found.level
        if not keep.any():
            return {}
        found = type(found)(found.matrix[np.ix_(keep, keep)], found.level)
        usable, answers = np.setdiff1d(self.allowed, self.included)[keep], {}
        for rule, tuning in STEPS.items():
            left = found.eliminate(self.room, tuning)
            answers[rule] = usable, usable[left.kept], usable[left.forced]
        answers["all free"] = usable, usable[:0] if found.is_definite() else usable, usable[:0]
        return answers

    def check(self, tally: Tally, level: float) -> None:
        """Check all that is ruled out at a level."""
        case, p = self.case, self.case.size
        for rule, (usable, kept, forced) in self.step(level).items():
            within = np.union1d(self.included, usable)
            if len(within) < p:
                continue
            stage = case.stage(p)
            here = stage.inside[:, self.included].all(axis=1)
            here &= ~np.delete(stage.inside, within, axis=1).any(axis=1)
            label = f"{case.label}, included {self.included}, within {within}"
            for j in np.setdiff1d(usable, kept).tolist():
                chosen = here & stage.inside[:, j]
                tally.ruled_out(rule, f"{label}, feature {j}", stage, level, chosen)
            for j in forced.tolist():
                # Without it there may be fewer features than places.
                size = min(p, len(within) - 1)
                if size < max(len(self.included), 1):
                    continue
                smaller = case.stage(size)
                chosen = smaller.inside[:, self.included].all(axis=1) & ~smaller.inside[:, j]
                chosen &= ~np.delete(smaller.inside, within, axis=1).any(axis=1)
                tally.ruled_out("forced", f"{label}, without {j}", smaller, level, chosen)

    def levels(self) -> list[float]:
        """Where a rule changes its mind about a feature, and around the values of supports."""
        case = self.case
        stage, rng = case.stage(case.size), case.rng
        here = stage.inside[:, self.included].all(axis=1) & np.isfinite(stage.values)
        here &= ~np.delete(stage.inside, self.allowed, axis=1).any(axis=1)
        if not here.any():
            return []
        value = float(rng.choice([stage.values[here].max(), rng.choice(stage.values[here])]))
        free = np.setdiff1d(self.allowed, self.included)
        j, rule = int(rng.choice(free)), str(rng.choice([*STEPS, "all free"]))

        def ruled_out(level: float) -> bool:
            usable, kept, forced = self.step(level).get(rule, (free, free, free))
            return j in usable and (j not in kept or j in forced)

        unit = math.ulp(abs(value) + case.scale)
        near = critical(value - unit, value + 1e6 * unit, ruled_out)
        far = critical(value - case.scale, value + 4 * len(case.matrix) * case.scale, ruled_out)
        found = [level for level in (near, far) if level is not None]
        beside = [level + 1e-9 * case.scale for level in found]
        return [*found, *beside, around(rng, value, case.scale)]


def check_steps(tally: Tally, seeds: range, largest: int, nodes: int) -> None:
    """Steps on random nodes at critical levels."""
    for case in problems(seeds, largest, "conditioned edge"):
        for _ in range(nodes):
            node = Node(case)
            for level in node.levels():
                node.check(tally, level)


def test_steps_of_the_conditioned_search() -> None:
    """Tests some thousand features that steps have ruled out or forced, in integers."""
    tally = Tally(np.random.default_rng(0))
    check_steps(tally, range(1000, 1050), 6, 1)
    assert tally.wrong == []
    assert all(tally.exact[rule] > 50 for rule in (*STEPS, "all free")), tally.exact
    assert tally.exact["forced"] > 3, tally.exact
    assert tally.total > 500, tally.eliminations


@pytest.mark.slow
def test_a_hundred_thousand_eliminations() -> None:
    """Tests all rules at length: 100 000 eliminations in all, 5000 of them in integers.

    All that are close to the level are, and some of the others.
    """
    tally = Tally(np.random.default_rng(1), share=0.02)
    check_border(tally, spread(10_000, 10_900), 10, 12)
    check_large_components(tally, spread(15_000, 15_500))
    check_data(tally, spread(20_000, 20_400), 8, 8)
    check_steps(tally, spread(30_000, 30_900), 10, 4)
    print(tally.eliminations, tally.exact, tally.close, sep="\n")  # shown with -s
    assert tally.wrong == []
    assert tally.total >= 100_000 * SHARE
    assert tally.exact.total() >= 5000 * SHARE
    for rule in (*BORDER, "DataView.sieve", *STEPS, "all free", "forced"):
        assert tally.eliminations[rule] >= 1000 * SHARE, rule
        assert tally.exact[rule] >= 100 * SHARE, rule
        assert tally.exact[rule] >= tally.close[rule] > 0, rule
