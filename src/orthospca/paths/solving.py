"""Variance and certified gap by sparsity, to choose how sparse the components should be.

What is proved for one sparsity is used for the others: see ``links.py``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from orthospca._errors import InputError
from orthospca._methods import Method
from orthospca._typing import Array
from orthospca.blocks.partition import Blocks
from orthospca.data.covariance import DataCovariance
from orthospca.data.problem import read_covariance
from orthospca.facade import solve_with
from orthospca.model.demands import NO_DEMANDS, Demands
from orthospca.model.limits import Watch
from orthospca.model.result import Component, Progress, Result, Status
from orthospca.model.settings import Settings
from orthospca.model.validation import names_of, validate_integer, validate_names
from orthospca.numerics.rounding import add_up
from orthospca.paths.links import Links, at_once, taken_over
from orthospca.paths.result import SparsityPath
from orthospca.routes import formed_if_needed, is_formed
from orthospca.wide.stage import WideProblem

#: A sparsity that was left open is tried again with at least so many times the seconds it had.
SECOND_TRY = 1.5

#: A number, or a range with or without its ends and its step.
RANGE = re.compile(r"\s*([+-]?\d+)?\s*(?:(:)\s*([+-]?\d+)?\s*(?::\s*([+-]?\d+)\s*)?)?")
#: Receives the sparsity being solved and where its search stands; a true answer stops the path.
PathCallback = Callable[[int, Progress], "bool | None"]


def sparsity_path(
    Q: Any,
    sparsities: Iterable[int],
    *,
    n_components: int = 1,
    method: str = "branch-and-bound",
    eps: float = 0.0,
    gap: float = 1e-4,
    threshold: float | str | Blocks = 0.0,
    time_limit: float | None = None,
    node_limit: int | None = None,
    n_jobs: int | None = None,
    random_state: int | None = None,
    callback: PathCallback | None = None,
    feature_names: Sequence[str] | None = None,
    memory_limit: float | str | None = None,
    include: Any = None,
    exclude: Any = None,
    relation: str = "orthogonal",
    previous: Any = None,
    nonnegative: bool = False,
) -> SparsityPath:
    """Solve the problem for several sparsities, from the largest to the smallest.

    The first components of all sparsities are certified on the way to the largest one and not
    searched for again.  What is proved for one sparsity helps the others: a result whose components
    are sparse enough is reused for smaller sparsities, and the bound of each first component is
    tightened by those of all other sparsities.  So ``upper_bounds[:, 0]``, and with one component
    ``variances[:, 0]``, do not decrease with the sparsity.

    Parameters
    ----------
    Q : array-like of shape (n, n), or DataCovariance
        Symmetric: a covariance or correlation matrix.
    sparsities : iterable of int
        Between 1 and n, in any order.
    n_components : int
        Number of components for each sparsity.
    method, eps, gap, threshold, node_limit, n_jobs, random_state
        As in :func:`orthospca.solve`, for each sparsity, without ``"deflation"``, whose bounds are
        not about Q.
    time_limit : float, optional
        Seconds for the whole path.  Each sparsity gets an equal share of the remaining time; time
        left over goes to those that are still open.
    callback : callable, optional
        Called with the sparsity and a ``Progress`` record from time to time; if it returns a true
        value, the path stops.
    feature_names, memory_limit, include, exclude, relation, previous, nonnegative : optional
        As in :func:`orthospca.solve`, for each sparsity.

    Returns
    -------
    SparsityPath
        If Ctrl-C, the callback or the time limit stopped it: with the sparsities reached by then,
        at least the largest.

    Examples
    --------
    >>> from orthospca import datasets, sparsity_path
    >>> path = sparsity_path(datasets.load_pitprops().covariance(), range(1, 14, 3))
    >>> path.sparsities
    (1, 4, 7, 10, 13)
    >>> path.variances[:, 0].round(3)
    array([1.   , 2.937, 3.996, 4.173, 4.219])
    >>> path.status.name
    'OPTIMAL'
    """
    limits = (method, eps, gap, time_limit, node_limit, n_jobs, callback)
    settings = Settings.validate(*limits, random_state=random_state, memory_limit=memory_limit)
    given = (Q, sparsities, n_components, settings, threshold, callback, feature_names)
    return path_with(*given, (include, exclude, relation, previous, nonnegative))


def path_with(
    Q: Any,
    sparsities: Iterable[int],
    n_components: Any,
    settings: Settings,
    threshold: Any = 0.0,
    callback: PathCallback | None = None,
    feature_names: Any = None,
    demands: Sequence[Any] | Demands = NO_DEMANDS,
) -> SparsityPath:
    """As :func:`sparsity_path`, with its settings in one piece."""
    asked: tuple[int, ...] = ()

    def hear(progress: Progress) -> bool:
        """While the matrix is formed; the largest sparsity comes next."""
        return bool(callback is not None and callback(asked[-1], progress))

    watch = settings.watch(hear)
    if settings.method is Method.DEFLATION:
        raise InputError("method must not be 'deflation': its bounds do not speak of Q")
    given = read_covariance(Q)
    n = given.shape[0]
    names = validate_names(feature_names, n, names_of(Q))
    asked = validate_sparsities(sparsities, n)
    count = validate_integer("n_components", n_components, 1, n, "the number of features")
    if not isinstance(demands, Demands):
        demands = Demands.validate([asked[0]] * count, n, names, *demands)
    formed = is_formed(given, settings, threshold, demands)
    with watch.listening():
        covariance = formed_if_needed(given, formed, settings, threshold, demands, watch)
    if covariance is None or watch.interrupted:
        # No sparsity was reached: there was no time to form the matrix.
        return SparsityPath.of((), count, watch.verdict() or Status.TIME_LIMIT, watch.clock.elapsed)
    links, learnt = Links(settings.tolerance, covariance, demands), None
    if isinstance(covariance, DataCovariance):
        learnt = WideProblem(covariance, asked[-1], settings)
    climb = _Climb(covariance, count, settings, threshold, callback, watch, links, learnt, demands)
    climb.run(asked)
    reached = sorted(climb.found)
    connected = links.connect(reached, [climb.found[p] for p in reached])
    results = tuple(replace(result, feature_names=names) for result in connected)
    open_statuses = [r.status for r in results if not r.status.finished]
    # A limit says more than what rounding leaves.
    open_statuses.sort(key=lambda status: status is Status.PRECISION)
    if len(results) < len(asked):
        open_statuses.insert(0, Status.TIME_LIMIT)
    status = Status.INTERRUPTED if climb.stop else next(iter(open_statuses), Status.OPTIMAL)
    return SparsityPath.of(results, count, status, watch.clock.elapsed)


@dataclass(eq=False)
class _Climb:
    """The results for each sparsity, from the largest to the smallest.

    Attributes
    ----------
    covariance, count, settings, threshold, callback, watch
        What was asked for.
    links : Links
        What one sparsity proves for another.
    learnt : WideProblem or None
        What is known of data, for all of them.
    demands : Demands
        What is asked of the components beyond their sparsity.
    found : dict
        The result for each sparsity that was reached.
    met : dict
        First components for smaller sparsities, met on the way to a larger one.
    stop : bool
        Whether somebody asked to stop.
    """

    covariance: Array | DataCovariance
    count: int
    settings: Settings
    threshold: Any
    callback: PathCallback | None
    watch: Watch
    links: Links
    learnt: WideProblem | None
    demands: Demands = NO_DEMANDS
    found: dict[int, Result] = field(default_factory=dict)
    met: dict[int, Component] = field(default_factory=dict)
    stop: bool = False

    def run(self, sparsities: Sequence[int]) -> None:
        """Go from the largest to the smallest, and once more to those that are still open."""
        try:
            for sparsity, seconds in self._in_turn(reversed(sparsities)):
                larger = self._above(sparsity)
                result = taken_over(larger, sparsity, self.demands)
                result = result or self._met_on_the_way(larger, sparsity)
                in_time = seconds != 0.0 or larger is None
                if in_time and (result is None or not result.status.finished):
                    result = self._solve(sparsity, seconds)
                if result is not None and result.stages:
                    self.found[sparsity] = result
            # What the others have left of their time goes to those that are open.
            again = [p for p, result in self.found.items() if result.status is Status.TIME_LIMIT]
            for sparsity, seconds in self._in_turn(again):
                before = self.found[sparsity]
                if seconds is None or seconds < SECOND_TRY * before.runtime:
                    break
                result = self._solve(sparsity, seconds)
                if len(result) >= len(before) and result.gaps.max() < before.gaps.max():
                    self.found[sparsity] = result
        except KeyboardInterrupt:
            self.stop = True

    def _in_turn(self, sparsities: Iterable[int]) -> Iterator[tuple[int, float | None]]:
        """One after another, with its share of the seconds that are left, until it is stopped."""
        waiting = list(sparsities)
        for position, sparsity in enumerate(waiting):
            if self.stop:
                return
            share = self.watch.seconds_left / (len(waiting) - position)
            yield sparsity, None if self.settings.time_limit is None else share

    def _above(self, sparsity: int) -> Result | None:
        """The result for the next larger sparsity that was reached."""
        return self.found.get(min((p for p in self.found if p > sparsity), default=0))

    def _solve(self, sparsity: int, seconds: float | None) -> Result:
        """Search one sparsity; all smaller ones of a first component are proved on the way."""
        larger, met = self._above(sparsity), False
        known = math.inf if larger is None else larger.stages[0].upper_bound

        def hear(progress: Progress) -> bool:
            """Pass on, and end a search that a known bound has decided."""
            nonlocal met
            callback = self.callback
            self.stop |= callback is not None and bool(callback(sparsity, progress))
            met = (
                not self.stop
                and self.count == 1
                and self.links.tolerance.met(progress.lower, known)
            )
            return self.stop or met

        binding = self.demands.binding
        rungs = larger is None and not binding
        settings = replace(self.settings, time_limit=seconds, rungs=rungs)
        point = self.met.get(sparsity)
        start = (point,) if point is not None and point.status is Status.OPTIMAL else ()
        asked = (self.covariance, sparsity, self.count, settings, self.threshold)
        result = solve_with(*asked, hear, self.learnt, start, asked=self.demands)
        # Where something is asked, a path need not begin with one feature.
        for size, point in enumerate(() if binding else result.known_path, start=1):
            if point.status is Status.OPTIMAL or size not in self.met:
                self.met[size] = point
        self.stop |= result.status is Status.INTERRUPTED and not met
        return self.links.with_upper(result, known) if result.stages else result

    def _met_on_the_way(self, larger: Result | None, sparsity: int) -> Result | None:
        """What was found and proved for a sparsity on the way to a larger one, as a result."""
        point = self.met.get(sparsity)
        if self.count > 1 or larger is None or point is None or len(point.support) > sparsity:
            return None
        if point.status is not Status.OPTIMAL:
            point = replace(point, status=Status.TIME_LIMIT)
        short = add_up(point.upper_bound, -point.variance)
        found = {"stages": (point,), "status": point.status, "guarantee": short}
        return at_once(larger, sparsity, **found, exhausted=False)


def parse_sparsities(text: str, n: int) -> tuple[int, ...]:
    """Read sparsities as people write them: ``"1:20"``, ``"1,2,5"``, ``"2:10:2,15"``, ``"5:"``.

    ``a:b`` is every number from a to b, both included, and ``a:b:c`` every c-th of them.  Without a
    it begins at 1, without b it ends at n; an end above n counts as n.

    Parameters
    ----------
    text : str
        Numbers and ranges, separated by commas.
    n : int
        The number of features.

    Returns
    -------
    tuple of int
        Ascending, each once.

    Examples
    --------
    >>> from orthospca.path import parse_sparsities
    >>> parse_sparsities("1:4,8:20:4", 13)
    (1, 2, 3, 4, 8, 12)
    """
    chosen: set[int] = set()
    for part in text.split(","):
        found = RANGE.fullmatch(part)
        if found is None or not (found[1] or found[2]):
            raise InputError(
                "sparsities must be numbers or ranges such as 1:20 or 2:10:2, separated by commas, "
                f"got {text!r}"
            )
        if not found[2]:
            chosen.add(validate_integer("sparsities", int(part), 1, n, "the number of features"))
            continue
        first, last, step = int(found[1] or 1), min(int(found[3] or n), n), int(found[4] or 1)
        if first < 1 or step < 1 or last < first:
            raise InputError(
                f"sparsities must be increasing ranges between 1 and {n} (the number of features), "
                f"got {part.strip()!r}"
            )
        chosen.update(range(first, last + 1, step))
    return tuple(sorted(chosen))


def validate_sparsities(sparsities: Any, n: int) -> tuple[int, ...]:
    """Return the sparsities ascending, each once, or raise ``ValueError``."""
    if isinstance(sparsities, str) or not isinstance(sparsities, Iterable):
        raise InputError(f"sparsities must be a sequence of integers, got {sparsities!r}")
    limits = {
        validate_integer(f"sparsities[{i}]", p, 1, n, "the number of features")
        for i, p in enumerate(sparsities)
    }
    if not limits:
        raise InputError("sparsities must have at least one entry, got none")
    return tuple(sorted(limits))
