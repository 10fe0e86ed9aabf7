"""Pictures of a judgement: given components beside what is possible, and variances beside noise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from orthospca.interface.plots.spec import XY, Axis, Bars, Caps, Dots, Line, Mark
from orthospca.interface.plots.text import counted, plain

if TYPE_CHECKING:
    from orthospca import Audit, Significance

BY_COMPONENT, VARIANCE = Axis("component", whole=True), Axis("variance", zero=True)


def audited(found: Audit) -> XY:
    """The variance of each given component, the proved bound, and what was found in its place."""
    tips, bounds, better = [], {}, {}
    rows = zip(found.numbers, found.sparsity, found.variances, found.upper_bounds, strict=True)
    for (k, p, variance, upper), gap, other in zip(
        rows, found.gap_words, found.better, strict=True
    ):
        tip = f"component {k}, {counted(p)}: {plain(variance, 5)}"
        if math.isfinite(upper):
            bounds[float(k)] = float(upper)
            tip += f"\nat most {plain(upper, 5)} is possible, gap {gap}"
        if other is not None:
            better[float(k)] = float(other.variances[0])
            tip += f"\nfound: {plain(better[k], 5)}"
        tips.append(tip)
    marks: list[Mark] = [Bars("as given", found.numbers, found.variances.tolist(), tips)]
    if bounds:
        marks.append(Caps("proved bound", [*bounds], [*bounds.values()]))
    if better:
        marks.append(Dots("better one found", [*better], [*better.values()], (), 1))
    return XY(
        "audit",
        "Given components and what is possible",
        "Bars: variance of each component as given. Strokes: the most that a component with as "
        "many variables, orthogonal to those before it, can have. If a bar is above its stroke, "
        "the component is not orthogonal to those before it and repeats some of their variance.",
        marks,
        BY_COMPONENT,
        VARIANCE,
        near="x",
    )


def against_noise(found: Significance) -> XY:
    """The variance of each component beside the proved bounds of permuted data."""
    at, done = np.nonzero(np.isfinite(found.null))
    x, y = (at + 1.0).tolist(), found.null[at, done].tolist()
    tips = [
        f"component {k}: {plain(v, 5)}\np-value {plain(p, 3)}"
        for k, (v, p) in enumerate(zip(found.variances, found.p_values, strict=True), start=1)
    ]
    noise = [k >= found.n_components for k in range(len(found.null))]
    numbers, variances = range(1, len(noise) + 1), found.variances.tolist()
    line = Line("component", numbers, variances, tips, hollow=noise)
    return XY(
        "significance",
        "Components beside noise",
        "Line: variance of each component, hollow from the first that is not more than noise. "
        "Points: proved bounds on a component with as many variables, after the components before "
        "it were projected out and each column was permuted.",
        [Dots("permuted data", x, y, (), -1, "faint"), line],
        BY_COMPONENT,
        VARIANCE,
        near="x",
    )
