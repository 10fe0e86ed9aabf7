"""What the tests of the interface share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from orthospca import Result, Status
from orthospca.result import Component, Progress


def _made_up(n_components: int, n_features: int, per_component: int) -> Result:
    """A large result that nobody has to solve."""
    rng = np.random.default_rng(0)
    stages, history = [], []
    for k in range(n_components):
        vector = np.zeros(n_features)
        places = (np.arange(per_component) + k * per_component) % n_features
        vector[places] = rng.standard_normal(per_component)
        vector /= np.linalg.norm(vector)
        variance = 100.0 / (k + 1)
        stages.append(Component(vector, variance, 1.00005 * variance, Status.OPTIMAL, 7, 0.1))
        history += [Progress(k, i, 1, variance, variance * (1 + 1 / (i + 1)), k + i / 100)
                    for i in range(100)]  # fmt: skip
    names = tuple(f"ENSG{j:011d} gene {j}" for j in range(n_features))
    sparsity = (per_component,) * n_components
    return Result(
        tuple(stages), n_features, sparsity, Status.OPTIMAL, feature_names=names,
        total_variance=900.0, history=tuple(history), known_path=tuple(stages[:per_component]),
    )  # fmt: skip


@pytest.fixture
def made_up() -> Callable[[int, int, int], Result]:
    """Results of any size: components, features, and features in each component."""
    return _made_up
