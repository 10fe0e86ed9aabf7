"""The certificate of a run while it goes on: taken up, saved now and then, closed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from orthospca._errors import InputError
from orthospca._typing import Array
from orthospca.certificate.files import Certificate
from orthospca.certificate.resuming import finished_stages
from orthospca.certificate.writing import make_certificate
from orthospca.model.result import Component
from orthospca.model.settings import Settings
from orthospca.search.outcome import Rung
from orthospca.search.sequence import Found

#: Seconds between two savings, at least.
SAVE_EVERY = 1.0


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
    ) -> None:
        self._matrix, self._kind, self._sparsity = matrix, kind, sparsity
        self._tolerance = settings.tolerance
        self._path = path
        self._saved = time.perf_counter()
        self.finished: Sequence[Component] = ()
        self._ladders: Sequence[tuple[Rung, ...]] = ()
        if path is not None:
            if not path.absolute().parent.is_dir():
                raise InputError(f"resume: there is no folder {str(path.absolute().parent)!r}")
            empty = self._certificate((), (), False)
            found = finished_stages(path, matrix, empty, self._tolerance)
            self.finished, self._ladders = found

    def ladder(self, k: int) -> tuple[Rung, ...]:
        """What was proved before for a component that is known already."""
        return self._ladders[k] if k < len(self._ladders) else ()

    def show(self, found: Found) -> None:
        """Save what there is, unless that was done a moment ago."""
        if self._path is not None and time.perf_counter() - self._saved >= SAVE_EVERY:
            self._certificate(found.components, found.ladders, False).save(self._path)
            self._saved = time.perf_counter()

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
        asked = {"eps": self._tolerance.eps, "gap": self._tolerance.gap}
        return make_certificate(
            self._matrix, self._kind, self._sparsity, components, ladders, exhausted, asked
        )
