"""The certificate of a run while it goes on: taken up, saved now and then, closed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from orthospca._typing import Array
from orthospca.certificate.files import Certificate
from orthospca.certificate.resuming import Saved, read_saved
from orthospca.certificate.writing import assembled
from orthospca.model.demands import NO_DEMANDS, Demands
from orthospca.model.result import Component
from orthospca.model.settings import Settings
from orthospca.search.outcome import Rung
from orthospca.search.sequence import Found
from orthospca.supports.best import Candidate
from orthospca.verify import fingerprint


class Recorder:
    """Keeps the certificate of a run.

    Parameters
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

    Attributes
    ----------
    finished : sequence of Component
        What need not be sought again.
    """

    def __init__(
        self,
        matrix: Array,
        kind: str,
        sparsity: Sequence[int],
        settings: Settings,
        path: Path | None = None,
        demands: Demands = NO_DEMANDS,
    ) -> None:
        self._demands = demands
        self._matrix, self._kind, self._sparsity = matrix, kind, sparsity
        self._tolerance, self._tuning = settings.tolerance, settings.tuning.saving
        self._path = path
        self._sha256 = fingerprint(matrix)
        self._due = time.perf_counter() + self._tuning.every
        self.finished: Sequence[Component] = ()
        self._saved: Saved = Saved()
        if path is not None:
            empty = self._certificate((), (), False)
            self._saved = read_saved(path, matrix, empty, self._tolerance, demands)
            self.finished = self._saved.finished

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
        return self._path is not None and time.perf_counter() >= self._due

    def show(self, found: Found) -> None:
        """Save what there is."""
        if self._path is None:
            return
        begin = time.perf_counter()
        self._certificate(found.components, found.ladders, False).save(self._path)
        end = time.perf_counter()
        self._due = end + max(self._tuning.every, self._tuning.apart * (end - begin))

    def close(self, found: Found) -> Certificate:
        """Return the certificate of the whole run, and save it."""
        certificate = self._certificate(found.components, found.ladders, found.exhausted)
        if self._path is not None:
            certificate.save(self._path)
        return certificate

    def _certificate(
        self,
        components: Sequence[Component],
        ladders: Sequence[tuple[Rung, ...]],
        exhausted: bool,
    ) -> Certificate:
        matrix, demands = self._matrix, self._demands
        vectors = [component.vector for component in components]
        arrays = {"components.npy": np.array(vectors, dtype=float).reshape(-1, matrix.shape[1])}
        stages = [
            {"variance": c.variance, "upper_bound": c.upper_bound, "status": str(c.status)}
            for c in components
        ]
        if demands.previous is not None:
            arrays["previous.npy"] = demands.previous
        said = {"stages": stages, "exhausted": exhausted}
        asked = {"eps": self._tolerance.eps, "gap": self._tolerance.gap, **demands.manifest()}
        problem = (matrix, self._kind, self._sparsity)
        return assembled(*problem, said, arrays, ladders, asked, self._sha256)
