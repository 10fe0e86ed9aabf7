"""When the gap of a stage counts as closed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from orthospca.model.component import Status

#: The search aims at this share of the tolerance, so that rounding does not spoil what it reaches.
AIM = 0.999999
#: A share of the resolution that rounding may add to a bound in the end.
ROUNDING = 0.125


@dataclass(frozen=True)
class Tolerance:
    """A stage ends when ``upper - lower ≤ max(eps, gap·|lower|)``, exactly.

    Attributes
    ----------
    eps, gap : float
    resolution : float
        A gap, in the units of Q, that floating point can close.  The search does not try for less;
        whether the tolerance is met does not depend on it.
    """

    eps: float = 0.0
    gap: float = 1e-4
    resolution: float = 0.0

    def allowed(self, lower: float) -> float:
        """Return the gap, in the units of Q, that the tolerances allow."""
        return max(self.eps, self.gap * abs(lower))

    def cutoff(self, lower: float) -> float:
        """Nodes with a bound up to this one need not be explored."""
        if lower == -math.inf:
            return -math.inf
        allowed = self.allowed(lower)
        aim = min(AIM * allowed, allowed - ROUNDING * self.resolution - 4 * math.ulp(lower))
        return lower + max(aim, self.resolution)

    def met(self, lower: float, upper: float) -> bool:
        """Whether the gap is within the tolerance, decided without rounding."""
        if upper <= lower:
            return lower > -math.inf
        if not (math.isfinite(lower) and math.isfinite(upper)):
            return False
        allowed = self.allowed(lower)
        if upper - lower > 1.001 * allowed or upper - lower < 0.999 * allowed:
            return upper - lower < allowed
        exact = Fraction(lower)
        return Fraction(upper) - exact <= max(Fraction(self.eps), Fraction(self.gap) * abs(exact))

    def status(self, lower: float, upper: float, ended: Status) -> Status:
        """Return what a search with these bounds has come to, which ended for some reason."""
        if self.met(lower, upper):
            return Status.OPTIMAL
        return Status.PRECISION if ended is Status.OPTIMAL else ended

    def at_resolution(self, resolution: float) -> Tolerance:
        """Return the same tolerance for numbers that are known no better than this."""
        return replace(self, resolution=resolution)

    def tightened(self, share: float) -> Tolerance:
        """Return a share of the tolerance."""
        return replace(self, eps=share * self.eps, gap=share * self.gap)
