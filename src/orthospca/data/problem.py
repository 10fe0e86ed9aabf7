"""A validated problem, of a matrix or of data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthospca._typing import Array
from orthospca.data.covariance import DataCovariance
from orthospca.model.demands import NO_DEMANDS, Demands
from orthospca.model.validation import (
    names_of,
    validate_covariance,
    validate_integer,
    validate_sparsity,
)
from orthospca.numerics.exact import variance_down


@dataclass(frozen=True, eq=False)
class Problem:
    """A covariance and what is asked of its components.

    Attributes
    ----------
    covariance : read-only array of shape (n, n), exactly symmetric, or DataCovariance
    sparsity : tuple of int
        One limit for each component asked for.
    feature_names : tuple of str, or None
    demands : Demands
        What is asked of the components beyond their sparsity.
    """

    covariance: Array | DataCovariance
    sparsity: tuple[int, ...]
    feature_names: tuple[str, ...] | None = None
    demands: Demands = NO_DEMANDS

    @classmethod
    def validate(cls, Q: Any, sparsity: Any, n_components: Any = 1) -> Problem:
        """Check the arguments of ``solve``; a bad one is a ``ValueError`` that names it."""
        covariance = read_covariance(Q)
        n = covariance.shape[0]
        count = validate_integer("n_components", n_components, 1, n, "the number of features")
        return cls(covariance, validate_sparsity(sparsity, count, n), names_of(Q))

    @property
    def n_features(self) -> int:
        """The order of Q."""
        return self.covariance.shape[0]


def read_covariance(Q: Any) -> Array | DataCovariance:
    """Return a covariance of data as it is, and anything else as a matrix, or raise an error."""
    return Q if isinstance(Q, DataCovariance) else validate_covariance(Q)


def diagonal_of(Q: Array | DataCovariance) -> Array:
    """Return the variances of the features."""
    return Q.diagonal if isinstance(Q, DataCovariance) else np.diagonal(Q)


def variances_of(Q: Array | DataCovariance, vectors: Iterable[Array]) -> list[float]:
    """Return the variance of each vector, rounded down."""
    if isinstance(Q, DataCovariance):
        return Q.variances(list(vectors))
    return [variance_down(Q, x) for x in vectors]
