"""What the command line shows: progress while solving, and the table of components."""

from __future__ import annotations

import math
from types import TracebackType

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from orthospca.result import Component, Progress, Result, Status, format_gap

#: Seconds between two lines of progress where the output is not a terminal.
PLAIN_INTERVAL = 5.0


class ProgressDisplay:
    """Shows each :class:`~orthospca.result.Progress` as it comes.

    On a terminal it is one live line. Elsewhere it is a plain line at the start, at the end of
    each stage, and every few seconds in between. Use it as a context manager around the solve, and
    the object itself as its ``callback``.
    """

    def __init__(self, console: Console, n_components: int) -> None:
        self._console = console
        self._total = n_components
        self._live = Live(console=console, transient=True) if console.is_terminal else None
        self._last: Progress | None = None
        self._printed = -PLAIN_INTERVAL

    def __enter__(self) -> ProgressDisplay:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()
        elif self._last is not None and self._last.elapsed > self._printed:
            self._print(self._last)

    def __call__(self, progress: Progress) -> None:
        """Show where the search stands."""
        if self._live is not None:
            self._live.update(Text(self._line(progress), overflow="ellipsis", no_wrap=True))
            return
        if self._last is not None and self._last.stage != progress.stage:
            self._print(self._last)
        if progress.elapsed - self._printed >= PLAIN_INTERVAL:
            self._print(progress)
        self._last = progress

    def _print(self, progress: Progress) -> None:
        self._printed = progress.elapsed
        self._console.print(self._line(progress), soft_wrap=True, highlight=False, markup=False)

    def _line(self, progress: Progress) -> str:
        lower = f"{progress.lower:.6g}" if math.isfinite(progress.lower) else "none"
        return (
            f"component {progress.stage + 1}/{self._total}  nodes {progress.nodes}  "
            f"lower {lower}  upper {progress.upper:.6g}  "
            f"gap {format_gap(progress.gap)}  {progress.elapsed:.1f} s"
        )


def component_table(result: Result) -> Table:
    """The components as a table: what each explains, how far it is proved, what it consists of."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("#", "variance", "of total", "upper bound", "gap", "nodes"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("loadings", overflow="fold", ratio=1)
    for k, component in enumerate(result.stages, start=1):
        table.add_row(
            str(k),
            f"{component.variance:.6g}",
            _share(component.variance, result.total_variance),
            f"{component.upper_bound:.6g}",
            format_gap(component.gap),
            str(component.nodes),
            component.status.value,
            Text(_loadings(component, result.feature_names)),
        )
    return table


def closing_sentence(result: Result) -> str:
    """What the result as a whole means, in one sentence."""
    count = result.n_components
    found = f"{count} component{'' if count == 1 else 's'}"
    if result.method == "deflation":
        found += " by deflation (not orthogonal, so their variances do not add up)"
    elif count:
        share = _share(float(result.variances.sum()), result.total_variance)
        found += f", together {share} of the total variance" if share else ""
    meaning = {
        Status.OPTIMAL: "each is certified within the tolerance",
        Status.EXHAUSTED: "each is certified, and it is proved that no further component exists",
        Status.TIME_LIMIT: "stopped by the time limit; the gaps above are what is left to prove",
        Status.NODE_LIMIT: "stopped by the node limit; the gaps above are what is left to prove",
        Status.INTERRUPTED: "interrupted; the gaps above are what is left to prove",
    }[result.status]
    return f"{found}; {meaning} ({result.runtime:.2f} s)."


def _share(variance: float, total: float) -> str:
    return f"{variance / total:.1%}" if math.isfinite(total) and total > 0.0 else ""


def _loadings(component: Component, names: tuple[str, ...] | None) -> str:
    """The features, strongest first, each with its loading."""
    order = sorted(component.support.tolist(), key=lambda j: (-abs(component.vector[j]), j))
    return ", ".join(
        f"{names[j] if names is not None else j} {component.vector[j]:+.2f}" for j in order
    )
