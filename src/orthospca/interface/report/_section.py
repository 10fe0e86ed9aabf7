"""A result and where it comes from: what a report is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from orthospca import Alternatives, DataCovariance
from orthospca._typing import Array
from orthospca.interface.plots.results import by_component, names_of
from orthospca.interface.report._parts import Panel
from orthospca.interface.scores import Scores, scores_of
from orthospca.result import Result
from orthospca.spectrum import ordinary_variances


@dataclass(frozen=True)
class Section:
    """A result with its context, as one section of a report.

    Attributes
    ----------
    title : str
    result : Result
    matrix : ndarray of shape (n, n), or DataCovariance, or None
        The matrix that was solved; if it is defined by data, the report does not form it.  Without
        it there is no comparison with ordinary PCA.
    source : str
        What the data are, in a few words.
    matrix_kind : str
        What the matrix is: covariance, correlation, ...
    settings : mapping
        The arguments of ``solve`` to report (``gap``, ``eps``, limits).
    certificate : str
        The file next to the report with the result's certificate; empty if there is none.
    scores : Scores, optional
        The scores of the observations.  If ``matrix`` is a :class:`~orthospca.DataCovariance`, they
        are computed without it.
    more : sequence of Panel
        Further panels; they come after the proof.
    alternatives : sequence of Alternatives
        Near-optimal supports of each component, those of later ones given the earlier, from
        :func:`orthospca.alternatives`; they have a panel of their own.
    """

    title: str
    result: Result
    matrix: Any = None
    source: str = ""
    matrix_kind: str = "covariance"
    settings: Mapping[str, Any] = field(default_factory=dict)
    certificate: str = ""
    scores: Scores | None = None
    more: Sequence[Panel] = ()
    alternatives: Sequence[Alternatives] = ()

    @cached_property
    def eigenvalues(self) -> Array:
        """The variances of as many components of ordinary PCA; none without the matrix."""
        if self.matrix is None:
            return np.zeros(0)
        return ordinary_variances(self.matrix, self.result)

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of the variables, or their numbers."""
        return names_of(self.result)

    @cached_property
    def known_scores(self) -> Scores | None:
        """The scores that were given, or those of the data."""
        if self.scores is not None or not self.result.n_components:
            return self.scores
        if isinstance(self.matrix, DataCovariance):
            return Scores(scores_of(self.matrix, self.result))
        return None

    @cached_property
    def order(self) -> list[int]:
        """The variables in use: grouped by the component in which they load most, as strongly."""
        order, _ = by_component(self.result.components)
        return order.tolist()
