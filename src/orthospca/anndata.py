"""Certified programmes of genes in single cells (``pip install "orthospca[anndata]"``).

:func:`pca` takes an ``AnnData`` and leaves in it what scanpy's functions look for:
scores of the cells in ``obsm``, loadings of the genes in ``varm``, variances in ``uns``, and with
them the proved bounds.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from scipy import sparse

from orthospca._errors import InputError
from orthospca._typing import AnyArray, IntArray
from orthospca.data.covariance import DataCovariance
from orthospca.facade import solve
from orthospca.fitting import shortcomings
from orthospca.model.validation import validate_choice

__all__ = ["pca"]

#: What scanpy marks genes with, for all that follows.
HIGHLY_VARIABLE = "highly_variable"
#: Entries of a file that are read together.
BLOCK = 2**24
_UNSET: Any = object()


def pca(
    adata: Any,
    n_components: int = 10,
    sparsity: Any = 10,
    *,
    layer: str | None = None,
    mask_var: Any = _UNSET,
    covariance: str = "empirical",
    key_added: str = "spca",
    **options: Any,
) -> None:
    """Find sparse components of the genes, after the conventions of ``scanpy.pp.pca``.

    Parameters
    ----------
    adata : AnnData
        Cells in rows, normalised and log-transformed.  A sparse matrix stays sparse, and only the
        needed parts of a backed file are read.
    n_components : int
    sparsity : int or sequence of int
        Number of genes in each component.
    layer : str, optional
        A layer to use instead of ``X``.
    mask_var : str, boolean array or None
        Which genes to use: a column of ``var``, or one truth value for each gene; None means all.
        As in scanpy, the default is ``var["highly_variable"]`` if it exists.
    covariance : {"empirical", "correlation"}
        ``"correlation"`` divides each gene by its standard deviation.
    key_added : str
        Key under which the results are stored.
    **options
        Passed to :func:`orthospca.solve`: ``gap``, ``time_limit``, ``nonnegative``, ``include``
        (genes by name) and others.

    Returns
    -------
    None
        ``adata.obsm[key_added]`` holds the scores of the cells, ``adata.varm[key_added]`` the
        loadings (0 for genes that were not used), and ``adata.uns[key_added]`` a dictionary with
        ``variance``, ``variance_ratio``, ``upper_bounds``, ``gaps``, ``status`` and ``params``.

    Examples
    --------
    >>> from anndata import AnnData
    >>> import orthospca.anndata
    >>> from orthospca import datasets
    >>> made = datasets.make_expression()
    >>> adata = AnnData(made.data)
    >>> adata.var_names = made.feature_names
    >>> orthospca.anndata.pca(adata, n_components=3, sparsity=8)
    >>> genes = adata.var_names[adata.varm["spca"][:, 0] != 0]
    >>> set(genes) == set(made.programmes["cycle"])
    True
    """
    if not hasattr(adata, "var_names"):
        raise InputError(f"adata must be an AnnData, got {type(adata).__name__}")
    if not isinstance(key_added, str):
        raise InputError(f"key_added must be a string, got {key_added!r}")
    validate_choice("covariance", covariance, ("empirical", "correlation"))
    if mask_var is _UNSET:
        mask_var = HIGHLY_VARIABLE if HIGHLY_VARIABLE in adata.var else None
    used = genes_of(adata, mask_var)
    X = values_of(adata, layer, used)
    if holds_counts(X):
        where = "X" if layer is None else f"layers[{layer!r}]"
        said = f"adata.{where} holds counts: normalise them and take logarithms first"
        warnings.warn(f"{said} (sc.pp.normalize_total, sc.pp.log1p)", UserWarning, stacklevel=2)
    data = DataCovariance(X, correlation=covariance == "correlation")
    names = [str(adata.var_names[j]) for j in used]
    result = solve(data, sparsity, n_components, feature_names=names, **options)
    for sentence, kind in shortcomings(result, n_components):
        warnings.warn(sentence, kind, stacklevel=2)
    loaded = np.flatnonzero(result.components.any(axis=0))
    scores = data.factor(loaded) @ result.components[:, loaded].T
    loadings = np.zeros((adata.n_vars, result.n_components))
    loadings[used] = result.components.T
    adata.obsm[key_added] = math.sqrt(data.n_samples - 1) * scores
    adata.varm[key_added] = loadings
    asked = {"n_components": n_components, "sparsity": sparsity, "covariance": covariance}
    asked |= {"layer": layer, "mask_var": mask_var, **options}
    adata.uns[key_added] = {
        "params": {name: value for name, value in asked.items() if _can_be_written(value)},
        "variance": result.variances,
        "variance_ratio": result.explained_variance_ratio,
        "upper_bounds": result.upper_bounds,
        "gaps": result.gaps,
        "status": result.status.value,
    }


def genes_of(adata: Any, mask: Any) -> IntArray:
    """Places of the genes that a mask leaves: a column of ``var``, truth values, or None."""
    if mask is None:
        return np.arange(adata.n_vars)
    if isinstance(mask, str):
        if mask not in adata.var:
            known = ", ".join(map(repr, adata.var.columns)) or "none"
            raise InputError(f"mask_var must be a column of adata.var ({known}), got {mask!r}")
        mask = adata.var[mask].to_numpy()
    chosen = np.asarray(mask)
    if chosen.dtype != bool or chosen.shape != (adata.n_vars,):
        raise InputError(
            f"mask_var must be one truth value for each of the {adata.n_vars} genes, got an array "
            f"of type {chosen.dtype} and shape {chosen.shape}"
        )
    return np.flatnonzero(chosen)


def values_of(adata: Any, layer: str | None, used: IntArray, together: int = BLOCK) -> Any:
    """The numbers of some genes; of a backed file a sparse matrix, or what reads it in parts."""
    if layer is not None and layer not in adata.layers:
        known = ", ".join(map(repr, adata.layers)) or "none"
        raise InputError(f"layer must be a layer of adata ({known}), got {layer!r}")
    X = adata.X if layer is None else adata.layers[layer]
    if X is None:
        raise InputError("adata.X is empty: name a layer")
    if hasattr(X, "to_memory"):
        X = X.to_memory()
    if not (sparse.issparse(X) or isinstance(X, np.ndarray) or hasattr(X, "dask")):
        return _Stored(X, used, together)
    return X if len(used) == adata.n_vars else X[:, used]


def holds_counts(X: Any) -> bool:
    """Whether all numbers in memory are whole, and some are larger than one."""
    found = X.data if sparse.issparse(X) else X
    if not isinstance(found, np.ndarray) or not found.size or found.dtype.kind not in "iuf":
        return False
    return not (found[:1000] % 1).any() and found.max() > 1 and not (found % 1).any()


class _Stored:
    """Columns of a data set in a file, read in blocks of rows, so many entries at a time."""

    def __init__(self, data: Any, columns: IntArray, together: int) -> None:
        self._data, self._columns, self.dtype = data, columns, data.dtype
        self._step = max(1, together // data.shape[1])
        self.shape = (data.shape[0], len(columns))

    def __getitem__(self, key: tuple[slice, Any]) -> AnyArray:
        chosen = self._columns[key[1]]
        starts, step = range(0, self.shape[0], self._step), self._step
        parts = (self._data[i : i + step][:, chosen] for i in starts)
        return np.concatenate(list(parts))[key[0]]


def _can_be_written(value: Any) -> bool:
    """Whether an ``.h5ad`` file can hold it."""
    return isinstance(value, str | bool | int | float | np.ndarray) or (
        isinstance(value, list | tuple) and all(isinstance(each, str | int) for each in value)
    )
