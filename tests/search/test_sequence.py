"""Tests of the loop over stages with stages that are scripted: caps, hints, exchanges.

The components are unit vectors of a diagonal matrix, or rotations of them: what is feasible and
what it is worth can be read off.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from orthospca import Status
from orthospca.model.limits import Watch
from orthospca.model.result import Component
from orthospca.model.tolerance import Tolerance
from orthospca.search.outcome import Outcome, Request, Rung
from orthospca.search.sequence import OPEN, Found, run_stages
from orthospca.supports.best import Candidate

N = 12


def unit(*places: int) -> np.ndarray:
    """A unit vector with equal loadings."""
    x = np.zeros(N)
    x[list(places)] = 1 / math.sqrt(len(places))
    return x


def outcome(
    value: float,
    upper: float,
    place: int | tuple[int, ...],
    status: Status = Status.OPTIMAL,
    rungs: tuple[Rung, ...] = (),
    guarantee: float | None = None,
) -> Outcome:
    """A stage that has ended with a component of equal loadings."""
    places = (place,) if isinstance(place, int) else place
    best = Candidate(value, unit(*places))
    return Outcome(best, upper, status, 1, guarantee=guarantee, rungs=rungs)


NOTHING = Outcome(None, -math.inf, Status.EXHAUSTED, 0)


class Scripted:
    """Stages whose outcomes are given; they remember what they were asked."""

    n_features = N
    note = ""

    def __init__(
        self, script: list[Outcome | Callable[[Request], Outcome]], nested: bool = True
    ) -> None:
        self.script = list(script)
        self.nested = nested
        self.asked: list[Request] = []

    def solve(self, request: Request) -> Outcome:
        self.asked.append(request)
        step = self.script.pop(0)
        return step(request) if callable(step) else step


def run(
    stages: Scripted, limits: list[int], gap: float = 1e-6, known: tuple[Component, ...] = ()
) -> Found:
    return run_stages(stages, limits, Tolerance(0.0, gap), Watch(), known)


def uppers(found: Found) -> list[float]:
    return [component.upper_bound for component in found.components]


def variances(found: Found) -> list[float]:
    return [component.variance for component in found.components]


def test_a_later_bound_is_capped_by_earlier_ones() -> None:
    """Tests that the cap asked for, and the bound kept, are the smallest with as much sparsity."""
    stages = Scripted(
        [
            outcome(9.0, 9.0, 0),
            outcome(5.0, 12.0, 1, Status.TIME_LIMIT),
            outcome(4.0, 30.0, 2, Status.TIME_LIMIT),
            outcome(3.0, 31.0, 3, Status.TIME_LIMIT),
        ]
    )
    found = run(stages, [2, 2, 3, 1])
    # The third stage has more places than those before: nothing is known of it.
    assert [request.cap for request in stages.asked] == [math.inf, 9.0, math.inf, 9.0]
    assert uppers(found) == [9.0, 9.0, 30.0, 9.0]
    assert [c.status for c in found.components] == [Status.OPTIMAL, *[Status.TIME_LIMIT] * 3]


def test_nothing_is_capped_where_stages_are_not_nested() -> None:
    """Tests a way of solving whose stages speak of different matrices."""
    rungs = (Rung(1, None, 4.0),)
    stages = Scripted(
        [
            outcome(9.0, 9.0, 0, rungs=rungs),
            outcome(10.0, 12.0, 1, Status.TIME_LIMIT),
            outcome(11.0, 12.0, 2, Status.TIME_LIMIT),
        ],
        nested=False,
    )
    found = run(stages, [2, 2, 2])
    assert [request.cap for request in stages.asked] == [math.inf] * 3
    assert [request.caps for request in stages.asked] == [()] * 3
    assert variances(found) == [9.0, 10.0, 11.0]
    assert uppers(found) == [9.0, 12.0, 12.0]
    assert found.path == ()


@pytest.mark.parametrize("seed", range(60))
def test_bounds_never_increase_while_sparsities_do_not(seed: int) -> None:
    """Tests stages with bounds of every quality, that end in every way, with random values."""
    rng = np.random.default_rng(seed)
    limits = sorted(rng.integers(1, 5, size=int(rng.integers(2, 7))).tolist(), reverse=True)
    if seed % 3 == 0:
        rng.shuffle(limits)
    solved = 0

    def solve(request: Request) -> Outcome:
        nonlocal solved
        solved += 1
        place = solved % N
        value = float(rng.uniform(1.0, 10.0))
        value = min(value, request.cap)
        if seed % 2 and rng.random() < 0.3 and math.isfinite(request.cap):
            # More than was proved, by a few units in the last place.
            value = request.cap * (1 + 2.0**-51)
        upper = value * float(rng.choice([1.0, 1 + 1e-7, 1.5, 10.0]))
        status = Status(rng.choice([str(s.value) for s in (*OPEN, Status.OPTIMAL)]))
        return outcome(value, upper, place, status)

    stages = Scripted([solve] * 500)
    found = run(stages, limits)
    assert len(found.components) == len(limits)
    for k, component in enumerate(found.components):
        assert component.upper_bound >= component.variance
        met = component.upper_bound - component.variance <= 1e-6 * component.variance
        assert (component.status is Status.OPTIMAL) == met
        for earlier, limit in zip(found.components[:k], limits, strict=False):
            if limit >= limits[k]:
                assert component.upper_bound <= earlier.upper_bound
                # Of an open stage nothing better was found later: it would have been taken there.
                assert earlier.status not in OPEN or component.variance <= earlier.variance
    if seed % 2 == 0:
        assert all(c.upper_bound - c.variance <= found.guarantee for c in found.components)


@pytest.mark.parametrize("status", OPEN)
def test_a_larger_component_is_taken_in_an_earlier_open_stage(status: Status) -> None:
    """Tests the exchange: the bound stays, the stages after it are solved anew, with hints."""
    stages = Scripted(
        [
            outcome(9.0, 9.0, 0),
            outcome(5.0, 8.0, 1, status),
            outcome(3.0, 8.0, 2, status),
            outcome(6.0, 8.0, 3),
            lambda request: Outcome(request.best_hint, 5.0, Status.OPTIMAL, 1),
            outcome(4.0, 4.0, 4),
        ]
    )
    found = run(stages, [2, 2, 2, 2])
    assert variances(found) == [9.0, 6.0, 5.0, 4.0]
    assert uppers(found) == [9.0, 8.0, 5.0, 4.0]
    assert found.components[1].vector.tolist() == unit(3).tolist()
    assert [c.status for c in found.components] == [
        Status.OPTIMAL,
        status,
        Status.OPTIMAL,
        Status.OPTIMAL,
    ]
    # Both components that had to go were hints of the stage that came next.
    assert [hint.value for hint in stages.asked[4].hints] == [5.0, 3.0]
    assert stages.asked[4].previous.T.tolist() == [unit(0).tolist(), unit(3).tolist()]
    # One of them was taken: the other is one still.
    assert [hint.value for hint in stages.asked[5].hints] == [3.0]
    assert found.guarantee == pytest.approx(3.0)


def test_an_exchange_may_close_a_stage() -> None:
    """Tests that the status follows the component that was taken."""
    stages = Scripted(
        [outcome(5.0, 6.0, 0, Status.TIME_LIMIT), outcome(6.0, 6.0, 1), outcome(5.0, 5.5, 0)]
    )
    found = run(stages, [2, 2])
    assert variances(found) == [6.0, 5.0]
    assert [c.status for c in found.components] == [Status.OPTIMAL, Status.PRECISION]


@pytest.mark.parametrize(
    ("status", "limits"),
    [
        (Status.OPTIMAL, [2, 2]),
        (Status.PRECISION, [2, 2]),
        (Status.INTERRUPTED, [2, 2]),
        (Status.TIME_LIMIT, [1, 2]),
    ],
)
def test_what_is_not_open_or_has_fewer_places_is_left_alone(
    status: Status, limits: list[int]
) -> None:
    """Tests larger components that do not move."""
    stages = Scripted([outcome(5.0, 5.0 + 1e-9, 0, status), outcome(5.1, 7.0, 1)])
    if status is Status.TIME_LIMIT:
        stages = Scripted([outcome(5.0, 8.0, 0, status), outcome(5.1, 7.0, (1, 2))])
    found = run(stages, limits)
    assert variances(found) == [5.0, 5.1]
    assert len(stages.asked) == 2


def test_equal_components_do_not_move() -> None:
    """Tests that an exchange needs more variance, not as much."""
    stages = Scripted([outcome(5.0, 8.0, 0, Status.TIME_LIMIT), outcome(5.0, 8.0, 1)])
    assert len(run(stages, [2, 2]).components) == 2
    assert len(stages.asked) == 2


def test_exchanges_come_to_an_end() -> None:
    """Tests stages that find something better each time, for ever."""
    values = iter(range(1, 10**6))

    def solve(request: Request) -> Outcome:
        value = float(next(values))
        return outcome(value, 1e9, int(value) % N, Status.TIME_LIMIT)

    for count in (2, 3, 4):
        stages = Scripted([solve] * 1000)
        assert len(run(stages, [2] * count).components) == count
        assert len(stages.asked) <= count**2 * (count - 1) + count


def test_hints_that_are_not_feasible_are_not_used() -> None:
    """Tests vectors that had to go: with too many loadings, or not orthogonal to what was taken."""
    three, oblique = unit(1, 2, 3), unit(4, 5)
    stages = Scripted(
        [
            outcome(5.0, 9.0, 0, Status.TIME_LIMIT),
            Outcome(Candidate(4.0, three), 9.0, Status.TIME_LIMIT, 1),
            Outcome(Candidate(3.0, oblique), 9.0, Status.TIME_LIMIT, 1),
            # Orthogonal to the first component, but not to the third, which will go.
            outcome(6.0, 9.0, 5, Status.TIME_LIMIT),
            NOTHING,
        ]
    )
    run(stages, [3, 3, 2, 2, 2])
    last = stages.asked[4]
    assert last.previous.T.tolist() == [unit(5).tolist()]
    # Now with three places; the oblique one is not orthogonal to what was taken.
    assert [hint.value for hint in last.hints] == [5.0, 4.0]
    assert np.abs(last.previous.T @ np.array([h.vector for h in last.hints]).T).max() <= 1e-12
    stages = Scripted(
        [
            outcome(5.0, 9.0, 0, Status.TIME_LIMIT),
            Outcome(Candidate(4.0, three), 9.0, Status.TIME_LIMIT, 1),
            outcome(6.0, 9.0, 5, Status.TIME_LIMIT),
            outcome(5.0, 5.0, 0),
            NOTHING,
        ]
    )
    run(stages, [3, 3, 2])
    assert [hint.value for hint in stages.asked[3].hints] == [5.0, 4.0]
    # With two places a vector of three loadings is of no use.
    assert stages.asked[4].sparsity == 2
    assert [hint.value for hint in stages.asked[4].hints] == []


def test_orthogonal_up_to_rounding_is_orthogonal() -> None:
    """Tests the edge of what a hint may have of a component."""
    for part, used in ((9e-13, True), (1.1e-12, False)):
        tilted = unit(1)
        tilted[5] = part
        stages = Scripted(
            [
                Outcome(Candidate(5.0, tilted), 9.0, Status.TIME_LIMIT, 1),
                outcome(6.0, 9.0, 5, Status.TIME_LIMIT),
                NOTHING,
            ]
        )
        run(stages, [2, 2])
        assert bool(stages.asked[2].hints) == used


def test_bounds_that_a_later_component_exceeds_are_raised() -> None:
    """Tests that no bound is below a component that is feasible there, up to rounding."""
    more = 5.0 * (1 + 2.0**-50)
    stages = Scripted(
        [
            outcome(7.0, 7.0, 0),
            outcome(5.0, 5.0, 1),
            outcome(4.0, 4.0, 2),
            outcome(more, more, (3, 4)),
        ]
    )
    found = run(stages, [2, 2, 1, 2], gap=0.0)
    # The third stage has fewer places: the last component is not feasible there.
    assert uppers(found) == [7.0, more, 4.0, more]
    assert [c.status for c in found.components] == [
        Status.OPTIMAL,
        Status.PRECISION,
        Status.OPTIMAL,
        Status.OPTIMAL,
    ]
    assert found.status is Status.PRECISION


def test_a_bound_is_not_below_its_own_component() -> None:
    """Tests a cap that rounding has left below what was found."""
    found = run(Scripted([outcome(5.0, 4.0, 0)]), [2])
    assert uppers(found) == [5.0]


def test_rungs_of_a_stage_cap_those_of_the_next() -> None:
    """Tests that what is proved for each sparsity is handed on, after an exchange too."""
    first = tuple(Rung(s, Candidate(float(s), unit(*range(s))), s + 0.5) for s in (1, 2, 3))
    second = tuple(Rung(s, None, s + 0.25) for s in (1, 2, 3))
    stages = Scripted(
        [
            outcome(3.0, 3.5, (0, 1, 2), Status.TIME_LIMIT, first),
            outcome(2.0, 3.25, 4, Status.TIME_LIMIT, second),
            outcome(2.5, 3.25, 5, Status.TIME_LIMIT),
            outcome(2.2, 2.2, 6, rungs=second),
            NOTHING,
        ]
    )
    found = run(stages, [3, 3, 3, 3])
    assert stages.asked[0].caps == ()
    assert stages.asked[1].caps == (1.5, 2.5, 3.5)
    assert stages.asked[2].caps == (1.25, 2.25, 3.25)
    # The second component was replaced: what was proved of its stage is about the first one only.
    assert stages.asked[3].caps == (1.25, 2.25, 3.25)
    assert stages.asked[4].caps == (1.25, 2.25, 3.25)
    # The path is that of the first component.
    assert [(c.variance, c.upper_bound) for c in found.path] == [(1.0, 1.5), (2.0, 2.5), (3.0, 3.5)]
    assert all(c.status is Status.WORK_LIMIT for c in found.path)
    assert found.exhausted


def test_known_components_count() -> None:
    """Tests that components known beforehand cap what follows, and are not solved again."""
    known = Component(unit(0), 5.0, 6.0, Status.TIME_LIMIT)
    stages = Scripted([outcome(4.0, 9.0, 1)])
    found = run(stages, [2, 2], known=(known,))
    assert stages.asked[0].cap == 6.0
    assert stages.asked[0].previous.T.tolist() == [unit(0).tolist()]
    assert uppers(found) == [6.0, 6.0]
    assert found.guarantee >= 2.0


def test_the_best_hint_is_the_largest() -> None:
    """Tests what a stage begins with."""
    hints = tuple(Candidate(value, unit(0)) for value in (1.0, 3.0, 2.0))
    assert Request(2, np.zeros((N, 0)), hints=hints).best_hint is hints[1]
    assert Request(2, np.zeros((N, 0))).best_hint is None


class Leaving(Watch):
    """A watch whose limit leaves time for so many more attempts when all stages have ended."""

    def __init__(self, attempts: int) -> None:
        super().__init__(time_limit=1000.0)
        self.attempts = attempts
        self.resumption: list[tuple[int, int]] = []
        leaves = type("Some", (type(self.clock),), {"leaves_some": property(lambda _: self.left)})
        self.clock.__class__ = leaves

    @property
    def left(self) -> bool:
        self.attempts -= 1
        return self.attempts >= 0

    def begin_stage(self, stage: int, stages_left: int) -> None:
        self.resumption.append((stage, stages_left))
        super().begin_stage(stage, stages_left)


def test_time_that_is_left_goes_to_the_stages_that_were_stopped() -> None:
    """Tests that no stage stays stopped for want of time while there is some."""
    stages = Scripted(
        [
            outcome(9.0, 9.0, 0),
            outcome(5.0, 8.0, 1, Status.TIME_LIMIT),
            outcome(4.0, 8.0, 2, Status.TIME_LIMIT),
            outcome(5.0, 5.0, 1),
            outcome(4.0, 4.0, 2),
        ]
    )
    watch = Leaving(9)
    found = run_stages(stages, [2, 2, 2], Tolerance(0.0, 1e-6), watch)
    assert found.status is Status.OPTIMAL
    assert uppers(found) == [9.0, 5.0, 4.0]
    # Two were stopped, and then one; each is asked again with what it has found.
    assert watch.resumption == [(0, 3), (1, 2), (2, 1), (1, 2), (2, 1)]
    assert [hint.value for hint in stages.asked[3].hints] == [5.0, 4.0]
    assert stages.asked[4].cap == 5.0


def test_a_better_component_of_another_attempt_displaces_the_later_ones() -> None:
    """Tests that later stages are solved anew, with hints, and a worse bound is not taken."""
    stages = Scripted(
        [
            outcome(5.0, 8.0, 1, Status.TIME_LIMIT),
            outcome(4.0, 4.0, 2),
            outcome(6.0, 9.0, 3, Status.TIME_LIMIT),
            lambda request: outcome(5.0, 5.0, 1),
        ]
    )
    found = run_stages(stages, [2, 2], Tolerance(0.0, 1e-6), Leaving(1))
    assert variances(found) == [6.0, 5.0]
    assert uppers(found) == [8.0, 5.0]
    assert found.status is Status.TIME_LIMIT
    assert [hint.value for hint in stages.asked[3].hints] == [4.0]


def test_nothing_is_tried_again_without_a_limit_or_an_open_stage() -> None:
    """Tests that a stage ended by something else than time is not solved twice."""
    script = [outcome(5.0, 8.0, 1, Status.NODE_LIMIT), outcome(4.0, 4.0, 2)]
    found = run_stages(Scripted(script), [2, 2], Tolerance(0.0, 1e-6), Leaving(5))
    assert found.status is Status.NODE_LIMIT
    script = [outcome(5.0, 8.0, 1, Status.TIME_LIMIT), outcome(4.0, 4.0, 2)]
    assert run(Scripted(script), [2, 2]).status is Status.TIME_LIMIT
