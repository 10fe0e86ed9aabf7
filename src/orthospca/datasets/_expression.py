"""A small table of gene expression that nobody has to download, and the files it comes in."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from orthospca._errors import InputError
from orthospca.datasets._dataset import Dataset

#: Programmes of genes: how strong they are, and how much stronger in tumours.
PROGRAMMES = {"cycle": (1.4, 2.0), "immune": (1.2, 0.0), "stroma": (1.0, -1.0)}
#: Genes in each programme.
SIZE = 8


@dataclass(frozen=True, eq=False, repr=False)
class Expression(Dataset):
    """A table of expression: ``data`` has samples in rows, and its files have genes in rows.

    Attributes
    ----------
    sample_names : tuple of str
    programmes : dict
        The genes that rise and fall together, by the name of their programme.
    """

    sample_names: tuple[str, ...] = ()
    programmes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file with a row for each gene, as such tables come.

        Parameters
        ----------
        path : path
            The name says which kind: ``….gct``, ``…_series_matrix.txt`` as of GEO, ``.tsv`` or
            ``.csv``; with ``.gz`` it is compressed.
        """
        file = Path(path)
        packed = file.suffix == ".gz"
        name = file.stem if packed else file.name
        text = "".join(line + "\n" for line in self._lines(name))
        file.write_bytes(gzip.compress(text.encode(), mtime=0) if packed else text.encode())

    def _lines(self, name: str) -> Iterator[str]:
        assert self.data is not None and self.target is not None
        rows = [[f"{value:.3f}" for value in values] for values in self.data.T.tolist()]
        genes = zip(self.feature_names, rows, strict=True)
        if name.endswith(".gct"):
            yield from ("#1.2", f"{len(rows)}\t{len(self.data)}")
            yield "\t".join(["Name", "Description", *self.sample_names])
            yield from ("\t".join([gene, "na", *values]) for gene, values in genes)
        elif "series_matrix" in name:
            named, tissues = (
                "\t".join(f'"{text}"' for text in texts)
                for texts in (self.sample_names, [f"tissue: {label}" for label in self.target])
            )
            yield f'!Series_title\t"{self.description}"'
            yield f"!Sample_geo_accession\t{named}"
            yield f"!Sample_characteristics_ch1\t{tissues}"
            yield "!series_matrix_table_begin"
            yield f'"ID_REF"\t{named}'
            yield from ("\t".join([f'"{gene}"', *values]) for gene, values in genes)
            yield "!series_matrix_table_end"
        else:
            mark = "," if name.endswith(".csv") else "\t"
            yield mark.join(["gene", *self.sample_names])
            yield from (mark.join([gene, *values]) for gene, values in genes)


def make_expression(
    n_genes: int = 200, n_samples: int = 60, *, random_state: int = 0
) -> Expression:
    """Draw a table of logarithms of expression with three programmes of eight genes.

    Genes have a level and noise of their own.  Those of a programme share a factor besides, which
    is stronger in tumours for the first programme, and weaker for the third.

    Parameters
    ----------
    n_genes, n_samples : int
    random_state : int

    Examples
    --------
    >>> from orthospca import datasets, solve
    >>> table = datasets.make_expression()
    >>> table
    <Expression expression: 60 observations of 200 variables>
    >>> result = solve(table.covariance(), sparsity=8, n_components=3)
    >>> genes = {table.feature_names[j] for j in result.supports[0]}
    >>> genes == set(table.programmes["cycle"])
    True
    """
    if n_genes < SIZE * len(PROGRAMMES):
        raise InputError(f"n_genes must be at least {SIZE * len(PROGRAMMES)}, got {n_genes}")
    rng = np.random.default_rng(random_state)
    genes = tuple(f"G{j:04d}" for j in range(1, n_genes + 1))
    tumour = rng.permutation(n_samples) < n_samples // 2
    data = rng.uniform(4.0, 12.0, n_genes) + rng.uniform(0.2, 0.7, n_genes) * rng.standard_normal(
        (n_samples, n_genes)
    )
    places = rng.permutation(n_genes)
    programmes = {}
    for k, (name, (strength, shift)) in enumerate(PROGRAMMES.items()):
        members = np.sort(places[SIZE * k : SIZE * (k + 1)])
        factor = strength * rng.standard_normal(n_samples) + shift * tumour
        data[:, members] += np.outer(factor, rng.uniform(0.8, 1.2, SIZE))
        programmes[name] = tuple(genes[j] for j in members)
    return Expression(
        "expression",
        f"{n_genes} made-up genes in {n_samples} tissues, with {len(programmes)} programmes",
        genes,
        data.round(3),
        target=tuple("tumour" if sick else "normal" for sick in tumour),
        sample_names=tuple(f"GSM{i}" for i in range(1001, 1001 + n_samples)),
        programmes=programmes,
    )
