"""Each package, called as its users call it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from benchmarks.instances import Array
from benchmarks.peers import baselines, r_tools
from benchmarks.peers.problems import Problem
from benchmarks.peers.tuning import Trial, tune
from benchmarks.timing import PROCESSOR, repeated, timed

#: Gap that ours is asked for.
GAP = 1e-3
#: Fits are repeated, and the fastest counts, until this many or this many seconds in all: other
#: work on the machine only ever makes a fit slower.  Everything runs on one thread.
REPEAT, ENOUGH = 5, 6.0


@dataclass(frozen=True, eq=False)
class Fit:
    """What came back.

    Attributes
    ----------
    components : array
        One in each row.
    seconds : float
        Of the processor for one fit, from the data in memory to the components.
    setting : str
        What was chosen, such as a penalty.
    gap : float or None
        Largest certified gap of a component, if there is one.
    search : float or None
        Seconds of all the fits of a search for the penalty.
    """

    components: Array
    seconds: float
    setting: str = ""
    gap: float | None = None
    search: float | None = None


#: Hands a fit over; a later one replaces it.
Found = Callable[[Fit], None]


@dataclass(frozen=True)
class Tool:
    """A package or a baseline.

    Attributes
    ----------
    name : str
        As shown.
    fit : callable
        Called with the problem and with what takes fits.
    package : str
        Distribution on PyPI, ``"R"`` for those of R, empty for baselines.
    needs : str
        Package of R.
    """

    name: str
    fit: Callable[[Problem, Found], None]
    package: str = ""
    needs: str = ""

    def missing(self) -> str:
        """A sentence that says why the tool cannot be run, or nothing."""
        if self.package == "R":
            return r_tools.missing(self.needs)
        if not self.package or self.package == "orthospca":
            return ""
        try:
            version(self.package)
        except PackageNotFoundError:
            return f"{self.name} is skipped: {self.package} is not installed."
        return ""

    def version(self) -> str:
        """Version of the package, or nothing for a baseline."""
        if self.package == "R":
            return r_tools.version(self.needs)
        return version(self.package) if self.package else ""


def ours(problem: Problem, found: Found) -> None:
    """``OrthogonalSparsePCA(K, p).fit(X)``, or ``solve(Q, p, K)`` where a matrix was published."""
    from orthospca import OrthogonalSparsePCA, solve

    count, sparsity = problem.n_components, problem.sparsity
    if problem.given is not None:
        matrix = problem.given
        result, seconds = _fastest(lambda: solve(matrix, sparsity, count, gap=GAP, time_limit=110))
        found(Fit(result.components, seconds, gap=float(result.gaps.max())))
        return
    model = OrthogonalSparsePCA(count, sparsity, gap=GAP, time_limit=110)
    fitted, seconds = _fastest(lambda: model.fit(problem.data))
    found(Fit(fitted.components_, seconds, gap=float(fitted.gaps_.max())))


def sklearn_default(kind: str) -> Callable[[Problem, Found], None]:
    """``SparsePCA(K).fit(X)``, or with mini-batches, with the penalty that it comes with."""

    def fit(problem: Problem, found: Found) -> None:
        made, seconds = _fastest(lambda: _sklearn(kind, problem, 1.0))
        found(Fit(made, seconds, "alpha=1 (default)"))

    return fit


def sklearn_tuned(kind: str) -> Callable[[Problem, Found], None]:
    """The same with the penalty that leaves about p nonzeros."""

    def fit(problem: Problem, found: Found) -> None:
        # No column can enter with a larger penalty.
        largest = float(np.linalg.norm(problem.data, axis=0).max())
        _tuned(problem, found, lambda alpha: _sklearn(kind, problem, alpha), largest, "alpha")

    return fit


def _sklearn(kind: str, problem: Problem, alpha: float) -> Array:
    from sklearn import decomposition

    model = getattr(decomposition, kind)(problem.n_components, alpha=alpha, random_state=0)
    fitted: Array = model.fit(problem.data).components_
    return fitted


def abess(problem: Problem, found: Found) -> None:
    """``SparsePCA(support_size).fit(Sigma=Q, number=K)``.

    With X it needs more rows than columns.  It refuses a matrix with an eigenvalue below zero, even
    by rounding, as covariances with few rows have; a small multiple of the identity helps.
    """
    from abess.decomposition import SparsePCA

    sizes = np.zeros((problem.sparsity, problem.n_components), dtype=int)
    sizes[-1] = 1

    def fit(shift: float) -> Array:
        matrix = problem.covariance()
        matrix = matrix + shift * float(np.trace(matrix)) / len(matrix) * np.eye(len(matrix))
        model = SparsePCA(support_size=sizes)
        model.fit(Sigma=matrix, number=problem.n_components)
        loadings: Array = np.asarray(model.coef_).reshape(len(matrix), -1).T
        return loadings

    try:
        components, seconds = _fastest(lambda: fit(0.0))
        found(Fit(components, seconds))
    except ValueError:
        components, seconds = _fastest(lambda: fit(1e-6))
        found(Fit(components, seconds, "Sigma + 1e-6·I"))


def amanpg(problem: Problem, found: Found) -> None:
    """``sparsepca.spca(X, λ₁, λ₂=1, k=K)``; rows are not normalised, columns are already."""
    from sparsepca import spca

    def fit(penalty: float) -> Array:
        penalties = np.full((problem.n_components, 1), penalty)
        fitted = spca(problem.data.copy(), penalties, 1.0, k=problem.n_components, normalize=False)
        loadings: Array = np.real(np.asarray(fitted["loadings"])).T
        return loadings

    lengths = np.linalg.norm(problem.data, axis=0)
    largest = 2.0 * float(lengths.max() * np.linalg.norm(problem.data, 2))
    _tuned(problem, found, fit, largest, "lambda1")


def penalised_decomposition(problem: Problem, found: Found) -> None:
    """``sparsecca.pmd(X, penaltyu=1, penaltyv, K=K)``: the decomposition of Witten and others.

    It is what PMA does in R.  The penalty is the share of √n that the ℓ1 norm of loadings may have;
    its inverse is searched for, which is the stronger the larger it is.
    """
    from sparsecca import pmd

    def fit(inverse: float) -> Array:
        _, loadings, _ = pmd(
            problem.data, penaltyu=1.0, penaltyv=1.0 / inverse, K=problem.n_components
        )
        result: Array = np.asarray(loadings).T
        return result

    _tuned(problem, found, fit, float(np.sqrt(problem.data.shape[1])), "1/penaltyv")


def baseline(call: Callable[[Array, int, int], Array]) -> Callable[[Problem, Found], None]:
    """A heuristic of :mod:`benchmarks.peers.baselines`."""

    def fit(problem: Problem, found: Found) -> None:
        made, seconds = _fastest(lambda: call(problem.data, problem.n_components, problem.sparsity))
        found(Fit(made, seconds))

    return fit


def of_r(package: str) -> Callable[[Problem, Found], None]:
    """A package of R, timed by R."""

    def fit(problem: Problem, found: Found) -> None:
        components, seconds = r_tools.fit(package, problem)
        found(Fit(components, seconds))

    return fit


def _fastest(call: Callable[[], Array]) -> tuple[Array, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, seconds = repeated(call, REPEAT, ENOUGH, PROCESSOR)
    return value, min(seconds)


def _tuned(
    problem: Problem, found: Found, call: Callable[[float], Array], largest: float, name: str
) -> None:
    best: list[Fit] = []
    penalties: list[float] = []

    def attempt(penalty: float) -> tuple[Array, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return timed(lambda: call(penalty), PROCESSOR)

    def better(trial: Trial) -> None:
        setting = f"{name}={trial.penalty:.3g} (tuned)"
        best[:] = [Fit(trial.components, trial.seconds, setting, search=trial.searched)]
        penalties.append(trial.penalty)
        found(best[0])

    searched = tune(attempt, largest, problem.sparsity, better)
    found(replace(best[0], search=searched))
    _, seconds = _fastest(lambda: call(penalties[-1]))
    found(replace(best[0], seconds=min(seconds, best[0].seconds), search=searched))


TOOLS: tuple[Tool, ...] = (
    Tool("orthospca", ours, "orthospca"),
    Tool("SparsePCA", sklearn_default("SparsePCA"), "scikit-learn"),
    Tool("SparsePCA, tuned", sklearn_tuned("SparsePCA"), "scikit-learn"),
    Tool("MiniBatchSparsePCA", sklearn_default("MiniBatchSparsePCA"), "scikit-learn"),
    Tool("MiniBatchSparsePCA, tuned", sklearn_tuned("MiniBatchSparsePCA"), "scikit-learn"),
    Tool("abess", abess, "abess"),
    Tool("sparsepca (A-ManPG), tuned", amanpg, "sparsepca"),
    Tool("sparsecca (PMD), tuned", penalised_decomposition, "sparsecca"),
    *(Tool(f"{name} (R)", of_r(name), "R", name) for name in r_tools.PACKAGES),
    Tool("truncated power", baseline(baselines.truncated_power)),
    Tool("greedy", baseline(baselines.greedy)),
    Tool("PCA, thresholded", baseline(baselines.thresholded)),
    Tool("PCA, not sparse", baseline(baselines.dense)),
)
