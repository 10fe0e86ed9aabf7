"""Tests of sets that are taken up again from a file."""

from __future__ import annotations

import numpy as np
import pytest

from orthospca import Certificate, datasets, solve
from orthospca.result import Status

Q = datasets.load_pitprops().covariance()


def asked(path, **options):
    """Three components of four features, or as is asked."""
    return solve(Q, options.pop("p", 4), 3, objective="joint", resume=path, **options)


def test_nothing_is_lost(tmp_path):
    """Tests that a set and its bound are never worse than those of the file, and are verified."""
    path = tmp_path / "set.zip"
    first = asked(path, gap=0.5)
    assert first.status is Status.OPTIMAL and Certificate.load(path).verify(Q).verified
    again = asked(path, gap=0.5)
    # It is good enough as it is: nothing is sought.
    assert again.joint_upper_bound == Certificate.load(path).manifest["joint"]["upper_bound"]
    np.testing.assert_array_equal(again.components, first.components)
    more = asked(path, gap=1e-4)
    assert more.joint_variance >= first.joint_variance
    assert more.joint_upper_bound <= first.joint_upper_bound
    kept = Certificate.load(path)
    assert kept.verify(Q).verified
    assert kept.manifest["joint"]["upper_bound"] <= more.joint_upper_bound * (1 + 1e-9)


def test_without_time_what_is_known_is_returned(tmp_path):
    """Tests that the file's set and bound are there at once, and a better set replaces it."""
    path = tmp_path / "set.zip"
    asked(path)
    short = asked(path, time_limit=1e-6, gap=1e-6)
    assert short.joint_upper_bound <= Certificate.load(path).manifest["joint"]["upper_bound"]
    assert Certificate.load(path).verify(Q).verified


def test_other_files_are_refused(tmp_path):
    """Tests files of another problem or kind, damaged ones, and folders that are not there."""
    path = tmp_path / "set.zip"
    asked(path)
    with pytest.raises(ValueError, match="another problem"):
        asked(path, p=3)
    with pytest.raises(ValueError, match="is a certificate of a set as a whole"):
        solve(Q, 4, 3, resume=path)
    certificate = Certificate.load(path)
    certificate.manifest["joint"]["upper_bound"] *= 0.9
    certificate.save(path)
    with pytest.raises(ValueError, match="is not verified"):
        asked(path)
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="resume"):
        asked(path)
    with pytest.raises(ValueError, match="no folder"):
        asked(tmp_path / "nowhere" / "set.zip")
