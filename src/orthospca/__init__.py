"""Sparse principal components that are exactly orthogonal, each with a certificate.

The public names are loaded on first use, so that ``import orthospca`` and the command line's help
cost next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orthospca import datasets as datasets
    from orthospca import verify as verify
    from orthospca.blocks.partition import Blocks as Blocks
    from orthospca.blocks.partition import block_diagonalize as block_diagonalize
    from orthospca.certificate.files import Certificate as Certificate
    from orthospca.choosing.alternatives import Alternatives as Alternatives
    from orthospca.choosing.alternatives import alternatives as alternatives
    from orthospca.choosing.audit import Audit as Audit
    from orthospca.choosing.audit import audit as audit
    from orthospca.choosing.cross_validation import (
        cross_validate_sparsity as cross_validate_sparsity,
    )
    from orthospca.choosing.significance import Significance as Significance
    from orthospca.choosing.significance import significance as significance
    from orthospca.choosing.stability import stability as stability
    from orthospca.choosing.stability import stability_path as stability_path
    from orthospca.data.covariance import DataCovariance as DataCovariance
    from orthospca.estimator import OrthogonalSparsePCA as OrthogonalSparsePCA
    from orthospca.facade import solve as solve
    from orthospca.model.result import Component as Component
    from orthospca.model.result import Result as Result
    from orthospca.model.result import Status as Status
    from orthospca.paths.solving import sparsity_path as sparsity_path

_HOME = {
    "Alternatives": "orthospca.choosing.alternatives",
    "alternatives": "orthospca.choosing.alternatives",
    "Audit": "orthospca.choosing.audit",
    "audit": "orthospca.choosing.audit",
    "Blocks": "orthospca.blocks.partition",
    "Certificate": "orthospca.certificate.files",
    "Component": "orthospca.model.result",
    "DataCovariance": "orthospca.data.covariance",
    "OrthogonalSparsePCA": "orthospca.estimator",
    "Result": "orthospca.model.result",
    "Status": "orthospca.model.result",
    "block_diagonalize": "orthospca.blocks.partition",
    "cross_validate_sparsity": "orthospca.choosing.cross_validation",
    "Significance": "orthospca.choosing.significance",
    "significance": "orthospca.choosing.significance",
    "solve": "orthospca.facade",
    "sparsity_path": "orthospca.paths.solving",
    "stability": "orthospca.choosing.stability",
    "stability_path": "orthospca.choosing.stability",
}

__all__ = [*_HOME, "datasets", "verify"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in ("datasets", "verify"):
        value = import_module(f"orthospca.{name}")
    elif name == "__version__":
        value = import_module("importlib.metadata").version("orthospca")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
