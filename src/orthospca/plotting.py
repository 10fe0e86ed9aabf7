"""Public name of :mod:`orthospca.interface.plotting`."""

from orthospca.interface.plotting import (
    Picture,
    plot_alternatives,
    plot_audit,
    plot_biplot,
    plot_convergence,
    plot_cross_validation,
    plot_loadings,
    plot_orthogonality,
    plot_path_loadings,
    plot_scores,
    plot_scree,
    plot_significance,
    plot_sparsity_path,
    plot_stability,
    plot_stability_path,
)

__all__ = [
    "Picture",
    "plot_alternatives",
    "plot_audit",
    "plot_biplot",
    "plot_convergence",
    "plot_cross_validation",
    "plot_loadings",
    "plot_orthogonality",
    "plot_path_loadings",
    "plot_scores",
    "plot_scree",
    "plot_significance",
    "plot_sparsity_path",
    "plot_stability",
    "plot_stability_path",
]
