"""Times of several methods on one problem, beside those of a plain loop."""

from __future__ import annotations

from dataclasses import dataclass

from orthospca._typing import Array
from orthospca.paper._experiments import Run
from orthospca.paper._plain import PlainTime, time_plain

BY_BLOCKS = {"enumeration": "blocks-enumeration", "branch-and-bound": "blocks-branch-and-bound"}
"""The names under which methods appear when they solve block by block."""
METHODS = {
    "enumeration": "enumeration in batches",
    "eigenvalue": "branch and bound, eigenvalue bounds",
    "branch-and-bound": "branch and bound, share relaxation",
    "blocks-enumeration": "decomposition, enumeration",
    "blocks-branch-and-bound": "decomposition, share relaxation",
}


@dataclass(frozen=True, eq=False)
class Comparison:
    """One method's time on one problem, beside the plain loop's."""

    order: int
    sparsity: int
    run: Run
    method: str
    plain: PlainTime

    @property
    def speedup(self) -> float:
        """How many times faster than the plain loop."""
        return self.plain.seconds / self.run.total_seconds


def compare(Q: Array, p: int, runs: dict[str, Run], sample: int, repeats: int) -> list[Comparison]:
    """Time the plain loop on the same sequence of components, the first run's."""
    reference = next(iter(runs.values()))
    stages = len(reference.variances) + reference.exhausted
    plain = time_plain(Q, p, reference.components, stages, sample, repeats)
    return [Comparison(len(Q), p, run, method, plain) for method, run in runs.items()]
