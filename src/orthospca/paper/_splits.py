"""A matrix that a threshold makes block-diagonal, solved as a whole and block by block.

Algorithm 2 makes a block-diagonal matrix A of Q.  By Theorem 1 the components of A are those of its
blocks, merged, so both ways of solving A have the same answer and their times can be compared.  The
components of A are not those of Q: what they are worth there, the upper bounds of Q itself tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from orthospca import solve
from orthospca._typing import Array
from orthospca.blocks import block_diagonalize
from orthospca.paper._experiments import GAP, Plan, fastest, orthogonal_run
from orthospca.result import Result, format_gap

WHOLE = "enumeration"
#: The names under which methods appear when they solve block by block.
BY_BLOCKS = {"enumeration": "blocks-enumeration", "branch-and-bound": "blocks-branch-and-bound"}


@dataclass(frozen=True, eq=False)
class Split:
    """One block-diagonal matrix and one sparsity.

    Attributes
    ----------
    threshold : float
    sizes : tuple of int
        Of the blocks, the largest first.
    sparsity : int
    runs : dict
        The block-diagonal matrix as a whole, and block by block, by method.
    original : Result
        The same blocks with the upper bounds of the matrix from which they come.
    """

    threshold: float
    sizes: tuple[int, ...]
    sparsity: int
    runs: dict[str, Result]
    original: Result

    @property
    def agree(self) -> bool:
        """Whether the variances found as a whole and block by block are the same."""
        first, *others = (run.variances for run in self.runs.values())
        same = 1e-9 * first[0]
        return all(len(x) == len(first) and np.allclose(x, first, 0.0, same) for x in others)

    def certified(self, gap: float = 0.01) -> int:
        """How many components, from the first on, have at most this gap in the original matrix."""
        beyond = np.flatnonzero(self.original.gaps > gap)
        return int(beyond[0]) if len(beyond) else self.original.n_components


def split(Q: Array, sparsity: int, count: int, threshold: float, plan: Plan) -> list[Split]:
    """Solve the block-diagonal matrix of a threshold in both ways, unless it is one block.

    Parameters
    ----------
    Q : array of shape (n, n)
    sparsity, count : int
    threshold : float
    plan : Plan
        How long times are taken.
    """
    found = block_diagonalize(Q, threshold)
    if found.n_blocks == 1:
        return []
    # All indices together: the solver would split along exact zeros by itself otherwise.
    undivided = block_diagonalize(np.ones(Q.shape), 0.0)
    run = partial(orthogonal_run, found.matrix(Q), sparsity, count)
    makes = {WHOLE: partial(run, WHOLE, undivided)}
    makes |= {name: partial(run, method) for method, name in BY_BLOCKS.items()}
    runs = {method: fastest(make, plan) for method, make in makes.items()}
    original = solve(Q, sparsity, count, method="enumeration", gap=GAP, threshold=found)
    sizes = tuple(sorted(found.sizes.tolist(), reverse=True))
    return [Split(threshold, sizes, sparsity, runs, original)]


def sizes_of(sizes: tuple[int, ...]) -> str:
    """The sizes of blocks, with those of one in short: ``16, 4 × 1``."""
    alone = sum(size == 1 for size in sizes)
    return ", ".join([*(str(n) for n in sizes if n > 1), *([f"{alone} × 1"] if alone else [])])


def percent(gap: float) -> str:
    """A gap as people read it, large ones too."""
    return f"{100 * gap:.0f} %" if gap >= 0.1 else format_gap(gap)
