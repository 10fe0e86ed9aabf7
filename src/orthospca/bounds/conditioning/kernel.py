"""The conditioned walk as one compiled loop.

It takes the same steps as :mod:`orthospca.bounds.conditioning.step`, written out in scalars: what
the included features add to the form is kept, and added to when another one is included; features
that are ruled out leave the matrices; nothing is allocated on the way.  All state is in arrays that
the caller owns, so that the loop can stop between any two steps and go on later.

``docs/theory/conditioning.md`` has the error analysis.  It allows sums in any order, and nothing
else that is not IEEE arithmetic: ``fastmath`` stays off but for the order of one sum.
"""

from __future__ import annotations

import math
from typing import Any

from numba import njit

UNIT = 2.0**-53
TINY = 1e-290
SMALLEST_WEIGHT = 1e-9

#: Why the loop has stopped: nothing is left; it was to pause; an array is full; the form with the
#: next penalty is needed; a support of the next node is not below the level, as far as can be told.
DONE, PAUSED, FULL, WANTING, STUCK = range(5)
#: Places in the array of integers that describe the state.
SLOT, STEPS, REMOVED, FORCED = range(4)
#: What is kept of a slot: its features, the order of its matrix when that was laid out (0 if there
#: is none), where that and the features begin, how many features are inside, and which penalty.
COUNT, ORDER, MATRIX, FEATURES, INSIDE, PENALTY = range(6)
#: Arrays of numbers, of places and matrices to work with, as multiples of the features.
NUMBERS, PLACES = 9, 3
#: Times that a row is split at most.
MOST_SPLITS = 64

compiled = njit(cache=True, nogil=True, error_model="numpy")


@njit(inline="always")
def _rel(operations: int) -> float:
    return 2.0 * (operations + 4) * UNIT


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "nsz"})
def _sum_above(row: Any, n: int, limit: float) -> float:
    """The sum of what exceeds a limit, in any order: the one place where that is left open."""
    total = 0.0
    for i in range(n):
        total += row[i] if row[i] > limit else 0.0
    return total


@compiled
def _largest(row: Any, n: int, count: int, guess: float) -> tuple[float, float, float]:
    """A bound on the sum of the ``count`` largest of n numbers ≥ 0, and where these end.

    The numbers are split at a value, and again, until ``count`` are above it: comparing and
    counting is what a processor does several at a time.  ``count`` is at least 1 and less than n.

    Returns
    -------
    total : float
        Their sum; a bound on it where several are so much alike that no value is in between.
    low, high : float
        Equal if the value is in between; else those that are alike are between the two.
    """
    low, high, middle, above = -1.0, math.inf, guess, 0
    for _ in range(MOST_SPLITS):
        found = 0
        for i in range(n):
            found += row[i] > middle
        if found == count:
            return _sum_above(row, n, middle), middle, middle
        if found < count:
            high, above = middle, found
            middle = 0.5 * middle if low < 0.0 else 0.5 * (low + high)
        else:
            low = middle
            middle = 2.0 * middle if high == math.inf else 0.5 * (low + high)
    if high == math.inf:
        return math.inf, low, high
    return _sum_above(row, n, high) + (count - above) * high, low, high


@compiled
def _edges(row: Any, n: int, low: float, high: float) -> tuple[float, float]:
    """The smallest number of a sum of the largest and the next one, or bounds on them.

    What is taken for the smallest is not larger, and what is taken for the next not smaller.
    """
    if low < high:
        return max(low, 0.0), high
    last, following = math.inf, 0.0
    for i in range(n):
        value = row[i]
        if value > low:
            last = min(last, value)
        else:
            following = max(following, value)
    return last, following


@compiled
def _is_definite(B: Any, at: int, order: int, chosen: Any, n: int, d: Any, C: Any, c: Any) -> bool:
    """Whether ``diag(d) - B`` on some places is proved positive definite (Rump)."""
    trace = 0.0
    for i in range(n):
        trace += d[chosen[i]]
        if not d[chosen[i]] >= 0.0:
            return False
    shift = 1.01 * (n + 4) * UNIT * trace + TINY
    if not math.isfinite(trace) or 3 * (n + 4) * UNIT >= 1:
        return False
    for i in range(n):
        row = at + chosen[i] * order
        for j in range(i):
            C[i * n + j] = -B[row + chosen[j]]
        C[i * n + i] = d[chosen[i]] - shift
    for k in range(n):
        pivot = C[k * n + k]
        if not (pivot > 0.0 and pivot < math.inf):
            return False
        root = math.sqrt(pivot)
        for i in range(k + 1, n):
            c[i] = C[i * n + k] / root
        for i in range(k + 1, n):
            factor = c[i]
            # Views, whose places begin at 0: the compiler then takes several at a time.
            row_of_C, part = C[i * n + k + 1 : i * n + i + 1], c[k + 1 : i + 1]
            for j in range(len(part)):
                row_of_C[j] -= factor * part[j]
    return True


@compiled
def _are_below(
    B: Any, at: int, order: int, n: int, size: int, d: Any, chosen: Any, C: Any, c: Any
) -> bool:
    """Whether every choice of ``size`` of the first n places is proved positive definite."""
    for i in range(size):
        chosen[i] = i
    while True:
        if not _is_definite(B, at, order, chosen, size, d, C, c):
            return False
        i = size - 1
        while i >= 0 and chosen[i] == n - size + i:
            i -= 1
        if i < 0:
            return True
        chosen[i] += 1
        for j in range(i + 1, size):
            chosen[j] = chosen[j - 1] + 1


@compiled
def _choices(n: int, size: int, most: int) -> int:
    """``n`` over ``size``, or ``most + 1`` if that is more."""
    size = min(size, n - size)
    count = 1
    for i in range(size):
        count = count * (n - i) // (i + 1)
        if count > most:
            return most + 1
    return count


@compiled
def _squeeze(matrix: Any, at: int, order: int, kept: Any, k: int) -> None:
    """Keep some rows and columns, in ascending order, and lay them out anew."""
    for a in range(k):
        row, there = at + kept[a] * order, at + a * k
        for b in range(k):
            matrix[there + b] = matrix[row + kept[b]]


@compiled
def _add(B: Any, at: int, order: int, n: int, place: int, level: float, h: Any, there: int) -> None:
    """Lay out the form of all features but one, with what that one adds to it; here or there."""
    row = B[at + place * order : at + place * order + n]
    root = math.sqrt(level - row[place])
    for i in range(n):
        h[i] = row[i] / root
    to = there
    for i in range(n):
        if i == place:
            continue
        factor = h[i]
        row, target = B[at + i * order : at + i * order + n], B[to : to + n - 1]
        for j in range(place):
            target[j] = row[j] + factor * h[j]
        row, target, part = row[place + 1 :], target[place:], h[place + 1 : n]
        for j in range(len(part)):
            target[j] = row[j] + factor * part[j]
        to += n - 1


@compiled
def _lay_out(
    form: Any, B: Any, at: int, inside: Any, fin: int, ids: Any, n: int, level: float, h: Any
) -> int:
    """Lay out the form of some features with what those inside add to it; the order, or -1.

    It is -1 if what is inside is not below the level, as far as can be told.
    """
    order = fin + n
    for i in range(order):
        row = form[inside[i] if i < fin else ids[i - fin]]
        target = B[at + i * order : at + (i + 1) * order]
        for j in range(fin):
            target[j] = row[inside[j]]
        for j in range(n):
            target[fin + j] = row[ids[j]]
    for _ in range(fin):
        if not level - B[at] > 0.0:
            return -1
        _add(B, at, order, order, 0, level, h, at)
        order -= 1
    return order


@compiled
def _eliminate(
    n: int, room: int, mags: Any, act: Any, sel: Any, out: Any, numbers: Any, tuning: Any
) -> tuple[int, int, int]:
    """Rule out by costs and weighted rows; see ``Frame.eliminate``.

    Returns
    -------
    kept, forced, branch : int
        How many places are kept, in ``act``, how many of them are forced, in ``out``, and which of
        those kept is the dearest.
    """
    m = len(numbers) // NUMBERS
    costs, weights, sums = numbers[:m], numbers[m : 2 * m], numbers[2 * m : 3 * m]
    lasts, nexts = numbers[3 * m : 4 * m], numbers[4 * m : 5 * m]
    row, rest = numbers[5 * m : 6 * m], numbers[6 * m : 7 * m]
    weight_rounds, largest_weighted = tuning[2], tuning[3]
    threshold = room / max(room - 1, 1) * (1.0 - _rel(4 * room * room + 60))
    limit = 1.0 - _rel(8 * room + 60)
    k, width = n, n
    # Where the largest of a row end is much the same from row to row.
    guess, guess_of_costs = 1.0 / room, 1.0
    while k > 1 and room > 1:
        count = min(room - 1, k - 1)
        for i in range(k):
            of_W = mags[i * width : i * width + k]
            for j in range(k):
                row[j] = of_W[j] * of_W[j]
            costs[i], _, high = _largest(row, k, count, guess * guess)
            guess = math.sqrt(high) if 0.0 < high < math.inf else guess
        base = 0.0
        if room < k:
            total, low, high = _largest(costs, k, room, guess_of_costs)
            guess_of_costs = high if 0.0 < high < math.inf else guess_of_costs
            base = total - _edges(costs, k, low, high)[0]
        else:
            total, last = 0.0, costs[0]
            for i in range(k):
                total, last = total + costs[i], min(last, costs[i])
            base = total - last if room == k else total
        before, kept = k, 0
        for i in range(k):
            if min(total, base + costs[i]) >= threshold:
                sel[kept] = i
                kept += 1
        if kept < k:
            _squeeze(mags, 0, width, sel, kept)
            width = kept
            for a in range(kept):
                act[a], costs[a] = act[sel[a]], costs[sel[a]]
        k = kept
        if k <= 0.95 * before:
            continue
        forced = 0
        if k <= largest_weighted:
            count = min(room - 1, k - 1)
            for i in range(k):
                weights[i] = 1.0
            closed = False
            for turn in range(weight_rounds):
                if turn:
                    top = 0.0
                    for i in range(k):
                        top = max(top, sums[i])
                    for i in range(k):
                        weights[i] = max(sums[i] / top, SMALLEST_WEIGHT)
                closed = True
                for i in range(k):
                    of_W = mags[i * width : i * width + k]
                    for j in range(k):
                        row[j] = of_W[j] * weights[j]
                    sums[i], lasts[i], nexts[i] = _largest(row, k, count, guess)
                    guess = nexts[i] if 0.0 < nexts[i] < math.inf else guess
                    if not sums[i] < limit * weights[i]:
                        closed = False
                if closed:
                    break
            if closed:
                return 0, 0, -1
            error = _rel(count + 4)
            for i in range(k):
                of_W = mags[i * width : i * width + k]
                for j in range(k):
                    row[j] = of_W[j] * weights[j]
                lasts[i], nexts[i] = _edges(row, k, lasts[i], nexts[i])
                rest[i] = max(sums[i] - lasts[i], 0.0) + error * sums[i]
            kept = 0
            for j in range(k):
                own = sums[j] / limit * (1.0 + _rel(4))
                at, stays = j * width, False
                for i in range(k):
                    if i != j and not rest[i] + mags[at + i] * own < limit * weights[i]:
                        stays = True
                        break
                if not stays:
                    continue
                must = True
                for i in range(k):
                    if i == j:
                        continue
                    product, without = mags[at + i] * weights[j], sums[i]
                    if product >= lasts[i]:
                        without -= product - nexts[i]
                    if not without + error * sums[i] < limit * weights[i]:
                        must = False
                        break
                if must:
                    out[forced] = kept
                    forced += 1
                sel[kept] = j
                kept += 1
            before = k
            if kept < k:
                _squeeze(mags, 0, width, sel, kept)
                width = kept
                for a in range(kept):
                    act[a], costs[a] = act[sel[a]], costs[sel[a]]
            k = kept
            if not (forced or k > 0.9 * before):
                continue
        if k == 0:
            return 0, 0, -1
        branch = 0
        for i in range(1, k):
            if costs[i] > costs[branch]:
                branch = i
        return k, forced, branch
    return 0, 0, -1


@compiled
def walk(
    forms: Any,
    levels: Any,
    most: int,
    B: Any,
    ids: Any,
    slots: Any,
    inside: Any,
    state: Any,
    effort: Any,
    sparsity: int,
    tuning: Any,
    record: Any,
    mags: Any,
    numbers: Any,
    places: Any,
    quantum: int,
) -> int:
    """Walk until nothing is left, or for one of the other reasons to stop.

    Parameters
    ----------
    forms : array of shape (·, m, m)
        The form with each penalty that has been needed so far.
    levels : array
        Lowered as for the frame of each.
    most : int
        How many penalties there are.
    B : array
        The matrices of all slots, one after the other.
    ids : integer array
        The features of all slots, one after the other, as places in the forms.
    slots : integer array of shape (p + 2, 6)
    inside : integer array
        The features inside, in the order of their inclusion.
    state : integer array
        Which slot is next, and how much has been recorded.
    effort : array of one number
        What the steps have cost so far.
    sparsity : int
    tuning : tuple of int
        Supports tested one by one, share of free features tried together, weight rounds, features
        up to which weights are tried, and those up to which all steps cost the same.
    record : tuple of integer arrays
        Branches; removed features and where those of each step end; forced ones likewise.
    mags, numbers, places : arrays
        To work with, for m features: of m², ``NUMBERS * m`` and ``PLACES * m`` entries.
    quantum : int
        Steps after which to pause.
    """
    steps, removed, removed_ends, forced, forced_ends = record
    m = len(places) // PLACES
    act, sel, out = places[:m], places[m : 2 * m], places[2 * m :]
    # The room that is left is needed before what a feature adds is.
    roots, h = numbers[7 * m : 8 * m], numbers[8 * m :]
    d = h
    taken = 0
    while state[SLOT] >= 0:
        slot, step = state[SLOT], state[STEPS]
        n, order, at = slots[slot, COUNT], slots[slot, ORDER], slots[slot, MATRIX]
        first, fin, penalty = slots[slot, FEATURES], slots[slot, INSIDE], slots[slot, PENALTY]
        if (
            step >= len(steps)
            or state[REMOVED] + n > len(removed)
            or state[FORCED] + n > len(forced)
            or at + max(order * order, (n + fin) * (n + fin)) + n * n > len(B)
            or first + 2 * n > len(ids)
        ):
            return FULL
        if taken >= quantum:
            return PAUSED
        room, level = sparsity - fin, levels[penalty]
        size = min(room, n)
        tested = _choices(n, size, tuning[0]) <= tuning[0]
        good = order >= 0
        if good:
            for i in range(n):
                d[i] = level - B[at + i * order + i]
                good &= tested | (d[i] > 0.0)
        if good and tested and size > 0:
            good = _are_below(B, at, order, n, size, d, sel, mags, roots)
        if not good:
            penalty += 1
            if penalty >= most:
                return STUCK
            if penalty >= len(forms):
                return WANTING
            order = _lay_out(forms[penalty], B, at, inside, fin, ids[first:], n, levels[penalty], h)
            slots[slot, PENALTY], slots[slot, ORDER] = penalty, order
            continue
        kept, n_forced, branch = 0, 0, -1
        if not tested:
            for i in range(n):
                act[i] = i
            if not (n <= tuning[1] * room and _is_definite(B, at, order, act, n, d, mags, roots)):
                for i in range(n):
                    roots[i] = 1.0 / math.sqrt(d[i])
                for i in range(n):
                    factor = roots[i]
                    row, of_W = B[at + i * order : at + i * order + n], mags[i * n : i * n + n]
                    for j in range(n):
                        of_W[j] = math.fabs(row[j] * (factor * roots[j]))
                    of_W[i] = 0.0
                kept, n_forced, branch = _eliminate(n, room, mags, act, sel, out, numbers, tuning)
        taken += 1
        effort[0] += max(n / tuning[4], 1.0) ** 1.6
        # The record: what is gone, and what is forced.
        gone, must = state[REMOVED], state[FORCED]
        if not tested:
            a = 0
            for i in range(n):
                if a < kept and act[a] == i:
                    a += 1
                else:
                    removed[gone] = ids[first + i]
                    gone += 1
            for a in range(n_forced):
                forced[must] = ids[first + act[out[a]]]
                must += 1
        steps[step], removed_ends[step], forced_ends[step] = -1, gone, must
        state[STEPS], state[REMOVED], state[FORCED] = step + 1, gone, must
        if kept == 0 or n_forced > room:
            state[SLOT] = slot - 1
            continue
        if kept < n or order > n:
            _squeeze(B, at, order, act, kept)
            for a in range(kept):
                ids[first + a] = ids[first + act[a]]
            n, order = kept, kept
        if n_forced:
            # From the last one on, so that the others stay where they are.
            for a in range(n_forced - 1, -1, -1):
                place = out[a]
                inside[fin] = ids[first + place]
                fin += 1
                if order >= 0 and level - B[at + place * order + place] > 0.0:
                    _add(B, at, order, n, place, level, h, at)
                    order = n - 1
                else:
                    # What is inside is not below the level, as far as can be told.
                    order = -1
                n -= 1
                for i in range(place, n):
                    ids[first + i] = ids[first + i + 1]
            slots[slot, COUNT], slots[slot, ORDER], slots[slot, INSIDE] = n, order, fin
            continue
        # The others, in a slot of their own with the branch inside, and here without it.
        steps[step] = ids[first + branch]
        inside[fin] = ids[first + branch]
        following, there = slot + 1, at + order * order
        _add(B, at, order, n, branch, level, h, there)
        for i in range(branch, n - 1):
            ids[first + i] = ids[first + i + 1]
        for i in range(n - 1):
            ids[first + n - 1 + i] = ids[first + i]
            act[i] = i if i < branch else i + 1
        _squeeze(B, at, order, act, n - 1)
        slots[slot, COUNT], slots[slot, ORDER] = n - 1, n - 1
        slots[following, COUNT], slots[following, ORDER] = n - 1, n - 1
        slots[following, MATRIX], slots[following, FEATURES] = there, first + n - 1
        slots[following, INSIDE], slots[following, PENALTY] = fin + 1, penalty
        state[SLOT] = following
    return DONE
