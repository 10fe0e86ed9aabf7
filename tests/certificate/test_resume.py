"""Going on from a saved certificate."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.seeds import crossed
from orthospca import Certificate, DataCovariance, Result, Status, datasets, solve, verify
from orthospca._errors import InputError
from orthospca.certificate import recorder
from orthospca.facade import solve_with
from orthospca.model.settings import Settings
from orthospca.model.tuning import DEFAULT, SavingTuning
from orthospca.search import ladder
from orthospca.search.closing import close_rung


def solve_saving(
    Q: Any, *asked: Any, resume: Path, callback: Any = None, rungs: bool = False, **options: Any
) -> Result:
    """As ``solve``, but saved after every stage and every rung."""
    tuning = replace(DEFAULT, saving=SavingTuning(every=0.0, apart=0.0))
    settings = replace(Settings.validate(**options, proof=True, tuning=tuning), rungs=rungs)
    return solve_with(Q, *asked, settings, callback=callback, resume=resume)


def correlations(n: int = 24) -> np.ndarray:
    rows = np.random.default_rng(5).standard_normal((60, n)) @ np.diag(np.linspace(1, 2, n))
    return np.corrcoef(rows.T)


def same(result: object, other: object) -> None:
    """Assert that components, variances and bounds are the same to the last bit."""
    assert (result.components == other.components).all()
    assert (result.variances == other.variances).all()
    assert (result.upper_bounds == other.upper_bounds).all()
    assert result.statuses == other.statuses


@pytest.mark.parametrize("stages", [1, 3, 5])
def test_finished_stages_are_not_solved_again(tmp_path: Path, stages: int) -> None:
    """Tests that a run stopped between two stages ends as one that was not."""
    matrix, file = correlations(), tmp_path / "certificate.zip"
    whole = solve(matrix, 4, 6, proof=True)

    def stop(progress: object) -> bool:
        return progress.stage >= stages

    solve_saving(matrix, 4, 6, resume=file, callback=stop)
    saved = Certificate.load(file)
    assert verify(saved).verified
    seen: list[int] = []
    resumed = solve_saving(
        matrix, 4, 6, resume=file, callback=lambda progress: seen.append(progress.stage)
    )
    same(resumed, whole)
    assert min(seen) >= stages - 1
    assert verify(file, matrix).verified
    assert Certificate.load(file).to_bytes() == resumed.certificate.to_bytes()


class Killed(BaseException):
    """Stands in for a signal that leaves no time for anything."""


def killed_after(monkeypatch: pytest.MonkeyPatch, savings: int) -> None:
    """Let a run end right after it has saved its certificate so many times."""
    left, show = [savings], recorder.Recorder.show

    def show_and_die(self: recorder.Recorder, found: object) -> None:
        show(self, found)
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    monkeypatch.setattr(recorder.Recorder, "show", show_and_die)


def wide_rows() -> DataCovariance:
    """More features than a matrix is formed for."""
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((20, 4100)) * np.geomspace(3, 1, 4100)
    return DataCovariance(rows)


@pytest.mark.parametrize(("savings", "kind"), crossed([1, 3, 6], ["matrix", "data"]))
def test_proved_rungs_are_not_proved_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, savings: int
) -> None:
    """Tests runs that end in the middle of a stage."""
    Q = correlations() if kind == "matrix" else wide_rows()
    file, searched = tmp_path / "certificate.zip", []

    def counting(known: Any, settings: Settings, relaxed: bool) -> None:
        searched.append(known)
        close_rung(known, settings, relaxed)

    monkeypatch.setattr(ladder, "close_rung", counting)
    # A stage that is closed directly has no rungs to take up.
    settings = replace(Settings.validate(gap=1e-2, proof=True), rungs=True)
    whole = solve_with(Q, 5, 2, settings)
    in_all = len(searched)
    with monkeypatch.context() as patch:
        killed_after(patch, savings)
        searched.clear()
        with pytest.raises(Killed):
            solve_saving(Q, 5, 2, gap=1e-2, resume=file, rungs=True)
        before = len(searched)
    assert verify(file, factor=None if kind == "matrix" else Q.factor(np.arange(4100))).verified
    searched.clear()
    resumed = solve_saving(Q, 5, 2, gap=1e-2, resume=file, rungs=True)
    same(resumed, whole)
    assert len(searched) == in_all - before
    assert [point.variance for point in resumed.path] == [point.variance for point in whole.path]


def test_a_time_limit_is_taken_up(tmp_path: Path) -> None:
    """Tests that what a short run has found and proved is not lost on the next one."""
    file = tmp_path / "certificate.zip"
    first = solve_saving(correlations(), 6, 1, time_limit=0.0, resume=file)
    assert first.status is Status.TIME_LIMIT
    second = solve_saving(correlations(), 6, 1, resume=file)
    assert second.status is Status.OPTIMAL
    assert second.variances[0] >= first.variances[0]
    assert len(second.path) == 6


def with_vector(certificate: Certificate, size: int, support: list[int], x: list[float]) -> None:
    """Put another vector where the one of a rung is."""
    arrays = certificate.arrays
    ends = [0, *arrays["stage-0/found_ends.npy"].tolist()]
    at = slice(ends[size - 1], ends[size])
    for name, new in (("found", support), ("loadings", x)):
        old = arrays[f"stage-0/{name}.npy"].tolist()
        old[at] = new
        arrays[f"stage-0/{name}.npy"] = np.array(old, arrays[f"stage-0/{name}.npy"].dtype)
    grown = np.array(arrays["stage-0/found_ends.npy"])
    grown[size - 1 :] += len(support) - (at.stop - at.start)
    arrays["stage-0/found_ends.npy"] = grown


THIRD = 1 / np.sqrt(3)


@pytest.mark.parametrize(
    ("support", "x"),
    [
        ([0, 0, 0], [THIRD, THIRD, THIRD]),
        ([2, 1, 0], [THIRD, THIRD, THIRD]),
        ([0, 1, 24], [THIRD, THIRD, THIRD]),
        ([-1, 0, 1], [THIRD, THIRD, THIRD]),
        ([0, 1, 2, 3], [0.5, 0.5, 0.5, 0.5]),
        ([0, 1, 2], [1.0, 1.0, 1.0]),
        ([0, 1, 2], [THIRD, THIRD, THIRD * (1 + 1e-11)]),
        ([0, 1, 2], [0.0, 0.6, 0.8]),
        ([0, 1, 2], [np.nan, 0.6, 0.8]),
        ([0, 1, 2], [np.inf, 0.6, 0.8]),
    ],
)
def test_vectors_of_rungs_are_vectors(tmp_path: Path, support: list[int], x: list[float]) -> None:
    """Tests vectors that name a feature twice, are too long, too dense, or not of numbers.

    A feature that is named three times seems to have three times its variance, and a stage whose
    best vector is thought to have that much is soon thought to be solved.
    """
    Q, file = correlations(), tmp_path / "certificate.zip"
    solve(Q, 4, 1, resume=file)
    certificate = Certificate.load(file)
    with_vector(certificate, 3, support, x)
    # What sums of products say of it, as if all features were different ones.
    part = Q[np.ix_(np.array(support) % 24, np.array(support) % 24)]
    values = np.array(certificate.arrays["stage-0/values.npy"])
    values[2] = np.array(x) @ part @ np.array(x) if np.isfinite(x).all() else 0.0
    certificate.arrays["stage-0/values.npy"] = values
    certificate.save(file)
    with pytest.raises(InputError, match=r"resume: .* is damaged \(stage 1: "):
        solve(Q, 4, 1, resume=file)


def test_variances_of_rungs_are_computed(tmp_path: Path) -> None:
    """Tests that a vector has what it has, whatever the file says, and not more."""
    Q, file = correlations(), tmp_path / "certificate.zip"
    first = solve(Q, 4, 1, resume=file)
    certificate = Certificate.load(file)
    values = np.array(certificate.arrays["stage-0/values.npy"])
    certificate.arrays["stage-0/values.npy"] = values - 0.25
    certificate.save(file)
    again = solve(Q, 4, 1, resume=file)
    assert [c.variance for c in again.path] == [c.variance for c in first.path]
    certificate.arrays["stage-0/values.npy"] = values + 0.25
    certificate.save(file)
    with pytest.raises(InputError, match="has not the variance stated"):
        solve(Q, 4, 1, resume=file)


@pytest.mark.parametrize("name", ["loadings", "values", "found", "found_ends"])
def test_vectors_of_rungs_are_checked(tmp_path: Path, name: str) -> None:
    """Tests that what the checker does not look at is not believed either."""
    file = tmp_path / "certificate.zip"
    solve_saving(correlations(), 4, 1, resume=file)
    certificate = Certificate.load(file)
    changed = np.array(certificate.arrays[f"stage-0/{name}.npy"])
    changed[-2] += 1
    certificate.arrays[f"stage-0/{name}.npy"] = changed
    certificate.save(file)
    assert verify(file).verified
    with pytest.raises(InputError, match=r"resume: .* is damaged \(stage 1: "):
        solve_saving(correlations(), 4, 1, resume=file)
    for array in [name for name in certificate.arrays if "loadings" in name or "values" in name]:
        del certificate.arrays[array]
    certificate.save(file)
    assert solve_saving(correlations(), 4, 1, resume=file).status is Status.OPTIMAL


def test_a_finished_run_costs_its_check_only(tmp_path: Path) -> None:
    """Tests that nothing is left to do, on data that are never formed too."""
    rows = np.random.default_rng(1).standard_normal((20, 4100)) * np.geomspace(9, 0.1, 4100)
    for Q in (correlations(), DataCovariance(rows)):
        file = tmp_path / f"{type(Q).__name__}.zip"
        first = solve_saving(Q, 3, 2, gap=1e-2, resume=file)
        told: list[object] = []
        again = solve_saving(Q, 3, 2, gap=1e-2, resume=file, callback=told.append)
        same(again, first)
        assert told == []


def test_a_tighter_tolerance_goes_on(tmp_path: Path) -> None:
    """Tests that a stage counts as finished only within the tolerance asked for now."""
    matrix, file = correlations(), tmp_path / "certificate.zip"
    solve(matrix, 4, 2, gap=0.2, resume=file)
    result = solve(matrix, 4, 2, gap=1e-4, resume=file)
    assert result.status is Status.OPTIMAL and (result.gaps <= 1e-4).all()
    assert verify(file).verified


def test_what_is_refused(tmp_path: Path) -> None:
    """Tests the certificate of another problem, a damaged one, and what is no path."""
    matrix, file = correlations(), tmp_path / "certificate.zip"
    solve(matrix, 4, 2, resume=file)
    with pytest.raises(InputError, match=r"resume: .* is for another problem \(its sparsity"):
        solve(matrix, 3, 2, resume=file)
    with pytest.raises(InputError, match=r"resume: .* is for another problem \(its sha256"):
        solve(matrix + np.eye(len(matrix)), 4, 2, resume=file)
    with pytest.raises(InputError, match="resume must be a path, got 5"):
        solve(matrix, 4, 2, resume=5)
    certificate = Certificate.load(file)
    certificate.manifest["stages"][0]["upper_bound"] *= 0.9
    certificate.save(file)
    with pytest.raises(InputError, match=r"resume: .* cannot be verified"):
        solve(matrix, 4, 2, resume=file)
    file.write_bytes(b"no zip")
    with pytest.raises(InputError, match="resume: "):
        solve(matrix, 4, 2, resume=file)


KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from orthospca.facade import solve_with
from orthospca.model.settings import Settings
from orthospca.model.tuning import SavingTuning, Tuning

# It is saved whenever it can be.
asked = Settings.validate(gap=1e-3, proof=True, tuning=Tuning(saving=SavingTuning(0.0, 0.0)))
rows = np.random.default_rng(5).standard_normal((60, 40)) @ np.diag(np.linspace(1, 2, 40))

def run(name, moment=None):
    if moment is not None and "." in moment:
        signal.setitimer(signal.ITIMER_REAL, float(moment))
    elif moment is not None:
        calls = []
        for each in ("fsync", "replace"):
            def call(*arguments, really=getattr(os, each)):
                calls.append(really)
                if len(calls) == int(moment):
                    os.kill(os.getpid(), signal.SIGKILL)
                return really(*arguments)
            setattr(os, each, call)
    result = solve_with(np.corrcoef(rows.T), 5, 8, asked, resume=Path(name + ".zip"))
    np.savez(name + ".npz", components=result.components, upper_bounds=result.upper_bounds)

run("whole")
for number, moment in enumerate(sys.argv[1:]):
    child = os.fork()
    if not child:
        run("killed", moment)
        os._exit(0)
    print(os.WTERMSIG(os.waitpid(child, 0)[1]), os.path.exists("killed.zip"))
    if os.path.exists("killed.zip"):
        with open("killed.zip", "rb") as file, open(f"{number}.zip", "wb") as copy:
            copy.write(file.read())
run("killed")
"""


def run_killed(folder: Path, moments: list[str]) -> str:
    """Kill runs at some moments, let the last one end, and compare with one that was left alone.

    A moment is a number of seconds, or how many times a file was to be secured or put in its place.
    """
    command = [sys.executable, "-c", KILLED, *moments]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=folder).stdout
    files = sorted(folder.glob("*.zip"))
    assert all(verify(file).verified for file in files)
    with np.load(folder / "killed.npz") as result, np.load(folder / "whole.npz") as other:
        for name in ("components", "upper_bounds"):
            assert (result[name] == other[name]).all()
    # What a killed run was writing is left beside the file, never in its place.
    assert (folder / "killed.zip").read_bytes() == (folder / "whole.zip").read_bytes()
    return said


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_killed_and_resumed(tmp_path: Path) -> None:
    """Tests that a run killed while it saves, again and again, ends as one that was not."""
    said = run_killed(tmp_path, ["1", "2", "3", "6", "9"]).splitlines()
    assert said == ["9 False", "9 False", "9 True", "9 True", "9 True"]
    assert len(list(tmp_path.glob(".killed.zip.*.part"))) == 5


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_killed_many_times(tmp_path: Path) -> None:
    """Tests twenty runs killed at random moments."""
    rng = np.random.default_rng(0)
    for k in range(5):
        folder = tmp_path / str(k)
        folder.mkdir()
        run_killed(folder, [f"{moment:.3f}" for moment in rng.uniform(0.001, 0.6, size=4)])


def test_pitprops_whole(tmp_path: Path) -> None:
    """Tests that exhaustion is found again after a resume."""
    matrix, file = datasets.load_pitprops().covariance(), tmp_path / "certificate.zip"
    first = solve(matrix, 13, 13, resume=file)
    same(solve(matrix, 13, 13, resume=file), first)
