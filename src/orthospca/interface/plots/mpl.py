"""Pictures on axes of matplotlib (``pip install "orthospca[plot]"``).

No window opens and no display is needed.  Where ``pyplot`` is loaded, or somebody looks at a
notebook, figures are its own, so that notebooks and ``plt.show()`` show them.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from orthospca._notebook import in_notebook
from orthospca.interface.fonts import families, without_formulas
from orthospca.interface.plots.spec import (
    HALF,
    HOLLOW,
    XY,
    Arrows,
    Axis,
    Band,
    Bars,
    Caps,
    Dots,
    Grid,
    Line,
    Mark,
    Plot,
    placed,
    share_text,
)
from orthospca.interface.plots.text import LETTER, shortened, width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: As in the report, so that a picture in a paper and the report agree; the last is grey.
COLOURS = (
    *("#2368b0", "#d4690f", "#1d8a63", "#8453bd", "#c0334b", "#0d8ea3", "#93780b", "#c2479a"),
    *("#5b3a9e", "#2f6fb5", "#17918a", "#57a83f", "#c79a00", "#8a939e"),
)
PALE, INK = "#dfe3e8", "#18212c"
#: Pixels of the page that make an inch: of pictures with axes, and of grids.
XY_INCH, GRID_INCH = 68.0, 90.0
#: Columns of a grid that are made so wide that their numbers have room.
MOST_WRITTEN = 25


def has_matplotlib() -> bool:
    """Whether pictures can be drawn."""
    from importlib.util import find_spec

    return find_spec("matplotlib") is not None


def draw(picture: Plot, ax: Axes | None = None, *, legend: bool = True) -> Axes:
    """Draw a picture on axes, or on a figure of its own; the axes.

    Parameters
    ----------
    picture : XY or Grid
    ax : matplotlib axes, optional
    legend : bool
        Whether there is one, where marks have names.
    """
    title = picture.title + (f"\n({picture.left_out})" if picture.left_out else "")
    if picture.empty:
        ax = ax or _axes(6.0, 2.0)
        ax.set_title(f"{title}: {picture.empty}")
        ax.set_axis_off()
    elif isinstance(picture, XY):
        ax = ax or _axes(picture.width / XY_INCH, picture.height / XY_INCH)
        _xy(picture, ax, title, legend)
    else:
        ax = _grid(picture, ax)
        ax.set_title(without_formulas(title), fontsize=11)
    return ax


def _axes(width: float, height: float) -> Axes:
    """Axes on a figure of their own, of so many inches."""
    try:
        from matplotlib.figure import Figure

        if "matplotlib.pyplot" in sys.modules or in_notebook():
            from matplotlib import pyplot

            return pyplot.figure(figsize=(width, height), layout="constrained").add_subplot()
    except ImportError:
        raise ImportError('pictures need matplotlib: pip install "orthospca[plot]"') from None
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def is_open(figure: Any) -> bool:
    """Whether ``pyplot`` has a figure, and will show it."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    return pyplot is not None and pyplot.fignum_exists(getattr(figure, "number", -1))


def let_go(figure: Any) -> None:
    """Close a figure that nobody is to see."""
    if is_open(figure):
        sys.modules["matplotlib.pyplot"].close(figure)


def _xy(spec: XY, ax: Axes, title: str, legend: bool) -> None:
    sides = ((ax.xaxis, spec.x), (ax.yaxis, spec.y))
    ax.set(xscale="log" if spec.x.log else "linear", yscale="log" if spec.y.log else "linear")
    ax.set(**dict(zip(("xlim", "ylim"), spec.ranges(), strict=True)))
    for side, axis in sides:
        side.set_label_text(without_formulas(axis.label), fontfamily=families([axis.label]))
        _write_ticks(side, axis)
    ax.grid(axis="y", color=PALE, zorder=0)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    for draw_line in (ax.axhline, ax.axvline) if spec.cross else ():
        draw_line(0.0, color=PALE, zorder=0)
    for mark in spec.marks:
        _paint(ax, mark)
    rows = _legend_above(ax) if legend else 0
    ax.set_title(title, pad=6.0 + 15.0 * rows)


def _write_ticks(side: Any, axis: Axis) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

    if axis.whole:
        side.set_major_locator(MaxNLocator(integer=True))
    side.set_major_formatter(FuncFormatter(lambda value, _: axis.write(value)))
    side.set_minor_formatter(NullFormatter())


def _legend_above(ax: Axes) -> int:
    """A legend that covers nothing, above what is drawn; its number of rows."""
    handles, names = ax.get_legend_handles_labels()
    if not names:
        return 0
    figure: Any = ax.figure
    room = 72.0 * ax.get_position().width * figure.bbox.width / figure.dpi
    columns = max(1, min(len(names), int(room / max(width_of(name, 9.5) + 36.0 for name in names))))
    ax.legend(
        handles, names, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, frameon=False,
        borderaxespad=0.0, prop={"family": families(names), "size": 9.5},
    )  # fmt: skip
    return math.ceil(len(names) / columns)


def _paint(ax: Axes, mark: Mark) -> None:
    x, y = np.asarray(mark.x, dtype=float), np.asarray(mark.y, dtype=float)
    look: dict[str, Any] = {"color": COLOURS[mark.tone]}
    if mark.name:
        look["label"] = without_formulas(mark.name)
    match mark:
        case Line(hollow=hollow) if any(hollow):
            ax.plot(x, y, color=look["color"], linewidth=1.6, zorder=3)
            is_open = np.asarray(hollow, dtype=bool)
            if not is_open.all():
                ax.plot(x[~is_open], y[~is_open], "o", markersize=5, zorder=4, **look)
            look |= {"label": HOLLOW, "markerfacecolor": "white"}
            ax.plot(x[is_open], y[is_open], "o", markersize=5, zorder=4, **look)
        case Line():
            style, dot = ("steps-post" if mark.step else "default"), ("o" if mark.dots else "")
            ax.plot(x, y, marker=dot, drawstyle=style, lw=1.6, markersize=5, zorder=3, **look)
        case Bars():
            ax.bar(x, y, 2 * HALF, zorder=2, **look)
        case Band():
            ax.fill_between(x, y, mark.upper, alpha=0.2, linewidth=0, zorder=1, **look)
        case Caps():
            ax.hlines(y, x - HALF, x + HALF, linewidth=1.5, zorder=4, **look | {"color": INK})
        case Dots(look="ring"):
            hole: dict[str, Any] = {"markerfacecolor": "none", "markeredgewidth": 2}
            ax.plot(x, y, "o", markersize=13, zorder=4, **hole, **look)
        case Dots():
            ax.scatter(x, y, s=18, alpha=0.3 if mark.look else 0.8, linewidths=0, **look)
        case Arrows():
            _arrows(ax, mark)
    if isinstance(mark, Line) and mark.ending:
        ax.plot(x[-1:], y[-1:], "o", color=look["color"], markersize=5)
        below: dict[str, Any] = {"xytext": (0, -11), "textcoords": "offset points"}
        place = (float(x[-1]), float(y[-1]))
        ax.annotate(mark.ending, place, ha="center", fontsize=8, color=look["color"], **below)


def _arrows(ax: Axes, mark: Arrows) -> None:
    """Arrows with names at their ends, in points of the page as far as they are known now."""
    figure: Any = ax.figure
    box = ax.get_position()
    points = 72.0 * figure.bbox.size / figure.dpi * np.array([box.width, box.height])
    low, high = np.transpose([ax.get_xlim(), ax.get_ylim()])

    def place(x: float, y: float) -> tuple[float, float]:
        across, down = points * (np.array([x, -y]) - low * [1, -1]) / (high - low)
        return float(across), float(down)

    ends = [place(x, y) for x, y in zip(mark.x, mark.y, strict=True)]
    labels = [without_formulas(shortened(label, 200.0)) for label in mark.labels]
    widths = [width_of(label, 8.0) for label in labels]
    names = placed(ends, widths, place(0.0, 0.0), (0.0, points[0]), 11.0)
    for x, y, end, name, label, wide in zip(
        mark.x, mark.y, ends, names, labels, widths, strict=True
    ):
        arrow = {"arrowstyle": "-|>", "color": INK, "lw": 1.0}
        ax.annotate("", (x, y), (0.0, 0.0), arrowprops=arrow)
        at = name or (end[0] + 6.0, end[1])
        near = min(max((end[0] - at[0]) / wide, 0.0), 1.0)
        leader = {"arrowstyle": "-", "color": COLOURS[-1], "lw": 0.6, "relpos": (near, 0.5)}
        ax.annotate(
            label, (x, y), (at[0] - end[0], end[1] - at[1]), textcoords="offset points",
            fontsize=8, fontfamily=families(labels), va="center", annotation_clip=False,
            arrowprops=leader | {"shrinkA": 0.0},
        )  # fmt: skip


def _grid(spec: Grid, ax: Axes | None) -> Axes:
    from matplotlib.colors import Normalize
    from matplotlib.patches import Rectangle

    height, width = spec.values.shape
    cw, ch = spec.size
    cells, shades = spec.cells(), spec.shades()
    written = [] if spec.tips else [spec.write(float(spec.values[cell])) for cell in cells]
    if width <= MOST_WRITTEN:
        cw = max([cw, *(width_of(text, LETTER - 1.5) + 12.0 for text in written)])
    names = [without_formulas(shortened(name, 420.0)) for name in spec.rows]
    longest = max((width_of(name) for name in names), default=0.0)
    beside = 0.0 if spec.beside is None else max(2.5, 0.28 * width)
    wide = 1.6 + (longest + cw * (max(width, 2) + 1.35 * beside)) / GRID_INCH
    high = 1.3 + 1.1 * ch * max(height, 3) / GRID_INCH
    ax = ax or _axes(max(wide, 1.5 + 0.085 * len(spec.title)), high)
    full = spec.full
    norm = Normalize(-full * spec.signed, full)
    values = np.nan_to_num(np.asarray(spec.values, dtype=float))
    shown = np.ma.masked_equal(values, 0.0)
    colours = "RdBu_r" if spec.signed else "Blues"
    image = ax.imshow(shown, colours, norm, aspect="auto", interpolation="nearest")
    for (i, j), text in zip(cells, written if width <= MOST_WRITTEN else (), strict=False):
        ink = "white" if abs(shades[i, j]) > 0.6 else "black"
        ax.text(j, i, text, ha="center", va="center", color=ink, fontsize=7.5)
    for i, j in [] if spec.framed is None else zip(*spec.framed.nonzero(), strict=True):
        frame = Rectangle((j - 0.46, i - 0.44), 0.92, 0.88, fill=False, ec=COLOURS[1], lw=1.4)
        ax.add_patch(frame)
    ax.set_yticks(range(height), names, fontsize=8.5, fontfamily=families(names))
    every = max(1, math.ceil(24.0 / cw))
    ax.set_xticks(range(0, width, every), spec.columns[::every])
    ax.set_xlabel(spec.column_label)
    ax.set_xticks(np.arange(width + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(height + 1) - 0.5, minor=True)
    ax.grid(which="minor", color=PALE, linewidth=0.8)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)
    if spec.beside is not None:
        # Bars in the same axes, so that nothing is cut off wherever these are.
        begin = width - 0.1
        ax.barh(range(height), beside * np.asarray(spec.beside), 0.6, left=begin, color=COLOURS[0])
        for i, share in enumerate(spec.beside):
            ax.text(begin + beside * (share + 0.04), i, share_text(share), va="center", fontsize=8)
        ax.set_xlim(-0.5, begin + 1.35 * beside)
    elif spec.value_label:
        shrink = min(1.0, 9 / max(height, 9))
        ax.figure.colorbar(image, ax=ax, shrink=shrink, pad=0.03, label=spec.value_label)
    return ax
