"""Tests of ``orthospca fit --proof`` and ``orthospca verify``: files, verdicts, exit codes."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from helpers.clocks import ticking
from orthospca import Certificate, Result, datasets, solve, verify
from orthospca.interface.cli import app
from orthospca.interface.cli.demo import check_elsewhere
from orthospca.interface.screen import Screen

RUN = [sys.executable, "-c", "from orthospca.interface.cli import main; main()"]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Commands write to the folder they are called in."""
    monkeypatch.chdir(tmp_path)


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def write_csv(path: Path, values: np.ndarray, names: list[str]) -> Path:
    """A table with names, and a column of labels at the end."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join([*names, "kind"]) + "\n")
        for row in values.tolist():
            file.write(",".join([*map(repr, row), "a"]) + "\n")
    return path


@pytest.fixture
def wine(tmp_path) -> Path:
    """178 observations of 13 variables, and labels."""
    dataset = datasets.load_wine()
    return write_csv(tmp_path / "wine.csv", dataset.data, [f"v{j}" for j in range(13)])


@pytest.fixture
def pitprops(tmp_path) -> Path:
    """A matrix."""
    np.save(tmp_path / "pitprops.npy", datasets.load_pitprops().covariance())
    return tmp_path / "pitprops.npy"


@pytest.fixture
def certificate(tmp_path) -> Path:
    """Three components of Pitprops, from the library."""
    result = solve(datasets.load_pitprops().covariance(), 5, 3, proof=True)
    result.certificate.save(tmp_path / "certificate.zip")
    return tmp_path / "certificate.zip"


def test_fit_writes_a_certificate(wine):
    """Tests that the certificate beside the other files is that of the result, and named."""
    ended = run("fit", wine, "--correlation", "-k", 3, "-p", 4, "--proof", "-o", "out")
    assert ended.exit_code == 0, ended.output
    assert {file.name for file in Path("out").iterdir()} == {
        "loadings.csv", "scores.csv", "result.json", "report.html", "certificate.zip"
    }  # fmt: skip
    assert "certificate.zip" in ended.stderr.splitlines()[-1]
    result = Result.load("out/result.json")
    found = Certificate.load("out/certificate.zip")
    np.testing.assert_array_equal(found.arrays["components.npy"], result.components)
    report = Path("out/report.html").read_text(encoding="utf-8")
    assert "orthospca verify certificate.zip" in report and found.sha256 in report
    ended = run("verify", "out/certificate.zip")
    assert ended.exit_code == 0, ended.output
    (line,) = ended.output.splitlines()
    assert line.startswith("VERIFIED: 3 components of 13 features; the largest gap is 0.0")
    assert line.endswith("the matrix is the one in the certificate")


def test_no_certificate_unless_asked_for(pitprops):
    """Tests that there is none without --proof, and that an earlier one is not passed off."""
    fit = ["fit", pitprops, "--precomputed", "-k", 1, "-p", 2, "-o", "out"]
    assert run(*fit).exit_code == 0
    assert not Path("out/certificate.zip").exists()
    assert run(*fit, "--proof").exit_code == 0
    ended = run(*fit)
    assert "from out to out/earlier-2" in ended.stderr.replace("\\", "/")
    assert not Path("out/certificate.zip").exists()
    assert verify("out/earlier-2/certificate.zip").verified
    assert "orthospca verify" not in Path("out/report.html").read_text(encoding="utf-8")


def test_what_a_proof_needs(pitprops, tmp_path):
    """Tests that what has no proof, or no place for one, is refused with a sentence."""
    fit = ["fit", pitprops, "--precomputed", "-k", 1, "-p", 2, "--proof"]
    for more, message in (
        (["--json"], "--proof with --json needs -o"),
        (["--method", "enumeration"], "proof needs method='branch-and-bound'"),
    ):
        ended = run(*fit, *more)
        assert (ended.exit_code, message in ended.stderr) == (2, True), ended.output
        assert not (tmp_path / "orthospca-out").exists()
    ended = run(*fit, "--json", "-o", "out")
    assert ended.exit_code == 0 and Path("out/certificate.zip").exists()


def test_a_limit_leaves_a_certificate(tmp_path):
    """Tests that the gap that is left is proved too."""
    np.save("noise.npy", np.random.default_rng(0).standard_normal((80, 60)))
    with ticking():
        ended = run("fit", "noise.npy", "--correlation", "-k", 2, "-p", 10, "--gap", 0,
                    "--time-limit", 300, "--proof", "-o", "out")  # fmt: skip
    assert ended.exit_code == 3, ended.output
    ended = run("verify", "out/certificate.zip", "--data", "noise.npy", "--correlation", "-v")
    assert ended.exit_code == 0, ended.output
    result = Result.load("out/result.json")
    assert len(ended.stdout.splitlines()) == 1 + result.n_components


def test_ctrl_c_leaves_a_certificate(tmp_path):
    """Tests that what was known when SIGINT came is certified."""
    rng = np.random.default_rng(0)
    np.save("noise.npy", np.corrcoef(rng.standard_normal((90, 120)).T))
    command = [*RUN, "fit", "noise.npy", "--precomputed", "-k", "1", "-p", "12", "--gap", "0",
               "--proof", "-o", "out"]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        try:
            assert process.stderr is not None
            assert any(line.startswith("component 1/1") for line in process.stderr)
            # The search has begun, and does not end by itself.
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=600)
        finally:
            process.kill()
    assert process.returncode == 3, errors
    assert verify("out/certificate.zip").verified
    assert run("verify", "out/certificate.zip").exit_code == 0


def test_details(certificate):
    """Tests that -v gives variance, proved bound and gap of every stage."""
    ended = run("verify", certificate, "-v")
    assert ended.exit_code == 0, ended.output
    first, *stages = ended.output.splitlines()
    assert first.startswith("VERIFIED: 3 components")
    assert [line.split(":")[0] for line in stages] == ["stage 1", "stage 2", "stage 3"]
    assert "variance 3.4061549" in stages[0] and "proved bound 3.40" in stages[0]
    assert all("gap 0.0" in line for line in stages)


def test_exhaustion(tmp_path):
    """Tests that a proved end is said."""
    known = datasets.make_exhausting()
    np.save("known.npy", known.matrix)
    run("fit", "known.npy", "--precomputed", "-k", 4, "-p", known.sparsity, "--proof", "-o", "out")
    ended = run("verify", "out/certificate.zip")
    assert ended.exit_code == 0, ended.output
    assert "no further component exists" in ended.output


def test_data_of_a_matrix(certificate, pitprops, tmp_path):
    """Tests --data with the matrix itself, and with another by one bit or by much."""
    ended = run("verify", certificate, "--data", pitprops, "--precomputed")
    assert ended.exit_code == 0, ended.output
    assert ended.output.strip().endswith(f"the matrix is the one of {pitprops}")
    matrix = np.load(pitprops)
    nearly = matrix.copy()
    nearly[0, 0] = np.nextafter(nearly[0, 0], 2)
    other = matrix.copy()
    other[0, 1] = other[1, 0] = 0.5
    for changed, message in (
        (nearly, "may be due to rounding on another machine"),
        (other, "not the matrix that was certified; they differ by 0.5"),
        (matrix[:5, :5], "13 features are expected, got the shape (5, 5)"),
    ):
        np.save("changed.npy", changed)
        ended = run("verify", certificate, "--data", "changed.npy", "--precomputed")
        assert (ended.exit_code, message in ended.stdout) == (1, True), ended.output
        assert ended.stdout.startswith("REJECTED: problem: ")
        assert len(ended.output.splitlines()) == 1


def test_a_matrix_symmetric_up_to_rounding(tmp_path):
    """Tests that halves that differ by rounding are evened out as fit does."""
    matrix = datasets.load_pitprops().covariance().copy()
    matrix[0, 1] *= 1 + 1e-13
    np.save("matrix.npy", matrix)
    run("fit", "matrix.npy", "--precomputed", "-k", 1, "-p", 3, "--proof", "-o", "out")
    ended = run("verify", "out/certificate.zip", "--data", "matrix.npy", "--precomputed")
    assert ended.exit_code == 0, ended.output


@pytest.mark.parametrize("option", [[], ["--correlation"]], ids=["covariance", "correlation"])
def test_data_of_observations(wine, option):
    """Tests that the matrix computed from a table is the one that fit has used, and no other."""
    assert run("fit", wine, "-k", 2, "-p", 3, "--proof", "-o", "out", *option).exit_code == 0
    check = ["verify", "out/certificate.zip", "--data", wine]
    ended = run(*check, *option)
    assert ended.exit_code == 0, ended.output
    for wrong in ([] if option else ["--correlation"], [*option, "--label", "v3"]):
        ended = run(*check, *wrong)
        assert (ended.exit_code, "REJECTED" in ended.stdout) == (1, True), ended.output


def test_wide_data(tmp_path):
    """Tests data whose matrix is never formed, held by the certificate or not."""
    X = datasets.make_planted_samples(4500, 60).data
    np.save("wide.npy", X)
    fit = ["fit", "wide.npy", "-k", 2, "-p", 4, "--gap", 0.05, "--proof", "-o", "out"]
    assert run(*fit).exit_code == 0
    file = Path("out/certificate.zip")
    found = Certificate.load(file)
    assert found.manifest["problem"]["kind"] == "factor" and "factor.npy" in found.arrays
    assert run("verify", file).exit_code == 0
    ended = run("verify", file, "--data", "wide.npy")
    assert ended.exit_code == 0, ended.output
    assert ended.output.strip().endswith("the matrix is the one of wide.npy")
    assert run("verify", file, "--data", "wide.npy", "--correlation").exit_code == 1
    ended = run("verify", file, "--data", "wide.npy", "--precomputed")
    assert ended.exit_code == 2 and "must be square" in ended.stderr
    del found.arrays["factor.npy"]
    found.save(file)
    ended = run("verify", file)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "does not hold the matrix: name the data with --data" in ended.stderr
    assert run("verify", file, "--data", "wide.npy").exit_code == 0
    np.save("other.npy", X + np.arange(60)[:, None])
    ended = run("verify", file, "--data", "other.npy")
    assert (ended.exit_code, "not the matrix that was certified" in ended.stdout) == (1, True), (
        ended.output
    )


def test_a_square_matrix_is_no_data(tmp_path):
    """Tests that --precomputed is refused for a certificate of data."""
    X = datasets.make_planted_samples(4100, 20).data
    found = solve_wide(X)
    found.manifest["problem"]["features"] = 3
    found.save("certificate.zip")
    np.save("matrix.npy", np.eye(3))
    ended = run("verify", "certificate.zip", "--data", "matrix.npy", "--precomputed")
    assert ended.exit_code == 2 and "omit --precomputed" in ended.stderr


def solve_wide(X: np.ndarray) -> Certificate:
    from orthospca import DataCovariance

    return solve(DataCovariance(X), 2, 1, gap=0.2, proof=True).certificate


def test_claims_that_are_not_proved(certificate):
    """Tests that a lowered bound, a raised variance or another component is rejected."""
    found = Certificate.load(certificate)
    found.manifest["stages"][1]["upper_bound"] *= 1 - 1e-4
    found.save("lowered.zip")
    ended = run("verify", "lowered.zip", "-v")
    assert ended.exit_code == 1, ended.output
    first, *stages = ended.output.splitlines()
    assert first.startswith("REJECTED: stage 2: ") and len(stages) == 1
    assert stages[0].startswith("stage 1: variance 3.406")
    found.manifest["stages"] = "none"
    found.save("nonsense.zip")
    ended = run("verify", "nonsense.zip")
    assert ended.exit_code == 1 and ended.stdout.startswith("REJECTED: "), ended.output
    for problem in ("none", {}, {"kind": "circle"}):
        found.manifest["problem"] = problem
        found.save("nonsense.zip")
        for more in ([], ["--data", certificate.with_name("pitprops.npy"), "--precomputed"]):
            np.save("pitprops.npy", np.eye(13))
            ended = run("verify", "nonsense.zip", "-v", *more)
            assert ended.exit_code == 1, (ended.output, ended.exception)
            assert ended.stdout.startswith("REJECTED: ")


def test_what_is_no_certificate(certificate, tmp_path):
    """Tests that damaged, empty and missing files and folders are one sentence and code 2."""
    content = certificate.read_bytes()
    Path("empty.zip").write_bytes(b"")
    Path("text.zip").write_text("VERIFIED", encoding="utf-8")
    Path("cut.zip").write_bytes(content[: len(content) // 2])
    middle = len(content) // 2
    damaged = content[:middle] + bytes(b ^ 255 for b in content[middle : middle + 40])
    Path("damaged.zip").write_bytes(damaged + content[middle + 40 :])
    Path("folder").mkdir()
    for name, message in (
        ("empty.zip", "is not a certificate"),
        ("text.zip", "is not a certificate"),
        ("cut.zip", "is not a certificate"),
        ("damaged.zip", "is not a certificate"),
        ("folder", "cannot be read: is a directory"),
        ("nowhere.zip", "cannot be read: no such file"),
    ):
        ended = run("verify", name)
        assert (ended.exit_code, ended.stdout) == (2, ""), (name, ended.output)
        assert ended.stderr.startswith(f"orthospca: {name} {message}"), ended.stderr
        assert len(ended.stderr.splitlines()) == 1


def test_bad_data(certificate, tmp_path):
    """Tests that data that cannot be read, and options without data, end with 2."""
    for arguments, message in (
        (["--data", "nowhere.csv"], "nowhere.csv cannot be read"),
        (["--correlation"], "need --data"),
        (["--no-header"], "need --data"),
        (["--label", "a"], "need --data"),
        (["--data", certificate, "--correlation", "--precomputed"], "not both"),
    ):
        ended = run("verify", certificate, *arguments)
        assert (ended.exit_code, message in ended.stderr) == (2, True), ended.output
        assert ended.stdout == ""


def test_the_bar_is_for_terminals(certificate, monkeypatch, tmp_path):
    """Tests that progress is shown on a terminal and nowhere else, never on standard output."""
    found = run("verify", certificate)
    assert found.stderr == ""
    stream = io.StringIO()
    monkeypatch.setattr(Screen, "console", Console(file=stream, force_terminal=True, width=80))
    ended = run("verify", certificate)
    assert ended.stdout == found.stdout and "checking" in stream.getvalue()


def test_another_process_says_what_it_finds(certificate):
    """Tests that the demonstration's check passes on rejections and faults as they are."""
    assert check_elsewhere(certificate) == "VERIFIED"
    found = Certificate.load(certificate)
    found.manifest["stages"][0]["variance"] += 1e-3
    found.save("raised.zip")
    assert check_elsewhere(Path("raised.zip")).startswith("REJECTED: stage 1")
    assert "Unreadable" in check_elsewhere(Path("nowhere.zip"))


def test_fit_goes_on(pitprops, tmp_path):
    """Tests that a second run takes up the first, and that another problem's file is refused."""
    asked = ("fit", pitprops, "--precomputed", "-k", 3, "--resume", "kept.zip", "-o", "out")
    first = run(*asked, "-p", 5)
    assert first.exit_code == 0, first.output
    assert (tmp_path / "out" / "certificate.zip").exists()
    again = run(*asked, "-p", 5)
    assert again.exit_code == 0, again.output
    results = [Certificate.load(file) for file in ("kept.zip", "out/certificate.zip")]
    assert results[0].to_bytes() == results[1].to_bytes()
    other = run(*asked, "-p", 4)
    assert other.exit_code == 2 and "for another problem" in other.output
    nowhere = run("fit", pitprops, "--precomputed", "--resume", "no/where.zip")
    assert nowhere.exit_code == 2 and "there is no folder" in nowhere.output
