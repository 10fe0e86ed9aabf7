"""How the search of one stage ended."""

from __future__ import annotations

from dataclasses import dataclass, field

from orthospca.model.nodes import Closed
from orthospca.model.result import Status
from orthospca.supports.best import Candidate


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
    """

    best: Candidate | None
    upper: float
    status: Status
    nodes: int
    closed: tuple[Closed, ...] = field(default=(), repr=False)
