"""What the command line says of a result beside its table."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from orthospca import words
from orthospca._typing import Array
from orthospca.result import Result, Status

#: Seconds of one component after which a faster way is worth a word.
LONG = 10.0
UNCOMPILED = "To make long searches several times faster, run: pip install 'orthospca[fast]'"


def advice(result: Result) -> str:
    """What can be done about gaps that are open, or long searches; empty if there are none."""
    given = words.advice(result, _option)
    stopped = (Status.TIME_LIMIT, Status.NODE_LIMIT, Status.INTERRUPTED)
    if given and result.objective == "stagewise" and result.status in stopped:
        given += " With --resume FILE, a later run continues from here."
    if any(stage.runtime > LONG for stage in result.stages) and find_spec("numba") is None:
        given += f" {UNCOMPILED}"
    return given.strip()


def _option(argument: str) -> str:
    """How an argument of ``solve`` is typed."""
    return "-p" if argument == "sparsity" else f"--{argument.replace('_', '-')}"


def beside_pca(result: Result, eigenvalues: Array) -> str:
    """What sparsity costs, against ordinary PCA, and what orthogonality means, in figures."""
    X = result.components
    dense = eigenvalues[: len(X)].sum() / result.total_variance
    deviation = np.abs(X @ X.T - np.eye(len(X))).max(initial=0.0)
    return (
        f"{len(X)} ordinary components, using all variables: {dense:.1%}. "
        f"Deviation from orthogonality: {deviation:.1e} at most."
    )
