"""The checker as a file of its own, where nothing of the package can be imported."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE

import numpy as np
import pytest
from typer.testing import CliRunner

from helpers.certificates import count_of_claims, solved_by_relaxation
from helpers.forger import checker, ladder, sets
from orthospca import DataCovariance, alternatives, datasets, solve
from orthospca.interface.cli import app

#: As ``python -I verify.py``, but that what is not to be there cannot be imported.  One process
#: answers all calls, each of which runs the file anew.
ALONE = """
import contextlib, io, json, os, runpy, sys
class Nothing:
    def find_spec(self, name, *more):
        if name.split(".")[0] in ("orthospca", "scipy", "pandas", "rich", "typer", "joblib"):
            raise ImportError(f"{name} is not there")
sys.meta_path.insert(0, Nothing())
for line in sys.stdin:
    folder, *sys.argv = json.loads(line)
    os.chdir(folder)
    output, errors, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            runpy.run_path("verify.py", run_name="__main__")
        except SystemExit as end:
            code = end.code or 0
        except BaseException as error:
            code = 1
            print("Traceback", repr(error), file=errors)
    print(json.dumps([code, output.getvalue(), errors.getvalue()]), flush=True)
"""


@pytest.fixture(scope="module", autouse=True)
def process() -> Iterator[None]:
    """The process that has the checker and nothing else."""
    run = [sys.executable, "-I", "-W", "error", "-c", ALONE]
    with subprocess.Popen(run, stdin=PIPE, stdout=PIPE, encoding="utf-8") as child:
        CHILD.append(child)
        yield
        CHILD.remove(child)


CHILD: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the checker and nothing else."""
    for file in (checker, ladder, sets):
        shutil.copy(file.__file__, tmp_path / Path(file.__file__).name)
    monkeypatch.chdir(tmp_path)


def alone(*arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the file by itself."""
    (child,) = CHILD
    assert child.stdin is not None
    assert child.stdout is not None
    print(json.dumps([str(Path.cwd()), "verify.py", *map(str, arguments)]), file=child.stdin)
    child.stdin.flush()
    code, output, errors = json.loads(child.stdout.readline())
    return code, output, errors


def command(*arguments: object) -> tuple[int, str, str]:
    """The same of ``orthospca verify``."""
    ended = CliRunner().invoke(app, ["verify", *map(str, arguments)])
    return ended.exit_code, ended.stdout, ended.stderr


def both(*arguments: object) -> tuple[int, str]:
    """Exit code and standard output, which must be the same of both."""
    code, output, errors = alone(*arguments)
    assert command(*arguments)[:2] == (code, output), (output, errors)
    assert (code == 2) == bool(errors), errors
    assert "Traceback" not in errors
    return code, output


def matrix() -> np.ndarray:
    return datasets.load_pitprops().covariance()


def test_the_copy_has_nothing_to_import() -> None:
    """Tests that the environment is what it is meant to be."""
    Path("verify.py").write_text("import orthospca")
    assert "orthospca is not there" in alone()[2]


def test_every_kind_of_certificate() -> None:
    """Tests that lines and codes are those of the command, with details and without."""
    Q = matrix()
    rows = np.random.default_rng(0).standard_normal((8, 4100)) * np.geomspace(3, 0.5, 4100)
    made = {
        "components": solve(Q, 5, 3, proof=True).certificate,
        "list": alternatives(Q, 4, 0.05, proof=True).certificate,
        "set": solve(Q, 3, 2, objective="joint", proof=True).certificate,
        "multipliers": solved_by_relaxation(Q, 5, 2).certificate,
        "data": solve(DataCovariance(rows), 2, 1, gap=0.2, proof=True).certificate,
    }
    assert count_of_claims(made["multipliers"]) > 0
    for name, certificate in made.items():
        certificate.save(f"{name}.zip")
        code, output = both(f"{name}.zip")
        assert code == 0
        assert output.startswith("VERIFIED: ")
        assert output.endswith("the matrix is the one in the certificate\n")
        assert len(output.splitlines()) == 1
        code, more = both(f"{name}.zip", "-v")
        assert code == 0
        assert more.startswith(output)
        assert len(more.splitlines()) > 1
    assert both("components.zip", "-q") == (0, "")
    assert both("components.zip", "-v")[1].count("stage ") == 3


def test_what_is_rejected_or_unreadable() -> None:
    """Tests claims that do not follow, and files that are no certificates."""
    found = solve(matrix(), 5, 2, proof=True).certificate
    found.manifest["stages"][1]["upper_bound"] *= 1 - 1e-4
    found.save("lowered.zip")
    code, output = both("lowered.zip", "-v")
    assert code == 1
    assert output.startswith("REJECTED: stage 2: ")
    assert output.splitlines()[1].startswith("stage 1: ")
    Path("garbage.zip").write_text("garbage")
    Path("folder").mkdir()
    for name in ("garbage.zip", "folder", "nowhere.zip"):
        assert both(name) == (2, "")
        for errors in (alone(name)[2], command(name)[2]):
            assert len(errors.splitlines()) == 1
        assert alone(name)[2].partition(": ")[2] == command(name)[2].partition(": ")[2]


def test_help_and_options() -> None:
    """Tests that help says what the codes mean, and that options without sense end with 2."""
    code, output, _ = alone("--help")
    assert code == 0
    for word in ("--data", "--time-limit", "--max-bytes", "2 if this cannot be decided"):
        assert word in " ".join(output.split())
    assert alone()[0] == 2
    for options in (["--correlation"], ["--data", "x", "--correlation", "--precomputed"]):
        code, output, errors = alone("x.zip", *options)
        assert (code, output) == (2, "")
        assert "--data" in errors or "not both" in errors


@pytest.mark.parametrize(
    "form", ["npy", "csv with names", pytest.param("csv", marks=pytest.mark.slow)]
)
def test_data(form: str) -> None:
    """Tests a matrix and observations, read with NumPy alone, against the ones certified."""
    wine = datasets.load_wine().data

    def written(name: str, table: np.ndarray) -> str:
        if form == "npy":
            np.save(f"{name}.npy", table)
            return f"{name}.npy"
        names = ",".join(f"v{j}" for j in range(table.shape[1])) + "\n"
        lines = "".join(",".join(map(repr, row)) + "\n" for row in table.tolist())
        Path(f"{name}.csv").write_text((names if "names" in form else "") + lines)
        return f"{name}.csv"

    Q, X = written("matrix", matrix()), written("wine", wine)
    solve(matrix(), 3, 1, proof=True).certificate.save("matrix.zip")
    code, output = both("matrix.zip", "--data", Q, "--precomputed")
    assert code == 0, output
    assert output.endswith(f"the matrix is the one of {Q}\n")
    for correlation in (False, True):
        covariance = DataCovariance(wine, correlation=correlation)
        solve(covariance, 3, 1, proof=True).certificate.save("wine.zip")
        option = ["--correlation"] * correlation
        code, output = both("wine.zip", "--data", X, *option)
        assert code == 0, output
        assert output.endswith(f"the matrix is the one of {X}\n")
        code, output = both("wine.zip", "--data", X, *["--correlation"] * (not correlation))
        assert code == 1
        assert "not the matrix that was certified; they differ by" in output
    code, output = both("wine.zip", "--data", Q, "--precomputed")
    assert (code, "not the matrix that was certified" in output) == (1, True)
    few = written("few", wine[:, :5])
    code, output = both("wine.zip", "--data", few)
    assert (code, "13 features are expected" in output) == (1, True)


def test_data_of_a_factor() -> None:
    """Tests that data whose matrix is not formed are recognised, and a matrix is not taken."""
    rows = np.random.default_rng(0).standard_normal((8, 4100)) * np.geomspace(3, 0.5, 4100)
    np.save("rows.npy", rows)
    found = solve(DataCovariance(rows), 2, 1, gap=0.2, proof=True).certificate
    del found.arrays["factor.npy"]
    found.save("data.zip")
    assert both("data.zip") == (2, "")
    assert "does not hold the matrix: name the data with --data" in alone("data.zip")[2]
    code, output = both("data.zip", "--data", "rows.npy")
    assert code == 0, output
    assert both("data.zip", "--data", "rows.npy", "--correlation")[0] == 1
    np.save("square.npy", np.eye(3))
    assert both("data.zip", "--data", "square.npy", "--precomputed") == (2, "")


def test_data_that_numpy_alone_cannot_read() -> None:
    """Tests one sentence and code 2 for other files."""
    solve(matrix(), 2, 1, proof=True).certificate.save("matrix.zip")
    Path("words.csv").write_text("a,b\n1,x\n2,y\n")
    Path("empty.csv").write_text("")
    np.save("flat.npy", np.arange(3.0))
    np.save("objects.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    for name in ("words.csv", "empty.csv", "flat.npy", "objects.npy", "nowhere.csv", "folder"):
        code, output, errors = alone("matrix.zip", "--data", name)
        assert (code, output) == (2, ""), name
        assert errors.startswith(f"verify.py: {name} ") and len(errors.splitlines()) == 1, errors


def test_limits() -> None:
    """Tests that both command lines take limits, name the one that was met, and end with 2."""
    solve(matrix(), 5, 3, proof=True).certificate.save("c.zip")
    for option, value in (("--max-bytes", 1000), ("--time-limit", 0)):
        assert both("c.zip", option, value) == (2, "")
        for errors in (alone("c.zip", option, value)[2], command("c.zip", option, value)[2]):
            assert option in errors
            assert len(errors.splitlines()) == 1
    assert both("c.zip", "--max-bytes", "1e9", "--time-limit", "1e5")[0] == 0


def test_files_that_are_missing() -> None:
    """Tests one sentence and code 2 where a file of the checker is needed and not there."""
    solve(matrix(), 2, 1, proof=True).certificate.save("components.zip")
    solve(matrix(), 2, 2, objective="joint", proof=True).certificate.save("set.zip")

    def answer(name: str) -> tuple[int, str, str]:
        run = [sys.executable, "-I", "-W", "error", "verify.py", name]
        ended = subprocess.run(run, capture_output=True, text=True)
        return ended.returncode, ended.stdout, ended.stderr

    Path("verify_sets.py").unlink()
    assert answer("components.zip")[0] == 0
    code, output, errors = answer("set.zip")
    assert (code, output, len(errors.splitlines())) == (2, "", 1)
    assert "need verify_sets.py in the folder of verify.py" in errors
    Path("verify_ladder.py").unlink()
    code, output, errors = answer("components.zip")
    assert (code, output, len(errors.splitlines())) == (2, "", 1)
    assert "copy verify_ladder.py to the same folder" in errors


def test_the_module_can_be_run_too() -> None:
    """Tests that the installed module, and its copy as a script, answer as the command does."""
    solve(matrix(), 2, 1, proof=True).certificate.save("c.zip")
    for run in (["-m", "orthospca.verify"], ["-I", "-W", "error", "verify.py"]):
        ended = subprocess.run([sys.executable, *run, "c.zip"], capture_output=True, text=True)
        assert (ended.returncode, ended.stdout) == both("c.zip"), ended.stderr
    ended = subprocess.run([sys.executable, "-I", "verify.py", "x.zip"], capture_output=True)
    assert (ended.returncode, ended.stdout) == (2, b"")
