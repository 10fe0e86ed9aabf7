"""Five components, ten nonzeros: certified gap, orthogonality and time beside scikit-learn.

    python benchmarks/sklearn_comparison.py [--time-limit SECONDS] [DATA ...]

Both solvers get the same standardised data in the same run, one after the other. ``SparsePCA`` is
run twice: as it comes (``alpha=1``), and with about the smallest ``alpha`` that leaves at most ten
nonzeros on average; only the fit with that ``alpha`` is timed, not the search for it. The share of
variance is that of the span of the components, by orthogonal projection, for both.

The colon data (62 x 2000) are used if the environment variable ORTHOSPCA_DATA names their folder.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import SparsePCA

from orthospca import datasets, solve
from orthospca.model.result import format_gap

N_COMPONENTS, SPARSITY, GAP = 5, 10, 1e-4
BISECTIONS = 4
LOADERS = {
    "breast-cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
    "colon": datasets.load_colon,
}


@dataclass(frozen=True)
class Row:
    data: str
    solver: str
    nonzeros: str
    share: float
    cosine: float
    gap: str
    seconds: float

    def markdown(self) -> str:
        cosine = f"{self.cosine:.2f}" if self.cosine > 0.005 else f"{self.cosine:.0e}"
        cosine = cosine if self.cosine else "0"
        return (
            f"| {self.data} | {self.solver} | {self.nonzeros} | {self.share:.1%} | {cosine} "
            f"| {self.gap} | {self.seconds:.1f} s |"
        )


HEADER = (
    "| data | solver | nonzeros | variance explained | largest \\|cos\\| | certified gap | time |\n"
    "|---|---|---|---|---|---|---|"
)


def measure(name: str, Z: np.ndarray, time_limit: float) -> Iterator[Row]:
    """The rows of one data set; Z is standardised."""
    label = f"{name} {Z.shape[0]}×{Z.shape[1]}"
    started = time.perf_counter()
    Q = Z.T @ Z / (len(Z) - 1)
    result = solve((Q + Q.T) / 2, SPARSITY, N_COMPONENTS, gap=GAP, time_limit=time_limit)
    seconds = time.perf_counter() - started
    gap = format_gap(float(result.gaps.max()))
    yield row(label, "orthospca", Z, result.components, f"≤ {gap}", seconds)
    components, seconds = fit_sklearn(Z, 1.0)
    yield row(label, "SparsePCA(alpha=1)", Z, components, "none", seconds)
    alpha, components, seconds = tune_sklearn(Z)
    yield row(label, f"SparsePCA(alpha={alpha:.3g})", Z, components, "none", seconds)


def tune_sklearn(Z: np.ndarray) -> tuple[float, np.ndarray, float]:
    """The fit with about the smallest alpha that leaves at most SPARSITY nonzeros on average."""
    low, high = 1.0, 2.0
    best = high, *fit_sklearn(Z, high)
    while count(best[1]) > SPARSITY:
        low, high = high, 2.0 * high
        best = high, *fit_sklearn(Z, high)
    for _ in range(BISECTIONS):
        middle = (low * high) ** 0.5
        found = middle, *fit_sklearn(Z, middle)
        if count(found[1]) > SPARSITY:
            low = middle
        else:
            best, high = found, middle
    return best


def count(components: np.ndarray) -> float:
    """Nonzeros of a component, on average."""
    return np.count_nonzero(components) / len(components)


def fit_sklearn(Z: np.ndarray, alpha: float) -> tuple[np.ndarray, float]:
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SparsePCA(N_COMPONENTS, alpha=alpha, random_state=0).fit(Z)
    return model.components_, time.perf_counter() - started


def row(
    data: str, solver: str, Z: np.ndarray, components: np.ndarray, gap: str, seconds: float
) -> Row:
    counts = np.count_nonzero(components, axis=1)
    lengths = np.linalg.norm(components, axis=1)
    units = components[lengths > 0.0] / lengths[lengths > 0.0, None]
    cosines = np.abs(units @ units.T)
    np.fill_diagonal(cosines, 0.0)
    basis, values, _ = np.linalg.svd(units.T, full_matrices=False)
    share = np.square(Z @ basis[:, values > 1e-10]).sum() / np.square(Z).sum()
    shown = f"{counts.min()}–{counts.max()}" if counts.min() < counts.max() else str(counts[0])
    return Row(data, solver, shown, float(share), float(cosines.max(initial=0.0)), gap, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", metavar="DATA", help=", ".join(LOADERS))
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds for orthospca")
    arguments = parser.parse_args()
    if unknown := set(arguments.data) - set(LOADERS):
        parser.error(f"no such data: {', '.join(sorted(unknown))}")
    print(HEADER)
    for name in arguments.data or LOADERS:
        try:
            X = LOADERS[name]().data
        except FileNotFoundError as error:
            print(f"{name}: left out, {error}", file=sys.stderr)
            continue
        Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
        for line in measure(name, Z, arguments.time_limit):
            print(line.markdown(), flush=True)


if __name__ == "__main__":
    main()
