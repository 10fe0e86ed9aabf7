"""The part of a covariance that was needed so far: a principal submatrix, which grows.

What the variances alone leave of a stage are the features of largest variance, so that one part
contains the other from rung to rung and from stage to stage: nothing is computed twice.  As with
skis, one rents before one buys: when reading the data has cost as much as the rest of the matrix
would, that is formed too, and so never more than about twice the cheaper way is paid.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.bounds.border import LargestEntries, largest_squares
from orthospca.data.covariance import DataCovariance
from orthospca.model.stage import folded_rows
from orthospca.model.tuning import DEFAULT, WideTuning

#: What makes the part grow by so many times its own entries is formed for itself alone.
SEPARATE = 4
#: What costs at most this share of the whole matrix is formed once more with the rest of it.
SOON_DONE = 0.1


def bytes_for(count: int) -> float:
    """Bytes that the covariances of so many features take, with a copy of them."""
    return 16.0 * count**2


@dataclass(eq=False)
class FormedPart:
    """The covariances of some features.

    Attributes
    ----------
    covariance : DataCovariance
    memory : float
        Bytes that it may take, with the copies that are made of it.
    listed : int
        Entries that are listed of each row.
    tuning : WideTuning
    features : integer array
        In no order.
    largest : int
        How many there can be.
    largest_used : int
        Of the largest matrix that was asked for.
    version : int
        Another one whenever it has changed.
    tell : callable
        Told which share is done while it grows, and None in the end.
    stop : callable
        Whether the time is up: then nothing is formed for later.
    """

    covariance: DataCovariance
    memory: float
    listed: int
    tuning: WideTuning = DEFAULT.wide

    def __post_init__(self) -> None:
        self.features = np.arange(0)
        self.largest = int(math.sqrt(self.memory / bytes_for(1)))
        self.version = self.largest_used = 0
        self.tell: Callable[[float | None], None] = lambda done: None
        self.stop: Callable[[], bool] = lambda: False
        self._matrix = np.zeros((0, 0))
        self._place = np.full(self.covariance.n_features, -1, dtype=np.intp)
        self._entries: LargestEntries | None = None
        #: What reading and multiplying the data has cost so far.
        self._spent = 0.0

    def price(self, count: int) -> float:
        """What the matrix of so many features costs, in multiplications."""
        entries = float(count) ** 2
        return self.covariance.source.cost(count) + self.tuning.entry_cost * entries

    def missing(self, features: IntArray) -> IntArray:
        """Return those of the features whose covariances are not there."""
        return features[self._place[features] < 0]

    def grow(self, features: IntArray, stop: Callable[[], bool]) -> bool:
        """Form what is missing; False if it was stopped."""

        def give_up(done: float) -> bool:
            self.tell(done)
            return stop()

        new = self.missing(features)
        if len(new) == 0:
            return True
        if len(self.features) + len(new) > max(self.largest, len(features)):
            # There is no room for both: what was needed before is forgotten.
            self._place[self.features] = -1
            self.features, self._matrix, new = self.features[:0], self._matrix[:0, :0], features
        grown, n = np.concatenate([self.features, new]), self.covariance.n_features
        self._spent += self.price(len(grown)) - self.price(len(self.features))
        self._read(len(grown))
        known = self._matrix
        if n <= self.largest and self._spent >= self.price(n) - self.price(len(grown)):
            grown = np.concatenate([self.features, self.missing(np.arange(n))])
            if self.price(len(known)) <= SOON_DONE * self.price(n):
                # To form it again takes less than to put the rest in order.
                grown, known = np.arange(n), known[:0, :0]
        matrix = self.covariance.formed(grown, give_up, known)
        self.tell(None)
        if matrix is None:
            return False
        order = np.argsort(grown)
        if len(grown) == n and (order != grown).any():
            # All of them: in their own order most of what is asked for needs no copy.
            grown, matrix = grown[order], matrix[np.ix_(order, order)]
        self.features, self._matrix, self._entries = grown, matrix, None
        self._place[grown] = np.arange(len(grown))
        self.version += 1
        return True

    def _read(self, columns: int) -> None:
        """Count what it costs to read so many columns."""
        share = columns / self.covariance.n_features
        self._spent += self.tuning.read_cost * self.covariance.source.entries * share

    def matrix(self, features: IntArray) -> Array:
        """Return the covariances of some features; they stay where that is worth while."""
        new, count = len(self.missing(features)), len(features)
        self.largest_used = max(self.largest_used, count)
        alone = new * (len(self.features) + new) > SEPARATE * count**2
        if alone or not self.grow(features, self.stop):
            return self.covariance.submatrix(features)
        rows = self._place[features]
        if count == len(self.features) and bool((np.diff(rows) == 1).all()):
            return self._matrix
        return self._matrix[np.ix_(rows, rows)]

    def times(self, used: IntArray, vectors: Array) -> Array:
        """Return ``Q x`` of vectors that are zero but for the features used, shape (n, k)."""
        if len(self.features) < self.covariance.n_features:
            self._read(self.covariance.n_features)
            return self.covariance.times(self.covariance.factor(used) @ vectors)
        products = np.empty((len(self.features), vectors.shape[1]))
        products[self.features] = self._matrix[self._place[used]].T @ vectors
        return products

    def places(self, features: IntArray) -> IntArray:
        """Return where features are among those that are there."""
        return self._place[features]

    def folded(self, touched: IntArray, used: Array) -> tuple[Array, float]:
        """Rows of the form that components leave, and their rounding; see :func:`folded_rows`.

        Parameters
        ----------
        touched : integer array
            Features that components use; all of them are there.
        used : array
            What these have of them.
        """
        at = self._place[touched]
        return folded_rows(self._matrix[at], at, used)

    def sums(self, count: int, touched: IntArray, rows: Array, radius: float) -> Array:
        """Sums of the largest squares of all rows of the form that components leave.

        Parameters
        ----------
        count, radius
            As of :meth:`LargestEntries.sums`.
        touched : integer array
        rows : array
            As :meth:`folded`.
        """
        if self._entries is None:
            self._entries = LargestEntries(self._matrix, self.listed)
        at = self._place[touched]
        sums = self._entries.sums(count, at, rows.T, radius)
        sums[at] = largest_squares(rows, count, radius, at)
        return sums
