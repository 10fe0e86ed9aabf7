"""What the experiments say, and where that differs from the paper's text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from orthospca.paper._paths import told
from orthospca.paper._splits import percent

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
        sizes = splits[0].sizes
        alone = sum(size == 1 for size in sizes)
        blocks = ", ".join(str(size) for size in sizes if size > 1)
        scale = found.matrix.trace()
        agree = (
            "has the same variances as solved as a whole, as Theorem 1 says"
            if max(made.difference for made in splits) <= 1e-9 * scale
            else "has other variances than solved as a whole, against Theorem 1"
        )
        plain, batches, first, certified, largest = (
            ", ".join(texts)
            for texts in zip(
                *(
                    (
                        f"{made.blocks[0].speedup:.3g}",
                        f"{made.speedup:.3g}",
                        percent(float(made.original.gaps[0])),
                        str(made.certified()),
                        percent(float(made.original.gaps.max())),
                    )
                    for made in splits
                ),
                strict=True,
            )
        )
        texts.append(
            f"with the threshold {threshold:g} there are blocks of {blocks or 'one gene each'}"
            f"{f' and {alone} genes alone' if blocks and alone else ''}. Solved block by block, "
            f"the block-diagonal matrix {agree}, {plain} times faster than by the plain loop and "
            f"{batches} times faster than by enumeration in batches (sparsity {_list(found)}), "
            "which supports of equal value slow down. These are not the components of the "
            "original matrix. There the first of them is "
            f"proved to be within {first} of the best, the first {certified} within 1 %, and all "
            f"of them within {largest}, each given those before it."
        )
    return texts


def _list(found: Experiments) -> str:
    return ", ".join(map(str, found.orthogonal))
