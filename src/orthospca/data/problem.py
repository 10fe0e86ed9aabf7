"""A validated problem whose covariance is given by data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orthospca.data.covariance import DataCovariance
from orthospca.model.demands import NO_DEMANDS, Demands
from orthospca.model.validation import validate_integer, validate_sparsity


@dataclass(frozen=True, eq=False)
class DataProblem:
    """As :class:`orthospca.model.problem.Problem`, of a covariance that is not formed.

    Attributes
    ----------
    covariance : DataCovariance
    sparsity : tuple of int
        One limit for each component asked for.
    feature_names : tuple of str, or None
    demands : Demands
        What is asked of the components beyond their sparsity.
    """

    covariance: DataCovariance
    sparsity: tuple[int, ...]
    feature_names: tuple[str, ...] | None = None
    demands: Demands = NO_DEMANDS

    @classmethod
    def validate(cls, Q: DataCovariance, sparsity: Any, n_components: Any = 1) -> DataProblem:
        """Check the arguments of ``solve``; a bad one is a ``ValueError`` that names it."""
        n = Q.n_features
        count = validate_integer("n_components", n_components, 1, n, "the number of features")
        return cls(Q, validate_sparsity(sparsity, count, n), Q.feature_names)

    @property
    def n_features(self) -> int:
        """The order of Q."""
        return self.covariance.n_features

    @property
    def total_variance(self) -> float:
        """The trace of Q."""
        return float(self.covariance.diagonal.sum())
