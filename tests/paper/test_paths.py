"""Tests of the example in which variances depend on the path, against enumeration by hand."""

from __future__ import annotations

import io
import itertools
import math

import numpy as np
import pytest
from rich.console import Console

from orthospca.paper import _experiments, _paths, _shown
from orthospca.result import Status

PAIRS = [list(pair) for pair in itertools.combinations(range(3), 2)]


@pytest.fixture(scope="module")
def paths() -> _paths.Paths:
    """The example, solved once."""
    return _paths.follow_paths()


def greedy_sequences() -> list[tuple[float, ...]]:
    """Every sequence of stages, whichever optimum is taken, from all supports of two features."""

    def extend(vectors):
        if len(vectors) == 3:
            yield ()
            return
        found = []
        for pair in PAIRS:
            # Three features: what is orthogonal to two vectors is their cross product.
            if len(vectors) == 2:
                x = np.cross(*vectors)
                outside = next(j for j in range(3) if j not in pair)
                if abs(x[outside]) > 1e-12:
                    continue
            elif len(vectors) == 1 and np.abs(vectors[0][pair]).max() > 1e-12:
                x = np.zeros(3)
                x[pair] = -vectors[0][pair[1]], vectors[0][pair[0]]
            else:
                x = np.zeros(3)
                x[pair] = np.linalg.eigh(_paths.EXAMPLE[np.ix_(pair, pair)])[1][:, -1]
            x = x / np.linalg.norm(x)
            found.append((x @ _paths.EXAMPLE @ x, x))
        top = max(value for value, _ in found)
        for value, x in found:
            if value > top - 1e-9:
                for rest in extend([*vectors, x]):
                    yield (round(value, 9), *rest)

    return sorted(set(extend([])))


def best_pair() -> float:
    """The largest total of two orthogonal vectors with two nonzeros each, from all patterns.

    Two patterns of at most two of three features are the same, or disjoint, or share exactly one
    feature; vectors of the last kind are not orthogonal.
    """
    Q = _paths.EXAMPLE
    totals = []
    for pair in PAIRS:
        block = Q[np.ix_(pair, pair)]
        third = next(j for j in range(3) if j not in pair)
        totals += [np.trace(block), np.linalg.eigvalsh(block)[-1] + Q[third, third]]
    return float(max(totals))


def test_enumeration():
    """Tests what the objectives are compared with: two ties, and two ways to go on."""
    assert greedy_sequences() == [(6, 4, 2), (6, 5, 1)]
    assert best_pair() == pytest.approx(11)


def test_stagewise(paths):
    """Tests that one after another is one of the sequences, and its first two are a pair."""
    variances = tuple(float(v) for v in paths[3]["stagewise"].variances.round(6))
    assert variances in greedy_sequences()
    np.testing.assert_allclose(paths[2]["stagewise"].variances, variances[:2], rtol=1e-9)


def test_lexicographic(paths):
    """Tests that the largest sequence is found, and that all ties were examined."""
    for solved, count in ((paths[2], 2), (paths[3], 3)):
        result = solved["lexicographic"]
        np.testing.assert_allclose(result.variances, max(greedy_sequences())[:count], rtol=1e-8)
        assert result.status is Status.OPTIMAL and result.note.startswith("all ties were examined")


def test_joint(paths):
    """Tests that the best pair is found and proved, and that three of them have the trace."""
    pair, basis = paths[2]["joint"], paths[3]["joint"]
    assert pair.joint_variance == pytest.approx(best_pair())
    assert pair.status is Status.OPTIMAL and pair.joint_gap <= 1e-9
    trace = math.fsum(_paths.EXAMPLE.diagonal())
    for result in paths[3].values():
        assert result.joint_variance == pytest.approx(trace)
        assert trace <= result.joint_upper_bound <= trace * (1 + 1e-9)
    assert basis.status is Status.OPTIMAL
    for result in paths[2].values():
        assert best_pair() <= result.joint_upper_bound * (1 + 1e-12)


def test_table(paths):
    """Tests that numbers of all three objectives are told."""

    class Found:
        pass

    found = Found()
    found.paths = paths
    rows = _shown.path_rows(found)
    assert len(rows) == 3 * (2 + 3)
    for row in rows:
        assert row["objective"] in ("stagewise", "lexicographic", "joint")
        assert row["variance"] <= row["upper_bound"]
        assert row["joint_upper_bound"] >= row["joint_variance"] * (1 - 1e-12)
    found.matrix, found.plan = _paths.EXAMPLE, _experiments.Plan()
    found.splits, found.runs, found.growth, found.orthogonal = [], {}, {}, {}
    printed = io.StringIO()
    Console(file=printed, width=120).print(_shown.tables(found)[0])
    lines = [line.split() for line in printed.getvalue().splitlines()]
    three = [line[3] for line in lines if line[:2] == ["lexicographic", "3"]]
    assert [round(float(value), 6) for value in three] == [6, 5, 1]
    assert list({line[5] for line in lines if line[:2] == ["joint", "2"]}) == ["11"]
