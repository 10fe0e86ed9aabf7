"""Public name of :mod:`orthospca.interface.plotting`."""

from orthospca.interface.plotting import (
    plot_convergence,
    plot_loadings,
    plot_orthogonality,
    plot_scree,
    plot_sparsity_path,
)

__all__ = [
    "plot_convergence",
    "plot_loadings",
    "plot_orthogonality",
    "plot_scree",
    "plot_sparsity_path",
]
