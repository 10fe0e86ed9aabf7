"""The certificate of a run while it goes on: taken up, saved now and then, closed."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from orthospca._typing import Array
from orthospca.certificate.files import Certificate
from orthospca.certificate.resuming import Saved, read_saved
from orthospca.certificate.writing import assembled
from orthospca.model.demands import NO_DEMANDS, Demands
from orthospca.model.result import Component, Status
from orthospca.model.settings import Settings
from orthospca.search.outcome import Rung
from orthospca.search.sequence import Found
from orthospca.supports.best import Candidate
from orthospca.verify import fingerprint


@dataclass(eq=False)
class Recorder:
    """Keeps the certificate of a run.

    Attributes
    ----------
    matrix : array
        Q, or B of ``Q = BᵀB``.
    kind : {"matrix", "factor"}
    sparsity : sequence of int
    settings : Settings
    path : Path, optional
        Where it is saved; what is finished there is taken up.
    demands : Demands
        What is asked of the components beyond their sparsity.
    """

    matrix: Array
    kind: str
    sparsity: Sequence[int]
    settings: Settings
    path: Path | None = None
    demands: Demands = NO_DEMANDS

    def __post_init__(self) -> None:
        self._tolerance, self._tuning = self.settings.tolerance, self.settings.tuning.saving
        self._sha256 = fingerprint(self.matrix)
        self._due = time.perf_counter() + self._tuning.every
        self._saved = Saved()
        if self.path is not None:
            empty = self._certificate(Found((), False, math.nan, Status.INTERRUPTED))
            given = self.matrix, empty, self._tolerance, self.demands
            self._saved = read_saved(self.path, *given)

    @property
    def finished(self) -> tuple[Component, ...]:
        """What need not be sought again."""
        return self._saved.finished

    def ladder(self, k: int) -> tuple[Rung, ...]:
        """What was proved before for a component, whether or not its stage was finished."""
        ladders = self._saved.ladders
        return ladders[k] if k < len(ladders) else ()

    def hint(self, k: int) -> Candidate | None:
        """The component of the stage that was not finished."""
        return self._saved.hint if k == len(self.finished) else None

    @property
    def is_due(self) -> bool:
        """Whether the certificate is to be saved, and was not a moment ago."""
        return self.path is not None and time.perf_counter() >= self._due

    def show(self, found: Found) -> None:
        """Save what there is."""
        if self.path is None:
            return
        begin = time.perf_counter()
        self._certificate(found).save(self.path)
        end = time.perf_counter()
        self._due = end + max(self._tuning.every, self._tuning.apart * (end - begin))

    def close(self, found: Found) -> Certificate:
        """Return the certificate of the whole run, and save it."""
        certificate = self._certificate(found)
        if self.path is not None:
            certificate.save(self.path)
        return certificate

    def _certificate(self, found: Found) -> Certificate:
        matrix, demands = self.matrix, self.demands
        vectors = [component.vector for component in found.components]
        arrays = {"components.npy": np.array(vectors, dtype=float).reshape(-1, matrix.shape[1])}
        stages = [
            {"variance": c.variance, "upper_bound": c.upper_bound, "status": str(c.status)}
            for c in found.components
        ]
        if demands.previous is not None:
            arrays["previous.npy"] = demands.previous
        said = {"stages": stages, "exhausted": found.exhausted}
        asked = {"eps": self._tolerance.eps, "gap": self._tolerance.gap, **demands.manifest()}
        problem = (matrix, self.kind, self.sparsity)
        return assembled(*problem, said, arrays, found.ladders, asked, self._sha256)
