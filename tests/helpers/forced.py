"""Ways to force small problems through code that is meant for large ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from helpers.exact import supports_of
from orthospca.model import settings
from orthospca.model.stage import Subproblem
from orthospca.supports.best import Candidate, best_on_support, values_on_supports
from orthospca.supports.heuristic_path import HeuristicPath
from orthospca.wide.part import bytes_for


def _tune(monkeypatch: pytest.MonkeyPatch, **rooms: dict[str, Any]) -> None:
    """Have every solve take other numbers, for some rooms."""
    tuning = settings.DEFAULT
    changed = {room: replace(getattr(tuning, room), **how) for room, how in rooms.items()}
    tuning = replace(tuning, **changed)
    monkeypatch.setattr(settings, "DEFAULT", tuning)
    monkeypatch.setattr("orthospca.estimator.OrthogonalSparsePCA._tuning", tuning)


def forced_wide(
    monkeypatch: pytest.MonkeyPatch,
    *,
    few: int = 400,
    largest_matrix: int | None = None,
    traces: bool = True,
) -> None:
    """Have data solved as those are whose covariance is too large to be formed.

    Parameters
    ----------
    monkeypatch : MonkeyPatch
    few : int
        With up to so many features left, rows are not looked at.
    largest_matrix : int, optional
        Features that there is room for in a matrix; the others keep their bounds.
    traces : bool
        Whether a search by traces is tried first.
    """
    wide: dict[str, Any] = {"formed": 0, "few": few}
    wide |= {"few_traced": 3, "traced_budget": 5, "cheap_products": 0.0}
    if few == 0:
        wide |= {"starts": 2, "iterations": 1, "spare_entries": 1}
    if not traces:
        wide |= {"trace_budget": 0, "early_budget": 0}
    if largest_matrix is not None:
        room = bytes_for(largest_matrix)
        monkeypatch.setattr(settings.Settings, "memory", room)
    _tune(monkeypatch, wide=wide)


def forced_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the chunks of a Dask array taken as they are, and tiles of a few features."""
    monkeypatch.setattr("orthospca.data.cluster.NARROWEST", 1)
    monkeypatch.setattr("orthospca.data.cluster.SMALLEST_CHUNK", 1)
    monkeypatch.setattr("orthospca.data.columns.TILE", 2)


def forced_branching(
    monkeypatch: pytest.MonkeyPatch,
    *,
    conditioning: bool = True,
    rungs: bool = True,
    eager: bool = False,
) -> None:
    """Have nodes bounded that are so small that they would be enumerated.

    Parameters
    ----------
    monkeypatch : MonkeyPatch
    conditioning : bool
        Whether stages are searched by conditioning; the relaxation has to do all of it if not.
    rungs : bool
        Whether rungs are; they resist if not.
    eager : bool
        Whether the relaxation tests features at once, however far its bound is from the level.
    """
    rooms: dict[str, dict[str, Any]] = {"walk": {"enumerate_below": 1}}
    rooms["tree"] = {
        "enumerate_below": 1,
        "enumerate_below_strong": 1,
        "enumerate_without_incumbent": 1,
    }
    if not conditioning:
        rooms["share"] = {"cost": -1.0}
    if not rungs:
        rooms["walk"]["rung_budget"] = -1.0
    if eager:
        eagerly = {"between_checks": 10, "first_checks": 2, "fix_within": 1e9}
        rooms["share"] = rooms.get("share", {}) | eagerly
    _tune(monkeypatch, **rooms)


def forced_weakness(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    """Have the heuristics find any feasible vector, mostly a bad one.

    A good one hides what is wrong with a bound: no bound that counts it is below the optimum.
    """

    def find(problem: Subproblem, *arguments: object, **options: object) -> Candidate | None:
        supports = supports_of(problem.n_features, problem.sparsity)
        for feature in problem.included:
            supports = supports[(supports == feature).any(axis=1)]
        if len(supports) == 0:
            return None
        values = values_on_supports(problem, supports)
        feasible = np.flatnonzero(values > -np.inf)
        if len(feasible) == 0:
            return None
        order = feasible[np.argsort(values[feasible], kind="stable")]
        return best_on_support(problem, supports[order[int(rng.random() ** 2 * len(order))]])

    class WeakPath(HeuristicPath):
        """Any feasible vector for each size."""

        def run(self, stop: Callable[[], bool] | None = None) -> None:
            for size in range(1, self.size + 1):
                found = find(replace(self.problem, sparsity=size))
                if found is not None:
                    self.offer(found)

        def spread(self, first: int, last: int) -> None:
            """Leave them as they are."""

    monkeypatch.setattr("orthospca.search.methods.find_incumbent", find)
    for place in ("search.views", "wide.view"):
        monkeypatch.setattr(f"orthospca.{place}.HeuristicPath", WeakPath)
    walk = "orthospca.bounds.conditioning.walk"
    monkeypatch.setattr(f"{walk}.polish", lambda problem, candidate: candidate)
