"""What a solve returns: its fields, its table, its history, and how it is saved."""

from __future__ import annotations

import json
import math
import pickle
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from orthospca import Component, Result, Status, datasets, solve

METHODS = ("enumeration", "eigenvalue", "branch-and-bound", "deflation")


def pitprops(method: str = "branch-and-bound", p: int = 6, count: int = 13, **options) -> Result:
    return solve(datasets.load_pitprops().covariance(), p, count, method=method, **options)


def interrupted() -> Result:
    rows = np.random.default_rng(0).standard_normal((80, 40))
    return solve(rows.T @ rows, 8, 2, method="eigenvalue", gap=1e-9, node_limit=1)


def empty() -> Result:
    """A result without components: stopped before it found one."""
    return Result(stages=(), n_features=3, sparsity=(2,), status=Status.TIME_LIMIT)


RESULTS = {
    "exhausted": pitprops,
    "first stages": lambda: pitprops(p=4, count=3),
    "enumeration": lambda: pitprops("enumeration", p=4, count=3),
    "deflation": lambda: pitprops("deflation", p=4, count=3),
    "several sparsities": lambda: pitprops(p=[5, 3, 1], count=3),
    "stopped": interrupted,
    "negative": lambda: solve([[-2.0, 1.0], [1.0, -3.0]], 1, 2),
    "zero": lambda: solve(np.zeros((3, 3)), 2, 3),
    "tiny": lambda: solve([[1e-90]], 1),
    "empty": empty,
}


@pytest.fixture(params=RESULTS)
def result(request: pytest.FixtureRequest) -> Result:
    return RESULTS[request.param]()


def same(first: Result, second: Result) -> None:
    """Two results agree in every bit of every field."""
    for name in ("components", "variances", "upper_bounds", "gaps"):
        left, right = getattr(first, name), getattr(second, name)
        assert left.shape == right.shape
        assert left.tobytes() == right.tobytes()
    for name in (
        "status",
        "statuses",
        "exhausted",
        "method",
        "sparsity",
        "n_features",
        "n_components",
        "feature_names",
        "nodes",
        "runtime",
        "history",
    ):
        assert getattr(first, name) == getattr(second, name), name
    for name in ("guarantee", "total_variance"):
        np.testing.assert_equal(getattr(first, name), getattr(second, name))
    for left, right in zip(first.supports, second.supports, strict=True):
        assert left.tolist() == right.tolist()
    for mine, its in zip(first.stages, second.stages, strict=True):
        assert (mine.nodes, mine.runtime) == (its.nodes, its.runtime)
        assert mine.deflated_variance == its.deflated_variance
    assert first.summary() == second.summary()


def test_fields() -> None:
    """Tests that a result has every field of the contract, of the right shape."""
    result = pitprops()
    count = len(result.components)
    assert result.components.shape == (count, 13)
    for name in ("variances", "upper_bounds", "gaps"):
        assert getattr(result, name).shape == (count,)
        assert getattr(result, name).dtype == float
    assert len(result.statuses) == len(result.supports) == count
    assert isinstance(result.status, Status)
    assert result.exhausted is True
    assert result.nodes >= count
    assert result.runtime > 0
    assert math.isfinite(result.guarantee)
    assert result.history


def test_statuses() -> None:
    """Tests that the statuses are those of the contract, and three that blame no limit for it."""
    names = {"OPTIMAL", "TIME_LIMIT", "NODE_LIMIT", "INTERRUPTED", "EXHAUSTED"}
    names |= {"THRESHOLD", "FEATURE_LIMIT", "PRECISION"}
    assert {status.name for status in Status} == names | {
        "WORK_LIMIT",
        "PROOF_LIMIT",
        "PART_OF_SET",
    }


def test_stages_are_components(result: Result) -> None:
    """Tests that the arrays of a result are those of its components, one after the other."""
    for k, stage in enumerate(result.stages):
        assert isinstance(stage, Component)
        assert stage.vector.tobytes() == result.components[k].tobytes()
        assert stage.variance == result.variances[k]
        assert stage.upper_bound == result.upper_bounds[k]
        assert stage.gap == result.gaps[k]
        assert stage.status is result.statuses[k]
        assert stage.support.tolist() == result.supports[k].tolist()


def test_gaps_are_relative() -> None:
    """Tests that a gap is (upper bound − variance) / |variance|, also for negative variances."""
    for result in (interrupted(), solve([[-2.0, 1.0], [1.0, -3.0]], 2, 2)):
        expected = (result.upper_bounds - result.variances) / np.abs(result.variances)
        np.testing.assert_allclose(result.gaps, np.maximum(expected, 0), rtol=1e-12)


def test_largest_loading_is_positive(result: Result) -> None:
    """Tests that the sign of a component is fixed: its largest loading is positive."""
    for x in result.components:
        assert x[np.argmax(np.abs(x))] > 0


def test_result_cannot_be_changed() -> None:
    """Tests that the fields of a result cannot be set, nor its arrays changed from outside."""
    result = pitprops(p=4, count=2)
    with pytest.raises(AttributeError):
        result.status = Status.TIME_LIMIT
    before = result.components.copy()
    for change in (result.components, result.stages[0].vector):
        try:
            change[0] = 7.0
        except ValueError:
            continue
    assert result.components.tobytes() == before.tobytes()


@pytest.mark.parametrize("method", METHODS)
def test_history_only_tightens(method: str) -> None:
    """Tests that in each stage lower bounds do not fall, upper bounds do not rise, time runs."""
    result = pitprops(method, p=5, count=6, gap=1e-9)
    assert result.history
    steps = result.history
    assert (np.diff([step.elapsed for step in steps]) >= 0).all()
    assert [step.stage for step in steps] == sorted(step.stage for step in steps)
    for k, stage in enumerate(result.stages):
        mine = [step for step in steps if step.stage == k]
        assert mine
        lower, upper = [step.lower for step in mine], [step.upper for step in mine]
        assert all(after >= before for before, after in pairwise(lower))
        assert all(after <= before for before, after in pairwise(upper))
        assert all(low <= up for low, up in zip(lower, upper, strict=True))
        nodes = [step.nodes for step in mine]
        assert nodes == sorted(nodes)
        value = stage.variance if stage.deflated_variance is None else stage.deflated_variance
        assert mine[-1].lower == value
        assert mine[-1].upper == stage.upper_bound
        assert nodes[-1] == stage.nodes


def test_save_and_load(result: Result, tmp_path: Path) -> None:
    """Tests that a result survives saving and loading in every bit."""
    path = tmp_path / "result.json"
    result.save(path)
    same(Result.load(path), result)
    result.save(str(path))
    same(Result.load(str(path)), result)


def test_feature_names_survive(tmp_path: Path) -> None:
    """Tests that the names of a data frame's columns are in the table and survive saving."""

    class Frame:
        """The part of a data frame that is looked at: its values and its columns."""

        columns = ("Länge", "a,b", 'c"d')

        def __array__(self, dtype=None, copy=None) -> np.ndarray:
            return np.array([[5.0, 1, 0], [1, 5, 2], [0, 2, 2]], dtype=dtype)

    result = solve(Frame(), 2, 3)
    assert result.feature_names == Frame.columns
    assert "Länge" in result.summary()
    result.save(tmp_path / "named.json")
    same(Result.load(tmp_path / "named.json"), result)


def test_saved_file_is_plain_json(result: Result, tmp_path: Path) -> None:
    """Tests that any JSON reader can read the file: no pickle, no NaN or Infinity literals."""

    def refuse(literal: str) -> None:
        raise AssertionError(f"{literal} is not JSON")

    path = tmp_path / "result.json"
    result.save(path)
    content = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    assert isinstance(content, dict)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a result",
        b"\xff\xfe\x00garbage",
        b"{}",
        b"[]",
        b"null",
        b'"text"',
        b'{"format": "something else", "version": 1}',
        b'{"format": "orthospca-result"}',
        b'{"format": "orthospca-result", "version": 1}',
        b'{"format": "orthospca-result", "version": 999}',
        pickle.dumps({"format": "orthospca-result"}),
    ],
)
def test_garbage_is_refused(content: bytes, tmp_path: Path) -> None:
    """Tests that a file that holds no result is refused with a sentence that names the file."""
    path = tmp_path / "garbage.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"garbage\.json"):
        Result.load(path)


DAMAGES = {
    "no components": lambda content: content.pop("components"),
    "unknown status": lambda content: content.update(status="FINE"),
    "no number of features": lambda content: content.update(n_features="many"),
    "components of another type": lambda content: content.update(components=[1, 2]),
    "no loadings": lambda content: content["components"][0].pop("loadings"),
    "a feature that is not there": lambda content: content["components"][0].update(support=[0, 99]),
    "too few loadings": lambda content: content["components"][0].update(loadings=[1.0]),
    "a variance in words": lambda content: content["components"][0].update(variance="large"),
    "no status": lambda content: content["components"][0].update(status=None),
    "a short step": lambda content: content.update(history=[[1]]),
    "no steps": lambda content: content.update(history=3),
    "no sparsity": lambda content: content.update(sparsity=None),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damage_is_refused(damage, tmp_path: Path) -> None:
    """Tests that a damaged file is refused with a sentence that names it, not half read."""
    path = tmp_path / "damaged.json"
    pitprops(p=4, count=2).save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    damage(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match=r"damaged\.json"):
        Result.load(path)


def test_truncated_file_is_refused(tmp_path: Path) -> None:
    """Tests that a file that was cut off is refused."""
    path = tmp_path / "cut.json"
    pitprops(p=4, count=2).save(path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"cut\.json"):
        Result.load(path)


def test_missing_file(tmp_path: Path) -> None:
    """Tests that a file that does not exist is the usual error."""
    with pytest.raises(FileNotFoundError):
        Result.load(tmp_path / "nowhere.json")


def test_summary_is_a_table() -> None:
    """Tests that the summary has two lines per component: its numbers, and its loadings below."""
    result = pitprops()
    lines = result.summary().splitlines()
    for word in ("variance", "of total", "upper bound", "gap", "status"):
        assert word in lines[0]
    for k in range(len(result.components)):
        numbers, loadings = lines[2 * k + 1 : 2 * k + 3]
        assert numbers.split()[0] == str(k + 1)
        assert f"{result.variances[k]:.4g}"[:4] in numbers
        assert f"{result.variances[k] / 13:.1%}" in numbers
        assert numbers.endswith("optimal")
        x = result.components[k]
        order = np.argsort(-np.abs(x), kind="stable")[: np.count_nonzero(x)]
        expected = ", ".join(f"{j} {x[j]:+.3f}".replace("-", "−") for j in order)
        assert loadings.strip() == expected
    assert "no further component exists" in result.summary()


def test_summary_of_a_stopped_search() -> None:
    """Tests that the summary of a stopped search says so and does not claim an optimum."""
    text = interrupted().summary()
    assert "node limit" in text
    assert "optimal" not in text
    assert "certified within the tolerance" not in text


def test_every_result_has_a_summary(result: Result) -> None:
    """Tests that any result, even one without components, has a summary and a short repr."""
    assert result.summary().strip()
    assert "nan" not in result.summary()
    assert repr(result).startswith("Result(")


def test_deflated_variances() -> None:
    """Tests that only the deflation baseline has deflated variances, and not orthogonal ones."""
    assert pitprops(p=4, count=2).deflated_variances is None
    result = pitprops("deflation", p=4, count=6)
    assert result.deflated_variances.shape == (6,)
    assert (result.upper_bounds >= result.deflated_variances - 1e-12).all()
    assert (np.diff(result.deflated_variances) <= 1e-9).all()
