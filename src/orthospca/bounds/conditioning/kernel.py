"""What one step rules out, compiled: the rules of :mod:`orthospca.bounds.conditioning.step`.

They are written out in scalars and work on small matrices without any call.  The rest of the walk
is the same whether this is there or not.

``docs/theory/conditioning.md`` has the error analysis.  It allows sums in any order, and nothing
else that is not IEEE arithmetic: ``fastmath`` stays off but for the order of one sum.
"""

from __future__ import annotations

import math
from typing import Any

from numba import njit

from orthospca.bounds.conditioning.compiled import NUMBERS, PLACES

UNIT = 2.0**-53
SMALLEST_WEIGHT = 1e-9
#: Costs that differ by less count as equal, and the first of them is the dearest.
ALIKE = 1e-9
#: Times that a row is split at most.
MOST_SPLITS = 64
#: Where the largest of a row end is first looked for below the guess, then lower, so many times.
BELOW_GUESS, LOWER, MOST_GUESSES = 0.9, 0.7, 12

#: Only what Python calls is kept on disk; the others become part of it.
part = njit(nogil=True, error_model="numpy")


@part
def _rel(operations: int) -> float:
    return 2.0 * (operations + 4) * UNIT


@njit(nogil=True, error_model="numpy", fastmath={"reassoc", "nsz"})
def _sum_above(row: Any, limit: float) -> float:
    """The sum of what exceeds a limit, in any order: the one place where that is left open."""
    total = 0.0
    for i in range(len(row)):
        total += row[i] if row[i] > limit else 0.0
    return total


@part
def _count_above(row: Any, limit: float) -> int:
    """How many exceed a limit."""
    total = 0
    for i in range(len(row)):
        total += row[i] > limit
    return total


@part
def _largest(row: Any, count: int, guess: float, space: Any) -> tuple[float, float, float]:
    """A bound on the sum of the ``count`` largest of some numbers ≥ 0, and where these end.

    The few above a value that is low enough are put aside, and split at a value in between, and
    again, until ``count`` are above it.  ``count`` is at least 1 and less than the number of all.

    Parameters
    ----------
    row : array
    count : int
    guess : float
        Where they may end; whatever it is worth, the result is the same.
    space : array
        To work with, as long as the row.

    Returns
    -------
    total : float
        Their sum; a bound on it where several are so much alike that no value is in between.
    low, high : float
        Equal if the value is in between; else those that are alike are between the two.
    """
    low = BELOW_GUESS * guess
    found = _count_above(row, low)
    for _ in range(MOST_GUESSES):
        if found >= count:
            break
        low *= LOWER
        found = _count_above(row, low)
    if found == count:
        return _sum_above(row, low), low, low
    if found < count:
        # Rows may differ in size by any factor, and a feature that is constant has one of zeros.
        low = -1.0
    above, high, more = 0, 0.0, 0
    for i in range(len(row)):
        value = row[i]
        space[more] = value
        more += value > low
        high = value if value > high else high
    if not high > 0.0:
        return 0.0, low, high
    few = space[:more]
    for _ in range(MOST_SPLITS):
        middle = 0.5 * (low + high) if low > 0.0 else 0.5 * high
        exceed = _count_above(few, middle)
        if exceed == count:
            return _sum_above(few, middle), middle, middle
        if exceed < count:
            high, above = middle, exceed
        else:
            low = middle
    return _sum_above(few, high) + (count - above) * high, low, high


@part
def _edges(row: Any, low: float, high: float) -> tuple[float, float]:
    """The smallest number of a sum of the largest and the next one, or bounds on them.

    What is taken for the smallest is not larger, and what is taken for the next not smaller.
    """
    if low < high:
        return (low if low > 0.0 else 0.0), high
    last, following = math.inf, 0.0
    for i in range(len(row)):
        above = row[i] if row[i] > low else math.inf
        other = 0.0 if row[i] > low else row[i]
        last = above if above < last else last
        following = other if other > following else following
    return last, following


@part
def _squeeze(W: Any, costs: Any, act: Any, sel: Any, kept: int) -> None:
    """Keep some rows and columns, in ascending order."""
    for a in range(kept):
        source, target = W[sel[a]], W[a]
        for b in range(kept):
            target[b] = source[sel[b]]
        act[a], costs[a] = act[sel[a]], costs[sel[a]]


@njit(cache=True, nogil=True, error_model="numpy")
def eliminate(
    matrix: Any, roots: Any, room: int, rounds: int, W: Any, numbers: Any, places: Any
) -> tuple[int, int, int]:
    """Rule out by costs and weighted rows; see ``step.by_rules``.

    Parameters
    ----------
    matrix, roots
        As there.
    room : int
        At least 1.
    rounds : int
        Power iterations that the weights are given; 0 to do without weights.
    W, numbers, places : arrays of shape (n, n), (NUMBERS, n) and (PLACES, n)
        To work with.

    Returns
    -------
    kept, forced, branch : int
        How many places are kept, in ``places[0]``; how many of them are forced, in ``places[2]``
        as positions among those kept; and the position of the dearest.
    """
    if numbers.shape[0] < NUMBERS or places.shape[0] < PLACES:
        raise ValueError("too little space to work with")
    costs, weights, sums, lasts = numbers[0], numbers[1], numbers[2], numbers[3]
    nexts, line, rest, space = numbers[4], numbers[5], numbers[6], numbers[7]
    act, sel, out = places[0], places[1], places[2]
    k, forced = len(roots), 0
    for i in range(k):
        act[i] = i
        for j in range(k):
            # Symmetric to the last digit.
            W[i, j] = roots[i] * roots[j] * abs(matrix[i, j])
        W[i, i] = 0.0
    threshold = room / (room - 1.0) * (1.0 - _rel(4 * room * room + 60)) if room > 1 else 0.0
    limit = 1.0 - _rel(8 * room + 60)
    # Where the largest of a row end is much the same from row to row.
    guess, guess_of_costs = 1.0 / room, 1.0
    while k > 1 and room > 1:
        count = room - 1 if room < k else k - 1
        row = line[:k]
        for i in range(k):
            of_W = W[i, :k]
            for j in range(k):
                row[j] = of_W[j] * of_W[j]
            costs[i], _, high = _largest(row, count, guess * guess, space)
            guess = math.sqrt(high) if 0.0 < high < math.inf else guess
        base = 0.0
        if room < k:
            total, low, high = _largest(costs[:k], room, guess_of_costs, space)
            guess_of_costs = high if 0.0 < high < math.inf else guess_of_costs
            base = total - _edges(costs[:k], low, high)[0]
        else:
            total, last = 0.0, costs[0]
            for i in range(k):
                total += costs[i]
                last = costs[i] if costs[i] < last else last
            base = total - last if room == k else total
        before, kept = k, 0
        for i in range(k):
            if total >= threshold and base + costs[i] >= threshold:
                sel[kept] = i
                kept += 1
        if kept < k:
            _squeeze(W, costs, act, sel, kept)
        k = kept
        if k <= 0.95 * before:
            continue
        if rounds == 0:
            break
        count = room - 1 if room < k else k - 1
        row = line[:k]
        closed = False
        for turn in range(rounds):
            top = 0.0
            for i in range(k):
                top = sums[i] if sums[i] > top else top
            for i in range(k):
                weight = sums[i] / top if turn else 1.0
                weights[i] = weight if weight > SMALLEST_WEIGHT else SMALLEST_WEIGHT
            closed = True
            for i in range(k):
                of_W = W[i, :k]
                for j in range(k):
                    row[j] = of_W[j] * weights[j]
                sums[i], low, high = _largest(row, count, guess, space)
                guess = high if 0.0 < high < math.inf else guess
                lasts[i], nexts[i] = low, high
                closed &= sums[i] < limit * weights[i]
            if closed:
                break
        if closed:
            return 0, 0, -1
        error = _rel(count + 4)
        for i in range(k):
            of_W = W[i, :k]
            for j in range(k):
                row[j] = of_W[j] * weights[j]
            lasts[i], nexts[i] = _edges(row, lasts[i], nexts[i])
            others = sums[i] - lasts[i]
            rest[i] = (others if others > 0.0 else 0.0) + error * sums[i]
        before, kept, forced = k, 0, 0
        for j in range(k):
            of_W = W[j, :k]
            own = sums[j] / limit * (1.0 + _rel(4))
            stays, must = False, True
            for i in range(k):
                if i == j:
                    continue
                stays |= not rest[i] + of_W[i] * own < limit * weights[i]
                product, without = of_W[i] * weights[j], sums[i]
                if product >= lasts[i]:
                    without -= product - nexts[i]
                must &= without + error * sums[i] < limit * weights[i]
                if stays and not must:
                    break
            if stays:
                if must:
                    out[forced] = kept
                    forced += 1
                sel[kept] = j
                kept += 1
        if kept < k:
            _squeeze(W, costs, act, sel, kept)
        k = kept
        if forced or k > 0.9 * before:
            break
    if k <= 1 or room <= 1:
        return 0, 0, -1
    branch = 0
    for i in range(1, k):
        if costs[i] > costs[branch]:
            branch = i
    dearest = costs[branch] * (1.0 - ALIKE)
    for i in range(k):
        if costs[i] >= dearest:
            branch = i
            break
    return k, forced, branch
