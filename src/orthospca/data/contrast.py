"""Contrasts of two conditions: what varies in one sample and not in another."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import Array
from orthospca.data.covariance import DataCovariance
from orthospca.model.validation import validate_covariance


def contrasted(Q: Any, reference: Any, weight: Any) -> Array:
    """Return ``Q - weight·R``, which is indefinite as a rule.

    Parameters
    ----------
    Q, reference : array-like of shape (n, n), or DataCovariance
    weight : float
        At least 0.
    """
    if not isinstance(weight, int | float | np.number) or not 0 <= weight < math.inf:
        raise InputError(f"contrast must be a number, at least 0, got {weight!r}")
    C, R = (
        part.submatrix(np.arange(part.n_features))
        if isinstance(part, DataCovariance)
        else validate_covariance(part)
        for part in (Q, reference)
    )
    if C.shape != R.shape:
        raise InputError(
            f"reference must have the {len(C)} features of what it is compared with, got {len(R)}"
        )
    return np.asarray(C - float(weight) * R)
