"""The paper's example of variances that depend on the path, with each objective."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthospca import Result, solve
from orthospca.paper._experiments import GAP

#: Two vectors with two nonzeros have the value 6, and they are followed by different ones.
EXAMPLE = np.array([[5.0, 1.0, 0.0], [1.0, 5.0, 2.0], [0.0, 2.0, 2.0]])
SPARSITY = 2
#: What ``solve(objective=…)`` can be.
OBJECTIVES = ("stagewise", "lexicographic", "joint")


@dataclass(frozen=True, eq=False)
class Paths:
    """What each objective makes of the example.

    Attributes
    ----------
    pairs, bases : dict
        Two components, and all three, by objective.
    """

    pairs: dict[str, Result]
    bases: dict[str, Result]


def follow_paths() -> Paths:
    """Solve the example with each objective."""
    pairs, bases = (
        {name: solve(EXAMPLE, SPARSITY, count, objective=name, gap=GAP) for name in OBJECTIVES}
        for count in (2, 3)
    )
    return Paths(pairs, bases)
