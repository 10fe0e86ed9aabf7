"""``python -m benchmarks``: measure, print, write."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from benchmarks.measure import Settings
from benchmarks.report import Report
from benchmarks.tables import TABLES

#: Where the stored tables are.
RESULTS = Path("benchmarks/results")
#: Width of the tables where the output is not a terminal.
PLAIN_WIDTH = 220


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    names = [table.name for table in TABLES]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="TABLE", help=f"of {', '.join(names)}; by default all"
    )
    parser.add_argument(
        "--time-limit", type=float, metavar="SECONDS", help="of each solve, instead of the table's"
    )
    parser.add_argument(
        "--repeat", type=int, default=5, metavar="N", help="solves of which the median is shown"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help=f"for CSV; by default {RESULTS}, and its folder quick for a quick run",
    )
    parser.add_argument("--quick", action="store_true", help="a selection, in about a minute")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.names) - set(names))
    if unknown:
        parser.error(f"no table is called {', '.join(unknown)}; there are {', '.join(names)}")
    if options.repeat < 1:
        parser.error(f"--repeat must be at least 1, got {options.repeat}")
    if options.output is None:
        # The stored tables are of whole runs.
        options.output = RESULTS / "quick" if options.quick else RESULTS
    if options.time_limit is not None and not options.time_limit > 0:
        parser.error(f"--time-limit must be positive, got {options.time_limit}")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Run the tables asked for; the exit code is 1 if a measurement failed."""
    options = parse(arguments)
    console = Console()
    if not console.is_terminal:
        console = Console(width=PLAIN_WIDTH)
    settings = Settings(options.time_limit, options.repeat, options.quick)
    report = Report(console, settings, options.output)
    report.begin()
    try:
        for table in TABLES:
            if not options.names or table.name in options.names:
                report.run(table)
    except KeyboardInterrupt:
        console.print("interrupted; what was measured is written", highlight=False)
        return 130
    console.print(f"wrote {options.output}", highlight=False)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
