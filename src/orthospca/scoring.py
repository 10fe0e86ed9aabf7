"""What a fitted estimator does with observations: scores, and what they say of new ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from orthospca._errors import InputError
from orthospca._typing import AnyArray, Array
from orthospca.data.moments import sum_of_squares, validate_weights
from orthospca.fitting import Names, stored
from orthospca.model.result import Result
from orthospca.model.validation import (
    numbers_of,
    refuse_anndata,
    refuse_masked,
    validate_complete,
)


class SparseScores(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Scores of observations along components, and back; for whatever finds the components.

    Attributes
    ----------
    missing : {"error", "mean", "pairwise"}
        What is done with NaN.
    components_, mean_, scale_, explained_variance_, noise_variance_, n_components_, result_
        As fitted; see :class:`orthospca.OrthogonalSparsePCA`.
    """

    missing: str
    components_: AnyArray
    mean_: AnyArray
    scale_: AnyArray
    explained_variance_: Array
    noise_variance_: float
    n_components_: int
    result_: Result

    def transform(self, X: Any) -> AnyArray:
        """Return the scores ``((X - mean_) / scale_) @ components_.T``.

        Only the columns that some component uses are read.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Observations, with ``covariance="precomputed"`` too: centre and scale them as those
            from which the matrix was computed.

        Returns
        -------
        array of shape (n_samples, n_components)
            The scores.
        """
        check_is_fitted(self)
        return self._scores(self._observations(X, reset=False))

    def inverse_transform(self, X: Any) -> AnyArray:
        """Return observations that have these scores: ``X @ components_ * scale_ + mean_``.

        ``inverse_transform(transform(X))`` is the orthogonal projection of X onto the span of the
        components, in the centred and scaled coordinates; with ``relation="uncorrelated"`` too,
        where the pseudo-inverse of ``components_`` takes the place of its transpose.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores.

        Returns
        -------
        array of shape (n_samples, n_features)
            The observations.
        """
        check_is_fitted(self)
        X = check_array(X, dtype=[np.float64, np.float32], input_name="X")
        if X.shape[1] != self.n_components_:
            raise InputError(
                f"X must have one column for each of the {self.n_components_} components, "
                f"got {X.shape[1]}"
            )
        V = self._apart.astype(self.components_.dtype) @ self.components_
        return (X @ V) * self.scale_ + self.mean_

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of the variance of X that the components explain.

        With ``z = (x - mean_) / scale_`` it is ``Σ‖Pz‖² / Σ‖z‖²``, P being the projection onto the
        span of the components: 1 minus the relative squared error of reconstruction, between 0
        and 1.  On the training data it is ``explained_variance_ratio_.sum()``.  It suits the choice
        of ``sparsity`` and of the covariance by cross-validation; it never decreases with further
        components, so it does not choose ``n_components``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Observations, with ``covariance="precomputed"`` too.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each observation counts.

        Returns
        -------
        float
            NaN if every observation equals ``mean_``.
        """
        check_is_fitted(self)
        X = self._observations(X, reset=False)
        weights = validate_weights(sample_weight, X.shape[0])
        if self.missing != "error":
            if sparse.issparse(X) and np.isnan(X.data).any():
                raise InputError("score needs a dense X if values are missing")
            X = X if sparse.issparse(X) else np.where(np.isnan(X), self.mean_, X)
        total = sum_of_squares(X, self.mean_, self.scale_, weights)
        scores = self._scores(X).astype(np.float64)
        explained = float(weights @ (scores @ self._apart * scores).sum(axis=1))
        return explained / total if total > 0 else math.nan

    def get_covariance(self) -> Array:
        """Return the covariance of the model, in the units of X.

        It is ``C = Σ v_k x_k x_kᵀ + noise_variance_·(I - Σ x_k x_kᵀ)``, its rows and columns
        multiplied by ``scale_``; with ``relation="uncorrelated"`` the columns of the pseudo-inverse
        of ``components_`` take the place of ``x_k`` in the first sum, and the second is the
        projection onto their span.  C agrees with Q in the variance of every component and in the
        trace; it assumes uncorrelated scores and the same variance in all remaining directions.

        Returns
        -------
        array of shape (n_features, n_features)
            The covariance.
        """
        check_is_fitted(self)
        V, apart = self.result_.components, self._apart
        C = V.T @ ((apart * self.explained_variance_) @ apart - self.noise_variance_ * apart) @ V
        C[np.diag_indices_from(C)] += self.noise_variance_
        scale = self.scale_.astype(np.float64)
        return 0.5 * (C + C.T) * np.outer(scale, scale)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "error"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._fitted_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._fitted_html()
        return bundle

    def _fitted_html(self) -> str:
        """What was found, below scikit-learn's diagram."""
        return self.result_._repr_html_() if "result_" in vars(self) else ""

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    @property
    def _apart(self) -> Array:
        """(VVᵀ)⁺ of the components V: for scores s, Vᵀ(VVᵀ)⁺s is what is projected onto them."""
        V = self.result_.components
        return (
            np.eye(len(V))
            if self.result_.orthogonal
            else np.linalg.pinv(V @ V.T, 1e-12, hermitian=True)
        )

    def _validated(self, X: Any, **options: Any) -> Any:
        refuse_anndata(X, "X")
        refuse_masked(X, "X")
        nan = "allow-nan"  # it is refused with a sentence of our own
        try:
            return validate_data(
                self, X, accept_sparse=("csr", "csc"), ensure_all_finite=nan, **options
            )
        except (TypeError, ValueError):
            if hasattr(X, "columns"):
                numbers_of(X, "X")  # it names columns of text
            raise

    def _observations(self, X: Any, **options: Any) -> Any:
        X = self._validated(X, dtype=[np.float64, np.float32], **options)
        if self.missing == "error":
            validate_complete(X, self._names)
        return X

    @property
    def _names(self) -> Names:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(names.tolist())

    def _scores(self, X: Any) -> AnyArray:
        used = np.flatnonzero(self.components_.any(axis=0))
        V, mean, scale = self.components_[:, used], self.mean_[used], self.scale_[used]
        if self.missing != "error" and np.isnan(stored(X)).any():
            columns = X[:, used].toarray() if sparse.issparse(X) else X[:, used]
            lacking = np.isnan(columns)
            scores = np.where(lacking, 0.0, (columns - mean) / scale).astype(X.dtype) @ V.T
            if self.missing == "pairwise":
                scores[lacking @ (V != 0).T] = np.nan
            return scores
        if sparse.issparse(X):
            W = (V / scale).T
            return np.asarray(X[:, used] @ W) - mean @ W
        return ((X[:, used] - mean) / scale) @ V.T
