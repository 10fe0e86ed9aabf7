"""The problems: bundled, generated, or read from the folder named by ``ORTHOSPCA_DATA``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from orthospca import datasets

Array = npt.NDArray[np.float64]

#: The environment variable that names the folder of published matrices.
VARIABLE = "ORTHOSPCA_DATA"
#: Seed of everything generated.
SEED = 0


class MissingData(Exception):
    """A problem needs a file, named by the argument, that is not there."""


def data_file(name: str) -> Path:
    """Path of a file in the data folder; :class:`MissingData` if there is none."""
    folder = os.environ.get(VARIABLE)
    path = Path(folder or "", name)
    if not folder or not path.is_file():
        raise MissingData(name)
    return path


def _square(name: str) -> Callable[[], Array]:
    def load() -> Array:
        return np.loadtxt(data_file(name), delimiter=",", comments="#", ndmin=2)

    return load


def _archive(name: str, key: str) -> Array:
    with np.load(data_file(name)) as archive:
        return np.asarray(archive[key], dtype=float)


def _reddit() -> Array:
    return _archive("Reddit_2000.npz", "Q")


def _raw_lymphoma() -> Array:
    return _archive("spls_lymphoma_X_62x4026.npz", "X")


def _raw_lymphoma_covariance() -> Array:
    return np.asarray(np.cov(_raw_lymphoma(), rowvar=False))


def _raw_lymphoma_correlation() -> Array:
    return np.asarray(np.corrcoef(_raw_lymphoma(), rowvar=False))


def _noise() -> Array:
    """Covariance of 150 observations of 100 independent Gaussian variables: nothing to find."""
    observations = np.random.default_rng(SEED).standard_normal((150, 100))
    return np.asarray(np.cov(observations, rowvar=False))


LOADERS: dict[str, Callable[[], Array]] = {
    "Pitprops-13": lambda: datasets.load_pitprops().covariance(),
    "BreastCancer-30": lambda: datasets.load_breast_cancer().correlation(),
    "Digits-61": lambda: datasets.load_digits().covariance(),
    "Noise-100": _noise,
    "CovColon-20": _square("CovColon_20.csv"),
    "CovColon-500": _square("CovColon_500.csv"),
    "Lymphoma-500": _square("LymphomaCov_500.csv"),
    "normCommunities-101": _square("normCommunities_101.csv"),
    "normArrhythmia-257": _square("normArrhythmia_257.csv"),
    "Reddit-2000": _reddit,
    **{
        name: partial(_archive, f"{name}.npz", "Q")
        for name in (
            "normionosphere_34",
            "normlung_54",
            "normvoice_310",
            "normgait_320",
            "normgastro_466",
            "snp500_423",
        )
    },
    "RawLymphoma-4026": _raw_lymphoma_covariance,
    "RawLymphoma-4026 corr.": _raw_lymphoma_correlation,
}


# Two, because the raw ones have 4026 variables and take 130 MB each.
@lru_cache(maxsize=2)
def load(name: str) -> Array:
    """Return a problem's matrix, exactly symmetric; any other name is that of a CSV file."""
    given = LOADERS.get(name, _square(f"{name}.csv"))()
    matrix: Array = 0.5 * (given + given.T)
    matrix.flags.writeable = False
    return matrix


def known_values() -> list[tuple[str, int, float]]:
    """Best values published or found before: name of the CSV file, sparsity, variance."""
    content: dict[str, Any] = json.loads(data_file("lower_bounds.json").read_text("utf-8"))
    found = []
    for key, entry in content.items():
        name, _, sparsity = key.partition("|k=")
        found.append((name, int(sparsity), float(entry["lb"])))
    return found
