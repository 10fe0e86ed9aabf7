"""What resampling tells: how often features are selected, and how much components agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import Array
from orthospca.model import views
from orthospca.model.result import Result, Status
from orthospca.model.validation import names_at
from orthospca.paths.shown import Shown, Table

#: Receives how many fits are done, and of how many; a true answer stops.
Counter = Callable[[int, int], "bool | None"]
#: Features that are selected at least so often, or in the reference, are listed.
LISTED = 0.1

#: What the columns of the table are.
STABILITY = "stability: 1 if every resample selects the same features, 0 if as at random"
LEGEND = (
    f"{STABILITY}; |cos| and overlap:\n"
    "agreement with the components of all rows; in brackets: features that these do not use"
)


def in_words(index: float) -> str:
    """A stability with two digits; nothing where there is none."""
    return f"{round(index, 2) + 0.0:.2f}".replace("-", "−") if math.isfinite(index) else ""


@dataclass(frozen=True, eq=False, repr=False)
class Stability(Shown):
    """How often each feature is selected in other rows of the same data.

    Attributes
    ----------
    result : Result
        The components of all rows, with their certificates: the reference.
    frequencies : array of shape (K, n)
        Share of the resamples in which the partner of the k-th reference component uses feature j.
    overall : array of shape (n,)
        Share of the resamples in which any component uses feature j; no matching is needed for it.
    similarities : array of shape (B, K)
        ``|cos|`` of the angle between each reference component and its partner in each resample; 0
        where there is none.
    overlaps : array of shape (B, K)
        ``|S ∩ T| / |S ∪ T|`` of their supports.
    n_resamples : int
        How many resamples were done (B).
    n_rows, n_samples : int
        Rows in a resample, and in all.
    bootstrap : bool
        Whether the rows were drawn with replacement.
    certified : int
        In how many resamples every component is certified within the tolerance.
    status : Status
        ``OPTIMAL`` if all fits are certified, the reference included; else why one is not, or
        ``INTERRUPTED`` if not all resamples were done.
    """

    PICTURES: ClassVar = ("stability",)
    REPORTED: ClassVar = "stability"
    TOLD: ClassVar = ("feature_names", "indices")

    result: Result
    frequencies: Array
    overall: Array
    similarities: Array
    overlaps: Array
    n_resamples: int
    n_rows: int
    n_samples: int
    bootstrap: bool
    certified: int
    status: Status

    @property
    def indices(self) -> Array:
        """How stable the selection is, corrected for chance; shape (K,).

        1 if every resample selects the same features, about 0 if they are drawn at random, and NaN
        if there is nothing to choose or fewer than two resamples.  With ``f_j`` the frequency of
        feature j, B resamples and ``q`` features selected on average of n, it is ``1 - (B / (B -
        1)) Σ f_j (1 - f_j) / (q (1 - q / n))`` (Nogueira, Sechidis and Brown, 2018).
        """
        B, n = self.n_resamples, self.result.n_features
        if B < 2:
            return np.full(len(self.frequencies), math.nan)
        selected = self.frequencies.sum(axis=1)
        chance = selected * (1 - selected / n)
        spread = (self.frequencies * (1 - self.frequencies)).sum(axis=1) * B / (B - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(chance > 1e-12, 1 - spread / chance, math.nan)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features; numbers from 0 if they have none."""
        return tuple(names_at(self.result.feature_names, range(self.result.n_features)))

    def selected(self, frequency: float = 0.8) -> tuple[tuple[str, ...], ...]:
        """Return the features that each component selects at least so often, the steadiest first.

        Parameters
        ----------
        frequency : float
            Between 0 and 1.
        """
        if not 0 <= frequency <= 1:
            raise InputError(f"frequency must be between 0 and 1, got {frequency!r}")
        names = self.feature_names
        return tuple(
            tuple(names[j] for j in np.argsort(-row, kind="stable").tolist() if row[j] >= frequency)
            for row in self.frequencies
        )

    def __repr__(self) -> str:
        indices = ", ".join(map(in_words, self.indices))
        return (
            f"Stability({self.n_resamples} resamples of {self.n_rows} of {self.n_samples} rows, "
            f"n_components={len(self.frequencies)}, indices=[{indices}], "
            f"status={self.status.value!r})"
        )

    def table(self) -> Table:
        """Stability of each component and its features, in brackets if not in all rows."""
        means = [
            each.sum(axis=0) / (len(each) or math.nan)
            for each in (self.similarities, self.overlaps)
        ]
        columns = {
            "#": [str(k + 1) for k in range(len(self.indices))],
            "stability": [in_words(index) for index in self.indices],
            "|cos|": [in_words(mean) for mean in means[0]],
            "overlap": [in_words(mean) for mean in means[1]],
        }
        names = self.feature_names
        listed = [
            [self._word(k, j, names[j]) for j in self._listed(k)] for k in range(len(self.indices))
        ]
        about = "features and how often"
        told = f"{self._meaning()}\n{LEGEND}"
        return Table("Stability of the selection", columns, told, listed, about)

    def _word(self, k: int, j: int, name: str) -> str:
        word = f"{name} {self.frequencies[k, j]:.0%}" if self.n_resamples else name
        return word if self.result.stages[k].vector[j] else f"({word})"

    def _listed(self, k: int) -> list[int]:
        """Features worth a word: selected often enough, or in the reference."""
        row, vector = self.frequencies[k], self.result.stages[k].vector
        order = np.lexsort((np.arange(len(row)), vector == 0, -row)).tolist()
        return [j for j in order if row[j] >= LISTED or vector[j]]

    @property
    def drawn(self) -> str:
        """How many resamples there are, of which rows."""
        how = "drawn with replacement" if self.bootstrap else "without replacement"
        noun = "resample" if self.n_resamples == 1 else "resamples"
        return f"{self.n_resamples} {noun} of {self.n_rows} of {self.n_samples} rows, {how}"

    def _meaning(self) -> str:
        text = f"{self.drawn}; {self.certified} of them certified within tolerance"
        return f"{text}; interrupted" if self.status is Status.INTERRUPTED else text

    def to_frame(self) -> Any:
        """Return a data frame of pandas: frequencies, a row for each feature.

        The column ``any`` is :attr:`overall`.
        """
        pandas = views.pandas_or_error("Stability.to_frame")
        index = pandas.Index(list(self.feature_names), name="feature")
        columns = [f"component{k}" for k in range(1, len(self.frequencies) + 1)]
        table = pandas.DataFrame(self.frequencies.T, index=index, columns=columns)
        table["any"] = self.overall
        return table


@dataclass(frozen=True, eq=False, repr=False)
class StabilityPath(Shown):
    """Stability for each of several sparsities; it has a length and can be iterated over.

    Attributes
    ----------
    sparsities : tuple of int
        Ascending.
    stabilities : tuple of Stability
        One for each, from the same resamples.
    """

    PICTURES: ClassVar = ("stability_path",)
    REPORTED: ClassVar = "stability"

    sparsities: tuple[int, ...]
    stabilities: tuple[Stability, ...]

    @property
    def indices(self) -> Array:
        """The stability index of each component for each sparsity, shape (P, K); NaN if none."""
        width = max((len(each.frequencies) for each in self.stabilities), default=0)
        table = np.full((len(self.stabilities), width), math.nan)
        for row, each in zip(table, self.stabilities, strict=True):
            row[: len(each.frequencies)] = each.indices
        return table

    @property
    def status(self) -> Status:
        """``OPTIMAL`` if all fits are certified, else why one is not."""
        return next((x.status for x in self if x.status is not Status.OPTIMAL), Status.OPTIMAL)

    def __len__(self) -> int:
        return len(self.stabilities)

    def __iter__(self) -> Iterator[Stability]:
        return iter(self.stabilities)

    def __getitem__(self, i: int) -> Stability:
        return self.stabilities[i]

    def __repr__(self) -> str:
        return f"StabilityPath(sparsities={list(self.sparsities)}, status={self.status.value!r})"

    def table(self) -> Table:
        """Return the stability of each component, by sparsity."""
        columns = {"sparsity": [str(p) for p in self.sparsities]}
        for k, column in enumerate(self.indices.T, start=1):
            columns[f"component {k}"] = [in_words(index) for index in column]
        first = self.stabilities[:1]
        told = "".join(f"{STABILITY}; {each._meaning()}" for each in first)
        return Table("Stability by sparsity", columns, told)
