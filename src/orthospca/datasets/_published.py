"""Data sets that come with the package or with scikit-learn."""

from __future__ import annotations

from importlib import resources

import numpy as np

from orthospca.datasets._dataset import Dataset


def load_pitprops() -> Dataset:
    """Pitprops: the correlations of 13 measurements on 180 pine props.

    The classical test of sparse principal components. Only the correlation table was published, to
    three decimals, so the data set has a ``matrix`` and no ``data``.

    References
    ----------
    J. N. R. Jeffers, "Two case studies in the application of principal component analysis",
    Journal of the Royal Statistical Society C 16 (1967), 225-236.

    Examples
    --------
    >>> from orthospca import datasets
    >>> pitprops = datasets.load_pitprops()
    >>> pitprops
    <Dataset pitprops: 13 variables>
    >>> pitprops.feature_names[:3]
    ('topdiam', 'length', 'moist')
    """
    table = resources.files(__package__).joinpath("pitprops.csv").read_text(encoding="utf-8")
    header, *rows = table.splitlines()
    description = "Correlations of 13 measurements on 180 pine props (Jeffers 1967)."
    matrix = np.loadtxt(rows, delimiter=",")
    return Dataset("pitprops", description, tuple(header.split(",")), matrix=matrix)


def load_wine() -> Dataset:
    """Wine: 13 chemical properties of 178 Italian wines of three cultivars, from scikit-learn."""
    return _from_sklearn("wine", "13 chemical properties of 178 wines of three cultivars (UCI).")


def load_breast_cancer() -> Dataset:
    """Breast cancer: 30 properties of cell nuclei in 569 biopsies, from scikit-learn."""
    description = "30 properties of cell nuclei in 569 biopsies, Wisconsin diagnostic (UCI)."
    return _from_sklearn("breast_cancer", description)


def load_digits(*, drop_constant: bool = True) -> Dataset:
    """Digits: 1797 handwritten digits of 8 x 8 pixels, from scikit-learn.

    Three pixels are 0 in every picture. They carry no variance and have no correlation, so they are
    left out unless asked for, which leaves 61 variables.

    Parameters
    ----------
    drop_constant : bool, default=True
        Leave out the pixels that never change.
    """
    description = "Grey values of 8 x 8 pixels of 1797 handwritten digits (UCI)."
    return _from_sklearn("digits", description, drop_constant)


def _from_sklearn(name: str, description: str, drop_constant: bool = False) -> Dataset:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    data = np.asarray(bunch.data, dtype=np.float64)
    names = np.asarray(bunch.feature_names, dtype=str)
    if drop_constant:
        keep = np.ptp(data, axis=0) > 0.0
        data, names = np.ascontiguousarray(data[:, keep]), names[keep]
    labels = np.asarray(bunch.target_names).astype(str)[bunch.target]
    return Dataset(name, description, tuple(names.tolist()), data, target=tuple(labels.tolist()))
