"""``orthospca significance``: how many components are more than noise."""

from __future__ import annotations

from dataclasses import dataclass

import orthospca
from orthospca.interface.cli.options import (
    SHARE,
    Components,
    Data,
    Reading,
    Showing,
    Time,
    command,
    of_rows,
    of_solver,
)


@dataclass(frozen=True)
class Permutations:
    """How often columns are permuted."""

    n_permutations: int = of_rows(
        "Permutations for each component.", "-n --permutations", default=20
    )
    level: float = of_rows("Largest p-value that counts as more than noise.", default=0.05)
    random_state: int = of_rows("Random seed of the permutations.", "--seed", default=0, min=0)


@dataclass(frozen=True)
class Testing(Time):
    """How exact a test is."""

    gap: float = of_solver("Relative gap of the components.", default=1e-4, **SHARE)
    null_gap: float = of_solver(
        "Relative gap of the bounds on permuted data.", default=0.02, **SHARE
    )
    node_limit: int | None = of_solver("Nodes per component.")


@command
def significance(
    data: Data,
    *,
    components: Components,
    permutations: Permutations,
    reading: Reading,
    limits: Testing,
    showing: Showing,
) -> int:
    """Test how many components are more than noise, to help choose -k.

    Each column is permuted independently. A component counts if its variance exceeds a proved bound
    on all components with as many variables in the permuted data.

    For example:

    `orthospca significance measurements.csv -p 5 -k 6 --correlation`

    `orthospca significance genes.parquet -p 10 -k 5 -n 100 --level 0.01`
    """
    from orthospca.interface.choosing import significance_rows
    from orthospca.interface.cli.job import Job, files_of

    job = Job(data, reading, showing, files_of("significance"))
    table, Q = job.read()
    job.need_rows("significance needs")
    asked = vars(limits) | components.settings(Q.shape[0]) | vars(permutations)

    total = components.n_components * permutations.n_permutations
    now = asked | {"time_limit": job.left(limits), "feature_names": table.columns}
    with job.computing():
        found = job.ask_rows(orthospca.significance, "permutations", total, **now)
    return job.conclude(found, "More than noise?", significance_rows(found), asked)
