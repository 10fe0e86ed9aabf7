"""Samples with planted sparse components, of any size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import Array, IntArray


@dataclass(frozen=True, eq=False)
class PlantedSamples:
    """A data matrix with groups of features that share a factor.

    Attributes
    ----------
    data : array of shape (m, n)
    supports : tuple of integer arrays
        The features of each group, strongest group first (in the population; with few samples two
        groups of similar strength may change places).
    """

    data: Array
    supports: tuple[IntArray, ...]


def make_planted_samples(
    n_features: int,
    n_samples: int = 200,
    *,
    sparsity: int = 10,
    n_groups: int = 8,
    strengths: tuple[float, float] = (7.0, 2.0),
    noise: tuple[float, float] = (0.2, 2.5),
    random_state: int = 0,
) -> PlantedSamples:
    """Draw noise of uneven variances and plant groups of features that share a factor.

    The population covariance is ``Diag(noise) + Σ_g strength_g 1_g 1_gᵀ``: on the support of group
    g its largest eigenvalue is about ``sparsity·strength_g`` plus the noise, and no other support
    of that size comes close, so the planted supports are the components as long as the samples
    tell the groups from the noise.

    Parameters
    ----------
    n_features, n_samples : int
    sparsity : int
        Features in each group.
    n_groups : int
    strengths : tuple of float
        Variance of the factor of the strongest and of the weakest group; the others lie between.
    noise : tuple of float
        Smallest and largest variance of the noise.
    random_state : int

    Examples
    --------
    >>> from orthospca import DataCovariance, datasets, solve
    >>> planted = datasets.make_planted_samples(300, strengths=(9.0, 1.0))
    >>> result = solve(DataCovariance(planted.data), sparsity=10)
    >>> bool((result.supports[0] == planted.supports[0]).all())
    True
    """
    if n_groups * sparsity > n_features:
        raise InputError(
            f"n_features must be at least n_groups·sparsity = {n_groups * sparsity}, "
            f"got {n_features}"
        )
    rng = np.random.default_rng(random_state)
    data = rng.standard_normal((n_samples, n_features))
    data *= np.sqrt(rng.uniform(*noise, n_features))
    places = rng.permutation(n_features)[: n_groups * sparsity].reshape(n_groups, sparsity)
    for columns, strength in zip(places, np.linspace(*strengths, n_groups), strict=True):
        data[:, columns] += np.sqrt(strength) * rng.standard_normal((n_samples, 1))
    return PlantedSamples(data, tuple(np.sort(columns) for columns in places))
