"""Tests of clock and journal: what a solve says on the way is ordered, valid and of the whole."""

from __future__ import annotations

import math
import threading
from fractions import Fraction

import numpy as np
import pytest

from helpers.clocks import ticking
from orthospca.model.clock import SMALLEST_SHARE, Clock
from orthospca.model.journal import Journal
from orthospca.model.limits import Watch
from orthospca.model.result import Progress, Status


def test_bounds_only_tighten() -> None:
    """Tests that a worse bound, reported later, is not recorded: what was proved stays proved."""
    rng = np.random.default_rng(0)
    journal = Journal(Clock())
    seen: list[tuple[float, float]] = []
    for nodes in range(200):
        lower, upper = float(rng.uniform(0, 1)), float(rng.uniform(2, 3))
        seen.append((lower, upper))
        assert not journal.tell(journal.record(nodes, 1, lower, upper))
        last = journal.last
        assert last is not None
        assert (last.lower, last.upper) == (max(s[0] for s in seen), min(s[1] for s in seen))
        assert last.nodes == nodes
    # Entries that change no bound replace each other.
    pairs = [(entry.lower, entry.upper) for entry in journal.history]
    assert len(set(pairs)) == len(pairs) < 200


def test_stages_do_not_mix() -> None:
    """Tests that the bounds of one stage say nothing of the next."""
    journal = Journal(Clock())
    journal.begin_stage(0)
    journal.tell(journal.record(5, 2, 3.0, 4.0))
    journal.begin_stage(1)
    assert journal.last is None
    journal.tell(journal.record(0, 1, 1.0, 9.0))
    assert [(e.stage, e.lower, e.upper) for e in journal.history] == [(0, 3.0, 4.0), (1, 1.0, 9.0)]


def test_part_of_a_stage() -> None:
    """Tests that while a part is solved the bounds are of the whole, rounding of the part added."""
    journal = Journal(Clock())
    with journal.of_a_part(2.0, 0.1):
        journal.tell(journal.record(1, 1, 0.5, 7.0))
        assert Fraction(journal.history[-1].upper) >= Fraction(7.0) + Fraction(0.1)
        with journal.of_a_part(3.0, 0.2):
            journal.tell(journal.record(2, 1, 0.5, 5.0))
            exact = Fraction(5.0) + Fraction(0.1) + Fraction(0.2)
            assert exact <= Fraction(journal.history[-1].upper) <= exact + Fraction(1, 10**12)
            journal.tell(journal.record(3, 0, 0.5, 1.0))
            assert journal.history[-1].upper == 3.0
        # The inner part is over: what it proved of the whole stays, and no more.
        journal.tell(journal.record(4, 0, 0.5, 0.5))
        assert journal.history[-1].upper == 2.0
    journal.tell(journal.record(5, 0, 0.5, 0.5))
    assert journal.history[-1].upper == 0.5


def test_part_that_fails() -> None:
    """Tests that a part that ends in an exception leaves nothing behind."""
    journal = Journal(Clock())
    with pytest.raises(KeyboardInterrupt), journal.of_a_part(2.0, 1.0):
        raise KeyboardInterrupt
    journal.tell(journal.record(1, 0, 0.5, 1.0))
    assert journal.history[-1].upper == 1.0


def test_callback_hears_and_may_ask_to_stop() -> None:
    """Tests that each report is told, and that only a true answer asks to stop."""
    heard: list[Progress] = []
    answers = iter([None, False, 0, True])

    def callback(progress: Progress) -> bool | None:
        heard.append(progress)
        return next(answers)

    journal = Journal(Clock(), callback)
    assert [journal.tell(journal.record(k, 1, 0.0, 9.0 - k)) for k in range(4)] == [
        False,
        False,
        False,
        True,
    ]
    assert heard == journal.history


def test_heartbeat_is_of_the_thread_of_the_solve() -> None:
    """Tests that between reports the last entry is told again, by its own thread only."""
    heard: list[Progress] = []
    journal = Journal(Clock(), heard.append, heartbeat=0.0)
    # Nothing is known yet, and that is told: whoever listens may want to stop it.
    assert not journal.keep_in_touch()
    assert (heard[0].lower, heard[0].upper) == (-math.inf, math.inf)
    assert journal.history == []
    heard.clear()
    journal.tell(journal.record(1, 1, 0.0, 1.0))
    journal.keep_in_touch()
    assert len(heard) == 2
    assert (heard[1].lower, heard[1].upper, heard[1].nodes) == (0.0, 1.0, 1)
    assert heard[1].elapsed >= heard[0].elapsed
    assert len(journal.history) == 1
    other = threading.Thread(target=journal.keep_in_touch)
    other.start()
    other.join()
    assert len(heard) == 2
    # Patience: not before the time is up.
    patient = Journal(Clock(), heard.append, heartbeat=1e6)
    patient.tell(patient.record(1, 1, 0.0, 1.0))
    patient.keep_in_touch()
    assert len(heard) == 3


def test_stages_share_the_time() -> None:
    """Tests that a stage gets an equal share of what is left, or two fifths if that is more."""
    for stages_left, share in ((1, 1.0), (2, 0.5), (3, SMALLEST_SHARE), (100, SMALLEST_SHARE)):
        # A second passes with every look.
        with ticking():
            clock = Clock(1000.0)
            clock.begin_stage(stages_left)
            assert clock.seconds_left == share * 999.0 - 1.0
        assert not clock.is_up
    clock = Clock()
    clock.begin_stage(3)
    assert clock.seconds_left == math.inf
    assert not clock.is_up
    clock = Clock(0.0)
    clock.begin_stage(3)
    assert clock.is_up
    assert clock.seconds_left == 0.0
    of_the_stage = clock.stage_elapsed
    assert clock.elapsed >= of_the_stage >= 0.0


def test_verdicts() -> None:
    """Tests why to stop: an interrupt first, then the time, then the nodes."""
    watch = Watch(node_limit=5)
    assert watch.verdict(4) is None
    assert watch.verdict(5) is Status.NODE_LIMIT
    assert not watch.out_of_time()
    late = Watch(time_limit=0.0, node_limit=5)
    late.begin_stage(0, 1)
    assert late.verdict(9) is Status.TIME_LIMIT
    assert late.out_of_time()
    late.interrupted = True
    assert late.verdict(9) is Status.INTERRUPTED
    stopped = Watch(callback=lambda progress: True)
    assert stopped.verdict() is None
    stopped.report(1, 1, 0.0, 1.0)
    assert stopped.verdict() is Status.INTERRUPTED
    assert stopped.out_of_time()
    told = Watch(callback=lambda progress: True)
    told.tell(Progress(0, 1, 1, 0.0, 1.0, 0.0, block=3))
    assert told.interrupted
    assert told.journal.history == []
