"""Memory of large arrays that is used again.

A system that hands out fresh pages spends more on them than on copying a matrix, so that stages
which each need copies of one are better served with the pages of stages before.
"""

from __future__ import annotations

import weakref

import numpy as np

from orthospca._typing import Array


class Copies:
    """Copies of arrays, in memory that earlier copies no longer need."""

    def __init__(self) -> None:
        self._free: list[bytearray] = []

    def of(self, array: Array) -> Array:
        """Return a copy of an array of numbers in double precision."""
        fitting = (i for i, memory in enumerate(self._free) if len(memory) == array.nbytes)
        place = next(fitting, None)
        memory = bytearray(array.nbytes) if place is None else self._free.pop(place)
        owner = np.frombuffer(memory)
        # Every view of the copy keeps its owner alive: the memory is free when none is left.
        weakref.finalize(owner, self._free.append, memory).atexit = False
        copy = owner.reshape(array.shape)
        copy[...] = array
        return copy
