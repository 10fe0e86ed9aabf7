"""When the gap of a stage counts as closed."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: A gap this small, relative to the largest entry of Q, counts as closed if both tolerances are 0.
RESOLUTION = 1e-11


@dataclass(frozen=True)
class Tolerance:
    """A stage ends when ``upper - lower ≤ max(eps, gap·|lower|)``.

    Attributes
    ----------
    eps, gap : float
    scale : float
        Largest magnitude in Q.  A value far below it is rounding noise, for which no relative gap
        can be closed; the gap is then taken relative to 1e-7 of the scale.
    """

    eps: float = 0.0
    gap: float = 1e-4
    scale: float = 0.0

    def allowed(self, lower: float) -> float:
        """Return the gap, in the units of Q, that the tolerances allow."""
        noise = RESOLUTION * self.scale if abs(lower) <= 1e-9 * self.scale else 0.0
        return max(self.eps, self.gap * max(abs(lower), 1e-7 * self.scale), noise)

    def cutoff(self, lower: float) -> float:
        """Nodes with a bound up to this one need not be explored.

        A little less than the tolerance allows, so that the reported gap keeps it in spite of
        rounding.
        """
        return -math.inf if lower == -math.inf else lower + 0.999999 * self.allowed(lower)

    def met(self, lower: float, upper: float) -> bool:
        """Whether the gap is closed, within the tolerance or floating-point resolution."""
        if lower == -math.inf:
            return False
        return upper - lower <= max(self.allowed(lower), RESOLUTION * self.scale)
