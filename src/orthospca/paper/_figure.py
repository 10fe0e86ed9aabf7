"""The twelve panels of the paper's figure."""

from __future__ import annotations

from typing import Any

from orthospca.interface.plots.mpl import draw
from orthospca.paper._shown import Experiments, panels


def draw_panels(found: Experiments) -> Any:
    """Draw the twelve panels: angles, times, times by sparsity, variances."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.5, 14), layout="constrained")
    for ax, (letter, picture, _) in zip(figure.subplots(4, 3).flat, panels(found), strict=True):
        draw(picture, ax, legend=False)
        ax.title.set_fontsize(11)
        ax.set_title(f"({letter})", loc="left", fontsize=12)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False)
    return figure
