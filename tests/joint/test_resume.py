"""Tests of sets that are taken up again from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orthospca import Certificate, datasets, solve
from orthospca.result import Status

Q = datasets.load_pitprops().covariance()


#: Features of each component, and components: a small set, and one with many patterns.
SIZES = [(3, 2), pytest.param((4, 3), marks=pytest.mark.slow)]


def asked(path, size, **options):
    """So many components of so many features each, or as is asked."""
    p, K = size
    return solve(Q, options.pop("p", p), K, objective="joint", resume=path, **options)


@pytest.fixture(scope="module", params=SIZES, ids=str)
def size(request) -> tuple[int, int]:
    return request.param


@pytest.fixture(scope="module")
def finished(size, tmp_path_factory) -> bytes:
    """The file of a set that is solved as far as is asked by default."""
    path = tmp_path_factory.mktemp("sets") / "set.zip"
    asked(path, size)
    return path.read_bytes()


@pytest.fixture
def path(finished, tmp_path) -> Path:
    """A copy of it."""
    copy = tmp_path / "set.zip"
    copy.write_bytes(finished)
    return copy


def test_nothing_is_lost(size, tmp_path):
    """Tests that a set and its bound are never worse than those of the file, and are verified."""
    path = tmp_path / "set.zip"
    first = asked(path, size, gap=0.5)
    assert first.status is Status.OPTIMAL and Certificate.load(path).verify(Q).verified
    again = asked(path, size, gap=0.5)
    # It is good enough as it is: nothing is sought.
    assert again.joint_upper_bound == Certificate.load(path).manifest["joint"]["upper_bound"]
    np.testing.assert_array_equal(again.components, first.components)
    more = asked(path, size, gap=1e-4)
    assert more.joint_variance >= first.joint_variance
    assert more.joint_upper_bound <= first.joint_upper_bound
    kept = Certificate.load(path)
    assert kept.verify(Q).verified
    assert kept.manifest["joint"]["upper_bound"] <= more.joint_upper_bound * (1 + 1e-9)


def test_without_time_what_is_known_is_returned(size, path):
    """Tests that the file's set and bound are there at once, and a better set replaces it."""
    short = asked(path, size, time_limit=1e-6, gap=1e-6)
    assert short.joint_upper_bound <= Certificate.load(path).manifest["joint"]["upper_bound"]
    assert Certificate.load(path).verify(Q).verified


def test_other_files_are_refused(size, path, tmp_path):
    """Tests files of another problem or kind, damaged ones, and folders that are not there."""
    with pytest.raises(ValueError, match="another problem"):
        asked(path, size, p=size[0] - 1)
    with pytest.raises(ValueError, match="is a certificate of a set as a whole"):
        solve(Q, *size, resume=path)
    certificate = Certificate.load(path)
    certificate.manifest["joint"]["upper_bound"] *= 0.9
    certificate.save(path)
    with pytest.raises(ValueError, match="cannot be verified"):
        asked(path, size)
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="resume"):
        asked(path, size)
    with pytest.raises(ValueError, match="no folder"):
        asked(tmp_path / "nowhere" / "set.zip", size)
