"""Growth with the number of features, on data whose covariance is never formed."""

from __future__ import annotations

import resource

import numpy as np

from benchmarks.measure import Case, Row, Settings
from benchmarks.timing import Units, timed
from orthospca import DataCovariance, Result, solve
from orthospca.datasets import make_planted_samples
from orthospca.facade import solve_with
from orthospca.model.settings import Settings as SolverSettings
from orthospca.numerics.threads import single_threaded_blas
from orthospca.wide.stage import WideProblem

#: Columns of the table `scale`; "formed" are features whose covariances were formed, "products" the
#: bare matrix products of those, "all products" of the whole covariance, timed in the same run.
SCALE_COLUMNS = (
    "n",
    "noise",
    "variance",
    "gap",
    "status",
    "formed",
    "seconds",
    "products",
    "ratio",
    "all products",
    "peak MB",
)

COMPONENTS, SPARSITY, GAP = 5, 10, 1e-2


def scale_cases(settings: Settings) -> list[Case]:
    """Five components of planted samples, from a thousand to a hundred thousand features."""
    sizes = (
        (1000, 3000, 10_000) if settings.quick else (1000, 3000, 10_000, 20_000, 50_000, 100_000)
    )
    cases = [_case(n, 2.0) for n in sizes]
    if not settings.quick:
        cases += [_case(20_000, 4.0), _case(100_000, 2.5)]
    return cases


def _case(n: int, noise: float) -> Case:
    def run(settings: Settings, units: Units) -> list[Row]:
        planted = make_planted_samples(n, noise=(0.2, noise))
        # Once on a few features: what is imported or set up by the first solve is not measured.
        solve(DataCovariance(planted.data[:, :200]), SPARSITY, gap=GAP)
        with single_threaded_blas():
            covariance = DataCovariance(planted.data)
            asked = SolverSettings.validate(gap=GAP)
            problem = WideProblem(covariance, SPARSITY, asked)

            def call() -> Result:
                return solve_with(covariance, SPARSITY, COMPONENTS, asked, learnt=problem)

            result, seconds = timed(call)
            product = _product_seconds(covariance)
            formed = len(problem.part.features)
            products = product * (formed / n) ** 2
        row: Row = {
            "n": n,
            "noise": noise,
            "variance": float(result.variances.sum()),
            "gap": float(result.gaps.max()),
            "status": result.status.value,
            "formed": formed,
            "seconds": seconds,
            "products": products,
            "ratio": seconds / products if products else float("nan"),
            "all products": product,
            "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        return [row]

    return Case(f"n = {n}, noise up to {noise}", run)


def _product_seconds(covariance: DataCovariance) -> float:
    """Time of all products, from that of some of them."""
    count = min(2000, covariance.n_features)
    B = covariance.factor(np.arange(count))
    return min(timed(lambda: B.T @ B)[1] for _ in range(7)) * (covariance.n_features / count) ** 2
