"""The tables that the command prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from orthospca.paper._compare import METHODS, Comparison
from orthospca.paper._paths import listed
from orthospca.paper._splits import percent

if TYPE_CHECKING:
    from orthospca.paper._run import Experiments


def sequence_table(found: Experiments) -> Table:
    """How many components there are, and how they end."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="Sequences", title_justify="left")
    for heading in (
        "sparsity",
        "components",
        "last variance",
        "of total, all",
        "largest deviation from 90°",
        "the same by deflation",
    ):
        table.add_column(heading, justify="right")
    for p, run in found.orthogonal.items():
        table.add_row(
            str(p),
            f"{len(run.variances)}{' (no more exist)' if run.exhausted else ''}",
            f"{run.variances[-1]:.4g}",
            f"{run.variances.sum() / found.matrix.trace():.1%}",
            f"{run.deviations[-1]:.1e}°",
            f"{found.deflation[p].deviations[-1]:.1f}°",
        )
    return table


def speed_table(found: Experiments) -> Table:
    """Every method's time, and how many times faster than the plain loop it is."""
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        title="Time, beside a plain Python loop over all supports of the same matrix",
        title_justify="left",
        caption="* extrapolated from a sample of supports; δ: the threshold by which Algorithm 2 "
        "has made the matrix block-diagonal",
        caption_justify="left",
    )
    for heading in ("genes", "δ", "sparsity", "found"):
        table.add_column(heading, justify="right")
    table.add_column("method", no_wrap=True)
    for heading in ("seconds", "plain loop", "times faster"):
        table.add_column(heading, justify="right")
    groups = (
        (0.0, found.comparisons),
        *((made.threshold, [*made.whole, *made.blocks]) for made in found.splits),
        (0.0, found.growth),
        *((made.threshold, [*made.whole, *made.blocks]) for made in found.growth_splits),
    )
    for threshold, group in groups:
        for c in group:
            table.add_row(*_speed_row(c, threshold))
        table.add_section()
    return table


def _speed_row(c: Comparison, threshold: float) -> tuple[str, ...]:
    mark = "*" if c.plain.extrapolated else ""
    return (
        str(c.order),
        f"{threshold:g}" if threshold else "",
        str(c.sparsity),
        str(len(c.run.variances)),
        METHODS[c.method],
        f"{c.run.total_seconds:.3g}",
        f"{c.plain.seconds:.3g}{mark}",
        f"{c.speedup:.3g}{mark}",
    )


def split_table(found: Experiments) -> Table:
    """What the components of block-diagonal matrices are worth in the matrix itself."""
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        title="Components found by blocks, certified in the original matrix",
        title_justify="left",
    )
    for heading in (
        "δ",
        "blocks",
        "largest",
        "sparsity",
        "components",
        "gap of the first",
        "the first so many within 1 %",
        "largest gap",
    ):
        table.add_column(heading, justify="right")
    for made in found.splits:
        gaps = made.original.gaps
        table.add_row(
            f"{made.threshold:g}",
            str(len(made.sizes)),
            str(made.sizes[0]),
            str(made.sparsity),
            str(len(gaps)),
            percent(float(gaps[0])),
            str(made.certified()),
            percent(float(gaps.max())),
        )
    return table


def path_table(found: Experiments) -> Table:
    """Where the path matters: one after another, or together."""
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        title="Paths: the example [[5,1,0],[1,5,2],[0,2,2]] with sparsity 2, by objective",
        title_justify="left",
    )
    table.add_column("objective")
    for heading in ("two components", "together", "proved of all pairs", "three components"):
        table.add_column(heading, justify="right")
    for objective, pair in found.paths.pairs.items():
        table.add_row(
            objective,
            listed(pair),
            f"{pair.joint_variance:.4g}",
            f"≤ {pair.joint_upper_bound:.6g}",
            listed(found.paths.bases[objective]),
        )
    return table
