"""Public name of :mod:`orthospca.interface.plotting` and its pictures for choosing p and K."""

from orthospca.interface.choosing_plots import (
    Picture,
    plot_alternatives,
    plot_cross_validation,
    plot_path_loadings,
    plot_stability,
    plot_stability_path,
)
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
    "Picture",
    "plot_alternatives",
    "plot_biplot",
    "plot_convergence",
    "plot_cross_validation",
    "plot_loadings",
    "plot_orthogonality",
    "plot_path_loadings",
    "plot_scores",
    "plot_scree",
    "plot_sparsity_path",
    "plot_stability",
    "plot_stability_path",
]
