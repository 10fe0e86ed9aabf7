"""Measure tables, show them and write them; what fails is shown and does not end the run."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable
from threadpoolctl import threadpool_limits

from benchmarks.instances import VARIABLE, MissingData
from benchmarks.measure import Case, Row, Settings
from benchmarks.tables import Table
from benchmarks.timing import Units, machine
from orthospca import solve

#: How the numbers of a column are shown; other columns are shown as they are.
FORMATS: dict[str, Callable[[Any], str]] = {
    "gap asked": lambda x: f"{x:.0e}",
    "variance": lambda x: f"{x:.7g}",
    "listed": lambda x: f"{x:.7g}",
    # Differences of the last digit are those of the summation order.
    "over listed": lambda x: f"{x:+.1e}" if abs(x) > 1e-12 else "0",
    "gap": lambda x: f"{x:.1e}",
    "a-priori": lambda x: f"{x:.1e}",
    "nodes": lambda x: f"{x:,}",
    "supports": lambda x: f"{x:,}",
    "seconds": lambda x: f"{x:.3g}",
    "loop seconds": lambda x: f"{x:.3g}",
    "unit seconds": lambda x: f"{x:.2g}",
    "units": lambda x: f"{x:.3g}",
    "ratio": lambda x: f"{x:.1f}",
    "in NumPy": lambda x: f"{x:.3g}",
    "compiled": lambda x: f"{x:.3g}",
    "gap compiled": lambda x: f"{x:.1e}",
    "one": lambda x: f"{x:.3g}",
    "two": lambda x: f"{x:.3g}",
    "cosine": lambda x: f"{x:.1e}",
    "proved": lambda x: f"{x:.0e}",
    "value": lambda x: f"{x:.7g}",
    "stagewise": lambda x: f"{x:.4f}",
    "stage gap": lambda x: f"{x:.1e}",
    "set bound": lambda x: f"{x:.4f}",
    "set gap": lambda x: f"{x:.1e}",
    "joint": lambda x: f"{x:.4f}",
    "joint bound": lambda x: f"{x:.4f}",
    "joint gap": lambda x: f"{x:.1e}",
    "joint seconds": lambda x: f"{x:.3g}",
    "data MB": lambda x: f"{x:.0f}",
    "added MB": lambda x: f"{x:.0f}",
    "peak MB": lambda x: f"{x:.0f}",
    "search": lambda x: f"{x:.3g}",
}
LEFT = ("instance", "method", "status", "data", "tool", "version", "setting", "outcome")


class Report:
    """Runs tables one after another.

    Parameters
    ----------
    console : Console
    settings : Settings
    output : Path
        Folder for one CSV file for each table, and ``machine.json``, which says for each table
        where and when it was measured.
    """

    def __init__(self, console: Console, settings: Settings, output: Path) -> None:
        self.console = console
        self.settings = settings
        self.output = output
        self.failures = 0
        self._units = Units()

    def begin(self) -> None:
        """Describe the machine on the screen."""
        self.output.mkdir(parents=True, exist_ok=True)
        description = machine()
        software = [f"Python {description['python']}", *description["blas"]]
        software += [f"{name} {version}" for name, version in description["packages"].items()]
        hardware = f"{description['processor']}, {description['cores']} cores"
        self.console.print(f"{hardware}, load {description['load']}", highlight=False)
        self.console.print(", ".join(software), highlight=False)
        # What the first solve of a process does once is not part of any measurement.
        solve([[2.0, 1.0], [1.0, 2.0]], sparsity=1)

    def run(self, table: Table) -> None:
        """Measure one table; its file is written after each case, so that no time is lost."""
        rows: list[Row] = []
        notes: list[str] = []
        missing: list[str] = []
        description = {**machine(), "quick": self.settings.quick}
        try:
            try:
                cases = table.cases(self.settings)
            except MissingData as error:
                cases = []
                missing.append(str(error))
            for case in cases:
                rows += self._measure(case, notes, missing)
                self._write(table, rows)
            if rows:
                self._describe(table, description)
        finally:
            self._show(table, rows, notes, missing)

    def _measure(self, case: Case, notes: list[str], missing: list[str]) -> list[Row]:
        try:
            with self.console.status(escape(case.label)), threadpool_limits(1, user_api="blas"):
                return case.run(self.settings, self._units)
        except MissingData as error:
            missing.append(str(error))
        except Exception as error:
            self.failures += 1
            notes.append(f"{case.label}: {type(error).__name__}: {error}")
        return []

    def _write(self, table: Table, rows: list[Row]) -> None:
        path = self.output / f"{table.name}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, table.columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)

    def _describe(self, table: Table, description: dict[str, Any]) -> None:
        """Keep where a table was measured beside those of the tables measured before."""
        path = self.output / "machine.json"
        known = json.loads(path.read_text("utf-8")) if path.is_file() else {}
        known[table.name] = description
        path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")

    def _show(self, table: Table, rows: list[Row], notes: list[str], missing: list[str]) -> None:
        shown = RichTable(title=table.title, title_justify="left", box=box.SIMPLE_HEAD)
        for column in table.columns:
            left = column in LEFT
            shown.add_column(column, justify="left" if left else "right", no_wrap=True)
        for row in rows:
            shown.add_row(*(_shown(column, row.get(column)) for column in table.columns))
        if rows:
            self.console.print(shown)
        for note in notes:
            self.console.print(f"[red]failed[/red] {escape(note)}", highlight=False)
        if missing:
            names = ", ".join(dict.fromkeys(missing))
            self.console.print(
                f"[yellow]skipped[/yellow] {table.name}: not in the folder that {VARIABLE} names: "
                f"{escape(names)}",
                highlight=False,
            )
        if not (rows or notes or missing):
            self.console.print(f"{table.name}: nothing in a quick run", highlight=False)


def _shown(column: str, value: object) -> str:
    if value is None:
        return ""
    return escape(FORMATS.get(column, str)(value))
