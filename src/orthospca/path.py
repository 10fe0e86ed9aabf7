"""Public name of :mod:`orthospca.paths`."""

from orthospca.paths.result import Change, SparsityPath
from orthospca.paths.solving import PathCallback, parse_sparsities, sparsity_path

__all__ = ["Change", "PathCallback", "SparsityPath", "parse_sparsities", "sparsity_path"]
