"""Powers fitted to growth."""

from __future__ import annotations

import numpy as np

from benchmarks.page.stored import Rows
from orthospca.model.tuning import DEFAULT

#: Up to this many features the covariance is formed; another way begins beyond.
FORMED = DEFAULT.wide.few


def certified(rows: Rows) -> Rows:
    """Those that were solved to what was asked."""
    return [row for row in rows if row["status"] == "optimal"]


def one_way(rows: Rows, against: str) -> Rows:
    """Of a growth with n, what went the way of data without a covariance: one law, one line."""
    return [row for row in rows if against != "n" or int(row["n"]) > FORMED]


def line(rows: Rows, against: str, column: str) -> tuple[float, float]:
    """Slope and offset of a least-squares line through the logarithms."""
    kept = one_way(certified(rows), against)
    x = np.log([float(row[against]) for row in kept])
    y = np.log([float(row[column]) for row in kept])
    slope, offset = np.polyfit(x, y, 1)
    return float(slope), float(offset)


def last_exponent(rows: Rows, against: str, column: str) -> float:
    """The power between the last two, where growth is often steepest."""
    return line(certified(rows)[-2:], against, column)[0]


def exponent(rows: Rows, against: str, column: str) -> float:
    """The power of the growth of a column."""
    return line(rows, against, column)[0]
