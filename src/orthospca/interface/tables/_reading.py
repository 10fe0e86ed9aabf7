"""How a file is to be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """How a file is to be read, as far as that was said.

    Attributes
    ----------
    header : bool or None
        Whether the first line holds names.
    label : sequence of str
        Columns to leave out, by name or by number from 1.
    keep : sequence of str
        Columns that are variables although they look like labels, likewise.
    key : str or None
        The array of an NPZ file, the sheet of a workbook, or what marks genes of an AnnData file.
    decimal : {"point", "comma", ".", ","} or None
        How decimals are written.
    encoding : str or None
        Of a text file.
    transpose : bool
        Whether rows of the file are variables and its columns observations.
    na : sequence of str
        Texts that stand for missing values, besides the usual ones.
    layer : str or None
        Of an AnnData file.
    """

    header: bool | None = None
    label: Sequence[str] = ()
    key: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    transpose: bool = False
    na: Sequence[str] = ()
    layer: str | None = None
    keep: Sequence[str] = ()
