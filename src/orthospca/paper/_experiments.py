"""The matrix, and the sequences of components that the panels show."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from orthospca import Result, Status, datasets, solve
from orthospca._errors import InputError
from orthospca._typing import Array, IntArray
from orthospca.blocks import Blocks, block_diagonalize, threshold_sweep
from orthospca.interface.tables import read_table

ORDER = 20
"""Rows and columns of CovColon that the experiments use."""
GAP = 1e-9
"""Relative tolerance of branch and bound; enumeration has none."""


@dataclass(frozen=True)
class Plan:
    """How much to run.

    Attributes
    ----------
    sparsities : tuple of int
        Those of the paper: a column of panels each.
    sweep : tuple of int
        Sparsities of panels g to i.
    counts : tuple of int
        How many components panels g to i time.
    repeats : int
        Each time is the shortest of so many runs.
    thresholds : tuple of float
        Those by which the matrix is made block-diagonal.
    orders, growth_sparsity, growth_count
        Sizes of the leading parts on which methods are compared beyond the paper, and the sparsity
        and the number of components there.
    """

    sparsities: tuple[int, ...] = (3, 5, 8)
    sweep: tuple[int, ...] = tuple(range(2, 11))
    counts: tuple[int, ...] = (3, 5, 8)
    repeats: int = 3
    thresholds: tuple[float, ...] = (100.0, 150.0, 200.0)
    orders: tuple[int, ...] = (20, 40, 80, 160)
    growth_sparsity: int = 5
    growth_count: int = 3


def deviations(run: Result) -> Array:
    """Largest deviation from 90 degrees among the first r components, for each r."""
    cosines = np.abs(run.components @ run.components.T)
    np.fill_diagonal(cosines, 0.0)
    largest = [cosines[:r, :r].max() for r in range(1, len(cosines) + 1)]
    return np.degrees(np.arcsin(np.minimum(largest, 1.0)))


def seconds(run: Result) -> Array:
    """Time of each component."""
    return np.array([component.runtime for component in run.stages])


def load_covcolon(order: int = ORDER) -> tuple[Array, str]:
    """The first rows and columns of CovColon, and where they come from.

    The published matrix is taken from the folder that ``ORTHOSPCA_DATA`` names, if it is there;
    otherwise it is derived from the expression data, which agrees to five digits.
    """
    folder = os.environ.get("ORTHOSPCA_DATA")
    for name in ("CovColon_20.csv", "CovColon_500.csv") if folder else ():
        file = Path(str(folder), name)
        if file.is_file():
            matrix = read_table(file, header=False).square()
            if len(matrix) >= order:
                return matrix[:order, :order].copy(), name
    try:
        matrix = datasets.load_colon(variant="covcolon").covariance()
    except (OSError, ValueError) as error:
        raise InputError(str(error)) from None
    return matrix[:order, :order].copy(), "derived from the expression data"


def largest_block(Q: Array, threshold: float) -> IntArray:
    """Algorithm 2: the indices of the largest block once entries below the threshold are ignored.

    With threshold 0 only exact zeros are.
    """
    blocks = block_diagonalize(Q, threshold)
    return blocks.blocks[int(blocks.sizes.argmax())]


def largest_joining_threshold(Q: Array) -> float:
    """The largest threshold for which Algorithm 2 still leaves everything in one block."""
    sweep = threshold_sweep(Q)
    joined = len(sweep.n_blocks) > 0 and sweep.n_blocks[-1] == 1
    return float(sweep.magnitudes[-1]) if joined else 0.0


def orthogonal_run(
    Q: Array, sparsity: int, count: int, method: str, threshold: float | Blocks = 0.0
) -> Result:
    """Orthogonal components: GS-SPCA if the method is enumeration."""
    return solve(Q, sparsity, count, method=method, gap=GAP, threshold=threshold)


def deflation_run(Q: Array, sparsity: int, count: int) -> Result:
    """The baseline ``A ← (I - xxᵀ)A(I - xxᵀ)``, each first component by the same enumeration."""
    adjusted, stages = Q, []
    for _ in range(count):
        (stage,) = solve(adjusted, sparsity, method="enumeration").stages
        x, variance = stage.vector, stage.variance
        stages.append(replace(stage, variance=float(x @ Q @ x), deflated_variance=variance))
        project = np.eye(len(Q)) - np.outer(x, x)
        adjusted = project @ adjusted @ project
        adjusted = 0.5 * (adjusted + adjusted.T)
    limits = (sparsity,) * count
    return Result(tuple(stages), len(Q), limits, Status.OPTIMAL, method="deflation")


def fastest(make: Callable[[], Result], plan: Plan) -> Result:
    """Run several times and keep each component's shortest time: the rest is other programs."""
    runs = [make() for _ in range(plan.repeats)]
    least = np.min([seconds(run) for run in runs], axis=0).tolist()
    stages = tuple(replace(c, runtime=s) for c, s in zip(runs[0].stages, least, strict=True))
    return replace(runs[0], stages=stages, runtime=min(run.runtime for run in runs))
