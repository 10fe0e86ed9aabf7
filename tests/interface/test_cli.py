"""Tests of the command line: what it prints, writes, refuses, and how it ends."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from helpers.clocks import ticking
from orthospca import Result, datasets, verify
from orthospca.interface.cli import app, job
from orthospca.interface.progress import ProgressDisplay
from orthospca.model.result import Progress

RUN = [sys.executable, "-c", "from orthospca.interface.cli import main; main()"]


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def write_matrix(path: Path, matrix: np.ndarray) -> Path:
    np.savetxt(path, matrix, delimiter=",")
    return path


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Commands write to the folder they are called in."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def pitprops(tmp_path) -> Path:
    """Pitprops as a person keeps it: a table with names at the top and at the left."""
    dataset = datasets.load_pitprops()
    with open(tmp_path / "pitprops.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["", *dataset.feature_names])
        for name, row in zip(dataset.feature_names, dataset.matrix.tolist(), strict=True):
            writer.writerow([name, *row])
    return tmp_path / "pitprops.csv"


def test_fit_writes_what_it_shows(pitprops, tmp_path):
    """Tests a whole run: table, loadings.csv, result.json, report.html, exit code."""
    ended = run("fit", pitprops, "--precomputed", "-k", 2, "-p", 3, "-o", tmp_path / "out")
    assert ended.exit_code == 0, ended.output
    assert "2.47533" in ended.output and "topdiam" in ended.output
    assert "each is certified within the tolerance" in ended.output
    result = Result.load(tmp_path / "out" / "result.json")
    assert result.n_components == 2 and result.feature_names[0] == "topdiam"
    with open(tmp_path / "out" / "loadings.csv", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["variable", "component1", "component2"]
    assert [row[0] for row in rows] == list(result.feature_names)
    loadings = np.array([[float(cell) for cell in row[1:]] for row in rows])
    np.testing.assert_array_equal(loadings, result.components.T)
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "topdiam" in report and "2.47533" in report


def test_where_results_go(pitprops, tmp_path):
    """Tests that without -o the folder is named after the file, and the last line says so."""
    ended = run("fit", pitprops, "--precomputed", "-k", 1, "-p", 2)
    assert ended.exit_code == 0, ended.output
    folder = tmp_path / "orthospca-out" / "pitprops"
    assert {file.name for file in folder.iterdir()} == {
        "loadings.csv", "result.json", "report.html"
    }  # fmt: skip
    assert str(Path("orthospca-out/pitprops/report.html")) in ended.stderr.splitlines()[-1]


def test_json(pitprops, tmp_path):
    """Tests that --json prints the result, only that, and writes no file unless told to."""
    ended = run("fit", pitprops, "--precomputed", "-k", 2, "-p", 3, "--json")
    assert ended.exit_code == 0, ended.output
    printed = write(tmp_path / "printed.json", ended.stdout)
    result = Result.load(printed)
    assert result.n_components == 2 and result.feature_names[0] == "topdiam"
    assert not (tmp_path / "orthospca-out").exists()
    ended = run("fit", pitprops, "--precomputed", "-k", 1, "-p", 3, "--json", "-o", tmp_path / "o")
    assert json.loads(ended.stdout)["status"] == "OPTIMAL"
    assert (tmp_path / "o" / "report.html").exists()
    ended = run("fit", tmp_path / "nowhere.csv", "--json")
    assert (ended.exit_code, ended.stdout) == (2, "")


def test_path(pitprops, tmp_path):
    """Tests that a path shows and writes variance and gap by sparsity."""
    ended = run("path", pitprops, "--precomputed", "-p", "1:5,8", "-o", tmp_path / "out")
    assert ended.exit_code == 0, ended.output
    assert (
        "6 sparsities; " in ended.stdout
        and "all certified" in ended.stdout
        and "3.40615" in ended.stdout
    )
    with open(tmp_path / "out" / "path.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["sparsity"]) for row in rows] == [1, 2, 3, 4, 5, 8]
    assert float(rows[4]["variance"]) == pytest.approx(3.406154946789761, rel=1e-4)
    assert (tmp_path / "out" / "path.json").exists()
    pytest.importorskip("matplotlib")
    assert (tmp_path / "out" / "path.png").read_bytes().startswith(b"\x89PNG")


def test_path_json_and_limits(pitprops, tmp_path):
    """Tests --json of a path, its bad arguments, and exit code 3 if a gap is open."""
    ended = run("path", pitprops, "--precomputed", "-p", "2,4", "-k", 2, "--json")
    content = json.loads(ended.stdout)
    assert ended.exit_code == 0 and content["sparsities"] == [2, 4]
    assert np.shape(content["variances"]) == (2, 2)
    for arguments, message in (
        (["-p", "ten"], "sparsities must be"),
        (["-p", 14], "at most 13"),
        (["-p", 2, "-k", 14], "--components must be at most 13"),
        (["-p", 2, "--gap", -1], "--gap must be finite and not negative"),
    ):
        ended = run("path", pitprops, "--precomputed", *arguments)
        assert (ended.exit_code, message in ended.output) == (2, True), ended.output
        assert not (tmp_path / "orthospca-out").exists(), arguments
    noise = noise_matrix(tmp_path / "noise.csv")
    with ticking():
        limits = ["--node-limit", 3, "--time-limit", 100]
        ended = run("path", noise, "--precomputed", "-p", "12", "--gap", 0, *limits)
    assert ended.exit_code == 3 and "the gaps are still to be proved" in ended.stdout


def test_threshold(pitprops, tmp_path):
    """Tests that a threshold, or "auto", is passed on, and that what came of it is said."""
    ended = run("fit", pitprops, "--precomputed", "-k", 1, "-p", 3, "--threshold", "auto")
    assert ended.exit_code == 0, ended.output
    assert "threshold='auto' chose" in ended.stdout
    ended = run("fit", pitprops, "--precomputed", "-k", 1, "-p", 3, "--threshold", 0.6, "-o", ".")
    assert "blocks, the largest of" in ended.stdout
    assert "blocks, the largest of" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_enumeration_of_too_many_supports(tmp_path):
    """Tests that an enumeration without an end is refused before it begins."""
    file = noise_matrix(tmp_path / "noise.csv")
    ended = run("fit", file, "--precomputed", "-k", 1, "-p", 12, "--method", "enumeration")
    assert ended.exit_code == 2 and "method 'enumeration' would have to test" in ended.output
    assert not (tmp_path / "orthospca-out").exists()


def test_faults_of_the_program_are_not_the_users(pitprops, monkeypatch):
    """Tests that a ValueError from the numerics is shown as what it is, not as bad input."""

    def broken(*arguments, **settings):
        raise ValueError("array must not contain infs or NaNs")

    monkeypatch.setattr(job, "solve", broken)
    ended = run("fit", pitprops, "--precomputed", "-k", 1, "-p", 2)
    assert ended.exit_code == 1 and isinstance(ended.exception, ValueError)
    assert "orthospca: array" not in ended.output


def test_covariance_and_correlation(tmp_path):
    """Tests that observations give covariances or correlations, and that labels are left out."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4)) @ np.diag([1.0, 2.0, 3.0, 4.0])
    lines = ["name,a,b,c,d,kind"] + [
        f"row{i}," + ",".join(map(repr, row)) + ",red" for i, row in enumerate(X.tolist())
    ]
    file = write(tmp_path / "x.csv", "\n".join(lines))
    for option, Q in (([], np.cov(X.T)), (["--correlation"], np.corrcoef(X.T))):
        ended = run("fit", file, *option, "-k", 1, "-p", 4, "-o", tmp_path)
        assert ended.exit_code == 0, ended.output
        assert "30 observations, 4 variables; labels left out: name, kind" in ended.output
        variance = Result.load(tmp_path / "result.json").variances[0]
        assert variance == pytest.approx(np.linalg.eigvalsh(Q)[-1])


def test_sparsity_for_each_component(pitprops, tmp_path):
    """Tests that -p takes one number for each component."""
    ended = run("fit", pitprops, "--precomputed", "-k", 2, "-p", "2,4", "-o", tmp_path)
    assert ended.exit_code == 0, ended.output
    assert [len(s) for s in Result.load(tmp_path / "result.json").supports] == [2, 4]


@pytest.mark.parametrize("method", ["branch-and-bound", "eigenvalue", "enumeration", "deflation"])
def test_every_method(pitprops, method):
    """Tests that each method can be asked for."""
    ended = run("fit", pitprops, "--precomputed", "-k", 2, "-p", 3, "--method", method)
    assert ended.exit_code == 0, ended.output
    assert ("not orthogonal" in ended.output) == (method == "deflation")


def test_exhaustion_is_success(tmp_path):
    """Tests that a proved end of the components is exit code 0, and said."""
    file = write_matrix(tmp_path / "q.csv", datasets.make_exhausting().matrix)
    ended = run("fit", file, "--precomputed", "-k", 4, "-p", 3)
    assert ended.exit_code == 0, ended.output
    assert "no further component exists" in ended.output


def noise_matrix(path: Path) -> Path:
    """A problem that no method finishes soon: correlations of pure noise."""
    rng = np.random.default_rng(0)
    return write_matrix(path, np.corrcoef(rng.standard_normal((90, 120)).T))


def test_open_gap_is_exit_code_3(tmp_path):
    """Tests that a limit ends with code 3, and that what was found is written."""
    file = noise_matrix(tmp_path / "noise.csv")
    ended = run("fit", file, "--precomputed", "-k", 1, "-p", 12, "--node-limit", 5, "--gap", 0,
                "--method", "eigenvalue", "-o", tmp_path / "out")  # fmt: skip
    assert ended.exit_code == 3, ended.output
    assert "node limit" in ended.output
    result = Result.load(tmp_path / "out" / "result.json")
    assert result.upper_bounds[0] > result.variances[0] > 0


def test_ctrl_c_keeps_the_incumbent(tmp_path):
    """Tests that SIGINT in the middle still shows and writes the best component so far."""
    file = noise_matrix(tmp_path / "noise.csv")
    command = [*RUN, "fit", str(file), "--precomputed", "-k", "1", "-p", "12", "--gap", "0",
               "-o", str(tmp_path / "out")]  # fmt: skip
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )
    try:
        assert process.stderr is not None
        seen = []
        for line in process.stderr:
            seen.append(line)
            if line.startswith("component 1/1"):
                break
        # The search has begun, and does not end by itself.
        assert process.poll() is None, "".join(seen)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=600)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 3, errors
    assert "interrupted" in output
    assert "Traceback" not in errors
    assert Result.load(tmp_path / "out" / "result.json").n_components == 1


BAD_FILES = {
    "empty": ("", "is empty"),
    "only comments": ("# a\n\n# b\n", "is empty"),
    "one column": ("a\n1\n2\n3\n", "one column"),
    "one column of numbers": ("name,a\nx,1\ny,2\n", "one column of numbers ('a')"),
    "text": ("a,b\nred,blue\ngreen,black\n", "holds no numbers"),
    "a word among numbers": ("a,b\n1,2\n3,four\n", "'four' in row 2 (line 3), column 'b'"),
    "ragged": ("a,b,c\n1,2,3\n4,5\n", "line 3 has 2 cells"),
    "short header": ("a,b\n1,2,3,4\n5,6,7,8\n", "2 cells in its header but 4"),
    "header only": ("a,b,c\n", "no rows"),
    "nan": ("a,b\n1,2\nnan,4\n", "missing value in row 2 (line 3), column 'a'"),
    "gap": ("a,b\n1,2\n\n3,\n", "missing value in row 2 (line 4), column 'b'"),
    "missing in the first row": ("1,\n3,4\n", "missing value in row 1 (line 1), column 'x1'"),
    "infinite": ("a,b\n1,2\n3,inf\n", "'inf' in row 2 (line 3), column 'b', which is not finite"),
    "wrong separator": ("a!b\n1!2\n3!4\n", "commas, semicolons, tabs"),
    "both decimals": ("a;b\n1,5;2,5\n3.5;4\n", "decimal comma in '1,5' (row 1 (line 2)"),
    "one row": ("a,b\n1,2\n", "one row of numbers"),
    "zero bytes": (b"\x00\x01\x02,\x00\n", "not a text file"),
    "binary": (bytes(range(128, 256)), "not a text file in UTF-8"),
    "carriage returns only in a gap": ("a,b\r1,2\r,4\r", "missing value in row 2"),
    "broken quotes": ('a,b\n1,"2\n3,4\n', "line 2"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files(tmp_path, name):
    """Tests that each bad file ends with exit code 2 and one sentence that names the fault."""
    content, message = BAD_FILES[name]
    ended = run("fit", write(tmp_path / "data.csv", content), "-k", 1, "-p", 1)
    assert ended.exit_code == 2
    assert message in ended.output
    assert ended.output.startswith("orthospca: ") and ended.output.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1,2,3\n2,1,4\n", "must be square, but the file has 2 rows of numbers and 3 columns"),
        ("1,2\n3,1\n", "a precomputed matrix must be symmetric"),
    ],
)
def test_bad_matrices(tmp_path, content, message):
    """Tests that a matrix that is not square, or not symmetric, is refused."""
    ended = run("fit", write(tmp_path / "q.csv", content), "--precomputed", "-k", 1, "-p", 1)
    assert ended.exit_code == 2 and message in ended.output


def test_bad_arguments(pitprops, tmp_path):
    """Tests that impossible requests are exit code 2 and say what is wrong."""
    for arguments, message in (
        (["-p", 14], "--sparsity must be at most 13"),
        (["-p", 0], "--sparsity must be at least 1"),
        (["-p", "five"], "--sparsity must be an integer"),
        (["-p", "3,3,3"], "one for each of the 2 components"),
        (["-k", 14, "-p", 3], "--components must be at most 13"),
        (["--gap", -1], "--gap must be finite and not negative"),
        (["--gap", "nan"], "--gap must be finite"),
        (["--time-limit", -1], "--time-limit must be finite and not negative"),
        (["--node-limit", 0], "--node-limit must be at least 1"),
        (["--n-jobs", 0], "--n-jobs must not be 0"),
        (["--threshold", "some"], "--threshold must be 'auto' or a number"),
        (["--threshold", -1], "--threshold must be finite and not negative"),
        (["--threshold", 0.5, "--method", "deflation"], "--threshold must be 0.0 with"),
        (["--correlation"], "not both"),
        (["--method", "magic"], "magic"),
    ):
        ended = run("fit", pitprops, "--precomputed", *arguments)
        assert (ended.exit_code, message in ended.output) == (2, True), ended.output
        assert not (tmp_path / "orthospca-out").exists(), arguments
    ended = run("fit", tmp_path / "nowhere.csv")
    assert ended.exit_code == 2 and "nowhere.csv cannot be read: no such file" in ended.output
    ended = run("fit", tmp_path)
    assert ended.exit_code == 2 and "is a directory" in ended.output
    ended = run("fit", pitprops, "--precomputed", "-o", pitprops)
    assert ended.exit_code == 2 and "cannot be written: file exists" in ended.output


@pytest.mark.parametrize("option", [[], ["--correlation"]], ids=["covariance", "correlation"])
@pytest.mark.parametrize("method", ["branch-and-bound", "enumeration"])
@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_extreme_data(tmp_path, unit, method, option):
    """Tests that numbers whose squares are none are refused in one sentence, by every method."""
    X = unit * np.random.default_rng(0).standard_normal((20, 4))
    file = write_matrix(tmp_path / "x.csv", X)
    ended = run("fit", file, "-k", 1, "-p", 2, "--method", method, *option)
    assert ended.exit_code == 2, ended.exception
    assert "rescale the data" in ended.output
    assert ended.output.startswith("orthospca: ") and ended.output.count("\n") == 1


def test_progress_becomes_plain_lines(capsys):
    """Tests that without a terminal, progress is one line at the start and at each stage's end."""
    now = 0.0
    with ProgressDisplay(Console(stderr=True, width=40), 2, lambda: now) as progress:
        for now, (stage, nodes, lower, upper) in enumerate(  # noqa: B007
            (
                (0, 0, -np.inf, 4.0),
                (0, 9, 1.0, 2.0),
                (0, 20, 1.5, 1.5),
                (1, 0, 1.0, 1.25),
                (1, 4, 1.0, 1.0),
            )
        ):
            progress(Progress(stage, nodes, 1, lower, upper, 0.0))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[:2] for line in lines] == [
        ["component 1/2", "nodes 0"],
        ["component 1/2", "nodes 20"],
        ["component 2/2", "nodes 4"],
    ]
    assert "lower none" in lines[0] and "gap open" in lines[0] and lines[-1].endswith("4.0 s")


def test_progress_of_a_path(capsys):
    """Tests that progress of a path names the sparsity, and that long searches are heard of."""
    now = 0.0
    with ProgressDisplay(Console(stderr=True), 1, lambda: now) as progress:
        for now, sparsity, nodes in ((0.0, 5, 1), (1.0, 5, 2), (7.0, 5, 3), (8.0, 4, 1)):  # noqa: B007
            progress.at_sparsity(sparsity, Progress(0, nodes, 1, 1.0, 2.0, 0.0))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[0] for line in lines] == [f"sparsity {p}" for p in (5, 5, 4)]
    assert "nodes 3" in lines[1] and lines[1].endswith("7.0 s")


def test_progress_on_a_terminal(capsys):
    """Tests that on a terminal progress is live and leaves nothing behind but control codes."""
    console = Console(force_terminal=True, width=100, stderr=True)
    # Drawn at the beginning and at the end only, however long it takes.
    with ProgressDisplay(console, 1, per_second=1e-6) as progress:
        progress(Progress(0, 3, 1, 1.0, 1.5, 0.5))
    shown = capsys.readouterr().err
    assert "\x1b[" in shown and shown.count("\n") <= 2


def test_demo(tmp_path):
    """Tests that the demonstration solves both examples and names report, scores, certificates."""
    ended = run("demo")
    assert ended.exit_code == 0, ended.output
    *_, named, scores, first, second = ended.stdout.splitlines()
    folder = Path("orthospca-out/demo")
    assert named == f"report: {folder / 'report.html'}"
    assert scores == f"scores: {folder / 'breast-cancer-scores.csv'}"
    assert len((folder / "breast-cancer-scores.csv").read_text().splitlines()) == 570
    for line, file in ((first, "pitprops.zip"), (second, "breast-cancer.zip")):
        assert line.startswith(f"certificate: {folder / file}, ") and line.endswith(" VERIFIED")
        assert verify(folder / file).verified
    report = (tmp_path / "orthospca-out" / "demo" / "report.html").read_text(encoding="utf-8")
    assert "Pitprops" in report and "Breast cancer" in report
    assert ended.output.count("each is certified within the tolerance") == 2
    assert "3.40615" in ended.output


def test_version_and_help():
    """Tests that the version is that of the installed package, and help names the commands."""
    from importlib.metadata import version

    assert run("--version").output.strip() == f"orthospca {version('orthospca')}"
    ended = run("--help")
    assert ended.exit_code == 0 and "Exit codes: 0" in ended.output
    for command in ("fit", "path", "verify", "demo", "paper"):
        assert command in ended.output
        helped = run(command, "--help")
        assert helped.exit_code == 0 and "For example" in helped.output


def test_help_imports_nothing_numerical():
    """Tests that help answers without NumPy, SciPy or the solver."""
    code = (
        "import sys\n"
        "from orthospca.interface.cli import main\n"
        "sys.argv = ['orthospca', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "loaded = {'numpy', 'scipy', 'sklearn', 'orthospca.facade'} & set(sys.modules)\n"
        "sys.exit(f'imported: {sorted(loaded)}' if loaded else 0)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
