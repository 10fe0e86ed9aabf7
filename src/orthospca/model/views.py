"""Results for people: as text, as HTML in a notebook, and as data frames."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from orthospca.model import words
from orthospca.model.component import Component
from orthospca.model.table import Table
from orthospca.model.validation import names_at, validate_choice

if TYPE_CHECKING:
    from orthospca.model.result import Result

#: Characters of a line of text.
WIDTH = 96
#: What :func:`frame` can show.
FRAMES = ("loadings", "components")


def table(result: Result, seconds: bool = False) -> Table:
    """What each component explains, how far it is proved, what it consists of."""
    stages, total, together = result.stages, result.total_variance, words.is_set(result)
    columns = {
        "#": [str(k) for k in range(1, len(stages) + 1)],
        "variance": [f"{c.variance:#.6g}" for c in stages],
        "of total": [percent(c.variance / total) if total > 0 else "" for c in stages],
    }
    if result.method == "deflation":
        columns["in the adjusted matrix"] = [f"{c.deflated_variance:#.6g}" for c in stages]
    columns["upper bound"] = [f"{words.written_bound(result, c):#.6g}" for c in stages]
    columns["gap"] = [words.gap_of_component(c) for c in stages]
    columns["nodes"] = ["" if together else str(c.nodes) for c in stages]
    if seconds:
        columns["seconds"] = ["" if together else f"{c.runtime:.3g}" for c in stages]
    columns["status"] = [c.status.value for c in stages]
    named = [[f"{n} {signed(x)}" for n, x in loadings(result, c)] for c in stages]
    if together:
        # The line of the set has no loadings.
        last = {
            "#": "all",
            "variance": f"{result.joint_variance:#.6g}",
            "of total": percent(result.joint_variance / total) if total > 0 else "",
            "upper bound": f"{words.rounded_up(result.joint_upper_bound):#.6g}",
            "gap": words.gap_of_set(result),
            "nodes": str(result.nodes),
            "seconds": f"{math.fsum(c.runtime for c in stages):.3g}",
            "status": result.status.value,
        }
        columns = {name: [*cells, last[name]] for name, cells in columns.items()}
        named.append([])
    title = "Orthogonal sparse components"
    return Table(title, columns, words.closing(result), named, "loadings")


def loadings(result: Result, component: Component) -> list[tuple[str, float]]:
    """The features of a component with their loadings, the largest first."""
    order = sorted(component.support.tolist(), key=lambda j: (-abs(component.vector[j]), j))
    names = names_at(result.feature_names, order)
    return list(zip(names, component.vector[order].tolist(), strict=True))


def signed(loading: float) -> str:
    """A loading with its sign."""
    return f"{loading:+.3f}".replace("-", "−")


def percent(share: float) -> str:
    """A share of the whole; nothing if there is no whole."""
    return f"{share:.1%}" if math.isfinite(share) else ""


def frame(result: Result, kind: str) -> Any:
    """The result as a data frame of pandas."""
    validate_choice("kind", kind, FRAMES)
    pandas = pandas_or_error("Result.to_frame")
    if kind == "loadings":
        names = result.feature_names or range(result.n_features)
        columns = [f"component{k}" for k in range(1, result.n_components + 1)]
        index = pandas.Index(list(names), name="feature")
        return pandas.DataFrame(result.components.T, index=index, columns=columns)
    ratio = result.explained_variance_ratio
    used = [tuple(name for name, _ in loadings(result, c)) for c in result.stages]
    content = {
        "variance": result.variances,
        "explained_variance_ratio": ratio,
        "upper_bound": result.upper_bounds,
        "gap": result.gaps,
        "status": [status.value for status in result.statuses],
        "nodes": [component.nodes for component in result.stages],
        "features": used,
    }
    index = pandas.RangeIndex(1, result.n_components + 1, name="component")
    return pandas.DataFrame(content, index=index)


def pandas_or_error(who: str) -> Any:
    """Return the module pandas, which only data frames need, or say how to get it."""
    try:
        import pandas
    except ImportError:
        raise ImportError(f"{who} needs pandas: pip install pandas") from None
    return pandas
