"""Stage after stage: the loop that all ways of solving a stage share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from orthospca._typing import Array
from orthospca.model.limits import Watch
from orthospca.model.result import Component, Status
from orthospca.search.outcome import Outcome


def run_stages(
    n_features: int,
    limits: Sequence[int],
    solve_stage: Callable[[int, Array], Outcome],
    watch: Watch,
) -> tuple[list[Component], bool]:
    """Find one component for each sparsity limit, each given those before it.

    Parameters
    ----------
    n_features : int
    limits : sequence of int
    solve_stage : callable
        Solves a stage, given its limit and the components before it as columns.
    watch : Watch

    Returns
    -------
    found : list of Component
        Fewer than asked for after an interrupt, or where a stage has none.
    exhausted : bool
        Whether it is proved that the next stage has none.
    """
    found: list[Component] = []
    previous = np.zeros((n_features, 0))
    for k, limit in enumerate(limits):
        watch.begin_stage(k, len(limits) - k)
        outcome = solve_stage(limit, previous)
        if outcome.best is None:
            return found, outcome.status is Status.EXHAUSTED
        vector = outcome.best.vector
        found.append(
            Component(
                vector=vector,
                variance=outcome.best.value,
                upper_bound=outcome.upper,
                status=outcome.status,
                nodes=outcome.nodes,
                runtime=watch.stage_elapsed,
            )
        )
        previous = np.column_stack([previous, vector])
        if watch.interrupted:
            break
    return found, False


def overall_status(found: Sequence[Component], asked: int, exhausted: bool, watch: Watch) -> Status:
    """Return the status of a whole result from those of its components."""
    stopped = [component.status for component in found if component.status is not Status.OPTIMAL]
    if stopped:
        return stopped[-1]
    if exhausted:
        return Status.EXHAUSTED
    if len(found) == asked:
        return Status.OPTIMAL
    return watch.verdict(0) or Status.NODE_LIMIT
