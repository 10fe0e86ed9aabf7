"""The twelve panels of the paper's figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orthospca.interface.plots.mpl import draw
from orthospca.interface.plots.spec import XY, Axis, Line
from orthospca.paper._shown import DEFLATION, GS, panels

if TYPE_CHECKING:
    from orthospca.paper._run import Experiments

LABELS = {GS: "GS-SPCA (orthogonal)", DEFLATION: "deflation (not orthogonal)"}
AXES = {"r": "r", "sparsity": "sparsity p"}


def draw_panels(found: Experiments) -> Any:
    """Draw the twelve panels: angles, times, times by sparsity, variances."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.5, 14), layout="constrained")
    for ax, panel in zip(figure.subplots(4, 3).flat, panels(found), strict=True):
        lines = []
        for tone, (algorithm, label) in enumerate(LABELS.items()):
            rows: list[Any] = [row for row in panel.rows if row["algorithm"] == algorithm]
            x, y = [row[panel.across] for row in rows], [row["value"] for row in rows]
            # Where it is proved that no further orthogonal component exists.
            last = f"no more after {len(x)}" if panel.ended and algorithm == GS else ""
            lines.append(Line(label, x, y, tone=tone, ending=last))
        across = Axis(AXES[panel.across], whole=True)
        left = panel.quantity if panel.letter in "adgj" else ""
        up = Axis(left, log=panel.log, zero=not panel.log)
        draw(XY("", panel.title, "", lines, across, up), ax, legend=False)
        ax.title.set_fontsize(11)
        ax.set_title(f"({panel.letter})", loc="left", fontsize=12)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False)
    return figure
