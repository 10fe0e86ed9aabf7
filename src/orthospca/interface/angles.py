"""The angles between components, in one way for terminal, pictures and report."""

from __future__ import annotations

import numpy as np

from orthospca._typing import Array
from orthospca.result import Result


def cosines(result: Result) -> Array:
    """``|cos|`` of the angle between each two components; zero on and above the diagonal."""
    X = result.components
    found: Array = np.tril(np.abs(X @ X.T), -1)
    return found


def largest_cosine(result: Result) -> float:
    """The largest of them."""
    return float(cosines(result).max(initial=0.0))


def write_cosine(value: float) -> str:
    """A cosine for people: what is not about zero with two decimals, rounding as a power."""
    if value == 0.0:
        return "0"
    return f"{value:.2f}" if value > 0.005 else f"{value:.1e}"
