"""Turn solves into rows."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.instances import load
from benchmarks.timing import Units, repeated
from orthospca import Component, Result, Status, solve

Row = dict[str, object]

#: Columns of the rows that :func:`measure` makes.
COLUMNS = (
    "instance",
    "n",
    "p",
    "stage",
    "method",
    "gap asked",
    "variance",
    "gap",
    "status",
    "closed by",
    "nodes",
    "seconds",
    "unit seconds",
    "units",
)


@dataclass(frozen=True)
class Settings:
    """What the command line asks for.

    Attributes
    ----------
    time_limit : float or None
        Seconds of a solve; by default each table has its own.
    repeat : int
        Solves of which the time is the median; fewer where they take long.
    quick : bool
        A shorter selection, with shorter limits.
    """

    time_limit: float | None = None
    repeat: int = 5
    quick: bool = False

    @property
    def enough(self) -> float:
        """Solves are not repeated once they have taken this many seconds."""
        return 0.1 if self.quick else 4.0

    def limit(self, seconds: float, quick_seconds: float) -> float:
        """Time limit of a solve: what was asked for, or the table's own."""
        if self.time_limit is not None:
            return self.time_limit
        return quick_seconds if self.quick else seconds


@dataclass(frozen=True)
class Case:
    """One line or a few of a table, measured together.

    Attributes
    ----------
    label : str
        To show while it runs.
    run : callable
        Measures and returns the rows.
    """

    label: str
    run: Callable[[Settings, Units], list[Row]]


def closed_by(components: Sequence[Component]) -> str:
    """What closed the components: each means once, with how often if that is not once."""
    means = Counter(c.closed_by.value for c in components if c.closed_by is not None)
    return ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in means.items())


def measure(
    settings: Settings,
    units: Units,
    name: str,
    sparsity: int,
    *,
    n_components: int = 1,
    gap: float = 1e-3,
    method: str = "branch-and-bound",
    time_limit: float,
) -> list[Row]:
    """Solve a problem and return one row for each stage.

    The time of a single stage is the median over the repetitions; several stages are timed within
    one solve.
    """
    matrix = load(name)

    def run() -> Result:
        result = solve(
            matrix, sparsity, n_components, gap=gap, method=method, time_limit=time_limit
        )
        # The solver returns normally from Ctrl-C; here it should end the whole run.
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return result

    repeat = settings.repeat if n_components == 1 else 1
    (result, seconds), unit = units.around(name, lambda: repeated(run, repeat, settings.enough))
    rows: list[Row] = []
    for stage, component in enumerate(result.stages, start=1):
        elapsed = component.runtime if n_components > 1 else statistics.median(seconds)
        rows.append(
            {
                "instance": name,
                "n": len(matrix),
                "p": sparsity,
                "stage": stage,
                "method": method,
                "gap asked": gap,
                "variance": component.variance,
                "gap": component.gap,
                "status": component.status.value,
                "closed by": closed_by([component]),
                "nodes": component.nodes,
                "seconds": elapsed,
                "unit seconds": unit,
                "units": elapsed / unit,
            }
        )
    if not rows:
        raise RuntimeError(f"no component of {name} was found: {result.status.value}")
    return rows
