"""Variance and certified gap by sparsity, to choose how sparse the components should be.

What is proved for one sparsity is used for the others: see ``links.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from orthospca._errors import InputError
from orthospca._methods import Method
from orthospca._typing import Array
from orthospca.blocks.partition import Blocks
from orthospca.data.covariance import DataCovariance
from orthospca.facade import can_do_without, formed_in_time, is_formed, solve_with
from orthospca.model.limits import Watch
from orthospca.model.result import Component, Progress, Result, Status
from orthospca.model.settings import Settings
from orthospca.model.validation import (
    names_of,
    validate_covariance,
    validate_integer,
    validate_names,
)
from orthospca.numerics.rounding import add_up
from orthospca.paths.links import Links, taken_over
from orthospca.paths.result import SparsityPath
from orthospca.wide.stage import WideProblem

#: A sparsity that was left open is tried again with at least so many times the seconds it had.
SECOND_TRY = 1.5

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
) -> SparsityPath:
    """Solve the problem for several sparsities, from the largest to the smallest.

    The first components of all sparsities are certified on the way to the largest one, and not
    sought again.  What else is proved for one sparsity is used for the others.  A result whose
    components are sparse enough is taken over for a smaller sparsity without a search.  The bound
    of the first component is tightened by those of all other sparsities; with one component, a
    search ends as soon as its incumbent meets the bound known from a larger sparsity, and a
    component that does better than the one found for a larger sparsity replaces it.  So
    ``variances[:, 0]`` with one component, and ``upper_bounds[:, 0]`` always, do not decrease with
    the sparsity.

    Parameters
    ----------
    Q : array-like of shape (n, n), or DataCovariance
        Symmetric: a covariance or correlation matrix.
    sparsities : iterable of int
        Between 1 and n, in any order.
    n_components : int
        How many components for each sparsity.
    method, eps, gap, threshold, node_limit, n_jobs, random_state
        As in :func:`orthospca.solve`, for each sparsity; ``"deflation"`` is refused, because its
        bounds do not speak of Q.
    time_limit : float, optional
        Seconds for the whole path.  Each sparsity gets an equal share of what is left when it
        begins; what they leave goes to those that are still open.
    callback : callable, optional
        Called with the sparsity and a ``Progress`` record now and then; a true answer stops the
        path.
    feature_names, memory_limit : optional
        As in :func:`orthospca.solve`.

    Returns
    -------
    SparsityPath
        If it was stopped by Ctrl-C, the callback or the time limit, with the sparsities that were
        reached, the largest at least.

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
    settings = Settings.validate(
        method=method,
        eps=eps,
        gap=gap,
        time_limit=time_limit,
        node_limit=node_limit,
        n_jobs=n_jobs,
        random_state=random_state,
        callback=callback,
        memory_limit=memory_limit,
    )
    return path_as_set(Q, sparsities, n_components, settings, threshold, callback, feature_names)


def path_as_set(
    Q: Any,
    sparsities: Iterable[int],
    n_components: Any,
    settings: Settings,
    threshold: Any = 0.0,
    callback: PathCallback | None = None,
    feature_names: Any = None,
) -> SparsityPath:
    """As :func:`sparsity_path`, with its settings in one piece."""
    asked: tuple[int, ...] = ()

    def hear(progress: Progress) -> bool:
        """While the matrix is formed; the largest sparsity comes next."""
        return bool(callback is not None and callback(asked[-1], progress))

    watch = settings.watch(hear)
    if settings.method is Method.DEFLATION:
        raise InputError("method must not be 'deflation': its bounds do not speak of Q")
    given = Q if isinstance(Q, DataCovariance) else validate_covariance(Q)
    n = given.shape[0]
    names = validate_names(feature_names, n, names_of(Q))
    asked = validate_sparsities(sparsities, n)
    count = validate_integer("n_components", n_components, 1, n, "the number of features")
    covariance = _covariance_of(given, settings, threshold, watch)
    if covariance is None or watch.interrupted:
        return _without_matrix(count, watch)
    links = Links(settings.tolerance, covariance)
    learnt = None
    if isinstance(covariance, DataCovariance):
        learnt = WideProblem(covariance, asked[-1], settings)
    found: dict[int, Result] = {}
    # First components that were certified on the way to a larger sparsity.
    rungs: dict[int, Component] = {}
    larger: Result | None = None
    stop = False

    def solve_one(sparsity: int, seconds: float | None) -> Result:
        nonlocal stop
        point = rungs.get(sparsity)
        if point is not None and count == 1 and larger is not None:
            return _certified_result(point, sparsity, larger)
        known = math.inf if larger is None else larger.stages[0].upper_bound
        met = False

        def hear_one(progress: Progress) -> bool:
            """Pass on, and end a search that a known bound has decided."""
            nonlocal stop, met
            stop = stop or (callback is not None and bool(callback(sparsity, progress)))
            met = not stop and count == 1 and links.met(progress.lower, known)
            return stop or met

        # All sparsities of a first component are proved on the way to the largest one.
        limited = replace(settings, time_limit=seconds, rungs=larger is None)
        start = () if point is None else (point,)
        result = solve_with(
            covariance, sparsity, count, limited, threshold, hear_one, learnt, start
        )
        rungs.update(_certified(result))
        stop = stop or (result.status is Status.INTERRUPTED and not met)
        result = replace(result, feature_names=names)
        return links.with_upper(result, known) if result.stages else result

    def share(among: int) -> float | None:
        """Seconds for one of several sparsities that are still to be solved."""
        if settings.time_limit is None:
            return None
        return watch.seconds_left / among

    try:
        for position, sparsity in enumerate(reversed(asked)):
            left = share(len(asked) - position)
            result = taken_over(larger, sparsity)
            if result is None and left == 0.0 and larger is not None:
                result = _met_on_the_way(larger, sparsity)
                if result is None:
                    continue
            if result is None:
                result = solve_one(sparsity, left)
            if result.stages:
                found[sparsity] = larger = result
            if stop:
                break
        # What the others have left of their time goes to those that are open.
        open_ones = [p for p in found if found[p].status is Status.TIME_LIMIT]
        for position, sparsity in enumerate(open_ones):
            left = share(len(open_ones) - position)
            if stop or left is None or left < SECOND_TRY * found[sparsity].runtime:
                break
            larger = found.get(min((p for p in found if p > sparsity), default=0))
            result = solve_one(sparsity, left)
            if _is_closer(result, found[sparsity]):
                found[sparsity] = result
    except KeyboardInterrupt:
        stop = True
    reached = tuple(sorted(found))
    results = links.connect(reached, [found[p] for p in reached])
    open_statuses = [r.status for r in results if not r.status.finished]
    # A limit says more than what rounding leaves.
    open_statuses.sort(key=lambda status: status is Status.PRECISION)
    if not stop and len(reached) < len(asked):
        open_statuses.insert(0, Status.TIME_LIMIT)
    status = Status.INTERRUPTED if stop else next(iter(open_statuses), Status.OPTIMAL)
    return SparsityPath(
        sparsities=reached,
        variances=_table(results, count, "variances"),
        upper_bounds=_table(results, count, "upper_bounds"),
        gaps=_table(results, count, "gaps"),
        results=results,
        status=status,
        runtime=watch.clock.elapsed,
    )


def _without_matrix(count: int, watch: Watch) -> SparsityPath:
    """No sparsity was reached: there was no time to form the matrix."""
    nothing = np.zeros((0, count))
    status = watch.verdict() or Status.TIME_LIMIT
    return SparsityPath((), nothing, nothing, nothing, (), status, watch.clock.elapsed)


def _certified_result(point: Component, sparsity: int, larger: Result) -> Result:
    """A first component that was certified on the way to a larger sparsity, as a result."""
    return replace(
        larger,
        stages=(point,),
        sparsity=(sparsity,),
        status=Status.OPTIMAL,
        exhausted=False,
        guarantee=add_up(point.upper_bound, -point.variance),
        runtime=0.0,
        history=(),
        known_path=larger.known_path[:sparsity],
    )


def _met_on_the_way(larger: Result, sparsity: int) -> Result | None:
    """What was found and proved for a sparsity on the way to a larger one, as a result."""
    if len(larger.sparsity) > 1 or len(larger.known_path) < sparsity:
        return None
    point = larger.known_path[sparsity - 1]
    if np.count_nonzero(point.vector) > sparsity:
        return None
    if point.status is not Status.OPTIMAL:
        point = replace(point, status=Status.TIME_LIMIT)
    return replace(_certified_result(point, sparsity, larger), status=point.status)


def _is_closer(result: Result, other: Result) -> bool:
    """Whether a result has as many components, and is closer to certified."""
    if len(result.stages) < len(other.stages):
        return False
    return float(result.gaps.max()) < float(other.gaps.max())


def _certified(result: Result) -> dict[int, Component]:
    """The first components for smaller sparsities that a solve has certified on its way."""
    points = enumerate(result.known_path, start=1)
    return {size: point for size, point in points if point.status is Status.OPTIMAL}


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
        fields = [field.strip() for field in part.split(":")]
        try:
            numbers = [int(field) if field else None for field in fields]
        except ValueError:
            numbers = []
        if len(numbers) == 1 and numbers[0] is not None:
            chosen.add(validate_integer("sparsities", numbers[0], 1, n, "the number of features"))
            continue
        if len(numbers) not in (2, 3) or numbers[2:] == [None]:
            raise InputError(
                "sparsities must be numbers or ranges such as 1:20 or 2:10:2, separated by commas, "
                f"got {text!r}"
            )
        first = 1 if numbers[0] is None else numbers[0]
        last = n if numbers[1] is None else min(numbers[1], n)
        step = numbers[2] if len(numbers) == 3 and numbers[2] is not None else 1
        if first < 1 or step < 1 or last < first:
            raise InputError(
                f"sparsities must be ranges within 1 and {n} (the number of features), from small "
                f"to large, got {part.strip()!r}"
            )
        chosen.update(range(first, last + 1, step))
    return tuple(sorted(chosen))


def _covariance_of(
    Q: Array | DataCovariance, settings: Settings, threshold: Any, watch: Watch
) -> Array | DataCovariance | None:
    """The matrix, formed once for the whole path, or the data; None if they would not do."""
    if not isinstance(Q, DataCovariance) or not is_formed(Q, settings, threshold):
        return Q
    with watch.listening():
        matrix = formed_in_time(Q, settings, watch)
    if matrix is not None:
        return matrix
    return Q if can_do_without(settings, threshold) else None


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


def _table(results: Sequence[Result], count: int, name: str) -> Array:
    table = np.full((len(results), count), np.nan)
    for row, result in zip(table, results, strict=True):
        row[: result.n_components] = getattr(result, name)
    return table
