"""Public name of :mod:`orthospca.interface.plotting`."""

from orthospca.interface.plotting import Picture as Picture
from orthospca.interface.plotting import plot_alternatives as plot_alternatives
from orthospca.interface.plotting import plot_audit as plot_audit
from orthospca.interface.plotting import plot_biplot as plot_biplot
from orthospca.interface.plotting import plot_convergence as plot_convergence
from orthospca.interface.plotting import plot_cross_validation as plot_cross_validation
from orthospca.interface.plotting import plot_loadings as plot_loadings
from orthospca.interface.plotting import plot_orthogonality as plot_orthogonality
from orthospca.interface.plotting import plot_path_loadings as plot_path_loadings
from orthospca.interface.plotting import plot_scores as plot_scores
from orthospca.interface.plotting import plot_scree as plot_scree
from orthospca.interface.plotting import plot_significance as plot_significance
from orthospca.interface.plotting import plot_sparsity_path as plot_sparsity_path
from orthospca.interface.plotting import plot_stability as plot_stability
from orthospca.interface.plotting import plot_stability_path as plot_stability_path
