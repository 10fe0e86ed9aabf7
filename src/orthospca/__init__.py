"""Sparse principal components that are exactly orthogonal, each with a certificate.

The public names are loaded on first use, so that ``import orthospca`` and the command line's help
cost next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orthospca import datasets as datasets
    from orthospca.blocks import Blocks as Blocks
    from orthospca.blocks import block_diagonalize as block_diagonalize
    from orthospca.components import solve as solve
    from orthospca.covariance import DataCovariance as DataCovariance
    from orthospca.estimator import OrthogonalSparsePCA as OrthogonalSparsePCA
    from orthospca.path import sparsity_path as sparsity_path
    from orthospca.result import Component as Component
    from orthospca.result import Result as Result
    from orthospca.result import Status as Status

__all__ = [
    "Blocks",
    "Component",
    "DataCovariance",
    "OrthogonalSparsePCA",
    "Result",
    "Status",
    "block_diagonalize",
    "datasets",
    "solve",
    "sparsity_path",
]

_HOME = {
    "Blocks": "orthospca.blocks",
    "Component": "orthospca.result",
    "DataCovariance": "orthospca.covariance",
    "OrthogonalSparsePCA": "orthospca.estimator",
    "Result": "orthospca.result",
    "Status": "orthospca.result",
    "block_diagonalize": "orthospca.blocks",
    "solve": "orthospca.components",
    "sparsity_path": "orthospca.path",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name == "datasets":
        value = import_module("orthospca.datasets")
    elif name == "__version__":
        value = import_module("importlib.metadata").version("orthospca")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
