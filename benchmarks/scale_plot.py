"""Draw the growth with n: ``python -m benchmarks.scale_plot [scale.csv] [picture.png]``."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure


def main(
    source: str = "benchmarks/results/scale.csv", target: str = "docs/_static/scale.png"
) -> None:
    """Plot seconds against features with the fitted exponent."""
    lines = [line for line in Path(source).read_text().splitlines() if not line.startswith("#")]
    rows = [row for row in csv.DictReader(lines) if float(row["noise"]) == 2.0]
    n = np.array([float(row["n"]) for row in rows])
    seconds = np.array([float(row["seconds"]) for row in rows])
    whole = np.array([float(row["all products"]) for row in rows])
    slope, offset = np.polyfit(np.log(n), np.log(seconds), 1)
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.loglog(n, seconds, "o-", label="five certified components")
    axes.loglog(n, np.exp(offset) * n**slope, ":", label=f"fit: n to the power {slope:.2f}")
    axes.loglog(n, whole, "s--", label="products of the whole covariance")
    axes.set_xlabel("features n (200 samples)")
    axes.set_ylabel("seconds, one thread")
    axes.set_title("Five components, p = 10, certified to 1 %")
    axes.legend()
    axes.grid(True, which="both", alpha=0.3)
    figure.savefig(target, dpi=95)
    print(f"exponent {slope:.3f}; wrote {target}")


if __name__ == "__main__":
    main(*sys.argv[1:])
