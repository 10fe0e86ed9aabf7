"""Which way a problem goes: whether a matrix is formed, whether it is split into blocks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orthospca._errors import InputError
from orthospca._methods import Method, Objective
from orthospca._typing import Array
from orthospca.blocks.partition import Blocks
from orthospca.blocks.partitioned import PartitionedData, PartitionedMatrix
from orthospca.blocks.pool import BlockStages
from orthospca.blocks.thresholds import plan_blocks, plan_blocks_of_data
from orthospca.data.covariance import DataCovariance
from orthospca.data.problem import Problem
from orthospca.model.demands import NO_DEMANDS, Demands
from orthospca.model.limits import Watch
from orthospca.model.memory import size_of
from orthospca.model.settings import Settings
from orthospca.model.validation import validate_covariance
from orthospca.search.nonnegative import NonnegativeStages
from orthospca.search.sequence import Stages
from orthospca.search.stages import DeflatedStages, MatrixStages, UncorrelatedStages
from orthospca.supports.enumeration import refuse_if_too_many
from orthospca.wide.stage import WideProblem, WideStages

#: Bytes of centred data up to which they are written down for a proof.
LARGEST_FACTOR = 2**30
#: Why signs and scores are not solved block by block.
NOT_SPLIT = "constraints on loadings or scores need the whole matrix"
#: Multiplications a second of the fastest machine: what takes it too long is not begun.
FASTEST = 1e11


def certified_by(covariance: Array | DataCovariance) -> tuple[Array, str]:
    """Q, or B of ``Q = BᵀB``: the data, centred and scaled; and which of them it is."""
    if not isinstance(covariance, DataCovariance):
        return covariance, "matrix"
    m, n = covariance.n_samples, covariance.n_features
    if 8 * m * n > LARGEST_FACTOR:
        raise InputError(
            f"proof needs data of at most {LARGEST_FACTOR // 2**20} MB when centred, "
            f"got {m} × {n} numbers"
        )
    # A zero may have a sign that depends on how the data are stored.
    return covariance.factor(np.arange(n)) + 0.0, "factor"


def can_do_without(settings: Settings, threshold: Any = 0.0, demands: Demands = NO_DEMANDS) -> bool:
    """Whether data can be solved without their matrix."""
    if isinstance(threshold, Blocks) or threshold not in (0.0, "auto"):
        return False
    return not needs_matrix(settings, demands) and not settings.proof


def needs_matrix(settings: Settings, demands: Demands = NO_DEMANDS) -> str:
    """What cannot be done without a matrix, whatever its size; nothing, if all can."""
    if settings.objective is Objective.LEXICOGRAPHIC:
        return f"objective={str(settings.objective)!r}"
    if settings.objective is Objective.JOINT and settings.proof:
        return "proof with objective='joint'"
    if settings.method not in (Method.BRANCH_AND_BOUND, Method.EIGENVALUE):
        return f"method={str(settings.method)!r}"
    if demands.uncorrelated:
        return f"relation={str(demands.relation)!r}"
    return "proof with nonnegative=True" if demands.nonnegative and settings.proof else ""


def is_formed(
    Q: Any, settings: Settings, threshold: Any = 0.0, demands: Demands = NO_DEMANDS
) -> bool:
    """Whether there is a matrix, or will be one before anything else is done.

    Of data it is formed if nothing else will do, if there are few features, and of a moderate
    number of them for a proof or for blocks.  Everything else forms the parts that it needs.
    """
    if not isinstance(Q, DataCovariance):
        return True
    what = needs_matrix(settings, demands)
    if not what:
        tuning = settings.tuning.wide
        if settings.objective is Objective.JOINT:
            # As many as can be relaxed and branched on.
            return Q.n_features <= settings.tuning.joint.relaxed.features
        few = tuning.few if can_do_without(settings, threshold) else math.inf
        return Q.n_features <= min(few, tuning.formed)
    size = 8.0 * Q.n_features**2
    if size > settings.memory:
        raise InputError(
            f"{what} needs the covariance matrix, {size_of(size)} for {Q.n_features} features, but "
            f"memory_limit is {size_of(settings.memory)}"
        )
    return True


def formed_if_needed(
    Q: Array | DataCovariance,
    formed: bool,
    settings: Settings,
    threshold: Any,
    demands: Demands,
    watch: Watch,
) -> Array | DataCovariance | None:
    """Form the matrix of data, or leave them if that takes too long; None if nothing else does."""
    if not (formed and isinstance(Q, DataCovariance)):
        return Q
    matrix = formed_in_time(Q, settings, watch)
    if matrix is not None:
        return matrix
    return Q if can_do_without(settings, threshold, demands) else None


def formed_in_time(Q: DataCovariance, settings: Settings, watch: Watch) -> Array | None:
    """Form the whole matrix; None if that takes too much of the time, or was interrupted."""
    began = watch.clock.elapsed
    if Q.source.cost(Q.n_features) > FASTEST * watch.seconds_left:
        return None

    def give_up(done: float) -> bool:
        watch.journal.forming = done
        return watch.is_too_slow(done, watch.clock.elapsed - began, 1.0)

    matrix = Q.formed(np.arange(Q.n_features), give_up)
    watch.journal.forming = None
    return None if matrix is None else validate_covariance(matrix)


def stages_of_matrix(
    Q: Array, problem: Problem, threshold: float | str | Blocks, settings: Settings, watch: Watch
) -> Stages:
    """Choose the way through a problem given by its matrix."""
    if settings.method is Method.DEFLATION:
        return DeflatedStages(Q, settings, watch)
    demands = problem.demands
    if demands.nonnegative or demands.uncorrelated:
        if settings.method is Method.ENUMERATION:
            for k, limit in enumerate(problem.sparsity):
                refuse_if_too_many(problem.n_features, limit, len(demands.asked(k).included))
        why = _not_split(threshold, NOT_SPLIT)
        way = NonnegativeStages if demands.nonnegative else UncorrelatedStages
        return way(Q, settings, watch, why)
    if settings.proof:
        return MatrixStages(Q, settings, watch, _not_split(threshold))
    plan = plan_blocks(Q, problem.sparsity, threshold, settings)
    if settings.method is Method.ENUMERATION:
        sizes = [problem.n_features] if plan.blocks is None else set(plan.blocks.sizes.tolist())
        for size in sizes:
            for k, limit in enumerate(problem.sparsity):
                included = len(problem.demands.asked(k).included) if plan.blocks is None else 0
                refuse_if_too_many(size, min(limit, size), included)
    if plan.blocks is None or (across := _across(plan.blocks, problem.demands)):
        return MatrixStages(Q, settings, watch, plan.note if plan.blocks is None else across)
    partitioned = PartitionedMatrix(Q, plan.blocks, settings)
    return BlockStages(partitioned, settings, plan.tolerance, watch, plan.note)


def _across(blocks: Blocks, demands: Demands) -> str:
    """Why blocks are of no use: what is orthogonal to a vector across them may be so too."""
    if demands.previous is None or demands.disjoint:
        return ""
    for vector in demands.previous:
        if len(np.unique(blocks.labels[vector != 0])) > 1:
            return "not split into blocks: a vector of previous uses features of several blocks"
    return ""


def _not_split(
    threshold: float | str | Blocks, why: str = "a proof covers the whole matrix"
) -> str:
    """Why a problem is not split into blocks."""
    asked = isinstance(threshold, Blocks) or threshold != 0.0
    return f"the threshold was not used: {why}" if asked else ""


def stages_of_data(
    wide: WideProblem,
    demands: Demands,
    threshold: float | str | Blocks,
    settings: Settings,
    watch: Watch,
) -> Stages:
    """Choose the way through a problem whose matrix is not formed."""
    if demands.nonnegative:
        return WideStages(wide, settings, watch, _not_split(threshold, NOT_SPLIT))
    if settings.proof:
        return WideStages(wide, settings, watch, _not_split(threshold))
    plan = plan_blocks_of_data(wide.covariance, threshold, settings.tolerance)
    if plan.blocks is None or (across := _across(plan.blocks, demands)):
        return WideStages(wide, settings, watch, plan.note if plan.blocks is None else across)
    partitioned = PartitionedData(wide, plan.blocks)
    return BlockStages(partitioned, settings, plan.tolerance, watch, plan.note)
