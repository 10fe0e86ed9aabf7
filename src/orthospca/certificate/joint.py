"""From a set of components, and why no set has more, to the arrays of a certificate.

The format is described in ``docs/reference/certificate.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from orthospca._typing import Array
from orthospca.certificate.files import Certificate
from orthospca.certificate.resuming import opened
from orthospca.certificate.writing import assembled
from orthospca.numerics.exact import variance_down
from orthospca.search.outcome import Rung, with_arguments
from orthospca.verify_sets import rounded_up


def read_saved_set(
    path: Path, Q: Array, sparsity: Sequence[int], asked: dict[str, Any] | None = None
) -> Certificate | None:
    """Read the certificate of a set, and verify it; None if there is no file.

    Parameters
    ----------
    path : Path
    Q, sparsity
        As in :func:`make_joint_certificate`.
    asked : dict, optional
        What is asked beyond the sparsity.
    """
    return opened(path, Q, assembled(Q, "matrix", sparsity, {"claim": "joint"}, {}, [], asked))


def claimed_of_sets(certificate: Certificate) -> float:
    """Return the bound on the total variance of every set that is claimed."""
    return float(certificate.manifest["joint"]["upper_bound"])


def of_another_set(certificate: Certificate, Q: Array, components: Sequence[Array]) -> Certificate:
    """Return the same argument with another set: it is about all of them.

    Parameters
    ----------
    certificate : Certificate
        Verified.
    Q, components
        As in :func:`make_joint_certificate`.
    """
    vectors = np.array(components, dtype=float)
    said = _said(Q, vectors, claimed_of_sets(certificate))
    arrays = {**certificate.arrays, "components.npy": vectors}
    return Certificate({**certificate.manifest, **said}, arrays)


def _said(Q: Array, vectors: Array, upper: float) -> dict[str, Any]:
    """What is claimed of a set: a bound that is at least what it has."""
    variances = [variance_down(Q, x) for x in vectors]
    upper = max(upper, rounded_up(sum(map(Fraction, variances), Fraction(0))))
    return {"claim": "joint", "joint": {"variances": variances, "upper_bound": upper}}


def make_tree_certificate(
    Q: Array,
    sparsity: Sequence[int],
    components: Sequence[Array] | Array,
    tree: tuple[Array, Array, Array, float],
    asked: dict[str, Any] | None = None,
) -> Certificate:
    """Gather what a checker needs to branch on patterns again.

    Parameters
    ----------
    Q, sparsity, components
        As in :func:`make_joint_certificate`.
    tree : steps, matrices, prices and bound
        The steps are an integer array of shape (S, 3), the matrices one of shape (m, n, n), each
        with ``Q - A`` positive definite, the prices one of shape (m, n), and the bound is what is
        claimed.
    asked : dict, optional
        Features in or out, and whether components are disjoint.
    """
    steps, matrices, prices, upper = tree
    vectors = np.array(components, dtype=float).reshape(len(sparsity), len(Q))
    low = np.tril_indices(len(Q))
    arrays: dict[str, Array] = {
        "components.npy": vectors,
        "joint/steps.npy": steps.ravel(),
        "joint/matrices.npy": np.ascontiguousarray(matrices[:, low[0], low[1]]),
        "joint/prices.npy": prices,
    }
    return assembled(Q, "matrix", sparsity, _said(Q, vectors, upper), arrays, [], asked)


def make_joint_certificate(
    Q: Array,
    sparsity: Sequence[int],
    components: Sequence[Array] | Array,
    A: Array,
    ladders: Mapping[int, Sequence[Rung]],
    asked: dict[str, Any] | None = None,
) -> Certificate:
    """Gather what a checker needs.

    The bound that is claimed is ``tr(Q - A)`` and, for each component, the bound of its ladder;
    or the total variance of the components if rounding makes that larger.

    Parameters
    ----------
    Q : array of shape (n, n)
        Exactly symmetric.
    sparsity : sequence of int
        One for each component.
    components : array of shape (K, n)
        Orthonormal, one in each row.
    A : array of shape (n, n)
        Exactly symmetric; ``Q - A`` is positive definite on the features where they differ.
    ladders : dict
        For each sparsity the rungs of the stage problem on A without components before it, from
        one nonzero on; each has its argument.
    asked : dict, optional
        Features in or out, and whether components are disjoint; the bound holds without it.

    Raises
    ------
    ValueError
        If the argument for some sparsity is not complete.
    """
    vectors = np.array(components, dtype=float).reshape(len(sparsity), len(Q))
    at = np.flatnonzero((A != Q).any(axis=1))
    arrays: dict[str, Array] = {
        "components.npy": vectors,
        "joint/at.npy": at.astype(np.int32),
        "joint/block.npy": np.ascontiguousarray(A[np.ix_(at, at)]),
    }
    diagonals = zip(Q.diagonal()[at].tolist(), A.diagonal()[at].tolist(), strict=True)
    bound = sum((Fraction(q) - Fraction(a) for q, a in diagonals), Fraction(0))
    limits = sorted(set(sparsity))
    for p in limits:
        known = with_arguments(ladders[p])
        if len(known) < p:
            raise ValueError(f"the ladder of sparsity {p} has arguments up to {len(known)} only")
        bound += list(sparsity).count(p) * Fraction(known[-1].upper)
    said = _said(Q, vectors, rounded_up(bound))
    return assembled(Q, "matrix", sparsity, said, arrays, [ladders[p] for p in limits], asked)
