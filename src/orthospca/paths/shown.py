"""What paths, stabilities and other choices have in common: a table, pictures and a report."""

from __future__ import annotations

import math
from dataclasses import fields
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from orthospca.model import showing, views
from orthospca.model.component import Status
from orthospca.model.table import Table as Table


class Shown:
    """Something that can be looked at; ``table`` says what there is to see."""

    #: Its pictures, the usual one first: functions ``plot_…`` of :mod:`orthospca.plotting`.
    PICTURES: ClassVar[tuple[str, ...]]
    #: What it is called by :func:`orthospca.report.write_choice_report`.
    REPORTED: ClassVar[str]
    #: What :meth:`to_dict` has beside the fields.
    TOLD: ClassVar[tuple[str, ...]] = ()

    def table(self) -> Table:
        """Return the table that terminals, notebooks and reports show."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return self.table().html()

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python objects, as JSON has them."""
        made: Any = self
        names = (*(each.name for each in fields(made)), *self.TOLD)
        return {name: plain(getattr(self, name)) for name in names}

    def summary(self, width: int = views.WIDTH) -> str:
        """Return a table that a person can read.

        Parameters
        ----------
        width : int
            Lines of names are broken so that they have at most so many characters.
        """
        return self.table().text(width)

    def plot(self, kind: str | None = None, *given: Any, **options: Any) -> Any:
        """Draw a picture, with matplotlib (``pip install "orthospca[plot]"``).

        Parameters
        ----------
        kind : str, optional
            One of ``PICTURES``; by default the first of them.
        *given, **options
            Other arguments of the function ``plot_<kind>`` of :mod:`orthospca.plotting`.

        Returns
        -------
        Picture
            Shows itself in a notebook; ``picture.save("picture.png")`` keeps it.
        """
        kind = self.PICTURES[0] if kind is None else kind
        return showing.picture(self.PICTURES, kind, self, *given, **options)

    def report(self, path: str | PathLike[str], **about: Any) -> None:
        """Write a report as one HTML file that needs no other file and no network.

        Parameters
        ----------
        path : path
        **about
            Further arguments of :func:`orthospca.report.write_choice_report`: what else is to be in
            it, and where the data come from.
        """
        showing.reports().write_choice_report(path, **{self.REPORTED: self}, **about)


def plain(value: Any) -> Any:
    """What JSON can hold; it has no NaN and no infinity: they become None."""
    if isinstance(value, np.ndarray):
        numbers: Any = value.astype(object)
        numbers[~np.isfinite(value)] = None
        return numbers.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Status):
        return value.name
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return value.to_dict() if hasattr(value, "to_dict") else value
