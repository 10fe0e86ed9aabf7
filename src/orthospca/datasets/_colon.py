"""The colon-cancer data of Alon et al. and the matrix CovColon derived from them.

The expression values are not bundled: they are read from a local folder, or downloaded once.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import Array
from orthospca.datasets._dataset import Dataset

N_TISSUES, N_GENES = 62, 2000
EXPRESSION_FILE, TISSUE_FILE = "alon_colon_X_62x2000.csv", "alon_colon_y_62.csv"

# The authors' own pages: 2000 lines of 62 intensities, and one signed patient number per tissue.
SOURCE = "http://genomics-pubs.princeton.edu/oncology/affydata/"
PAGES = {
    "I2000.html": "sha256:74cc7b47d40a0fbca8dde05f42bcb799b7babad29ea634139a221bb4386b1c3d",
    "tissues.html": "sha256:0c5b377c5dd5544d015bff479a4260d5ccf0bcf98657f600a1d37e34193e0f52",
}


def load_colon(
    folder: str | os.PathLike[str] | None = None,
    *,
    variant: Literal["raw", "covcolon"] = "raw",
    n_genes: int = 500,
) -> Dataset:
    """Colon: expression of 2000 genes in 62 colon tissues, 40 tumour and 22 normal.

    Parameters
    ----------
    folder : path, optional
        The folder that holds ``alon_colon_X_62x2000.csv`` (62 lines of 2000 intensities, no header)
        and, for the labels, ``alon_colon_y_62.csv`` (one ``t`` or ``n`` a line). By default the
        folder named by the environment variable ``ORTHOSPCA_DATA``; where there is none, the data
        are downloaded from the authors' page if the optional package ``pooch`` is installed
        (``pip install "orthospca[download]"``), checked and kept in its cache.
    variant : {"raw", "covcolon"}, default="raw"
        ``"raw"`` gives the intensities. ``"covcolon"`` gives the matrix known as CovColon:
        with B the logarithms, each tissue standardised over its 2000 genes (divisor 1999), reduced
        to the genes of largest variance in the order of the raw data, the matrix is ``B' B``,
        neither centred nor divided; ``data`` is B.
    n_genes : int, default=500
        How many genes ``"covcolon"`` keeps.

    Raises
    ------
    FileNotFoundError
        If there is neither a folder with the data nor ``pooch`` to download them.

    References
    ----------
    U. Alon et al., "Broad patterns of gene expression revealed by clustering analysis of tumor and
    normal colon tissues probed by oligonucleotide arrays", PNAS 96 (1999), 6745-6750.

    A. d'Aspremont, F. Bach, L. El Ghaoui, "Optimal solutions for sparse principal component
    analysis", Journal of Machine Learning Research 9 (2008), 1269-1294.
    """
    if variant not in ("raw", "covcolon"):
        raise InputError(f"variant must be 'raw' or 'covcolon', not {variant!r}")
    if not 1 <= n_genes <= N_GENES:
        raise InputError(f"n_genes must be between 1 and {N_GENES}, not {n_genes}")
    expression, tissues = _read(folder)
    names = np.array([f"gene{j}" for j in range(1, N_GENES + 1)])
    if variant == "raw":
        description = "Expression of 2000 genes in 62 colon tissues (Alon et al. 1999)."
        return Dataset("colon", description, tuple(names.tolist()), expression, target=tissues)
    L = np.log(expression)
    B = (L - L.mean(axis=1, keepdims=True)) / L.std(axis=1, ddof=1, keepdims=True)
    kept = np.sort(np.argsort(-B.var(axis=0), kind="stable")[:n_genes])
    B = np.ascontiguousarray(B[:, kept])
    description = f"Products of {n_genes} standardised log expressions (Alon et al. 1999)."
    return Dataset("covcolon", description, tuple(names[kept].tolist()), B, B.T @ B, tissues)


def _read(folder: str | os.PathLike[str] | None) -> tuple[Array, tuple[str, ...] | None]:
    named = folder if folder is not None else os.environ.get("ORTHOSPCA_DATA")
    if named:
        file = Path(named) / EXPRESSION_FILE
        if file.is_file():
            expression = _checked(np.loadtxt(file, delimiter=",", ndmin=2), str(file))
            labels = Path(named) / TISSUE_FILE
            if not labels.is_file():
                return expression, None
            return expression, _tissue_names(labels.read_text(encoding="utf-8").split())
        if folder is not None:
            raise FileNotFoundError(f"the folder {str(folder)!r} holds no file {EXPRESSION_FILE}")
    try:
        import pooch
    except ImportError:
        raise FileNotFoundError(
            f"the colon data are not bundled: name a folder that holds {EXPRESSION_FILE} (argument "
            "folder, or environment variable ORTHOSPCA_DATA), or install pooch to download them"
        ) from None
    place = pooch.os_cache("orthospca")
    files = [
        pooch.retrieve(SOURCE + name, known_hash=known, fname=name, path=place)
        for name, known in PAGES.items()
    ]
    expression_page, tissue_page = (Path(file).read_text(encoding="latin-1") for file in files)
    return parse_expression(expression_page), parse_tissues(tissue_page)


def parse_expression(page: str) -> Array:
    """The 62 x 2000 intensities from the authors' page, which lists a gene a line."""
    lines = (line.split() for line in re.sub(r"<[^>]*>", " ", page).splitlines())
    genes = [line for line in lines if len(line) == N_TISSUES]
    return _checked(np.array(genes, dtype=np.float64).T, SOURCE + "I2000.html")


def parse_tissues(page: str) -> tuple[str, ...]:
    """The 62 labels from the authors' page: a negative patient number means a tumour."""
    lines = (line.strip() for line in re.sub(r"<[^>]*>", "\n", page).splitlines())
    numbers = [line for line in lines if re.fullmatch(r"-?\d+", line)]
    return _tissue_names(["t" if number.startswith("-") else "n" for number in numbers])


def _tissue_names(letters: list[str]) -> tuple[str, ...]:
    if len(letters) != N_TISSUES or not set(letters) <= {"t", "n"}:
        raise InputError(f"the tissue labels of the colon data must be {N_TISSUES} letters t or n")
    return tuple({"t": "tumour", "n": "normal"}[letter] for letter in letters)


def _checked(expression: Array, source: str) -> Array:
    if expression.shape != (N_TISSUES, N_GENES):
        raise InputError(
            f"{source} holds a table of shape {expression.shape}, not {(N_TISSUES, N_GENES)}"
        )
    if not (np.isfinite(expression).all() and (expression > 0.0).all()):
        raise InputError(f"{source} holds intensities that are not positive numbers")
    return expression
