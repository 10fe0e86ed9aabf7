"""Methods compared with a plain loop, and a matrix solved as a whole and block by block.

Algorithm 2 makes a block-diagonal matrix A of Q.  By Theorem 1 the components of A are those of its
blocks, merged, so both ways of solving A have the same answer and their times can be compared.  The
components of A are not those of Q: what they are worth there, the upper bounds of Q itself tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from orthospca import solve
from orthospca._typing import Array
from orthospca.blocks import block_diagonalize
from orthospca.paper._experiments import GAP, Plan, Run, fastest, orthogonal_run
from orthospca.paper._plain import time_plain
from orthospca.result import Result, format_gap

#: The names under which methods appear when they solve block by block.
BY_BLOCKS = {"enumeration": "blocks-enumeration", "branch-and-bound": "blocks-branch-and-bound"}
METHODS = {
    "enumeration": "enumeration in batches",
    "eigenvalue": "branch and bound, eigenvalue bounds",
    "branch-and-bound": "branch and bound, share relaxation",
    "blocks-enumeration": "decomposition, enumeration in blocks",
    "blocks-branch-and-bound": "decomposition, share relaxation in blocks",
}


#: One method's time on one problem, beside the plain loop's: a row of ``speed.csv``, and the run.
Comparison = dict[str, Any]


def compare(
    Q: Array,
    p: int,
    makes: Mapping[str, Callable[[], Run]],
    plan: Plan,
    threshold: float = 0.0,
    largest: int | None = None,
) -> list[Comparison]:
    """Time methods, and the plain loop on the same sequence of components, the first one's."""
    runs = {method: fastest(make, plan) for method, make in makes.items()}
    reference = next(iter(runs.values()))
    stages = len(reference.variances) + reference.exhausted
    sequence = (reference.components, stages)
    plain, extrapolated = time_plain(Q, p, *sequence, plan.sample, plan.repeats)
    return [
        {
            "genes": len(Q),
            "threshold": threshold,
            "largest_block": largest or len(Q),
            "sparsity": p,
            "components": len(run.variances),
            "method": method,
            "seconds": run.total_seconds,
            "plain_seconds": plain,
            "plain_extrapolated": extrapolated,
            "speedup": plain / run.total_seconds,
            "run": run,
        }
        for method, run in runs.items()
    ]


@dataclass(frozen=True, eq=False)
class Split:
    """One block-diagonal matrix and one sparsity.

    Attributes
    ----------
    threshold : float
    sizes : tuple of int
        Of the blocks, the largest first.
    sparsity : int
    whole, blocks : list of Comparison
        Methods on the block-diagonal matrix as a whole, and block by block.
    original : Result
        The same blocks with the upper bounds of the matrix from which they come.
    """

    threshold: float
    sizes: tuple[int, ...]
    sparsity: int
    whole: list[Comparison]
    blocks: list[Comparison]
    original: Result

    @property
    def all(self) -> list[Comparison]:
        """Every method, as a whole and block by block."""
        return [*self.whole, *self.blocks]

    @property
    def difference(self) -> float:
        """Largest difference between variances found as a whole and block by block."""
        reference = self.whole[0]["run"].variances
        return max(
            float(np.abs(found - reference).max(initial=0.0))
            if len(found) == len(reference)
            else np.inf
            for found in (c["run"].variances for c in self.blocks)
        )

    @property
    def speedup(self) -> float:
        """How many times faster the blocks are solved than the whole, by the same method."""
        return float(self.whole[0]["seconds"] / self.blocks[0]["seconds"])

    def certified(self, gap: float = 0.01) -> int:
        """How many components, from the first on, have at most this gap in the original matrix."""
        beyond = np.flatnonzero(self.original.gaps > gap)
        return int(beyond[0]) if len(beyond) else self.original.n_components


def split(
    Q: Array, sparsity: int, count: int, threshold: float, whole: tuple[str, ...], plan: Plan
) -> list[Split]:
    """Solve the block-diagonal matrix of a threshold in both ways, unless it is one block.

    Parameters
    ----------
    Q : array of shape (n, n)
    sparsity, count : int
    threshold : float
    whole : tuple of str
        Methods for the matrix as a whole.
    plan : Plan
        How long times are taken.
    """
    found = block_diagonalize(Q, threshold)
    if found.n_blocks == 1:
        return []
    A = found.matrix(Q)
    # All indices together: the solver would split along exact zeros by itself otherwise.
    undivided = block_diagonalize(np.ones(Q.shape), 0.0)
    run = partial(orthogonal_run, A, sparsity, count)
    makes = {m: partial(run, m, undivided) for m in whole}
    makes |= {name: partial(run, m) for m, name in BY_BLOCKS.items()}
    sizes = tuple(sorted(found.sizes.tolist(), reverse=True))
    compared = compare(A, sparsity, makes, plan, threshold, sizes[0])
    original = solve(Q, sparsity, count, method="enumeration", gap=GAP, threshold=found)
    parts = (compared[: len(whole)], compared[len(whole) :])
    return [Split(threshold, sizes, sparsity, *parts, original)]


def sizes_of(sizes: tuple[int, ...]) -> str:
    """The sizes of blocks, with those of one in short: ``16, 4 × 1``."""
    alone = sum(size == 1 for size in sizes)
    return ", ".join([*(str(n) for n in sizes if n > 1), *([f"{alone} × 1"] if alone else [])])


def percent(gap: float) -> str:
    """A gap as people read it, large ones too."""
    return f"{100 * gap:.0f} %" if gap >= 0.1 else format_gap(gap)
