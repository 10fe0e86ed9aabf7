"""Certificates of what was asked: a forgery that drops or changes a constraint is refused.

Where another question has an answer that is proved by the same argument, it may pass: what is then
taken for proved is true, which is decided in exact arithmetic.
"""

from __future__ import annotations

import copy
import math
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.demands import exceeds_on, of_stage, some_demands, some_vectors, supports
from helpers.exact import ExactMatrix, nearly_orthogonal_support
from helpers.forger import lowest, lowest_bound, stage_of
from helpers.problems import DATA, MATRICES
from helpers.seeds import later, seeds
from orthospca import Certificate, DataCovariance, solve, verify

NAMES = ("include", "exclude", "relation", "previous")


def matrix_of(seed: int, n: int = 6) -> np.ndarray:
    """A covariance whose best components use few features."""
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((n + 3, n)) * np.linspace(3, 1, n)
    return np.asarray(B.T @ B)


def changed(certificate: Certificate, **problem: Any) -> Certificate:
    """The same argument for another question; None drops an entry."""
    manifest = copy.deepcopy(certificate.manifest)
    arrays = dict(certificate.arrays)
    vectors = problem.pop("vectors", None)
    if vectors is not None:
        arrays["previous.npy"] = vectors
    for name, value in problem.items():
        if value is None:
            manifest["problem"].pop(name, None)
        else:
            manifest["problem"][name] = value
    return Certificate(manifest, arrays)


def is_false(certificate: Certificate, Q: np.ndarray) -> str:
    """What a certificate claims that does not hold; empty if everything does."""
    exact, manifest = ExactMatrix.of(Q), certificate.manifest
    problem, n, limits = manifest["problem"], len(Q), manifest["problem"]["sparsity"]
    asked = {name: problem[name] for name in NAMES if name in problem}
    components = certificate.arrays["components.npy"]
    before = certificate.arrays["previous.npy"] if asked.pop("previous", 0) else np.zeros((0, n))
    for k, stage in enumerate(manifest["stages"]):
        included, excluded = of_stage(asked, k, len(limits), before, components)
        used = set(np.flatnonzero(components[k]).tolist())
        rows = np.vstack([before, components[:k]])
        if len(used.union(included)) > limits[k] or used & excluded:
            return f"component {k} is not feasible"
        if np.abs(rows @ components[k]).max(initial=0.0) > 3e-12:
            return f"component {k} is not orthogonal"
        for support in supports(n, limits[k], included, excluded):
            if exceeds_on(exact, rows, support, stage["upper_bound"]):
                return f"{support} is above the bound of stage {k}"
    if manifest["exhausted"]:
        k, rows = len(components), np.vstack([before, components])
        included, excluded = of_stage(asked, k, len(limits), before, components)
        for support in supports(n, limits[k], included, excluded):
            if support and nearly_orthogonal_support(rows[:, support], len(support), 0.0):
                return f"{support} is left"
    return ""


def questions(certificate: Certificate, rng: np.random.Generator) -> Iterator[Certificate]:
    """The same certificate with a constraint dropped, weakened, moved or added."""
    problem = certificate.manifest["problem"]
    n, count = problem["features"], len(problem["sparsity"])
    for name in NAMES:
        if name in problem:
            yield changed(certificate, **{name: None})
    for name in ("include", "exclude"):
        for _ in range(4):
            lists = [sorted(own) for own in problem.get(name, [[]] * count)]
            k, j = int(rng.integers(count)), int(rng.integers(n))
            lists[k] = sorted(set(lists[k]) ^ {j})
            yield changed(certificate, **{name: lists})
            yield changed(certificate, **{name: lists[::-1]})
    yield changed(certificate, relation=None if "relation" in problem else "disjoint")
    if "previous" in problem:
        vectors = certificate.arrays["previous.npy"]
        yield changed(certificate, vectors=vectors[::-1].copy())
        yield changed(certificate, vectors=np.roll(vectors, 1, axis=1))
        yield changed(certificate, previous=len(vectors) - 1, vectors=vectors[1:].copy())


@pytest.mark.parametrize("seed", seeds(20, 400))
def test_another_question(seed: int) -> None:
    """Tests that nothing false passes, whatever is done to what was asked."""
    rng = np.random.default_rng([zlib.crc32(b"another question"), seed])
    names = ("include", "exclude", "previous", "disjoint")
    constraints = tuple(name for name in names if rng.random() < 0.5) or ("include",)
    n = int(rng.integers(3, 7))
    Q = list(MATRICES.values())[seed % len(MATRICES)](rng, n)
    limits = [int(rng.integers(1, n + 1))] * min(n, 3)
    asked = some_demands(rng, n, limits, constraints)
    result = solve(Q, limits, len(limits), proof=True, **asked)
    if not result.n_components:
        return
    assert result.certificate is not None
    assert result.certificate.verify().verified
    for forged in questions(result.certificate, rng):
        if forged.verify():
            assert not is_false(forged, Q)


@np.errstate(all="ignore")
@pytest.mark.parametrize("kind", ["matrix", "factor"])
@pytest.mark.parametrize("seed", [1, *later(0, *range(2, 150))])
def test_no_level_below_the_truth(seed: int, kind: str) -> None:
    """Tests that a prover who tries everything finds no argument for what is false."""
    rng = np.random.default_rng([zlib.crc32(kind.encode()), seed])
    n = int(rng.integers(3, 6))
    if kind == "matrix":
        given = list(MATRICES.values())[seed % len(MATRICES)](rng, n)
        exact = ExactMatrix.of(given)
    else:
        given = list(DATA.values())[seed % len(DATA)](rng, n)
        exact = ExactMatrix.gram(given)
    features = rng.permutation(n).tolist()
    F, E = sorted(features[: int(rng.integers(0, 3))]), set(features[3:][: int(rng.integers(0, 2))])
    previous = some_vectors(rng, n) if rng.random() < 0.5 else np.zeros((0, n))
    previous = previous / np.linalg.norm(previous, axis=1, keepdims=True)
    stage = stage_of(given, previous, kind, frozenset(F), frozenset(E))
    size = float(np.abs(exact.rounded).max()) or 1.0
    below = -math.inf
    for s in range(max(len(F), 1), min(n - len(E), 4) + 1):

        def is_true(bound: float, s: int = s) -> bool:
            return not any(exceeds_on(exact, previous, T, bound) for T in supports(n, s, F, E))

        if s == max(len(F), 1) and F:
            claimed = lowest(lambda bound: stage.first_bound(bound) <= bound, -9 * size, 9 * size)
            assert is_true(claimed)
        found = lowest_bound(stage, s, below, 9 * size, -9 * size, leaves=bool(rng.integers(2)))
        if found is not None:
            assert is_true(found[0])
        # What the next one may rest on.
        below = lowest(is_true, -9 * size, 9 * size)


@pytest.mark.parametrize(
    ("asked", "dropped"),
    [
        ({"include": [5]}, {"include": None}),
        ({"include": [5]}, {"include": [[4], [4]]}),
        ({"include": [5]}, {"include": [[], [5]]}),
        ({"exclude": [0]}, {"exclude": None}),
        ({"exclude": [0]}, {"exclude": [[1], [1]]}),
        ({"exclude": [[0], [1]]}, {"exclude": [[1], [0]]}),
        ({"relation": "disjoint"}, {"relation": None}),
        ({"relation": "disjoint"}, {"relation": "orthogonal"}),
        ({"previous": np.ones((1, 6))}, {"previous": None}),
        ({"previous": np.ones((1, 6))}, {"vectors": np.eye(6)[:1]}),
    ],
)
def test_a_constraint_that_binds_cannot_be_dropped(
    asked: dict[str, Any], dropped: dict[str, Any]
) -> None:
    """Tests that the answer to one question is refused as that to another."""
    Q = matrix_of(1)
    certificate = solve(Q, 3, 2, proof=True, **asked).certificate
    assert certificate is not None
    assert certificate.verify().verified
    forged = changed(certificate, **dropped)
    assert is_false(forged, Q) or dropped.get("relation")
    assert not forged.verify()


@pytest.mark.parametrize("version", [2, 6, 8, 7.0])
def test_versions(version: float) -> None:
    """Tests that files of other versions are refused."""
    found = solve(matrix_of(2), 3, proof=True, exclude=[0]).certificate
    assert found is not None
    manifest = {**found.manifest, "version": version}
    reason = verify(Certificate(manifest, found.arrays)).reason
    assert "version" in reason


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        ({"include": [[1]]}, "include: one list for each of the 2 components"),
        ({"include": [[1, 1], []]}, "is no list of features in order"),
        ({"include": [[6], []]}, "is no list of features in order"),
        ({"exclude": [[-1], []]}, "is no list of features in order"),
        ({"exclude": [[True], []]}, "int is expected"),
        ({"exclude": "none"}, "list is expected"),
        ({"include": [[0, 1, 2, 3], []]}, "what is asked cannot be"),
        ({"include": [[0], []], "exclude": [[0], []]}, "what is asked cannot be"),
        ({"relation": "parallel"}, "no such relation"),
        ({"previous": 2, "vectors": np.zeros((2, 6))}, "not of a length between 1/2 and 2"),
        ({"previous": 2, "vectors": np.zeros((1, 6))}, "an array of shape (2, 6) is expected"),
        ({"previous": -1}, "an array of shape (-1, 6) is expected"),
    ],
)
def test_questions_that_make_no_sense(problem: dict[str, Any], reason: str) -> None:
    """Tests what the checker says of a damaged question."""
    certificate = solve(matrix_of(3), 3, 2, proof=True).certificate
    assert certificate is not None
    verdict = changed(certificate, **problem).verify()
    assert not verdict.verified
    assert re.search(re.escape(reason), verdict.reason)


def test_what_was_asked_is_said() -> None:
    """Tests the words of the verdict."""
    asked: dict[str, Any] = {"include": [[5], []], "exclude": [0], "relation": "disjoint"}
    result = solve(matrix_of(4), 2, 2, proof=True, previous=np.eye(6)[1:2], **asked)
    assert result.certificate is not None
    said = result.certificate.verify().statement
    assert "with 6 (component 1), without 1, disjoint, disjoint from 1 vector before" in said


def test_resuming_another_question(tmp_path: Path) -> None:
    """Tests that a saved certificate is taken up for its own question alone."""
    Q, path = matrix_of(5), tmp_path / "certificate.zip"
    asked: dict[str, Any] = {"include": [5], "previous": np.ones((1, 6))}
    first = solve(Q, 3, 2, resume=path, **asked)
    again = solve(Q, 3, 2, resume=path, **asked)
    np.testing.assert_array_equal(first.components, again.components)
    others: list[tuple[dict[str, Any], str]] = [
        ({**asked, "include": [4]}, "include"),
        ({**asked, "exclude": [1]}, "exclude"),
        ({**asked, "relation": "disjoint", "include": None, "previous": np.eye(6)[:1]}, "include"),
        ({**asked, "previous": np.eye(6)[:1]}, "previous"),
        ({"include": [5]}, "previous"),
    ]
    for other, name in others:
        with pytest.raises(ValueError, match=rf"another problem \(its {name} differs\)"):
            solve(Q, 3, 2, resume=path, **other)


@pytest.mark.parametrize("asked", [{"include": [5, 6]}, {"relation": "disjoint"}])
def test_resuming_in_the_middle(asked: dict[str, Any], tmp_path: Path) -> None:
    """Tests that a stage that was not finished is taken up where it was left."""
    rng = np.random.default_rng(6)
    B = rng.standard_normal((40, 30))
    Q, path = B.T @ B, tmp_path / "certificate.zip"
    solve(Q, 6, 3, resume=path, node_limit=1, gap=0.05, **asked)
    whole = solve(Q, 6, 3, resume=path, **asked)
    fresh = solve(Q, 6, 3, **asked)
    np.testing.assert_allclose(whole.variances, fresh.variances, rtol=1e-4)
    assert verify(path).verified


def test_certificates_of_data() -> None:
    """Tests data whose covariance is not formed."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((20, 900)) * np.linspace(3, 0.1, 900)
    for asked in ({"include": [800], "exclude": [0]}, {"relation": "disjoint"}):
        result = solve(DataCovariance(X), 3, 2, proof=True, gap=0.01, **asked)
        assert result.certificate is not None
        assert result.certificate.verify().verified
