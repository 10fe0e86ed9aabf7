"""Results for people: as text, as HTML in a notebook, and as data frames."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from orthospca.model import words
from orthospca.model.component import Component
from orthospca.model.table import Table
from orthospca.model.validation import validate_choice

if TYPE_CHECKING:
    from orthospca.model.result import Result

#: Characters of a line of text.
WIDTH = 96
#: What :func:`frame` can show.
FRAMES = ("loadings", "components")


def table(result: Result, seconds: bool = False) -> Table:
    """What each component explains, how far it is proved, what it consists of."""
    lines, total = words.lines(result), result.total_variance
    columns = {
        "#": [line.name for line in lines],
        "variance": [f"{line.variance:#.6g}" for line in lines],
        "of total": [percent(line.variance / total) if total > 0 else "" for line in lines],
    }
    if result.method == "deflation":
        columns["in the adjusted matrix"] = [f"{line.deflated_variance:#.6g}" for line in lines]
    columns["upper bound"] = [f"{line.upper_bound:#.6g}" for line in lines]
    columns["gap"] = [line.gap for line in lines]
    columns["nodes"] = ["" if line.nodes is None else str(line.nodes) for line in lines]
    if seconds:
        times = (line.runtime for line in lines)
        columns["seconds"] = ["" if time is None else f"{time:.3g}" for time in times]
    columns["status"] = [line.status for line in lines]
    named = [[f"{n} {signed(x)}" for n, x in loadings(result, c)] for c in result.stages]
    # The line of a set has no loadings.
    named += [[]] * (len(lines) - len(named))
    title = "Orthogonal sparse components"
    return Table(title, columns, words.closing(result), named, "loadings")


def summary(result: Result, width: int) -> str:
    """The components as text: a line of numbers for each, and its loadings below."""
    text = table(result).text(width)
    return f"{text}\n{result.note}" if result.note else text


def loadings(result: Result, component: Component) -> list[tuple[str, float]]:
    """The features of a component with their loadings, the largest first."""
    names = result.feature_names
    order = sorted(component.support.tolist(), key=lambda j: (-abs(component.vector[j]), j))
    return [(str(j) if names is None else names[j], float(component.vector[j])) for j in order]


def signed(loading: float) -> str:
    """A loading with its sign."""
    return f"{loading:+.3f}".replace("-", "−")


def percent(share: float) -> str:
    """A share of the whole; nothing if there is no whole."""
    return f"{share:.1%}" if math.isfinite(share) else ""


def short(result: Result) -> str:
    """The result in one line, for its ``repr``."""
    limits = sorted(set(result.sparsity))
    sparsity = str(limits[0]) if len(limits) == 1 else str(list(result.sparsity))
    return (
        f"Result({words.counted(result)}, n_features={result.n_features}, sparsity={sparsity}, "
        f"status={result.status.value!r})"
    )


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
