"""What the experiments say, and where that differs from the paper's text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from orthospca.paper._paths import told
from orthospca.paper._splits import percent, sizes_of

if TYPE_CHECKING:
    from orthospca.paper._run import Experiments


def findings(found: Experiments) -> list[str]:
    """One sentence or two on each row of panels, with the numbers measured."""
    return [
        f"(a–c) {_angles(found)}",
        f"(d–f) {_times(found)}",
        f"(g–i) {_sweep(found)}",
        f"(j–l) {_variances(found)}",
        f"Components: {_ends(found)}",
        *(f"Decomposition: {text}" for text in _decomposition(found)),
        f"Paths: {told(found.paths)}",
    ]


def _angles(found: Experiments) -> str:
    largest = max(run.deviations[-1] for run in found.deflation.values())
    own = max(run.deviations[-1] for run in found.orthogonal.values())
    return (
        f"As in the paper, components found by deflation lose their right angles, by up to "
        f"{largest:.0f}° here; those of GS-SPCA keep them to {own:.0e}°."
    )


def _times(found: Experiments) -> str:
    ratios = [
        float(np.median(run.seconds[-3:]) / np.median(run.seconds[:3]))
        for run in found.orthogonal.values()
    ]
    shown = ", ".join(f"{ratio:.1f}" for ratio in ratios)
    return (
        "The paper reports a time that grows with r. Here the last three components take "
        f"{shown} times as long as the first three (sparsity {_list(found)}): the work is "
        "to test the supports, in batches, and their number does not depend on r."
    )


def _sweep(found: Experiments) -> str:
    sparsities = list(found.sweep)
    first, last = (found.sweep[p][0].seconds[:3].sum() for p in (sparsities[0], sparsities[-1]))
    return (
        f"As in the paper, time grows with the sparsity, as the number of supports does: three "
        f"components take {first:.2g} s with {sparsities[0]} and {last:.2g} s with "
        f"{sparsities[-1]}."
    )


def _variances(found: Experiments) -> str:
    trace = found.matrix.trace()
    lasts = ", ".join(
        f"{run.variances[-1]:.3g} ({run.variances[-1] / trace:.2%} of the total)"
        for run in found.orthogonal.values()
    )
    rises = max(
        int((np.diff(run.variances) > 1e-9 * trace).sum()) for run in found.deflation.values()
    )
    return (
        "The paper says that the variances of GS-SPCA gradually decrease to zero. They decrease, "
        f"as they must, but end at {lasts}, for sparsity {_list(found)}. Those of deflation rise "
        f"again up to {rises} times."
    )


def _ends(found: Experiments) -> str:
    n = len(found.matrix)
    ended = [p for p, run in found.orthogonal.items() if run.exhausted]
    if not ended:
        return f"all {n} exist for every sparsity."
    parts = " and ".join(
        f"after {len(found.orthogonal[p].variances)} with sparsity {p}" for p in ended
    )
    return (
        f"the paper takes it for granted that all {n} exist. They end {parts}: it is proved that "
        "no further vector with so few nonzeros is orthogonal to all before. The variances then "
        "do not add up to the trace."
    )


def _decomposition(found: Experiments) -> list[str]:
    texts = []
    for threshold in dict.fromkeys(made.threshold for made in found.splits):
        splits = [made for made in found.splits if made.threshold == threshold]
        agree = max(made.difference for made in splits) <= 1e-9 * found.matrix.trace()
        firsts = ", ".join(percent(float(made.original.gaps[0])) for made in splits)
        texts.append(
            f"with the threshold {threshold:g} there are blocks of {sizes_of(splits[0].sizes)} "
            "genes. Solved block by block, the block-diagonal matrix has "
            + ("the same variances as" if agree else "OTHER VARIANCES THAN")
            + f" solved as a whole, {'as' if agree else 'against what'} Theorem 1 says. These are "
            "not the components of the original matrix: there the first of them is proved to be "
            f"within {firsts} of the best (sparsity {_list(found)}), and what later ones lose is "
            "in the last table."
        )
    return texts


def _list(found: Experiments) -> str:
    return ", ".join(map(str, found.orthogonal))
