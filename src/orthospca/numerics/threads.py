"""BLAS on one thread."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


def single_threaded_blas() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread: oversubscription ruins small problems."""
    context: AbstractContextManager[Any] = _threadpools().limit(limits=1, user_api="blas")
    return context


@lru_cache(maxsize=1)
def _threadpools() -> ThreadpoolController:
    # Finding the loaded libraries takes longer than a small solve: once is enough.
    return ThreadpoolController()
