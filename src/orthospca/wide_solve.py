"""Stage after stage on a data matrix with more features than a covariance matrix could have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from orthospca._typing import Array
from orthospca.blocks.partition import Blocks, blocks_of_data
from orthospca.blocks.partitioned_data import PartitionedData
from orthospca.blocks.pool import Pool
from orthospca.blocks.thresholds import describe
from orthospca.data.covariance import DataCovariance
from orthospca.model.limits import Watch
from orthospca.model.result import Component, Result
from orthospca.model.tolerance import Tolerance
from orthospca.model.validation import validate_integer, validate_sparsity
from orthospca.search.methods import STAGE_SOLVERS
from orthospca.search.outcome import Outcome
from orthospca.search.sequence import overall_status, run_stages
from orthospca.wide.stage import LARGEST_MATRIX, LargeProblem


def is_wide(Q: Any) -> bool:
    """Whether ``Q`` is given by data and too large to be formed."""
    return isinstance(Q, DataCovariance) and Q.n_features > LARGEST_MATRIX


def refuse_for_wide(covariance: DataCovariance, method: str, threshold: Any) -> None:
    """Raise ``ValueError`` for what needs the whole matrix."""
    n = covariance.n_features
    if method not in ("branch-and-bound", "eigenvalue"):
        raise ValueError(
            f"method must be 'branch-and-bound' or 'eigenvalue' for data with {n} features, "
            f"more than {LARGEST_MATRIX}, got {method!r}"
        )
    if isinstance(threshold, Blocks):
        if len(threshold.labels) != n:
            raise ValueError(
                f"threshold: the blocks are those of {len(threshold.labels)} features, Q has {n}"
            )
        if threshold.inside != "kept":
            raise ValueError(
                f"threshold: blocks of data with {n} features, more than {LARGEST_MATRIX}, must "
                f"keep the entries inside them, got inside={threshold.inside!r}"
            )


@dataclass(frozen=True, eq=False)
class WideSolve:
    """What is asked for, and how it is to be found.

    Attributes
    ----------
    covariance : DataCovariance
    limits : tuple of int
        The sparsity of each component.
    method : str
    tolerance : Tolerance
    watch : Watch
    n_jobs : int, optional
    problem : LargeProblem
        May hold what earlier solves have learnt about its rows.
    """

    covariance: DataCovariance
    limits: tuple[int, ...]
    method: str
    tolerance: Tolerance
    watch: Watch
    n_jobs: int | None
    problem: LargeProblem

    @classmethod
    def of(
        cls,
        covariance: DataCovariance,
        sparsity: Any,
        n_components: Any,
        method: str,
        tolerance: Tolerance,
        watch: Watch,
        n_jobs: int | None,
        problem: LargeProblem | None = None,
    ) -> WideSolve:
        """Check what is asked for."""
        n = covariance.n_features
        count = validate_integer("n_components", n_components, 1, n, "the number of features")
        limits = validate_sparsity(sparsity, count, n)
        if problem is None:
            problem = LargeProblem(covariance, max(limits), tolerance.gap, n_jobs)
        return cls(covariance, limits, method, tolerance, watch, n_jobs, problem)

    def run(self, threshold: float | str | Blocks = 0.0) -> Result:
        """Find the components of a covariance that is never formed in full."""
        n = self.covariance.n_features
        if threshold == "auto" or threshold == 0.0:
            result = self._one_by_one()
            note = f"row bounds left {self.problem.largest_matrix} of {n} features to a matrix"
            if threshold == "auto":
                note = f"threshold='auto' chose 0: nothing is ignored, and {note}"
            return replace(result, note=note)
        blocks = threshold
        if not isinstance(blocks, Blocks):
            assert not isinstance(threshold, str | Blocks)
            blocks = blocks_of_data(self.covariance, threshold)
        note = f"{describe(blocks, n)}; the whole matrix was not formed"
        if blocks.n_blocks == 1:
            return replace(self._one_by_one(), note=note)
        return replace(self._by_blocks(blocks), note=note)

    def _one_by_one(self) -> Result:
        solver = STAGE_SOLVERS[self.method]

        def solve_stage(limit: int, previous: Array) -> Outcome:
            return self.problem.solve_stage(limit, previous, self.tolerance, self.watch, solver)

        n = self.covariance.n_features
        found, exhausted = run_stages(n, self.limits, solve_stage, self.watch)
        guarantee = max((c.upper_bound - c.variance for c in found), default=0.0)
        return self._result(found, exhausted, guarantee)

    def _by_blocks(self, blocks: Blocks) -> Result:
        partitioned = PartitionedData(self.problem, self.limits, blocks)
        tolerance = self.tolerance
        pool = Pool(partitioned, self.method, tolerance, tolerance, self.watch, self.n_jobs)
        merged = pool.run()
        return self._result(merged.components, merged.exhausted, merged.guarantee)

    def _result(self, found: list[Component], exhausted: bool, guarantee: float) -> Result:
        return Result(
            stages=tuple(found),
            n_features=self.covariance.n_features,
            sparsity=self.limits,
            status=overall_status(found, len(self.limits), exhausted, self.watch),
            exhausted=exhausted,
            method=self.method,
            guarantee=guarantee,
            runtime=self.watch.elapsed,
            history=tuple(self.watch.history),
            feature_names=self.covariance.feature_names,
            total_variance=float(self.covariance.diagonal.sum()),
        )
