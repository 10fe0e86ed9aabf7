"""What the tests share: how many random problems they run, and the reference data.

Two hypothesis profiles are chosen by the environment variable ``HYPOTHESIS_PROFILE``:

- ``default`` has 2 examples, the same ones each time.  That is the unit: tests of promises (bounds
  against the brute force and in exact arithmetic, orthogonality, tolerances, the same result
  whatever the jobs) multiply it and run at least 20 for each method, and those that are repeated
  for each kind of matrix have as many by the number of kinds.  Certificates are tested with seeds
  instead of hypothesis, 20 and more of each kind of file;
- ``full`` has 30, new ones each time: hundreds of each promise.

Slow tests that go through hundreds of seeds take every 23rd; ``TEST_STRIDE=1`` takes all of them
(`helpers.seeds`).

The reference matrices are not part of the project. Tests that need them look in the folder named by
``ORTHOSPCA_DATA`` and are skipped, with a reason, where it is not set.

Tests may run in several processes (``pytest -n auto``): each of them, and whatever it starts, uses
one thread for linear algebra, unless the environment says otherwise.  They also run in the
background of a shell, which ignores Ctrl-C there; tests that press it need it to be heard.

Time hardly passes in them: each look at the clock takes a microsecond, so that nothing depends on
how fast the machine is or what else it does.  Tests of limits bring clocks of their own
(`helpers.clocks`), or ask for the one on the wall (the fixture ``real_clock``).
"""

from __future__ import annotations

import os

# Read when NumPy is imported, so they come first.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("VECLIB_MAXIMUM_THREADS", "1")

import gc
import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings

from helpers.clocks import REAL, Ticking

# A fifth of the time until all tests are known would go into looking for garbage among them.
gc.disable()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and (
    threading.current_thread() is threading.main_thread()
):
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "default",
    max_examples=2,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "full",
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


#: Modules whose tests share something expensive: one process runs all of them, and begins early.
TOGETHER = {
    "tests/blocks/test_wide_blocks.py",
    "tests/bounds/test_conditioning.py",
    "tests/certificate/test_alone.py",
    "tests/certificate/test_corruptions.py",
    "tests/certificate/test_joint.py",
    "tests/certificate/test_lists.py",
    "tests/certificate/test_multipliers.py",
    "tests/data/test_cluster.py",
    "tests/exact/test_exact_bounds.py",
    "tests/exact/test_flaws.py",
    "tests/interface/test_plotting.py",
    "tests/joint/test_words.py",
    "tests/model/test_limits.py",
    "tests/paper/test_paper.py",
    "tests/search/test_reference.py",
    "tests/test_benchmarks.py",
    "tests/test_docs_build.py",
    "tests/wide/test_view.py",
}


def pytest_collection_finish() -> None:
    """All tests are known, and stay."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``--dist loadgroup`` the modules above run as a whole, besides tests of one group.

    Groups reach the scheduler in the names of tests, which pytest 9.2 does not let pytest-xdist 3.8
    change: there, the modules are all that is kept together.
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class Scheduling(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            module = nodeid.split("::", 1)[0]
            return module if module in TOGETHER else super()._split_scope(nodeid)

    return Scheduling(config, log)


@pytest.fixture(scope="session", autouse=True)
def steady_clock() -> Iterator[None]:
    """The clock of the package goes on by a microsecond with every look."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "perf_counter", Ticking(1e-6))
        yield


@pytest.fixture
def real_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock on the wall, for tests that wait for other processes or measure the package."""
    monkeypatch.setattr(time, "perf_counter", REAL)


def read_square(path: Path) -> np.ndarray:
    """A square matrix from a CSV file without header; lines that begin with # are comments."""
    matrix = np.loadtxt(path, delimiter=",", comments="#", ndmin=2)
    assert matrix.shape[0] == matrix.shape[1], f"{path.name} is not square: {matrix.shape}"
    return matrix


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the reference data; without it the test is skipped."""
    folder = os.environ.get("ORTHOSPCA_DATA")
    if not folder:
        pytest.skip("the environment variable ORTHOSPCA_DATA names no folder of reference data")
    path = Path(folder)
    if not path.is_dir():
        pytest.skip(f"ORTHOSPCA_DATA={folder!r} is not a folder")
    return path


@pytest.fixture(scope="session")
def load_matrix(data_folder: Path) -> Callable[[str], np.ndarray]:
    """A function that reads one reference matrix by the name of its file, once per session."""
    known: dict[str, np.ndarray] = {}

    def load(name: str) -> np.ndarray:
        if name not in known:
            known[name] = read_square(data_folder / name)
            known[name].setflags(write=False)
        return known[name]

    return load


@pytest.fixture(scope="session")
def optima(data_folder: Path) -> dict:
    """The reference optima, found by exhaustive enumeration."""
    return json.loads((data_folder / "optima.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def without_pyplot() -> Iterator[None]:
    """A test that loads pyplot leaves none behind: where it is loaded, figures are its own."""
    yield
    pyplot = sys.modules.pop("matplotlib.pyplot", None)
    if pyplot is not None:
        pyplot.close("all")
