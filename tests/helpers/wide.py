"""Small data solved as if they were wide."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from orthospca import DataCovariance, Result
from orthospca.facade import solve_with
from orthospca.model.settings import Settings
from orthospca.model.tuning import DEFAULT, Tuning, WideTuning


def tuned(**numbers: Any) -> Tuning:
    """The usual tuning, with other numbers for wide data."""
    return replace(DEFAULT, wide=WideTuning(**numbers))


def solve_as_wide(
    Q: DataCovariance,
    p: int,
    k: int = 1,
    *,
    largest: int = 10,
    threshold: Any = 0.0,
    **options: Any,
) -> Result:
    """Solve data as if more features than `largest` were too many for a matrix."""
    settings = Settings.validate(tuning=tuned(formed=largest), **options)
    return solve_with(Q, p, k, settings, threshold)
