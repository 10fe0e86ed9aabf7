"""What is asked of one stage, and how its solve ended."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from orthospca._typing import Array
from orthospca.model.nodes import Closed
from orthospca.model.result import Status
from orthospca.supports.best import Candidate


@dataclass(frozen=True, eq=False)
class Request:
    """The next component, given those before it.

    Attributes
    ----------
    sparsity : int
    previous : array of shape (n, k - 1)
        The components before it, as columns.
    cap : float
        A proved bound on its variance that is known already.
    hints : tuple of Candidate
        Feasible vectors that are known already.
    caps : tuple of float
        Proved bounds for sparsities 1, 2, … that are known already.
    """

    sparsity: int
    previous: Array
    cap: float = math.inf
    hints: tuple[Candidate, ...] = ()
    caps: tuple[float, ...] = ()

    @property
    def best_hint(self) -> Candidate | None:
        """The hint of largest value."""
        return max(self.hints, key=lambda hint: hint.value, default=None)


@dataclass(frozen=True, eq=False)
class Rung:
    """What is known for one sparsity.

    Attributes
    ----------
    size : int
    best : Candidate or None
        The best vector found with at most so many nonzeros.
    upper : float
        Proved bound on all of them.
    features : int
        How many were left to a search.
    """

    size: int
    best: Candidate | None
    upper: float
    features: int = 0


@dataclass(frozen=True, eq=False)
class Outcome:
    """How the search of one stage ended.

    Attributes
    ----------
    best : Candidate or None
        The incumbent; None with status ``EXHAUSTED`` (proved: there is none), or if time ran out.
    upper : float
        Proved bound on the stage.
    status : Status
    nodes : int
        Nodes evaluated.
    closed : tuple of Closed
        Every closed node and why: they cover all supports, unless nodes were left open.
    guarantee : float or None
        What the variance can be short of the best one, known before the search; None if that is
        what the bound says.
    deflated_value : float or None
        The value that was maximised, if it is not the variance.
    rungs : tuple of Rung
        What was proved for this sparsity and all smaller ones, if the ladder was climbed.
    """

    best: Candidate | None
    upper: float
    status: Status
    nodes: int
    closed: tuple[Closed, ...] = field(default=(), repr=False)
    guarantee: float | None = None
    deflated_value: float | None = None
    rungs: tuple[Rung, ...] = ()
