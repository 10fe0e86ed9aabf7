"""The scikit-learn estimator: observations in, orthogonal sparse components and scores out."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from orthospca._errors import InputError
from orthospca._methods import Method
from orthospca._typing import AnyArray, Array
from orthospca.blocks.partition import Blocks
from orthospca.data.contrast import contrasted
from orthospca.data.covariance import DataCovariance
from orthospca.data.moments import RunningMoments, sum_of_squares, validate_weights
from orthospca.facade import solve_with
from orthospca.missing import pairwise_matrix, together
from orthospca.model import words
from orthospca.model.demands import refuse_uncorrelated
from orthospca.model.limits import Watch
from orthospca.model.memory import size_of
from orthospca.model.printing import ProgressPrinter
from orthospca.model.result import Component, Result, Status, format_gap
from orthospca.model.settings import Settings
from orthospca.model.tuning import DEFAULT, Tuning
from orthospca.model.validation import (
    column_name,
    numbers_of,
    refuse_anndata,
    validate_choice,
    validate_complete,
    validate_covariance,
    validate_integer,
)
from orthospca.spectrum import unevenness

COVARIANCES = ("empirical", "correlation", "precomputed")
MISSING = ("error", "mean", "pairwise")
#: Components that are found for a share of the variance, at most.
MOST_FOR_SHARE = 50
#: What to do where one feature drowns the others.
UNEVEN = "use covariance='correlation' unless all features are of one unit"
#: Methods whose components are orthogonal, so that explained variances add up.
ORTHOGONAL_METHODS = tuple(str(m) for m in Method if m is not Method.DEFLATION)
#: Parameters that are passed on as they are.
SETTINGS = (
    *("objective", "method", "eps", "gap", "proof"),
    *("time_limit", "node_limit", "memory_limit", "n_jobs"),
)

#: What is asked of the components beyond their sparsity, passed on as it is.
DEMANDS = ("include", "exclude", "relation", "previous", "nonnegative")


class OrthogonalSparsePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Principal components that are sparse, exactly orthogonal, and certified.

    The k-th component maximises ``xᵀQx`` over unit vectors with at most ``sparsity`` nonzero
    entries that are orthogonal to the components before it, where Q is the covariance or the
    correlation matrix of the data.  Every component comes with a proved upper bound on the best
    possible variance of its stage.

    Parameters
    ----------
    n_components : int or float, default=2
        How many components to find, at most the number of features; or, between 0 and 1, as many
        as explain this share of the total variance, at most 50.
    sparsity : int or sequence of int, default=5
        How many features a component may use; one number, or one for each component.  A number
        above the number of features restricts nothing and counts as the number of features.
    covariance : {"empirical", "correlation", "precomputed"}, default="empirical"
        ``"empirical"`` centres the data; ``"correlation"`` also divides each feature by its
        standard deviation (a constant feature is only centred: its ``scale_`` is 1 and its
        variance 0); with ``"precomputed"`` the ``X`` of :meth:`fit` is the symmetric matrix Q
        itself, and the ``X`` of the other methods are observations, used as they are.
    objective : {"stagewise", "lexicographic", "joint"}, default="stagewise"
        As in :func:`orthospca.solve`: each component the best one given those before it, or all of
        them with the largest total variance.
    method : {"branch-and-bound", "eigenvalue", "enumeration"}, default="branch-and-bound"
        As in :func:`orthospca.solve`.  ``"deflation"`` is refused: its components are not
        orthogonal.
    eps : float, default=0.0
        Absolute tolerance: a component is done when ``upper - lower ≤ max(eps, gap·|lower|)``.
    gap : float, default=1e-4
        Relative tolerance.
    threshold : float, "auto" or Blocks, default=0.0
        As in :func:`orthospca.solve`.
    time_limit : float, optional
        Seconds for the whole fit.
    node_limit : int, optional
        Nodes of the search for each component; with ``objective="joint"`` for all together.
    n_jobs : int, optional
        Threads, as in joblib.  The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the search for good sets with ``objective="joint"``; nothing else is random, and
        None is 0.
    proof : bool, default=False
        Whether to keep a certificate that :func:`orthospca.verify` accepts without trusting the
        solver, as in :func:`orthospca.solve`.
    verbose : int, default=0
        1 prints a line for each component when it is done; 2 also says every few seconds where the
        search stands; in a notebook a bar shows it.  The same lines are records of ``logging``, at
        the level INFO of the logger ``"orthospca"``.
    memory_limit : float or str, optional
        Bytes, or a size such as ``"4GB"``, that a matrix formed from X may take, as in
        :func:`orthospca.solve`.
    include, exclude : sequence of str or int, or one for each component, optional
        Features, by name or number, that components have to contain, or must not, as in
        :func:`orthospca.solve`.
    relation : {"orthogonal", "disjoint"}, default="orthogonal"
        Whether components are orthogonal, or a feature serves one component only.
    previous : array-like of shape (k, n_features), optional
        Vectors that all components are orthogonal to.
    nonnegative : bool, default=False
        Whether no loading may be negative; such components are disjoint.
    missing : {"error", "mean", "pairwise"}, default="error"
        What to do with NaN in X: refuse it; put the mean of the feature, which understates
        variances; or compute each covariance from the observations that have both features, which
        may give an indefinite matrix (:meth:`transform` then has no score, NaN, where a feature
        that a component uses is missing).  ``result_.note`` says what was done.
    reference : array-like of shape (m, n_features), optional
        Observations of another condition (with ``"precomputed"``, their matrix): Q is the
        covariance of X less ``contrast`` times that of the reference, both divided by the standard
        deviations of X with ``"correlation"``.  ``explained_variance_`` is then the difference.
    contrast : float, default=1.0
        How much the reference counts.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal rows, in the dtype of X.  The entry of largest magnitude is positive.
    explained_variance_ : array of shape (n_components,)
        ``xᵀQx`` of each component: the variance of its scores.
    explained_variance_ratio_ : array of shape (n_components,)
        The same divided by the trace of Q (NaN if the trace is not positive).
    n_components_ : int
        How many components were found: fewer than asked for if no more exist or a limit came first.
    mean_ : array of shape (n_features,)
        What :meth:`transform` subtracts; 0 with ``"precomputed"``.
    scale_ : array of shape (n_features,)
        What :meth:`transform` divides by: standard deviations with ``"correlation"``, else 1.
    noise_variance_ : float
        Mean variance of Q in the directions orthogonal to all components; 0 if there are none.
    upper_bounds_ : array of shape (n_components,)
        Proved: no feasible vector of the k-th stage, given the components before it, has more.
        With ``objective="joint"``: no sparse vector in the place of the k-th component, orthogonal
        to all the others, has more; the bound of the set is ``result_.joint_upper_bound``.
    gaps_ : array of shape (n_components,)
        ``(upper_bounds_ - explained_variance_) / |explained_variance_|``.
    status_ : Status
        Why the search ended.
    result_ : Result
        Everything that :func:`orthospca.solve` returned.
    certificate_ : Certificate or None
        The proof of ``upper_bounds_``, or of the bound of the set, for the matrix Q as it was
        computed; None without ``proof``.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X has feature names that are all strings.

    Notes
    -----
    *Explained variance.*  The components ``x_1, …, x_K`` are orthonormal, so ``P = Σ x_k x_kᵀ`` is
    the orthogonal projection onto their span, and the variance of the projected data is
    ``tr(PQ) = Σ x_kᵀQx_k``: the explained variances add up, although the scores of different
    components may be correlated.  The ratios add up to 1 only if there are as many components as
    features.  Sparse components can run out before (``status_`` is then ``EXHAUSTED``); what is
    orthogonal to all of them stays unexplained, and the ratios add up to less than 1.

    *Divisor.*  Covariances have the divisor ``n_samples - 1``.  Sample weights are frequencies: a
    weight of 2 is the same as the observation twice, a weight of 0 the same as leaving it out, and
    the divisor is the sum of the weights minus 1.  That matters for ``explained_variance_``,
    ``upper_bounds_``, ``scale_`` and ``eps``, not for the components.

    *Types.*  Sparse X with few nonzeros is not made dense: it is centred algebraically.  With more
    of them, some columns at a time are.  Scores of float32 data are float32.  The search works in
    float64 throughout, and so do ``result_`` and the numbers of the certificate.

    *Missing values.*  Observations with NaN are refused, with their number and features, unless
    ``missing`` says what to do.  Other ways to fill them in come before, as in
    ``make_pipeline(SimpleImputer(), OrthogonalSparsePCA())``.

    *Constant features.*  They have no variance and so get no loading as long as there is variance
    elsewhere; ``result_.note`` lists them.

    Examples
    --------
    >>> from orthospca import OrthogonalSparsePCA, datasets
    >>> wine = datasets.load_wine()
    >>> pca = OrthogonalSparsePCA(n_components=3, sparsity=4, covariance="correlation")
    >>> scores = pca.fit_transform(wine.data)
    >>> scores.shape
    (178, 3)
    >>> pca.explained_variance_ratio_.round(3)
    array([0.237, 0.171, 0.156])
    >>> pca.status_.name
    'OPTIMAL'
    """

    _tuning: Tuning = DEFAULT

    def __init__(
        self,
        n_components: float = 2,
        sparsity: Any = 5,
        *,
        covariance: str = "empirical",
        objective: str = "stagewise",
        method: str = "branch-and-bound",
        eps: float = 0.0,
        gap: float = 1e-4,
        threshold: float | str | Blocks = 0.0,
        time_limit: float | None = None,
        node_limit: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        proof: bool = False,
        verbose: int = 0,
        memory_limit: float | str | None = None,
        include: Any = None,
        exclude: Any = None,
        relation: str = "orthogonal",
        previous: Any = None,
        nonnegative: bool = False,
        missing: str = "error",
        reference: Any = None,
        contrast: float = 1.0,
    ) -> None:
        self.n_components = n_components
        self.sparsity = sparsity
        self.covariance = covariance
        self.objective = objective
        self.method = method
        self.eps = eps
        self.gap = gap
        self.threshold = threshold
        self.time_limit = time_limit
        self.node_limit = node_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.proof = proof
        self.verbose = verbose
        self.memory_limit = memory_limit
        self.include = include
        self.exclude = exclude
        self.relation = relation
        self.previous = previous
        self.nonnegative = nonnegative
        self.missing = missing
        self.reference = reference
        self.contrast = contrast

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OrthogonalSparsePCA:
        """Find the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Observations; with ``covariance="precomputed"``, the matrix Q.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each observation counts.

        Returns
        -------
        OrthogonalSparsePCA
            The fitted estimator.
        """
        # The limit is for everything, and so the clock starts before the data are looked at.
        asked = self._asked()
        self.__dict__.pop("_moments", None)
        note = ""
        if self.covariance == "precomputed":
            if sample_weight is not None:
                raise InputError("sample_weight must be None with covariance='precomputed'")
            X = self._validated(X, dtype=np.float64)
            Q: Array | DataCovariance = _precomputed(X)
            mean, scale = np.zeros(Q.shape[0]), np.ones(Q.shape[0])
            return self._find(Q, mean, scale, X.dtype, *asked)
        X = self._observations(X, ensure_min_samples=2)
        if self.missing != "error" and (places := np.isnan(_stored(X))).any():
            note, mean = self._on_missing(X, places, sample_weight)
            if self.missing == "pairwise":
                correlation = self.covariance == "correlation"
                try:
                    Q = pairwise_matrix(X.astype(np.float64), correlation, self._names)
                except InputError as error:
                    raise InputError(f"X has {error}: use missing='mean'") from None
                scale = np.nanstd(X, axis=0, ddof=1) if correlation else np.ones(X.shape[1])
                return self._find(Q, mean, scale, X.dtype, *asked, note)
            X = np.where(places, mean, X).astype(X.dtype)
        Q = self._covariance_of(X, sample_weight)
        mean, scale = Q.mean, np.where(np.isfinite(Q.scale), Q.scale, 1.0)
        return self._find(Q, mean, scale, X.dtype, *asked, note)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OrthogonalSparsePCA:
        """Take in more observations, and find the components of all of them.

        Mean and scatter matrix of what came before are kept, which is all that the components
        depend on: the result is that of :meth:`fit` on all observations, up to rounding.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            More observations, without missing values.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each observation counts.

        Returns
        -------
        OrthogonalSparsePCA
            The fitted estimator.
        """
        if self.covariance == "precomputed":
            raise InputError("partial_fit needs observations, not covariance='precomputed'")
        asked = self._asked()
        first = not hasattr(self, "_moments")
        X = self._observations(X, reset=first, ensure_min_samples=2 if first else 1)
        validate_complete(X, self._names)
        n, memory = X.shape[1], asked[0].memory
        if 8.0 * n**2 > memory:
            raise InputError(
                f"partial_fit keeps a matrix of {n} × {n} numbers, {size_of(8.0 * n**2)}, and "
                f"memory_limit is {size_of(memory)}"
            )
        if first:
            self._moments = RunningMoments(n)
        self._moments.add(X, validate_weights(sample_weight, X.shape[0]))
        Q, scale = self._moments.covariance(self.covariance == "correlation")
        return self._find(Q, self._moments.mean, scale, X.dtype, *asked)

    def _asked(self) -> tuple[Settings, Watch, ProgressPrinter]:
        """What is asked, with a clock that runs."""
        validate_choice("covariance", self.covariance, COVARIANCES)
        validate_choice("method", self.method, ORTHOGONAL_METHODS)
        validate_choice("missing", self.missing, MISSING)
        refuse_uncorrelated(self.relation)
        settings = self._settings()
        count: Any = MOST_FOR_SHARE if self._share else self.n_components
        joint = settings.objective == "joint"
        teller = ProgressPrinter(type(self).__name__, count, self.verbose, together=joint)
        return settings, settings.watch(teller if teller.is_heard else None), teller

    def _find(
        self,
        Q: Array | DataCovariance,
        mean: Array,
        scale: Array,
        dtype: Any,
        settings: Settings,
        watch: Watch,
        teller: ProgressPrinter,
        note: str = "",
    ) -> OrthogonalSparsePCA:
        """Solve, and keep what was found."""
        variances = Q.diagonal if isinstance(Q, DataCovariance) else np.diagonal(Q)
        if self.covariance == "empirical" and (seen := unevenness(variances, self._names)):
            warnings.warn(f"{seen}: {UNEVEN}", UserWarning, stacklevel=3)
        if self.reference is not None:
            given = self.reference
            if self.covariance != "precomputed":
                other = DataCovariance(given)
                given = other.submatrix(np.arange(other.n_features))
                if len(given) == len(scale):  # else it is refused below
                    given = given / np.outer(scale, scale)
            Q = contrasted(Q, given, self.contrast)
        result = self._solve(Q, settings, watch, note)
        teller.close()
        if result.exhausted and not result.n_components:
            raise InputError("no vector is as include, exclude and previous ask for")
        if result.n_components == 0:
            if self.time_limit is None or result.status is not Status.TIME_LIMIT:
                raise KeyboardInterrupt("interrupted before a component was found")
            raise InputError(
                f"time_limit must be long enough to form the covariance of X, got {self.time_limit}"
            )
        self.mean_, self.scale_ = mean.astype(dtype), scale.astype(dtype)
        self._keep(result, dtype)
        for sentence, kind in self._shortcomings():
            warnings.warn(sentence, kind, stacklevel=3)
        return self

    def _on_missing(self, X: Any, places: AnyArray, sample_weight: Any) -> tuple[str, Array]:
        """What is said of missing values, and the means of what is there."""
        if sparse.issparse(X):
            raise InputError(f"missing={self.missing!r} needs dense X where values are missing")
        weights = validate_weights(sample_weight, len(X))
        if self.missing == "pairwise" and sample_weight is not None:
            raise InputError("sample_weight must be None with missing='pairwise'")
        counts = weights @ ~places
        if not counts.all():
            name = column_name(self._names, int(np.flatnonzero(counts == 0)[0]))
            raise InputError(f"X has no value of feature {name}: leave it out")
        said = f"{places.sum()} missing values in {places.any(axis=0).sum()} features"
        mean = weights @ np.where(places, 0.0, X.astype(np.float64)) / counts
        if self.missing == "mean":
            return f"{said} were replaced by means, which understates variances", mean
        least = int(together(X)[1].min())
        return (
            f"{said}: each entry of the matrix uses the observations that have both features (at "
            f"least {least} of {len(X)}); the matrix may be indefinite"
        ), mean

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> AnyArray:
        """Find the components of X and return its scores; the same as ``fit(X).transform(X)``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Observations.  A precomputed matrix has no scores, so it is refused.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each observation counts.

        Returns
        -------
        array of shape (n_samples, n_components)
            The scores.
        """
        if self.covariance == "precomputed":
            raise InputError(
                "fit_transform needs observations; with covariance='precomputed' call fit with the "
                "matrix, then transform with the observations"
            )
        return self.fit(X, y, sample_weight=sample_weight).transform(X)

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
        """Return the observations that have these scores: ``X @ components_ * scale_ + mean_``.

        ``inverse_transform(transform(X))`` is the orthogonal projection of X onto the span of the
        components, in the centred and scaled coordinates.

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
        return (X @ self.components_) * self.scale_ + self.mean_

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
                raise InputError("score needs dense X where values are missing")
            X = X if sparse.issparse(X) else np.where(np.isnan(X), self.mean_, X)
        total = sum_of_squares(X, self.mean_, self.scale_, weights)
        explained = float(weights @ np.square(self._scores(X), dtype=np.float64).sum(axis=1))
        return explained / total if total > 0 else math.nan

    def get_covariance(self) -> Array:
        """Return the covariance of the model, in the units of X.

        It is ``C = Σ v_k x_k x_kᵀ + noise_variance_·(I - Σ x_k x_kᵀ)``, its rows and columns
        multiplied by ``scale_``.  C agrees with Q in the variance of every component and in the
        trace; it assumes uncorrelated scores and the same variance in all remaining directions.

        Returns
        -------
        array of shape (n_features, n_features)
            The covariance.
        """
        check_is_fitted(self)
        V = self.result_.components
        C = (V.T * (self.explained_variance_ - self.noise_variance_)) @ V
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
        return self.result_._repr_html_() if hasattr(self, "result_") else ""

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def _validated(self, X: Any, **options: Any) -> Any:
        refuse_anndata(X, "X")
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
    def _share(self) -> float:
        """The share of the variance that is asked for; 0 if it is a number of components."""
        share = self.n_components
        return share if isinstance(share, float | np.floating) and 0.0 < share < 1.0 else 0.0

    @property
    def _names(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(names.tolist())

    def _covariance_of(self, X: Any, sample_weight: Any) -> DataCovariance:
        standardise = self.covariance == "correlation"
        try:
            return DataCovariance(X, correlation=standardise, sample_weight=sample_weight)
        except InputError as error:

            def named(found: re.Match[str]) -> str:
                return f"feature {column_name(self._names, int(found[1]))}"

            sentence = re.sub(r"column (\d+)", named, str(error).replace(" of data", " of X"))
            raise InputError(sentence) from None

    def _settings(self) -> Settings:
        if not self._share:
            validate_integer("n_components", self.n_components, 1)
        elif self.proof or self.objective != "stagewise":
            raise InputError(
                f"n_components={self.n_components} must be an integer with proof=True, and unless "
                "objective is 'stagewise'"
            )
        check_random_state(self.random_state)
        given = {name: getattr(self, name) for name in SETTINGS}
        return Settings.validate(tuning=self._tuning, **given)

    def _solve(
        self, Q: Array | DataCovariance, settings: Settings, watch: Watch, note: str
    ) -> Result:
        n, share = Q.shape[0], self._share
        if self.n_components > n:
            raise InputError(f"n_components={self.n_components} must be at most n_features={n}")
        asked = {name: getattr(self, name) for name in DEMANDS}

        def solved(count: Any, known: Sequence[Component] = ()) -> Result:
            given = (Q, _at_most(self.sparsity, n), count, settings, self.threshold)
            return solve_with(*given, names=self._names, watch=watch, asked=asked, known=known)

        most = min(MOST_FOR_SHARE, n)
        count = 1 if share else self.n_components
        result = solved(count)
        while share:
            enough = np.flatnonzero(np.cumsum(result.explained_variance_ratio) >= share)
            if enough.size:
                kept = int(enough[0]) + 1
                result = result if kept == count else solved(kept, result.stages[:kept])
                break
            if count == most or result.n_components < count:
                break
            count = min(2 * count, most)
            result = solved(count, result.stages)
        constants = "" if self.covariance == "precomputed" else self._on_constants(Q)
        note = "; ".join(filter(None, (result.note, note, constants)))
        return replace(result, feature_names=self._names, note=note)

    def _on_constants(self, Q: Array | DataCovariance) -> str:
        """A note that lists the constant features, which get no loading."""
        constant = Q.constant if isinstance(Q, DataCovariance) else ~Q.any(axis=0)
        listed = [column_name(self._names, j) for j in np.flatnonzero(constant)]
        noun = "constant feature has" if len(listed) == 1 else "constant features have"
        return f"{len(listed)} {noun} no variance: {', '.join(listed)}" if listed else ""

    def _keep(self, result: Result, dtype: np.dtype[Any]) -> None:
        self.result_ = result
        self.certificate_ = result.certificate
        self.status_ = result.status
        self.n_components_ = result.n_components
        self.components_ = result.components.astype(dtype)
        self.explained_variance_ = result.variances
        self.explained_variance_ratio_ = result.explained_variance_ratio
        self.upper_bounds_ = result.upper_bounds
        self.gaps_ = result.gaps
        left = result.n_features - result.n_components
        rest = result.total_variance - float(result.variances.sum())
        self.noise_variance_ = rest / left if left else 0.0

    def _shortcomings(self) -> Iterator[tuple[str, type[Warning]]]:
        """What is missing, if anything is, and what to do about it; each with its category."""
        found, asked, reason = self.n_components_, self.n_components, self.status_.value
        result, advice = self.result_, words.advice(self.result_)
        open_gaps = [stage.gap for stage in result.stages if words.is_open(result, stage)]
        whose, proved = f"{len(open_gaps)} of {found} components are", "upper_bounds_ are"
        gap = f"the largest gap is {format_gap(max(open_gaps, default=0.0))}"
        if words.is_set(result):
            whose, proved = f"The set of {found} components is", "result_.joint_upper_bound is"
            gap = f"its gap is {words.gap_of_set(result)}"
        if open_gaps:
            yield (
                f"{whose} not certified within the tolerance ({reason}); {gap}. The components are "
                f"orthogonal and sparse, and {proved} proved. {advice}",
                ConvergenceWarning,
            )
        elif words.verdict(result) == words.TIES_OPEN:
            yield f"Each component is certified, but {result.note}.", ConvergenceWarning
        explained = float(result.explained_variance_ratio.sum())
        if explained < self._share:
            yield (
                f"n_components={asked} was asked for, but the {found} components found explain "
                f"{explained:.3g} of the variance; with more of them, or a larger sparsity, there "
                "is more",
                UserWarning,
            )
        few = f"n_components={asked} was asked for, but only {found}"
        if found < asked and result.exhausted:
            yield (
                f"{few} exist: it is proved that no further vector that is sparse enough is "
                "orthogonal to them. Ask for fewer components, or raise sparsity.",
                UserWarning,
            )
        elif found < asked:
            yield f"{few} were found ({reason}). {advice}", ConvergenceWarning

    def _scores(self, X: Any) -> AnyArray:
        used = np.flatnonzero(self.components_.any(axis=0))
        V, mean, scale = self.components_[:, used], self.mean_[used], self.scale_[used]
        if self.missing != "error" and np.isnan(_stored(X)).any():
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


def _stored(X: Any) -> AnyArray:
    """The entries of X that may be missing."""
    return np.asarray(X.data if sparse.issparse(X) else X)


def _at_most(sparsity: Any, n: int) -> Any:
    """Lower what is above n, and leave what is not an integer to be refused by ``solve``."""
    if isinstance(sparsity, int | np.integer):
        return n if sparsity > n else sparsity
    if isinstance(sparsity, list | tuple | np.ndarray) and np.ndim(sparsity) == 1:
        return [_at_most(limit, n) for limit in sparsity]
    return sparsity


def _precomputed(X: Any) -> Array:
    if X.shape[0] != X.shape[1]:
        raise InputError(
            f"X must be a square matrix with covariance='precomputed', got shape {X.shape}"
        )
    try:
        return validate_covariance(X)
    except ValueError as error:
        sentence = str(error).replace("Q must", "X must", 1).replace("got nan", "got NaN", 1)
        raise InputError(sentence) from None
