"""What the command line shows: progress while solving, and the table of components."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from orthospca._typing import Array
from orthospca.result import Component, Progress, Result, Status, format_gap

if TYPE_CHECKING:
    from orthospca.path import SparsityPath

#: Seconds between two lines of progress where the output is not a terminal.
PLAIN_INTERVAL = 5.0


class ProgressDisplay:
    """Shows each :class:`~orthospca.model.result.Progress` as it comes.

    On a terminal it is one live line. Elsewhere it is a plain line at the start, at the end of
    each stage, and every few seconds in between. Use it as a context manager around the solve, and
    the object itself as its ``callback``.

    Parameters
    ----------
    console : Console
    n_components : int
        How many components are sought.
    clock : callable
        Seconds since some moment.
    """

    def __init__(
        self, console: Console, n_components: int, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._console = console
        self._total = n_components
        self._clock = clock
        self._started = clock()
        self._last: tuple[str, Progress] | None = None
        self._shown: str = ""
        self._shown_at = -math.inf
        self._live: Live | None = None
        if console.is_terminal:
            self._live = Live(console=console, transient=True, get_renderable=self._live_line)

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
        elif self._last is not None:
            self._print(*self._last)

    def __call__(self, progress: Progress) -> None:
        """Show where the search stands."""
        self._update("", progress)

    def at_sparsity(self, sparsity: int, progress: Progress) -> None:
        """Show where the search for one of several sparsities stands."""
        self._update(f"sparsity {sparsity}  ", progress)

    def _update(self, prefix: str, progress: Progress) -> None:
        last, self._last = self._last, (prefix, progress)
        if self._live is not None:
            return
        if last is not None and (last[0], last[1].stage) != (prefix, progress.stage):
            self._print(*last)
        if self._clock() - self._shown_at >= PLAIN_INTERVAL:
            self._print(prefix, progress)

    def _print(self, prefix: str, progress: Progress) -> None:
        line = self._line(prefix, progress)
        if line != self._shown:
            elapsed = f"  {self._clock() - self._started:.1f} s"
            self._console.print(line + elapsed, soft_wrap=True, highlight=False, markup=False)
            self._shown, self._shown_at = line, self._clock()

    def _live_line(self) -> Text:
        # Drawn several times a second, so that the clock goes on where the search has no news.
        line = "" if self._last is None else self._line(*self._last)
        elapsed = f"  {self._clock() - self._started:.1f} s"
        return Text(line + elapsed, overflow="ellipsis", no_wrap=True)

    def _line(self, prefix: str, progress: Progress) -> str:
        lower = f"{progress.lower:.6g}" if math.isfinite(progress.lower) else "none"
        return (
            f"{prefix}component {progress.stage + 1}/{self._total}  nodes {progress.nodes}  "
            f"lower {lower}  upper {progress.upper:.6g}  gap {format_gap(progress.gap)}"
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
        Status.THRESHOLD: "blocks solved; the gaps above are what the threshold leaves open",
        Status.FEATURE_LIMIT: "more variables could matter than fit into a matrix; the gaps above "
        "are what is left to prove",
        Status.PRECISION: "everything was searched; the gaps above are what rounding leaves open",
        Status.INTERRUPTED: "interrupted; the gaps above are what is left to prove",
    }[result.status]
    return f"{found}; {meaning} ({result.runtime:.2f} s)."


def beside_pca(result: Result, eigenvalues: Array) -> str:
    """What sparsity costs, against ordinary PCA, and what orthogonality means, in figures."""
    X = result.components
    dense = _share(float(eigenvalues[: len(X)].sum()), result.total_variance)
    deviation = np.abs(X @ X.T - np.eye(len(X))).max(initial=0.0)
    return (
        f"Ordinary PCA, all variables in each of {len(X)} components: {dense}. "
        f"Largest deviation from orthogonality here: {deviation:.1e}."
    )


def path_table(path: SparsityPath) -> Table:
    """Variance and what is proved of it, a line for each sparsity."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("sparsity", "components", "variance", "of total", "more", "largest gap"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    before = 0.0
    for sparsity, result in zip(path.sparsities, path.results, strict=True):
        variance = float(result.variances.sum())
        table.add_row(
            str(sparsity),
            str(result.n_components),
            f"{variance:.6g}",
            _share(variance, result.total_variance),
            _share(variance - before, result.total_variance),
            format_gap(float(result.gaps.max(initial=0.0))),
            result.status.value,
        )
        before = variance
    return table


def path_sentence(path: SparsityPath) -> str:
    """What the path as a whole means, in one sentence."""
    count = len(path.sparsities)
    meaning = (
        "all certified within the tolerance"
        if path.status is Status.OPTIMAL
        else f"stopped ({path.status.value}); the gaps above are what is left to prove"
    )
    return f"{count} sparsit{'y' if count == 1 else 'ies'}; {meaning} ({path.runtime:.2f} s)."


def _share(variance: float, total: float) -> str:
    return f"{variance / total:.1%}" if math.isfinite(total) and total > 0.0 else ""


def _loadings(component: Component, names: tuple[str, ...] | None) -> str:
    """The features, strongest first, each with its loading."""
    order = sorted(component.support.tolist(), key=lambda j: (-abs(component.vector[j]), j))
    return ", ".join(
        f"{names[j] if names is not None else j} {component.vector[j]:+.2f}" for j in order
    )
