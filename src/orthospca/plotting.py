"""Public name of :mod:`orthospca.interface.plotting`."""

from orthospca.interface.plotting import (
    plot_biplot,
    plot_convergence,
    plot_loadings,
    plot_orthogonality,
    plot_scores,
    plot_scree,
    plot_sparsity_path,
)

__all__ = [
    "plot_biplot",
    "plot_convergence",
    "plot_loadings",
    "plot_orthogonality",
    "plot_scores",
    "plot_scree",
    "plot_sparsity_path",
]
