"""The pictures of a report, each inside the page itself."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orthospca.interface.report._content import Section

#: Inches; a wider picture gets the width of the page for itself.
WIDEST = 7.5
#: A higher one has the others beside it.
TALLEST = 5.5


@dataclass(frozen=True)
class Picture:
    """A picture and what to see in it; ``address`` is a data URI, so no other file is needed."""

    address: str
    caption: str
    shape: str = ""


def has_matplotlib() -> bool:
    """Whether pictures can be drawn."""
    from importlib.util import find_spec

    return find_spec("matplotlib") is not None


def draw(section: Section) -> list[Picture]:
    """Draw a section's pictures; none if there is no component, or no matplotlib."""
    result = section.result
    if not result.n_components or not has_matplotlib():
        return []
    from orthospca.interface import plotting

    pictures: list[tuple[Callable[[], Any], str]] = [
        (
            lambda: plotting.plot_loadings(result),
            "Loadings. Empty cells are exact zeros; variables are grouped by the component in "
            "which they load most.",
        ),
        (
            lambda: plotting.scree(result, section.eigenvalues),
            "Variance of each component, beside ordinary PCA, which uses all variables.",
        ),
        (
            lambda: plotting.plot_convergence(result),
            "How the proved gap between the component in hand and the best possible one closed.",
        ),
    ]
    if result.n_components > 1:
        pictures.insert(
            2,
            (
                lambda: plotting.plot_orthogonality(result),
                "|cos| of the angle between each two components; about 1e-16 is rounding.",
            ),
        )
    drawn = [(make().figure, caption) for make, caption in pictures]
    return [
        Picture(data_uri(figure), caption, _shape(*figure.get_size_inches()))
        for figure, caption in drawn
    ]


def _shape(width: float, height: float) -> str:
    """How much room the picture needs on the page, as a class of its style."""
    return "full" if width > WIDEST else "tall" if height > TALLEST else ""


def data_uri(figure: Any) -> str:
    """The figure as an SVG picture in a data URI, the same for the same figure."""
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "orthospca"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
