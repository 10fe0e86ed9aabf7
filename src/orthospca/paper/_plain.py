"""Algorithm 1 as one writes it first: a loop over the supports, an eigenvalue problem for each.

It is the yardstick for the speed of everything else, and shares no code with it.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable

import numpy as np

from orthospca._typing import Array

#: Sequences with at most so many supports are run in full.
SMALL = 30_000


def best_on(Q: Array, previous: Array, support: tuple[int, ...]) -> float:
    """The largest eigenvalue on a support, orthogonal to the previous components (rows)."""
    rows = list(support)
    block = Q[np.ix_(rows, rows)]
    if len(previous):
        _, values, right = np.linalg.svd(previous[:, rows])
        rank = int((values > 1e-9).sum())
        basis = right[rank:].T
        if not basis.shape[1]:
            return -math.inf
        block = basis.T @ block @ basis
    return float(np.linalg.eigvalsh(block)[-1])


def time_plain(
    Q: Array,
    sparsity: int,
    components: Array,
    stages: int,
    sample: int,
    repeats: int = 1,
    small: int = SMALL,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, bool]:
    """Seconds of the plain loop over all stages of a sequence, and whether they are extrapolated.

    Parameters
    ----------
    Q : array of shape (n, n)
    sparsity : int
    components : array of shape (K, n)
        The sequence, which the loop need not find again.
    stages : int
        K, or K + 1 where the last stage is the proof that no further component exists.
    sample : int
        Supports timed in each stage, chosen at random, if there are too many to time all.
    repeats : int
        The shortest of so many times counts, as it does for the methods that are compared: a loop
        timed once would be slowed down by other programs, and every method look faster for it.
    small : int
        Up to so many supports in all, each is timed.
    clock : callable
    """
    n = len(Q)
    count = math.comb(n, sparsity)
    in_full = count * stages <= small
    rng = np.random.default_rng(0)
    seconds = 0.0
    for k in range(stages):
        if in_full:
            chosen = list(itertools.combinations(range(n), sparsity))
        else:
            draws = (rng.choice(n, sparsity, replace=False) for _ in range(sample))
            chosen = [tuple(sorted(draw.tolist())) for draw in draws]
        shortest = min(_time_loop(Q, components[:k], chosen, clock) for _ in range(repeats))
        seconds += shortest * count / len(chosen)
    return seconds, not in_full


def _time_loop(
    Q: Array, previous: Array, supports: list[tuple[int, ...]], clock: Callable[[], float]
) -> float:
    started = clock()
    best = -math.inf
    for support in supports:
        best = max(best, best_on(Q, previous, support))
    return clock() - started
