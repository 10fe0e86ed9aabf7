"""What may be asked of components, and one sentence for what may not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from orthospca import DataCovariance, Result, Status, solve

Q = np.diag([5.0, 4.0, 3.0, 2.0, 1.0]) + 0.5
NAMES = ["a", "b", "c", "d", "e"]
FRAME = pd.DataFrame(Q, columns=NAMES, index=NAMES)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"include": ["z"]}, "include names 'z', but Q has no such feature"),
        ({"include": [7]}, "include has the number 7, but features are numbered 0 to 4"),
        ({"exclude": [-1]}, "exclude has the number -1, but features are numbered 0 to 4"),
        ({"include": ["a", "a"]}, "include has 'a' twice"),
        ({"include": ["a", 0]}, "include has 'a' twice"),
        ({"include": [True]}, "include must hold names or numbers of features, got True"),
        ({"include": 1.5}, "include must be a list of features, got 1.5"),
        (
            {"include": ["a", "b", "c"]},
            "include has 3 features for component 1 ('a', 'b', 'c'), but sparsity allows 2",
        ),
        (
            {"include": ["a"], "exclude": [["b"], ["a", "c"]]},
            "include and exclude both have 'a' for component 2",
        ),
        ({"exclude": NAMES}, "exclude leaves no feature for component 1: all 5 are in it"),
        (
            {"include": [["a"], ["b"], ["c"]]},
            "include must be one list of features or one for each of the 2 components, got 3 lists",
        ),
        (
            {"include": ["a", ["b"]]},
            "include must be one list of features or one for each component, got both",
        ),
        (
            {"nonnegative": True, "relation": "uncorrelated"},
            "nonnegative=True does not work with relation='uncorrelated'",
        ),
        (
            {"nonnegative": True, "previous": -np.eye(5)[:1]},
            "previous must not be negative with nonnegative=True, but vector 1 is at 'a'",
        ),
        (
            {"nonnegative": True, "start": -np.eye(5)[:1]},
            "start: vector 1 is negative at 'a'",
        ),
        ({"nonnegative": "yes"}, "nonnegative must be"),
        (
            {"include": ["a"], "nonnegative": True},
            "include has 'a' for component 2, but with nonnegative=True it is already in",
        ),
        (
            {"relation": "parallel"},
            "relation must be one of 'orthogonal', 'disjoint', 'uncorrelated'",
        ),
        (
            {"include": ["a"], "relation": "disjoint"},
            "include has 'a' for component 2, but with relation='disjoint' it is already in "
            "component 1",
        ),
        (
            {"include": [["a"], []], "relation": "disjoint", "previous": np.eye(5)[:1]},
            "include has 'a' for component 1, but with relation='disjoint' it is already in "
            "previous",
        ),
        ({"previous": np.eye(4)}, "previous must be vectors of 5 features in rows"),
        ({"previous": [[1, 0, 0, 0, np.nan]]}, "previous must be finite, got nan"),
        ({"previous": np.zeros((1, 5))}, "previous: vector 1 is zero"),
        (
            {"previous": [[1, 2, 0, 0, 0], [2, 4, 0, 0, 0]]},
            "previous must be linearly independent, but vector 2 is a combination of those before",
        ),
        (
            {"start": [[1, 1, 1, 0, 0]]},
            "start: vector 1 has 3 nonzeros, but sparsity allows 2",
        ),
        (
            {"start": [[1, 1, 0, 0, 0]], "include": ["c"]},
            "start: vector 1 has 2 nonzeros, 3 with the included features, but sparsity allows 2",
        ),
        (
            {"start": [[1, 1, 0, 0, 0]], "exclude": ["b"]},
            "start: vector 1 uses 'b', which is excluded",
        ),
        (
            {"start": [[1, 1, 0, 0, 0], [1, 2, 0, 0, 0]]},
            "start: vector 2 is not orthogonal to the vectors before it",
        ),
        (
            {"start": np.eye(5)[:3]},
            "start must have at most one vector for each of the 2 components, got 3",
        ),
    ],
)
def test_what_cannot_be_is_named(asked: dict[str, Any], sentence: str) -> None:
    """Tests that an impossible demand gets a sentence that names it."""
    with pytest.raises(ValueError, match=re.escape(sentence)):
        solve(FRAME, 2, 2, **asked)


def test_names_need_names() -> None:
    """Tests that a name is refused where features have none."""
    with pytest.raises(ValueError, match="include names 'a', but Q has no names"):
        solve(Q, 2, include=["a"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"objective": "joint", "start": np.eye(5)[:1]},
            "start does not work with objective='joint'",
        ),
        (
            {"objective": "joint", "nonnegative": True},
            "nonnegative=True does not work with objective='joint'",
        ),
        (
            {"objective": "lexicographic", "nonnegative": True},
            "nonnegative=True does not work with objective='lexicographic'",
        ),
        (
            {"objective": "lexicographic", "relation": "uncorrelated"},
            "relation='uncorrelated' does not work with objective='lexicographic'",
        ),
        (
            {"method": "deflation", "relation": "disjoint"},
            "relation='disjoint' does not work with method='deflation'",
        ),
    ],
)
def test_where_nothing_is_certified(options: dict[str, Any], sentence: str) -> None:
    """Tests that a demand is refused where there is no certified way to it."""
    with pytest.raises(ValueError, match=sentence):
        solve(Q, 2, **options)


def test_names_and_numbers_are_the_same() -> None:
    """Tests names of a frame, of data and as given, and numbers."""
    expected = solve(Q, 2, 2, include=[4], exclude=[[0], [1]])
    assert expected.supports[0].tolist() == [1, 4]
    data = pd.DataFrame(np.linalg.cholesky(Q).T, columns=NAMES)
    others = [
        solve(FRAME, 2, 2, include=["e"], exclude=[["a"], ["b"]]),
        solve(Q, 2, 2, include="e", exclude=[["a"], ["b"]], feature_names=NAMES),
    ]
    for other in others:
        np.testing.assert_array_equal(expected.components, other.components)
    of_data = DataCovariance(data)
    assert solve(of_data, 2, include="e").supports[0].tolist()[-1] == 4


def test_vectors_before_do_not_belong_to_the_result() -> None:
    """Tests that a solve goes on where another one has ended."""
    whole = solve(Q, 2, 4)
    first = solve(Q, 2, 2)
    rest = solve(Q, 2, 2, previous=first.components)
    np.testing.assert_allclose(whole.variances[2:], rest.variances, rtol=1e-9)
    assert rest.n_components == 2


def test_any_scale_of_vectors_before() -> None:
    """Tests that only the span of what is given counts."""
    one = solve(Q, 3, previous=[[1e-30, 2e-30, 0, 0, 0], [0, 1e5, 1e5, 0, 0]])
    other = solve(Q, 3, previous=[[2, 4, 0, 0, 0], [1, 3, 1, 0, 0]])
    np.testing.assert_allclose(one.variances, other.variances, rtol=1e-9)


def test_disjoint_components_end_with_the_features() -> None:
    """Tests that a feature serves one component, and that the end is proved."""
    result = solve(Q, 2, 5, relation="disjoint")
    supports = [set(support.tolist()) for support in result.supports]
    assert sum(map(len, supports)) == len(set.union(*supports)) == 5
    assert result.status is Status.EXHAUSTED
    assert result.exhausted


def test_what_a_later_component_must_have_is_left_to_it() -> None:
    """Tests components that are disjoint and begin with a feature each."""
    result = solve(Q, 2, 2, include=[["e"], ["a"]], relation="disjoint", feature_names=NAMES)
    assert [support.tolist() for support in result.supports] == [[1, 4], [0, 2]]


def test_a_good_start_is_not_lost() -> None:
    """Tests that the result is at least as good as what was offered, and the same as without."""
    rng = np.random.default_rng(0)
    B = rng.standard_normal((30, 12))
    matrix = B.T @ B
    plain = solve(matrix, 4, 2)
    offered = solve(matrix, 4, 2, start=plain.components)
    np.testing.assert_allclose(plain.variances, offered.variances, rtol=1e-4)


def test_path_is_of_the_same_question() -> None:
    """Tests that all sparsities of a result have what is included."""
    result = solve(Q, 4, include=[3, 4], exclude=[0])
    assert [len(np.union1d(np.flatnonzero(c.vector), [3, 4])) for c in result.path] == [2, 3, 4]
    for component, p in zip(result.path, (2, 3, 4), strict=True):
        alone = solve(Q, p, include=[3, 4], exclude=[0])
        assert component.variance == pytest.approx(alone.variances[0], rel=1e-4)


def test_what_was_asked_is_said(tmp_path: Path) -> None:
    """Tests the words of a result, and that a file keeps them."""
    asked: dict[str, Any] = {"include": [["e"], []], "exclude": "a", "relation": "disjoint"}
    result = solve(FRAME, 2, 2, previous=np.eye(5)[1], **asked)
    said = "2 components with e (component 1) without a that share no variable after 1 given vector"
    assert said in result.summary()
    result.save(tmp_path / "result.json")
    again = Result.load(tmp_path / "result.json")
    assert again == result
    assert again.asked == {
        "include": [[4], []],
        "exclude": [[0], [0]],
        "relation": "disjoint",
        "previous": 1,
    }
    assert solve(FRAME, 2, 2).asked == {}


def test_path_of_a_component_that_leaves_features_to_others() -> None:
    """Tests that the path asks the same of the first component as the solve."""
    result = solve(Q, 3, 2, include=[[], [0]], relation="disjoint")
    assert list(result.path_sparsities) == [1, 2, 3]
    assert not any(component.vector[0] for component in result.path)
    included = solve(Q, 4, include=[3, 4])
    assert list(included.path_sparsities) == [2, 3, 4]


def test_path_after_a_start() -> None:
    """Tests that a stage that was closed at once, from what was offered, has a whole path."""
    for proof in (False, True):
        result = solve(Q, 2, start=[[1, 1, 0, 0, 0]], proof=proof)
        assert [len(component.support) for component in result.path] == [1, 2]
        assert list(result.path_sparsities) == [1, 2]
