"""Draw pictures of these pages from bundled data: ``python docs/make_pictures.py``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from matplotlib.figure import Figure

from orthospca import alternatives, datasets, plotting, solve

STATIC = Path(__file__).parent / "_static"


def main() -> None:
    breast_cancer()
    pitprops()


def breast_cancer() -> None:
    dataset = datasets.load_breast_cancer()
    Q = dataset.correlation()
    result = replace(solve(Q, sparsity=8, n_components=5), feature_names=dataset.feature_names)
    figure = Figure(figsize=(11.5, 6.0), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    plotting.plot_loadings(result, ax=left)
    plotting.plot_scree(result, Q, ax=right)
    left.set_title("Five orthogonal components, eight variables each")
    figure.savefig(STATIC / "breast-cancer.png", dpi=95)


def pitprops() -> None:
    dataset = datasets.load_pitprops()
    names = dataset.feature_names
    found = alternatives(dataset.covariance(), 4, tolerance=0.05, feature_names=names)
    found.plot().save(STATIC / "alternatives.png", dpi=95)


if __name__ == "__main__":
    main()
