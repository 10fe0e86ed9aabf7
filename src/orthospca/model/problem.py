"""A validated, immutable problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orthospca._typing import Array
from orthospca.model.demands import NO_DEMANDS, Demands
from orthospca.model.validation import (
    names_of,
    validate_covariance,
    validate_integer,
    validate_sparsity,
)


@dataclass(frozen=True, eq=False)
class Problem:
    """Find orthogonal components of ``covariance``, the k-th with at most ``sparsity[k]`` features.

    Attributes
    ----------
    covariance : array of shape (n, n)
        Exactly symmetric, finite, read-only; it may be indefinite.
    sparsity : tuple of int
        One limit for each component asked for.
    feature_names : tuple of str or None
    demands : Demands
        What is asked of the components beyond their sparsity.
    """

    covariance: Array
    sparsity: tuple[int, ...]
    feature_names: tuple[str, ...] | None = None
    demands: Demands = NO_DEMANDS

    @classmethod
    def validate(cls, Q: Any, sparsity: Any, n_components: Any = 1) -> Problem:
        """Check the arguments of ``solve``; a bad one is a ``ValueError`` that names it."""
        covariance = validate_covariance(Q)
        n = len(covariance)
        count = validate_integer("n_components", n_components, 1, n, "the number of features")
        limits = validate_sparsity(sparsity, count, n)
        return cls(covariance, limits, names_of(Q))

    @property
    def n_features(self) -> int:
        """The order of Q."""
        return len(self.covariance)

    @property
    def total_variance(self) -> float:
        """The trace of Q."""
        return float(self.covariance.trace())
