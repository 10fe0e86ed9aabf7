"""The scikit-learn estimator: observations in, orthogonal sparse components and scores out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from orthospca._errors import InputError
from orthospca._methods import Method
from orthospca._typing import AnyArray
from orthospca.blocks.partition import Blocks
from orthospca.data.moments import RunningMoments, validate_weights
from orthospca.data.problem import diagonal_of
from orthospca.facade import solve_with
from orthospca.fitting import (
    Observed,
    as_many_as_explain,
    given_matrix,
    observed,
    shortcomings,
)
from orthospca.model.demands import DEMANDED
from orthospca.model.given import refuse_other_order
from orthospca.model.limits import Watch
from orthospca.model.memory import size_of
from orthospca.model.printing import ProgressPrinter
from orthospca.model.result import Component, Result, Status, noted
from orthospca.model.settings import Settings
from orthospca.model.tuning import DEFAULT, Tuning
from orthospca.model.validation import (
    validate_choice,
    validate_complete,
    validate_integer,
)
from orthospca.scoring import SparseScores
from orthospca.spectrum import unevenness

COVARIANCES = ("empirical", "correlation", "precomputed")
MISSING = ("error", "mean", "pairwise")
#: What to do where one feature drowns the others.
UNEVEN = "use covariance='correlation' unless all features have the same unit"
#: Methods whose components are orthogonal, so that explained variances add up.
ORTHOGONAL_METHODS = tuple(str(m) for m in Method if m is not Method.DEFLATION)
#: Parameters that are passed on as they are.
SETTINGS = (
    *("objective", "method", "eps", "gap", "proof"),
    *("time_limit", "node_limit", "memory_limit", "n_jobs"),
)

#: What a fit leaves, beside the names and the number of the features.
FITTED = (
    *("components_", "explained_variance_", "explained_variance_ratio_", "n_components_"),
    *("mean_", "scale_", "noise_variance_", "upper_bounds_", "gaps_", "status_", "result_"),
    "certificate_",
)


class OrthogonalSparsePCA(SparseScores):
    """Principal components that are sparse, exactly orthogonal, and certified.

    The k-th component maximises ``xᵀQx`` over unit vectors with at most ``sparsity`` nonzero
    entries that are orthogonal to the components before it, where Q is the covariance or the
    correlation matrix of the data.  Every component comes with a proved upper bound on the best
    possible variance of its stage.

    Parameters
    ----------
    n_components : int or float, default=2
        Number of components to find.  A number between 0 and 1 is a share of the total variance:
        as many components as explain it, at most 50.
    sparsity : int or sequence of int, default=5
        Number of features a component may use: one number, or one for each component.  A number
        above the number of features counts as the number of features.
    covariance : {"empirical", "correlation", "precomputed"}, default="empirical"
        ``"empirical"`` centres the data; ``"correlation"`` also divides each feature by its
        standard deviation (a constant feature is only centred: its ``scale_`` is 1 and its
        variance 0); with ``"precomputed"`` the ``X`` of :meth:`fit` is the symmetric matrix Q
        itself, and the ``X`` of the other methods are observations, used as they are.
    objective : {"stagewise", "lexicographic", "joint"}, default="stagewise"
        As in :func:`orthospca.solve`: each component is the best one given those before it, or all
        together have the largest total variance.
    method : {"branch-and-bound", "eigenvalue", "enumeration"}, default="branch-and-bound"
        As in :func:`orthospca.solve`, without ``"deflation"``, whose components are not orthogonal.
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
        Seed of the search for good sets with ``objective="joint"``; None means 0.  Nothing else is
        random.
    proof : bool, default=False
        Whether to keep a certificate, which :func:`orthospca.verify` checks without trusting the
        solver, as in :func:`orthospca.solve`.
    verbose : int, default=0
        1 prints a line for each finished component, 2 also reports progress every few seconds; in a
        notebook, a progress bar appears instead.  The same lines are always log records, at level
        INFO of the logger ``"orthospca"``.
    memory_limit : float or str, optional
        Bytes, or a size such as ``"4GB"``, that a matrix formed from X may take, as in
        :func:`orthospca.solve`.
    include, exclude : sequence of str or int, or one for each component, optional
        Features, by name or number, that components must contain, or must not contain, as in
        :func:`orthospca.solve`.
    relation : {"orthogonal", "disjoint", "uncorrelated"}, default="orthogonal"
        As in :func:`orthospca.solve`.  With ``"uncorrelated"``, components need not be orthogonal,
        and their explained variances do not add up (see the notes).
    previous : array-like of shape (k, n_features), optional
        Vectors that all components are orthogonal to, or uncorrelated with.
    nonnegative : bool, default=False
        Whether to allow no negative loadings; such components are disjoint.
    missing : {"error", "mean", "pairwise"}, default="error"
        What to do with NaN in X.  ``"mean"`` fills in the mean of the feature, which understates
        variances.  ``"pairwise"`` computes each covariance from the observations that have both
        features, which may give an indefinite matrix; a score is then NaN if a feature that the
        component uses is missing.  ``result_.note`` says what was done.
    reference : array-like of shape (m, n_features), optional
        Observations of another condition (with ``"precomputed"``, their matrix).  Q is then the
        covariance of X minus ``contrast`` times that of the reference; with ``"correlation"``, both
        are divided by the standard deviations of X.  ``explained_variance_`` is the difference.
    contrast : float, default=1.0
        Weight of the reference.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal rows, in the dtype of X; with ``relation="uncorrelated"`` unit vectors.  The
        entry of largest magnitude is positive.
    explained_variance_ : array of shape (n_components,)
        ``xᵀQx`` of each component: the variance of its scores.
    explained_variance_ratio_ : array of shape (n_components,)
        The same divided by the trace of Q (NaN if the trace is not positive).
    n_components_ : int
        Number of components found: fewer than requested if no more exist or a limit came first.
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
        The proof of ``upper_bounds_``, or of the bound of the set, for the matrix Q as computed;
        None without ``proof``.
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

    *Uncorrelated scores.*  With ``relation="uncorrelated"`` the components are not orthogonal: each
    explained variance is that of its scores, and together they explain ``Σ a_k v_k`` with a_k the
    diagonal of ``(VVᵀ)⁻¹``, which is at least 1: the ratios add up to less than what :meth:`score`
    says of the training data.  It, :meth:`inverse_transform`, :meth:`get_covariance` and
    ``noise_variance_`` use the orthogonal projection onto the span of the components.

    *Divisor.*  Covariances have the divisor ``n_samples - 1``.  Sample weights are frequencies: a
    weight of 2 is the same as having the observation twice, a weight of 0 the same as leaving it
    out, and the divisor is the sum of the weights minus 1.  This affects ``explained_variance_``,
    ``upper_bounds_``, ``scale_`` and ``eps``, not the components.

    *Types.*  Sparse X with few nonzeros stays sparse and is centred algebraically; otherwise some
    columns at a time are made dense.  Scores of float32 data are float32.  The search, ``result_``
    and the certificate use float64 throughout.

    *Missing values.*  NaN is an error that names the features, unless ``missing`` says what to do.
    To fill in values in another way, use a pipeline, such as
    ``make_pipeline(SimpleImputer(), OrthogonalSparsePCA())``.

    *Constant features.*  They have no variance, so they get no loading as long as other features
    vary; ``result_.note`` lists them.

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
    #: Components that are found for a share of the variance, at most.
    _most_for_share = 50

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
        if self.covariance == "precomputed":
            if sample_weight is not None:
                raise InputError("sample_weight must be None with covariance='precomputed'")
            X = self._validated(X, dtype=np.float64)
            return self._find(given_matrix(X), X.dtype, *asked)
        X = self._observations(X, ensure_min_samples=2)
        correlation = self.covariance == "correlation"
        data = observed(X, correlation, self.missing, sample_weight, self._names)
        return self._find(data, X.dtype, *asked)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OrthogonalSparsePCA:
        """Take in more observations; the components of all of them are found when first needed.

        Mean and scatter matrix of what came before are kept, which is all that the components
        depend on: the result is that of :meth:`fit` on all observations, up to rounding.  Nothing
        is solved until a method or a fitted attribute asks for it, and then with the parameters of
        that moment.

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
        memory = self._asked()[0].memory
        first = "_moments" not in vars(self)
        X = self._observations(X, reset=first)
        validate_complete(X, self._names)
        n = X.shape[1]
        if 8.0 * n**2 > memory:
            raise InputError(
                f"partial_fit needs a matrix of {n} × {n} numbers, {size_of(8.0 * n**2)}, but "
                f"memory_limit is {size_of(memory)}"
            )
        moments: RunningMoments = RunningMoments(n) if first else vars(self)["_moments"]
        moments.add(X, validate_weights(sample_weight, X.shape[0]))
        self._moments, self._dtype = moments, X.dtype
        for name in FITTED:
            self.__dict__.pop(name, None)
        return self

    def __getattr__(self, name: str) -> Any:
        # What was taken in part by part is solved when something of it is asked for.
        moments = vars(self).get("_moments")
        if name not in FITTED or moments is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        asked = self._asked()
        Q, scale = moments.covariance(self.covariance == "correlation")
        self._find(Observed(Q, moments.mean.copy(), scale), self._dtype, *asked)
        return vars(self)[name]

    def __sklearn_is_fitted__(self) -> bool:
        return bool({"result_", "_moments"} & set(vars(self)))

    def _asked(self) -> tuple[Settings, Watch, ProgressPrinter]:
        """What is asked, with a clock that runs."""
        validate_choice("covariance", self.covariance, COVARIANCES)
        validate_choice("method", self.method, ORTHOGONAL_METHODS)
        validate_choice("missing", self.missing, MISSING)
        count: Any = self._most_for_share if self._share else self.n_components
        if not self._share:
            validate_integer("n_components", self.n_components, 1)
        elif self.proof or self.objective != "stagewise" or self.relation == "uncorrelated":
            raise InputError(
                f"n_components={self.n_components} must be an integer with proof=True, with "
                "relation='uncorrelated', and unless objective is 'stagewise'"
            )
        seed = self.random_state
        if seed is not None and not isinstance(seed, int | np.integer):
            seed = int(check_random_state(seed).randint(2**31))
        given = {name: getattr(self, name) for name in SETTINGS}
        settings = Settings.validate(tuning=self._tuning, random_state=seed, **given)
        joint = settings.objective == "joint"
        teller = ProgressPrinter(type(self).__name__, count, self.verbose, together=joint)
        return settings, settings.watch(teller if teller.is_heard else None), teller

    def _find(
        self, data: Observed, dtype: Any, settings: Settings, watch: Watch, teller: ProgressPrinter
    ) -> OrthogonalSparsePCA:
        """Solve, and keep what was found."""
        seen = unevenness(diagonal_of(data.Q), self._names)
        if seen and self.covariance == "empirical":
            warnings.warn(f"{seen}: {UNEVEN}", UserWarning, stacklevel=3)
        precomputed = self.covariance == "precomputed"
        Q, contrast = data.Q, ""
        if self.reference is not None:
            refuse_other_order("reference", self.reference, self._names)
            Q, contrast = data.against(self.reference, self.contrast, precomputed)
            data = replace(data, Q=Q)
        result = self._solve(Q, settings, watch)
        teller.close()
        if result.exhausted and not result.n_components:
            raise InputError("no vector satisfies include, exclude and previous")
        if result.n_components == 0:
            if self.time_limit is None or result.status is not Status.TIME_LIMIT:
                raise KeyboardInterrupt("interrupted before a component was found")
            raise InputError(
                f"time_limit must be long enough to form the covariance of X, got {self.time_limit}"
            )
        constants = "" if precomputed else data.on_constants(self._names)
        self._keep(noted(result, contrast, data.note, constants), dtype)
        self.mean_, self.scale_ = data.mean.astype(dtype), data.scale.astype(dtype)
        for sentence, kind in shortcomings(self.result_, self.n_components, self._share):
            warnings.warn(sentence, kind, stacklevel=3)
        return self

    def _solve(self, Q: Any, settings: Settings, watch: Watch) -> Result:
        n = Q.shape[0]
        if self.n_components > n:
            raise InputError(f"n_components={self.n_components} must be at most n_features={n}")
        asked = {name: getattr(self, name) for name in DEMANDED}

        def solved(count: Any, known: Sequence[Component] = ()) -> Result:
            given = (Q, _at_most(self.sparsity, n), count, settings, self.threshold)
            return solve_with(*given, names=self._names, watch=watch, asked=asked, known=known)

        if self._share:
            return as_many_as_explain(self._share, min(self._most_for_share, n), solved)
        return solved(self.n_components)

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
        rank = result.n_components if result.orthogonal else np.linalg.matrix_rank(self._apart)
        rest = result.total_variance - float(np.diagonal(self._apart) @ result.variances)
        left = result.n_features - int(rank)
        self.noise_variance_ = rest / left if left else 0.0

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

    @property
    def _share(self) -> float:
        """The share of the variance that is asked for; 0 if it is a number of components."""
        share = self.n_components
        return share if isinstance(share, float | np.floating) and 0.0 < share < 1.0 else 0.0


def _at_most(sparsity: Any, n: int) -> Any:
    """Lower what is above n, and leave what is not an integer to be refused by ``solve``."""
    if isinstance(sparsity, int | np.integer):
        return n if sparsity > n else sparsity
    if isinstance(sparsity, list | tuple | np.ndarray) and np.ndim(sparsity) == 1:
        return [_at_most(limit, n) for limit in sparsity]
    return sparsity
