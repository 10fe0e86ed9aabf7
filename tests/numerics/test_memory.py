"""Memory that is used again, and never while anybody holds it."""

from __future__ import annotations

import gc

import numpy as np

from orthospca.numerics.memory import Copies


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_copies_are_copies() -> None:
    copies, matrix = Copies(), np.arange(12.0).reshape(3, 4)
    first, second = copies.of(matrix), copies.of(matrix)
    assert first.flags.writeable
    first[0, 0] = 7.0
    assert matrix[0, 0] == 0.0
    assert second[0, 0] == 0.0
    assert not np.shares_memory(first, second)


def test_memory_is_used_again() -> None:
    copies, matrix = Copies(), np.random.default_rng(0).normal(size=(40, 40))
    first = copies.of(matrix)
    place = address(first)
    del first
    gc.collect()
    again = copies.of(2 * matrix)
    assert address(again) == place
    assert (again == 2 * matrix).all()


def test_what_is_held_is_left_alone() -> None:
    """A view of a view, or the diagonal, holds the memory as the copy itself does."""
    copies, matrix = Copies(), np.random.default_rng(1).normal(size=(30, 30))
    for hold in (
        lambda copy: copy,
        lambda copy: copy.diagonal(),
        lambda copy: copy[2:5].T[1],
        lambda copy: copy.ravel()[3:9].reshape(2, 3),
        lambda copy: memoryview(copy[4]),
    ):
        held = hold(copies.of(matrix))
        gc.collect()
        before = np.array(held)
        others = [copies.of(np.zeros((30, 30))) for _ in range(3)]
        assert (np.array(held) == before).all()
        assert not any(np.shares_memory(np.asarray(held), other) for other in others)


def test_other_sizes_get_other_memory() -> None:
    copies = Copies()
    copies.of(np.ones((4, 4)))
    assert copies.of(np.ones((2, 3))).shape == (2, 3)
    assert copies.of(np.ones((0, 0))).shape == (0, 0)
