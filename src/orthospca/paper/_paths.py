"""The paper's example of variances that depend on the path, with each objective."""

from __future__ import annotations

import numpy as np

from orthospca import Result, solve
from orthospca.paper._experiments import GAP

#: Two vectors with two nonzeros have the value 6, and they are followed by different ones.
EXAMPLE = np.array([[5.0, 1.0, 0.0], [1.0, 5.0, 2.0], [0.0, 2.0, 2.0]])
SPARSITY = 2
#: What ``solve(objective=…)`` can be.
OBJECTIVES = ("stagewise", "lexicographic", "joint")


Paths = dict[int, dict[str, Result]]
"""Two components of the example, and all three, by objective."""


def follow_paths() -> Paths:
    """Solve the example with each objective."""
    return {
        count: {x: solve(EXAMPLE, SPARSITY, count, objective=x, gap=GAP) for x in OBJECTIVES}
        for count in (2, 3)
    }
