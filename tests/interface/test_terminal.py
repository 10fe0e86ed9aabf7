"""Tests of what terminals, pipes and folders see of the command line, whatever happens to them."""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from orthospca import Result, Status, datasets, solve, sparsity_path
from orthospca._errors import InputError
from orthospca.interface import plotting, report, screen, streams
from orthospca.interface.cli import app, job, main
from orthospca.interface.cli.source import Source
from orthospca.interface.display import advice
from orthospca.interface.folders import Folder
from orthospca.interface.progress import ProgressDisplay
from orthospca.model.result import Component, Progress
from orthospca.model.table import Table, wrap
from orthospca.model.views import signed

RUN = [sys.executable, "-m", "orthospca"]
FULL = Path("/dev/full")
FIT = ("--precomputed", "-k", "2", "-p", "3")


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Commands write to the folder they are called in; pictures beside the report take long."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plotting, "has_matplotlib", lambda: False)
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def pitprops(tmp_path) -> Path:
    dataset = datasets.load_pitprops()
    with open(tmp_path / "pitprops.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([dataset.feature_names, *dataset.matrix.tolist()])
    return Path("pitprops.csv")


@pytest.fixture(scope="module")
def result() -> Result:
    """Five components of a table with long names."""
    data = datasets.load_breast_cancer()
    Q = data.correlation()
    found = solve(Q, 8, 3)
    return Result(**{**vars(found), "feature_names": tuple(data.feature_names)})


# Pipes and devices


def test_a_reader_that_leaves_early(pitprops):
    """Tests that a closed pipe costs nothing: files are written, the code is that of the proof."""
    process = subprocess.Popen(
        [*RUN, "fit", pitprops, *FIT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 0, errors
    assert "Error" not in errors and "Exception" not in errors
    assert Result.load("orthospca-out/pitprops/result.json").status is Status.OPTIMAL
    assert Path("orthospca-out/pitprops/report.html").exists()


def run_into(output, errors, *arguments: object) -> int:
    """Run the command line as a process does, with other streams; the exit code."""
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
        pytest.raises(SystemExit) as ended,
    ):
        patch.setattr(sys, "argv", ["orthospca", *map(str, arguments)])
        main()
    return ended.value.code


def test_nobody_hears_anything(pitprops):
    """Tests that a search goes on though its progress, too, goes into a closed pipe."""
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as gone, open(os.dup(writing), "w") as also_gone:
        assert run_into(gone, also_gone, "fit", pitprops, *FIT) == 0
    assert Path("orthospca-out/pitprops/report.html").exists()


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
def test_a_full_device(pitprops):
    """Tests that output that cannot be written is one sentence and code 2, after the files."""
    errors = io.StringIO()
    with open(FULL, "w") as full:
        assert run_into(full, errors, "fit", pitprops, *FIT, "--json", "-o", "out") == 2
    last = "orthospca: cannot write to standard output: no space left on device\n"
    assert errors.getvalue().endswith(last) and Path("out/report.html").exists()
    with open(FULL, "w") as full:
        ended = subprocess.run(
            [*RUN, "fit", pitprops, *FIT], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert ended.returncode == 2
    last = ended.stderr.splitlines()[-1]
    assert last == "orthospca: cannot write to standard output: no space left on device"
    assert "Traceback" not in ended.stderr and "ignored" not in ended.stderr
    assert Path("orthospca-out/pitprops/report.html").exists()


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
def test_remarks_on_a_full_device(pitprops):
    """Tests that progress that cannot be shown is no reason to fail."""
    output = io.StringIO()
    with open(FULL, "w") as full:
        assert run_into(output, full, "fit", pitprops, *FIT) == 0
    assert "each is certified" in output.getvalue()


@pytest.mark.skipif(os.name == "nt", reason="there is no such shell")
def test_streams_that_were_never_there():
    """Tests a program that is started without standard output and standard error."""
    command = f"'{sys.executable}' -m orthospca --version >&- 2>&-"
    assert subprocess.run(["sh", "-c", command]).returncode == 0


def test_an_outlet_that_fails():
    """Tests that an outlet swallows an error, keeps the first, and tells a closed pipe apart."""

    class Broken(io.StringIO):
        code = errno.EPIPE

        def write(self, text):
            raise OSError(self.code, os.strerror(self.code))

        flush = lambda self: self.write("")  # noqa: E731

    stream = Broken()
    outlet = streams.Outlet(stream)
    assert outlet.write("abc") == 3 and outlet.is_closed
    stream.code = errno.ENOSPC
    outlet.flush()
    outlet.writelines(["a", "b"])
    assert outlet.error.errno == errno.EPIPE
    other = streams.Outlet(stream)
    other.write("x")
    assert other.error.errno == errno.ENOSPC and not other.is_closed
    assert other.getvalue() == ""


# Files


def test_a_file_is_whole_or_not_there(tmp_path):
    """Tests that what goes wrong in the middle leaves the earlier file, and nothing else."""
    place = Folder(tmp_path)
    with place.writing("a.txt") as part:
        part.write_text("first")
    full = pytest.raises(InputError, match=r"a\.txt cannot be written: no space left")
    with full, place.writing("a.txt") as part:
        part.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(KeyboardInterrupt), place.writing("a.txt") as part:
        part.write_text("half")
        raise KeyboardInterrupt
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "first"
    assert place.written == [tmp_path / "a.txt"]


def test_files_come_before_the_table(pitprops, monkeypatch):
    """Tests that everything is written when the first line of the table is printed."""
    seen = []
    monkeypatch.setattr(
        screen, "show", lambda *parts: seen.extend(sorted(os.listdir("orthospca-out/pitprops")))
    )
    assert run("fit", pitprops, *FIT).exit_code == 0
    assert seen == ["loadings.csv", "report.html", "result.json"]


def test_an_earlier_run_is_kept(pitprops):
    """Tests that other settings or data put the earlier files aside, and the same replace them."""
    folder = Path("orthospca-out/pitprops")
    assert run("fit", pitprops, *FIT, "--proof").exit_code == 0
    assert "earlier" not in run("fit", pitprops, *FIT, "--proof", "--n-jobs", 2).stderr
    assert not (folder / "earlier-1").exists()
    ended = run("fit", pitprops, "--precomputed", "-k", 1, "-p", 4)
    assert f"moved the files of an earlier run from {folder} to {folder / 'earlier-1'}" in (
        ended.stderr
    )
    assert Result.load(folder / "earlier-1" / "result.json").sparsity == (3, 3)
    assert (folder / "earlier-1" / "certificate.zip").exists()
    assert not (folder / "certificate.zip").exists()
    assert Result.load(folder / "result.json").sparsity == (4,)
    matrix = datasets.load_pitprops().matrix + np.eye(13)
    np.savetxt(pitprops, matrix, delimiter=",")
    run("fit", pitprops, "--precomputed", "-k", 1, "-p", 4)
    assert (folder / "earlier-2" / "report.html").exists()


def test_a_stopped_run_does_not_replace_a_finished_one(pitprops, monkeypatch):
    """Tests that the same question, asked again and given up, leaves the answer where it was."""
    folder = Path("out")
    assert run("fit", pitprops, *FIT, "-o", folder).exit_code == 0
    monkeypatch.setattr(
        job, "solve", lambda *a, callback, **k: solve(*a, callback=lambda p: True, **k)
    )
    assert run("fit", pitprops, *FIT, "-o", folder).exit_code == 3
    assert Result.load(folder / "earlier-1" / "result.json").status is Status.OPTIMAL
    monkeypatch.undo()


def test_commands_share_a_folder(pitprops):
    """Tests that a fit and a path do not put each other aside."""
    assert run("fit", pitprops, *FIT, "-o", "out").exit_code == 0
    ended = run("path", pitprops, "--precomputed", "-p", "1:3", "-o", "out")
    assert ended.exit_code == 0 and "another run" not in ended.stderr
    assert {"result.json", "path.json", "path.html"} <= set(os.listdir("out"))
    assert json.loads(Path("out/path.json").read_text())["run"]["file"] == "pitprops.csv"
    ended = run("demo", "-o", "out")
    assert ended.exit_code == 2 and "holds the results of another run" in ended.stderr


def test_what_was_asked_is_on_record(pitprops):
    """Tests that result.json says which file it is of, and how it was read and solved."""
    run("fit", pitprops, *FIT, "-o", "out")
    asked = json.loads(Path("out/result.json").read_text())["run"]
    assert asked["file"] == "pitprops.csv" and len(asked["sha256"]) == 64
    assert asked["settings"]["sparsity"] == 3 and asked["settings"]["precomputed"] is True


# Ctrl-C


def test_ctrl_c_while_the_report_is_written(pitprops, monkeypatch):
    """Tests that only the report is missing then, and that the code speaks of the certificate."""
    assert run("fit", pitprops, *FIT, "-o", "out").exit_code == 0

    def interrupted(*arguments, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "write_report", interrupted)
    ended = run("fit", pitprops, *FIT, "-o", "out", "--proof")
    assert ended.exit_code == 0, ended.output
    assert "writing report" in ended.stderr
    assert "interrupted: everything except report.html was written" in ended.stderr
    assert "each is certified within the tolerance" in ended.stdout
    there = {file.name for file in Path("out").iterdir() if file.is_file()}
    assert there == {"certificate.zip", "loadings.csv", "result.json"}


@pytest.mark.skipif(os.name == "nt", reason="signals differ")
def test_ctrl_c_while_numbers_are_written(pitprops, monkeypatch):
    """Tests that the numbers are written to the end, and the report is then left out."""
    written = Folder.write

    def pressed(folder, name, *arguments):
        if name == "loadings.csv":
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
        written(folder, name, *arguments)

    monkeypatch.setattr(Folder, "write", pressed)
    ended = run("fit", pitprops, *FIT, "-o", "out")
    assert ended.exit_code == 0, ended.output
    assert sorted(os.listdir("out")) == ["loadings.csv", "result.json"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_before_there_is_a_result(pitprops, monkeypatch):
    """Tests that it ends with 130, one sentence and no folder, whenever it comes."""

    def interrupted(*arguments, **keywords):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Source, "read", interrupted)
        for command in ("fit", "path", "stability"):
            ended = run(command, pitprops)
            assert (ended.exit_code, ended.output) == (
                130, "orthospca: interrupted\n"
            ), command  # fmt: skip
    nothing = Result((), 13, (3,), Status.INTERRUPTED)
    for found in (interrupted, lambda *arguments, **keywords: nothing):
        monkeypatch.setattr(job, "solve", found)
        ended = run("fit", pitprops, *FIT)
        assert ended.exit_code == 130 and "orthospca: interrupted" in ended.stderr
    assert not Path("orthospca-out").exists()


def test_ctrl_c_while_the_program_is_loaded():
    """Tests that even then there is no traceback."""
    code = (
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *others):\n"
        "        if name == 'typer': exec('raise KeyboardInterrupt')\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from orthospca.__main__ import main\n"
        "main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (130, "orthospca: interrupted\n")


# Tables


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_tables_fit_the_screen(result, width):
    """Tests that nothing is wider than the screen, no number is lost, no loading is torn apart."""
    lines = [line for line, _ in result.table().lines(width)]
    assert max(map(len, lines)) <= width
    text = " ".join("\n".join(lines).split())
    for component in result.stages:
        assert f"{component.variance:.6g}" in text and f"{component.upper_bound:.6g}" in text
        for j in component.support:
            assert f"{result.feature_names[j]} {signed(component.vector[j])}" in text
    for line in lines:
        assert not re.search(r"[a-z]$", line) or line.split()[-1] in (
            "status",
            "loadings",
            "optimal",
        )


def test_where_loadings_stand(result):
    """Tests that loadings are below the numbers on narrow screens and beside them on wide ones."""
    for width in (60, 80):
        head, rule, first, second, *_ = (line for line, _ in result.table().lines(width))
        assert "loadings" not in head and set(rule) == {"─"}
        assert first.endswith("optimal") and second.startswith("    ")
    head, _, first, *_ = (line for line, _ in result.table().lines(160))
    assert head.endswith("loadings") and "+0." in first


@pytest.mark.parametrize("width", [60, 80])
def test_no_column_vanishes(result, width):
    """Tests that on narrow screens each number still has a heading, a short one if need be."""
    (head, _), *_ = result.table().lines(width)
    assert len(re.split(r"\s{2,}|\s(?=\w+$)", head.replace("of total", "of-total"))) >= 6
    shown = head.split()
    assert {"#", "variance", "gap", "nodes", "status"} <= set(shown)


def test_a_path_fits_the_screen():
    """Tests the table of a path at 60 columns and less."""
    path = sparsity_path(datasets.load_pitprops().covariance(), [2, 5], n_components=2)
    for width in (30, 60, 80):
        lines = [line for line, _ in path.table().lines(width)]
        assert max(map(len, lines)) <= width
        assert "optimal" in " ".join(lines)
    assert lines[0].split()[:2] == ["sparsity", "variance"]


def test_long_names_and_other_scripts():
    """Tests that wide characters count twice, and that a name longer than the screen is broken."""
    assert wrap(["体重 +0.50", "身長 +0.40"], 12) == ["体重 +0.50,", "身長 +0.40"]
    assert wrap(["体重 +0.50", "身長 +0.40"], 22) == ["体重 +0.50, 身長 +0.40"]
    assert wrap(["x" * 25], 10) == ["x" * 10, "x" * 10, "x" * 5]
    assert wrap([], 10) == []
    table = Table("", {"体重": ["1"], "b": ["2"]})
    assert [line for line, _ in table.lines(20, "-")] == ["体重   b", "--------", "   1   2"]


def test_many_loadings_are_not_all_named():
    """Tests that a component of 60 variables names the strongest, and counts the others."""
    component = Component(np.full(60, 60**-0.5), 2.0, 2.0, Status.OPTIMAL)
    found = Result((component,), 60, (60,), Status.OPTIMAL)
    text = " ".join(line for line, _ in found.table().lines(80))
    assert text.endswith("and 20 more")


def test_what_to_do_about_open_gaps(result):
    """Tests that advice is given where a limit or Ctrl-C left a gap, and only there."""
    assert advice(result) == ""
    stages = [replace(stage, status=Status.TIME_LIMIT, upper_bound=9.0) for stage in result.stages]
    stopped = replace(result, status=Status.TIME_LIMIT, stages=tuple(stages))
    assert "raise --time-limit" in advice(stopped) and "--resume" in advice(stopped)
    assert "--gap" in advice(stopped) and "--node-limit" not in advice(stopped)
    # A set cannot be resumed.
    assert "--resume" not in advice(replace(stopped, objective="joint"))


def test_what_to_install_for_long_searches(result, monkeypatch):
    """Tests the one hint: where a component took long, and there is nothing to compile with."""
    long = replace(result, stages=tuple(replace(each, runtime=11.0) for each in result.stages))
    assert advice(long) == ""
    monkeypatch.setattr("orthospca.interface.display.find_spec", lambda name: None)
    assert advice(long).count("orthospca[fast]") == 1
    assert advice(result) == ""


# How much is said, and where


def test_quiet_and_verbose(pitprops):
    """Tests -q, which leaves results and errors, -v, which adds timings, and both together."""
    quiet = run("fit", pitprops, *FIT, "-q")
    assert (quiet.exit_code, quiet.stderr) == (0, "") and "topdiam" in quiet.stdout
    assert run("path", pitprops, "--precomputed", "-p", "1:3", "-q").stderr == ""
    assert run("fit", "nowhere.csv", "-q").stderr.startswith("orthospca: ")
    verbose = run("fit", pitprops, *FIT, "-v")
    assert re.search(r"read in .* s, solved in .* s, written in .* s", verbose.stderr)
    assert "solved in" not in run("fit", pitprops, *FIT).stderr
    both = run("fit", pitprops, *FIT, "-q", "-v")
    assert both.exit_code == 2 and "not both" in both.stderr


def test_quiet_verification(pitprops):
    """Tests that the exit code alone says whether a certificate is verified."""
    run("fit", pitprops, *FIT, "--proof", "-o", "out", "-q")
    ended = run("verify", "out/certificate.zip", "-q")
    assert (ended.exit_code, ended.output) == (0, "")


def test_the_report_is_opened(pitprops, monkeypatch, tmp_path):
    """Tests --open of each command that writes a report, and what is said without a browser."""
    import webbrowser

    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: bool(opened.append(address)) or True)
    assert run("fit", pitprops, *FIT, "-o", "out", "--open").exit_code == 0
    assert run("path", pitprops, "--precomputed", "-p", "1:3", "-o", "out", "--open").exit_code == 0
    expected = [(tmp_path / "out" / name).as_uri() for name in ("report.html", "path.html")]
    assert opened == expected
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    assert "no browser found" in run("fit", pitprops, *FIT, "-o", "out", "--open").stderr
    ended = run("fit", pitprops, *FIT, "--json", "--open")
    assert ended.exit_code == 2 and "--open with --json needs -o" in ended.stderr


def test_python_m():
    """Tests that python -m orthospca is the command."""
    ended = subprocess.run([*RUN, "--version"], capture_output=True, text=True)
    assert ended.returncode == 0 and ended.stdout.startswith("orthospca ")


def test_completion():
    """Tests that a shell that asks gets the commands and options that fit what was typed."""
    for words, expected in (("orthospca fi", "fit"), ("orthospca fit --corr", "--correlation")):
        environment = {
            **os.environ,
            "_ORTHOSPCA_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        }
        code = "import sys; sys.argv[0] = 'orthospca'; from orthospca.__main__ import main; main()"
        ended = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment
        )
        assert ended.stdout.split() == [expected], ended
    assert "--install-completion" in run("--help").output


def test_help_says_nothing_of_the_values_of_flags():
    """Tests that options that take no value are shown without one, and -V is --version."""
    for command in ("fit", "path", "stability"):
        shown = run(command, "--help").output
        assert "--quiet" in shown and "bool" not in shown.lower()
    assert "bool" not in run("--help").output.lower()
    assert run("-V").output == run("--version").output


def test_shares_in_percent(pitprops):
    """Tests that a gap may be typed as 1%, as --within may, and a bad one is refused."""
    for gap in ("5%", "0.05"):
        ended = run("fit", pitprops, "--precomputed", "-p", 5, "-k", 1, "--gap", gap, "--json")
        assert ended.exit_code == 0 and json.loads(ended.stdout)["status"] == "OPTIMAL"
    said = {"x": "must be a share such as 1% or 0.01", "-1%": "gap must be finite", "nan": "finite"}
    for wrong, why in said.items():
        ended = run("fit", pitprops, "--precomputed", f"--gap={wrong}")
        # A long sentence is broken, inside of a frame.
        assert ended.exit_code == 2 and why in " ".join(re.split(r"[\s│]+", ended.output))


def test_files_of_one_name_are_moved_together(pitprops, tmp_path):
    """Tests that what one command writes does not end up beside what another wrote before."""
    common = (pitprops, "--precomputed", "-p", 4, "-o", tmp_path)
    run("alternatives", *common, "--within", "1%")
    old = {file.name for file in tmp_path.iterdir() if file.name.startswith("alternatives")}
    assert {"alternatives.html", "alternatives.csv"} <= old
    run("fit", *common, "-k", 1, "--within", "5%", "--proof")
    assert {file.name for file in (tmp_path / "earlier-1").iterdir()} == old
    assert not (tmp_path / "alternatives.html").exists()
    run("alternatives", *common, "--within", "1%", "--proof")
    kept = {file.name for file in (tmp_path / "earlier-2").iterdir()}
    assert {"result.json", "report.html", "certificate.zip", "alternatives.csv"} <= kept
    assert not (tmp_path / "result.json").exists()


def test_names_in_the_json_of_a_path(pitprops):
    """Tests that supports can be read without the file."""
    ended = run("path", pitprops, "--precomputed", "-p", "2,3", "--json")
    results = json.loads(ended.stdout)["results"]
    names = list(datasets.load_pitprops().feature_names)
    assert [found["feature_names"] for found in results] == [names, names]


# Progress


class Screen:
    """A terminal, or a file, and a clock that is set by hand."""

    def __init__(self, total: int, terminal: bool = True, width: int = 60) -> None:
        self.now = 0.0
        self.stream = io.StringIO()
        self.console = Console(file=self.stream, force_terminal=terminal, width=width)
        self.display = ProgressDisplay(self.console, total, lambda: self.now)

    def tell(self, now, stage, nodes, lower, upper):
        self.now = now
        self.display(Progress(stage, nodes, 1, lower, upper, 0.0))

    @property
    def moving(self) -> str:
        """What is shown of the component in work."""
        console = Console(file=io.StringIO(), width=self.console.width)
        console.print(self.display.in_work())
        return console.file.getvalue()

    @property
    def printed(self) -> list[str]:
        """All lines, without control codes."""
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.stream.getvalue())
        return [line.rstrip() for line in plain.splitlines()]

    @property
    def lines(self) -> list[str]:
        """What stays of components."""
        return [line for line in self.printed if "certified" in line or "open" in line]


def test_components_that_are_done_stay():
    """Tests that each has a line with its bound and gap, and the one that was stopped has none."""
    screen = Screen(3)
    with screen.display:
        screen.tell(0.0, 0, 0, 5.0, 9.0)
        screen.tell(1.0, 0, 4, 5.0, 5.0)
        screen.tell(1.5, 1, 0, 3.0, 4.0)
        screen.tell(4.0, 1, 8, 3.0, 3.3)
        screen.tell(5.0, 2, 8, 2.0, 3.3)
    assert screen.lines == [
        "  1/3         5         5  <1e-9 %    1.5 s  certified",
        "  2/3         3       3.3     10 %    3.5 s  open",
    ]
    assert max(map(len, screen.lines)) <= 60


def test_the_component_in_work():
    """Tests that it shows bound, gap, nodes and how fast they go."""
    screen = Screen(2)
    screen.tell(0.0, 0, 0, 5.0, 6.0)
    screen.tell(2.0, 0, 10, 5.0, 5.5)
    head, row, pace = screen.moving.splitlines()
    assert head.split() == ["variance", "bound", "gap", "time"]
    assert row.split()[1:] == ["1/2", "5", "5.5", "10", "%", "2.0", "s"]
    assert pace.strip() == "10 nodes, 5 a second; 2 s ago the gap was 20 %"
    screen.tell(8.0, 0, 10, 5.0, 5.5)
    screen.now = 14.0
    assert "gap unchanged for 12 s" in screen.moving
    assert max(map(len, screen.moving.splitlines())) <= 60


def test_a_gap_that_closes_slowly():
    """Tests that it is told beside what it was, where a rate would be nothing."""
    screen = Screen(1, width=80)
    screen.tell(0.0, 0, 1, 1.0, 1.0010)
    screen.tell(10.0, 0, 1, 1.0, 1.0009)
    assert "10 s ago the gap was 0.1 %" in screen.moving


def test_a_hint_where_a_gap_hardly_moves():
    """Tests that it comes after a while, names a gap that is reached, and goes with the stage."""
    screen = Screen(2, width=80)
    screen.tell(0.0, 0, 1, 1.0, 1.05)
    screen.tell(15.0, 0, 9, 1.0, 1.049)
    assert "hardly moving" not in screen.moving
    screen.tell(21.0, 0, 12, 1.0, 1.048)
    hint = " ".join(screen.moving.split())
    assert "The gap is hardly moving" in hint and "noise" in hint and "Ctrl-C" in hint
    assert "rerun with --gap 5% to accept the current bound" in hint and "reduce -p" in hint
    screen.tell(22.0, 0, 13, 1.0, 1.02)
    assert "hardly moving" not in screen.moving
    screen.tell(60.0, 1, 0, 1.0, 1.02)
    assert "hardly moving" not in screen.moving


def test_a_hint_in_a_file():
    """Tests that plain output has the hint once, too."""
    screen = Screen(1, terminal=False)
    with screen.display:
        for now in range(0, 60, 3):
            screen.tell(float(now), 0, now, 1.0, 1.05)
    assert screen.stream.getvalue().count("The gap is hardly moving") == 1


def test_a_stage_that_is_solved_again():
    """Tests that it is said when a later component takes an earlier place."""
    screen = Screen(3, terminal=False)
    with screen.display:
        screen.tell(0.0, 0, 0, 1.0, 2.0)
        screen.tell(1.0, 1, 0, 1.5, 2.0)
        screen.tell(2.0, 2, 0, 1.6, 2.0)
        screen.tell(3.0, 1, 0, 1.5, 2.0)
    assert "component 3 moves up to 1/3: it has more variance" in screen.stream.getvalue()
    screen = Screen(3)
    with screen.display:
        for now, stage in enumerate((0, 1, 2, 1)):
            screen.tell(float(now), stage, 0, 1.5, 1.5)
    assert any("3/3" in line and line.endswith("moves up to 1/3") for line in screen.printed)
    assert all(line.endswith("certified") for line in screen.lines) and len(screen.lines) == 3


def test_what_is_printed_meanwhile_stays_above(monkeypatch):
    """Tests that a warning does not end up inside the part of the screen that moves."""
    screen = Screen(1)
    monkeypatch.setattr(sys, "stderr", screen.stream)
    with screen.display:
        screen.tell(0.0, 0, 0, 1.0, 2.0)
        print("a warning", file=sys.stderr)
    assert "a warning" in screen.printed


@pytest.mark.skipif(os.name == "nt", reason="there is no pty")
def test_a_real_terminal(pitprops):
    """Tests a whole run on a terminal: progress, report, table, none of it wider than it."""
    import fcntl
    import pty
    import struct
    import termios

    width = 60
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    environment = {**os.environ, "TERM": "xterm"}
    process = subprocess.Popen(
        [*RUN, "fit", pitprops, *FIT], stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    seen = b""
    try:
        while piece := os.read(ours, 65536):
            seen += piece
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert process.wait() == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())
    lines = [line.split("\r")[-1] for line in text.replace("\r\n", "\n").split("\n")]
    assert sum("certified" in line and "/2" in line for line in lines) == 2
    assert "writing report" in text
    table = lines[next(i for i, line in enumerate(lines) if line.startswith("#")) :]
    assert max(map(len, table)) <= width + len("orthospca-out/pitprops/report.html")
    assert max(len(line) for line in table if "report.html" not in line) <= width
    assert any(re.match(r"    \w+ [+-]0", line) for line in table)
