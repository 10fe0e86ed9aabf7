"""What the command line says of a result beside its table."""

from __future__ import annotations

import numpy as np

from orthospca import words
from orthospca._typing import Array
from orthospca.result import Result, Status


def advice(result: Result) -> str:
    """What can be done about gaps that are open; empty if none are."""
    given = words.advice(result, _option)
    stopped = (Status.TIME_LIMIT, Status.NODE_LIMIT, Status.INTERRUPTED)
    if given and result.objective == "stagewise" and result.status in stopped:
        given += " With --resume FILE, a later run continues from here."
    return given


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
