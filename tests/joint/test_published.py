"""Tests of joint sets and bounds on matrices of the literature."""

from __future__ import annotations

import pytest

from orthospca import solve

#: Matrix, components, sparsity, the least total variance, the largest gap.
CASES = [
    ("mtcars_corr_11", 2, 4, 6.64825, 1e-4),
    ("mtcars_corr_11", 3, 4, 9.11998, 1e-4),
    ("pitprops_13", 2, 5, 5.71035, 1e-4),
    ("pitprops_13", 3, 3, 6.6396, 1e-3),
    ("normwine_13", 3, 4, 7.3337, 1e-3),
    ("normCommunities_101", 3, 5, 14.2367, 1e-3),
    ("normCommunities_101", 3, 10, 24.718, 1e-2),
    ("geographic_68", 2, 5, 10.4711, 2e-2),
    ("geographic_68", 2, 10, 20.825, 2e-2),
    ("geographic_68", 3, 5, 15.648, 2e-2),
    ("normGeographic_68", 2, 5, 9.9999, 2e-2),
    ("normGeographic_68", 2, 10, 19.9999, 2e-2),
    ("normGeographic_68", 3, 5, 14.9999, 2e-2),
    ("normArrhythmia_257", 2, 5, 8.4514, 2e-2),
    ("normArrhythmia_257", 3, 5, 12.583, 2e-2),
]
#: What is not closed, with the gap that is reached in a few nodes.
OPEN = [
    ("CovColon_20", 3, 5, 2351.59, 0.06),
    ("pitprops_13", 6, 4, 10.48, 0.065),
    ("pitprops_13", 3, 5, 7.2575, 0.1),
    ("pitprops_13", 2, 10, 6.5222, 0.1),
    ("geographic_68", 3, 10, 27.334, 0.062),
    ("normGeographic_68", 3, 10, 26.454, 0.058),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case[:3])))
def test_closed(case, load_matrix):
    """Tests the total variance of the set found and the gap that is proved."""
    name, K, p, value, gap = case
    result = solve(load_matrix(f"{name}.csv"), p, K, objective="joint", gap=gap, node_limit=1000)
    assert result.joint_variance >= value
    assert result.joint_gap <= gap * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("case", OPEN, ids=lambda case: "-".join(map(str, case[:3])))
def test_left_open(case, load_matrix):
    """Tests that what is not closed has a good set, and a gap that is not worse than before."""
    name, K, p, value, gap = case
    result = solve(load_matrix(f"{name}.csv"), p, K, objective="joint", gap=gap / 10, node_limit=3)
    assert result.joint_variance >= value
    assert result.joint_gap <= gap
