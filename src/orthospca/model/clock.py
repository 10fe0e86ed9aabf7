"""How much time there is: for the whole solve, and for the stage at hand."""

from __future__ import annotations

import math
import time

#: A stage gets an equal share of what is left, or at least this: most stages need little, and what
#: they leave comes too late for those before them.
SMALLEST_SHARE = 0.4
#: A smaller share of the limit than this is not worth another attempt.
WORTH_USING = 0.02


class Clock:
    """Seconds since a solve began, and until it and its stages must end.

    Parameters
    ----------
    time_limit : float or None
        Seconds for all stages together.
    """

    def __init__(self, time_limit: float | None = None) -> None:
        self._started = self._stage_started = time.perf_counter()
        self._end = math.inf if time_limit is None else self._started + time_limit
        self._stage_end = self._end

    @property
    def elapsed(self) -> float:
        """Seconds since the solve began."""
        return time.perf_counter() - self._started

    @property
    def stage_elapsed(self) -> float:
        """Seconds since the stage began."""
        return time.perf_counter() - self._stage_started

    @property
    def seconds_left(self) -> float:
        """Seconds until the stage must end; ``inf`` without a limit."""
        return max(self._stage_end - time.perf_counter(), 0.0)

    @property
    def is_up(self) -> bool:
        """Whether the stage must end now."""
        return time.perf_counter() >= self._stage_end

    @property
    def is_over(self) -> bool:
        """Whether the solve as a whole must end now."""
        return time.perf_counter() >= self._end

    def is_gone(self, share: float) -> bool:
        """Whether a share of the time of the stage has passed; never without a limit."""
        return (1 - share) * self.stage_elapsed > share * self.seconds_left

    @property
    def leaves_some(self) -> bool:
        """Whether enough of the limit is left, after all stages, to be worth using."""
        left = self._end - time.perf_counter()
        return WORTH_USING * (self._end - self._started) < left < math.inf

    def begin_stage(self, stages_left: int) -> None:
        """Give a stage its share of the time that is left."""
        self._stage_started = time.perf_counter()
        left = max(self._end - self._stage_started, 0.0)
        self._stage_end = self._stage_started + max(1 / stages_left, SMALLEST_SHARE) * left
