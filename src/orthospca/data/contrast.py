"""Contrasts of two conditions: what varies in one sample and not in another."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import Array
from orthospca.data.covariance import DataCovariance
from orthospca.model.given import refuse_other_order
from orthospca.model.validation import names_of, validate_covariance
from orthospca.model.words import rounded_up
from orthospca.numerics.rounding import add_up, mul_up, raised, relative_error, root_of_squares_up


def contrasted(
    Q: Any, reference: Any, weight: Any, scale: Array | None = None
) -> tuple[Array, str]:
    """Return ``Q - weight·R``, which is indefinite as a rule, and what rounding has to do with it.

    Each entry of a covariance of data errs by at most ``γ·√(Q_ii Q_jj)``, so that the form of no
    unit vector errs by more than ``γ·tr Q``; for what scaling and subtraction round there is the
    Frobenius norm.

    Parameters
    ----------
    Q, reference : array-like of shape (n, n), or DataCovariance
    weight : float
        At least 0.
    scale : array of shape (n,), optional
        Standard deviations by which the reference is divided.

    Returns
    -------
    array, str
        The matrix, and a note that says how far it may be from the exact one.
    """
    if not isinstance(weight, int | float | np.number) or not 0 <= weight < math.inf:
        raise InputError(f"contrast must be a number, at least 0, got {weight!r}")
    refuse_other_order("reference", reference, names_of(Q))
    C, own = _formed(Q)
    try:
        R, its = _formed(reference)
    except InputError as error:
        raise InputError(str(error).replace("Q must", "reference must", 1)) from None
    if C.shape != R.shape:
        raise InputError(
            f"reference must have the {len(C)} features of what it is compared with, got {len(R)}"
        )
    if scale is not None:
        R = R / np.outer(scale, scale)
    weight, n = float(weight), len(C)
    found = np.asarray(C - weight * R)
    sizes = [
        root_of_squares_up(float(np.square(part).sum()), n * n) for part in (weight * R, found)
    ]
    radius = add_up(
        mul_up(own, raised(float(np.trace(C)), n)),
        mul_up(mul_up(weight, its), raised(float(np.trace(R)), n)),
        mul_up(relative_error(4), add_up(*sizes)),
    )
    return found, (
        "certified for the contrast as computed; rounding in forming it changes no variance by "
        f"more than {rounded_up(radius, 2):g}"
    )


def _formed(part: Any) -> tuple[Array, float]:
    """A matrix, and the error of its entries relative to the roots of their variances."""
    if isinstance(part, DataCovariance):
        return part.submatrix(np.arange(part.n_features)), part.relative_radius
    return validate_covariance(part), 0.0
