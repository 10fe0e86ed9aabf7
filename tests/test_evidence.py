"""Tests that pages agree with the stored tables, and that the benchmarks judge fairly."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
# The benchmarks are not installed; they are run from the checkout.
sys.path.insert(0, str(ROOT))

from benchmarks import (  # noqa: E402
    anytime,
    audits,
    cells,
    check,
    child,
    constrained,
    dspca,
    grid,
    instances,
    pitprops,
    timing,
)
from benchmarks.page import __main__ as page  # noqa: E402
from benchmarks.page import audits as audited_page  # noqa: E402
from benchmarks.page import fits, sentences, stored  # noqa: E402
from benchmarks.peers import baselines, problems, r_tools, tools, tuning  # noqa: E402
from benchmarks.peers import table as peer_table  # noqa: E402
from benchmarks.peers.score import score  # noqa: E402

NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")
#: Numbers of the pages' own words: what is asked, not what was measured.
ASKED = {"1e-4"}
#: The page of evidence and those below it.
EVIDENCE = [ROOT / "docs" / "evidence.md", *sorted((ROOT / "docs" / "evidence").glob("*.md"))]


def test_pages_and_pictures_agree_with_the_tables():
    """Tests that every block and picture is what the stored tables give."""
    assert page.outdated() == [], "run python -m benchmarks.page"


def test_a_changed_number_is_noticed():
    """Tests that a number which no table has does not pass."""
    text = (ROOT / "docs" / "evidence.md").read_text("utf-8")
    found = page.BLOCK.search(text)
    assert found is not None
    digit = NUMBER.search(found[3])
    assert digit is not None
    start = found.start(3) + digit.start()
    changed = text[:start] + "4711" + text[start + len(digit[0]) :]
    assert page.rendered(changed) == text


def test_every_block_is_used_and_known():
    """Tests that no page names a block that is not made, and that none is made for nothing."""
    named = {
        found[2] for path in page.PAGES for found in page.BLOCK.finditer(path.read_text("utf-8"))
    }
    assert named == set(page.BLOCKS)


@pytest.mark.parametrize("path", EVIDENCE, ids=lambda path: path.stem)
def test_pages_of_evidence_have_no_measured_number_outside_of_blocks(path):
    """Tests that words between the blocks state no figures of their own."""
    text = page.BLOCK.sub("", path.read_text("utf-8"))
    text = re.sub(
        r"```.*?```|`[^`]*`|\]\([^)]*\)|\{doc\}|ℓ1|CovColon-500", "", text, flags=re.DOTALL
    )
    assert set(NUMBER.findall(text)) <= ASKED


def test_every_stored_table_of_the_page_has_a_machine_and_a_command():
    """Tests that each table says where it was measured, in a whole run."""
    text = (ROOT / "docs" / "evidence.md").read_text("utf-8")
    others = (ROOT / "docs" / "how-to" / "benchmarks.md").read_text("utf-8")
    for name in sentences.SHOWN:
        assert stored.table(name)
        assert stored.machines()[name]["quick"] is False
        command = re.search(rf"python -m benchmarks [a-z0-9 ]*\b{name}\b", text)
        assert command or f"| `{name}` |" in others


def test_a_quick_run_leaves_the_stored_tables_alone():
    """Tests where the files of a quick run and of a whole one go."""
    from benchmarks.__main__ import RESULTS, parse

    assert parse(["--quick"]).output == RESULTS / "quick"
    assert parse([]).output == RESULTS
    assert parse(["--quick", "--output", "elsewhere"]).output == Path("elsewhere")


def test_tables_that_a_run_writes_do_not_change_the_commit_that_is_measured(tmp_path):
    """Tests which changes of a checkout are told with a plus."""

    def git(*words):
        given = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *given, *words], cwd=tmp_path, check=True, capture_output=True)

    results = tmp_path / "benchmarks" / "results"
    results.mkdir(parents=True)
    (results / "known.csv").write_text("1")
    (tmp_path / "source.py").write_text("1")
    git("init")
    git("add", ".")
    git("commit", "-m", "both")
    name = timing.commit_of(tmp_path / "benchmarks")
    (results / "known.csv").write_text("2")
    assert name
    assert name == timing.commit_of(tmp_path / "benchmarks")
    (tmp_path / "source.py").write_text("2")
    assert timing.commit_of(tmp_path / "benchmarks") == f"{name}+"


def test_a_share_says_what_is_open_and_what_is_counted_twice():
    """Tests how a component of an audit is shown, and that none is better than proved."""
    row = {"share": "0.99949", "cosine": "0", "closed": "True"}
    assert audited_page.share(row) == "99.9"
    assert audited_page.share({**row, "share": "1.0"}) == "100"
    assert audited_page.share({**row, "cosine": "0.1", "share": "1.2"}) == "*120.0*"
    assert audited_page.share({**row, "closed": "False"}) == "≥\u00a099.9"
    assert audited_page.share({**row, "share": ""}) == "–"


def test_audits_know_what_is_best():
    """Tests the audit of components of which the first is the best, and the others are not."""
    rng = np.random.default_rng(4)
    data = problems.standardised(rng.standard_normal((60, 8)) + rng.standard_normal((60, 1)))
    asked = problems.Problem("made up", data, 59.0, 2, 2)
    best = tools.TOOLS[0]
    fits_of_ours = []
    best.fit(asked, fits_of_ours.append)
    ours = fits_of_ours[0].components
    rows = audits.audited(asked, np.array([0.0 * ours[0], ours[1], 2.0 * ours[0]]), 60.0)
    # The one of most variance comes first; the empty one is left out.
    assert [row["nonzeros"] for row in rows] == [2, 2]
    assert all(0.998 < row["share"] <= 1.0 for row in rows)
    assert all(row["closed"] and row["cosine"] < 1e-12 for row in rows)
    (lost,) = audits.audited(asked, np.eye(8)[:1] + np.eye(8)[1:2] * -1.0, 60.0)
    assert lost["share"] < 0.5 < lost["found"] / lost["bound"]


def test_the_two_versions_of_pitprops_differ_in_five_correlations():
    """Tests the matrix of the published benchmark by what ordinary PCA explains of it."""
    given, typed = (pitprops.matrix_of(version) for version in pitprops.VERSIONS)
    assert np.count_nonzero(np.triu(given != typed)) == 5
    assert np.array_equal(typed, typed.T)
    explained = [np.linalg.eigvalsh(matrix)[-6:].sum() / 13 for matrix in (given, typed)]
    assert explained == pytest.approx([0.870, 0.877], abs=5e-4)


def test_cells_are_sparse_and_have_programmes():
    """Tests the generated data: seeds, zeros, and components that are more than noise."""
    made = cells.make_cells(300, 200)
    assert (made != cells.make_cells(300, 200)).nnz == 0
    assert 0.02 < made.nnz / (300 * 200) < 0.5
    values = np.linalg.eigvalsh(np.cov(made.toarray(), rowvar=False))
    assert values[-1] > 3 * values[-cells.PROGRAMMES * 3]


@pytest.mark.parametrize(
    ("heuristic", "sign"), [(constrained.nonnegative_power, 1), (constrained.disjoint_power, 0)]
)
def test_constrained_heuristics_keep_to_what_is_asked(heuristic, sign):
    """Tests sparsity, signs and shared features."""
    data = problems.standardised(np.random.default_rng(5).standard_normal((50, 10)))
    found = heuristic(data, 4, 3)
    assert (np.count_nonzero(found, axis=1) <= 3).all()
    if sign:
        assert (found >= 0).all()
    else:
        assert (np.count_nonzero(found, axis=0) <= 1).all()


def test_published_figures_name_their_source():
    """Tests that no figure of others stands without one."""
    for row in stored.table("published"):
        assert row["source"] and row["tool"] and row["instance"]


def test_the_headline_problems_are_certified():
    """Tests the gap, the angles and the sparsity of ours in the stored table."""
    for name in problems.HEADLINE:
        (row,) = stored.rows_of("peers", data=name, tool="orthospca")
        assert row["outcome"] == "ok"
        assert (row["K"], row["p"], row["fewest"], row["most"]) == ("5", "10", "10", "10")
        assert float(row["gap"]) <= 1e-3
        assert float(row["cosine"]) < 1e-12


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.37189, "0.37"),
        (12.4, "12"),
        (201.68, "200"),
        (4059, "4\u00a0100"),
        (0.00435, "0.0043"),
        (0, "0"),
    ],
)
def test_numbers_have_two_digits_and_no_exponent(value, shown):
    """Tests how times and ratios are written."""
    assert stored.plain(value) == shown


def test_variance_is_that_of_the_span():
    """Tests that a component given twice, or as a mixture, counts once."""
    rng = np.random.default_rng(1)
    data = problems.standardised(rng.standard_normal((40, 6)))
    x, y = np.eye(6)[:2]
    once = score(np.array([x, y]), data)
    assert once.variance == pytest.approx(2 / 6)
    assert once.cosine == 0.0
    mixed = score(np.array([x, 2.0 * (x + y)]), data)
    assert mixed.variance == pytest.approx(2 / 6)
    assert mixed.cosine == pytest.approx(np.sqrt(0.5))
    assert (mixed.fewest, mixed.most) == (1, 2)
    assert score(np.array([x, x, 0.0 * x]), data).variance == pytest.approx(1 / 6)


def test_a_published_matrix_becomes_data_with_mean_zero():
    """Tests that packages which centre see the same covariance."""
    root = np.random.default_rng(2).standard_normal((4, 9))
    matrix = root.T @ root
    data = problems.centred_root(matrix)
    assert data.shape == (5, 9)
    assert np.allclose(data.mean(axis=0), 0.0, atol=1e-12)
    assert np.allclose(data.T @ data, matrix)


@pytest.mark.parametrize("heuristic", [baselines.truncated_power, baselines.greedy])
def test_heuristics_find_what_is_planted(heuristic):
    """Tests that two strong groups are found one after the other, with exactly p features."""
    rng = np.random.default_rng(3)
    data = 0.1 * rng.standard_normal((200, 12))
    data[:, :3] += 3.0 * rng.standard_normal((200, 1))
    data[:, 3:6] += 2.0 * rng.standard_normal((200, 1))
    found = heuristic(data - data.mean(axis=0), 2, 3)
    assert [list(np.flatnonzero(x)) for x in found] == [[0, 1, 2], [3, 4, 5]]
    assert np.allclose(np.linalg.norm(found, axis=1), 1.0)


def test_tuning_ends_at_the_penalty_with_p_nonzeros():
    """Tests the search on a made-up fit whose nonzeros are known for every penalty."""

    def fit(penalty):
        count = min(int(100.0 / penalty), 40)
        return np.concatenate([np.ones((2, count)), np.zeros((2, 40 - count))], axis=1), 0.5

    found = []
    searched = tuning.tune(fit, 1000.0, 10, found.append)
    assert np.count_nonzero(found[-1].components[0]) == 10
    assert found[-1].distance(10) == 0.0
    assert searched >= found[-1].searched > found[0].searched


def test_our_estimator_is_measured_with_its_gap():
    """Tests the row of a tool in the shape that the table needs, here without a new process."""
    fits = []
    tools.TOOLS[0].fit(problems.tiny(), fits.append)
    (fit,) = fits
    assert fit.gap is not None and fit.gap <= tools.GAP
    judged = score(fit.components, problems.tiny().data)
    assert judged.most <= 3 and judged.cosine < 1e-12


def test_a_package_that_is_missing_is_skipped_with_a_sentence(monkeypatch):
    """Tests that what is not installed leaves a sentence in the table and fails nothing."""
    tool = tools.Tool("nobody", tools.ours, "no-such-distribution")
    row = peer_table.measure_tool(tool, "breast cancer 569×30", 1.0)
    assert row["outcome"] == "nobody is skipped: no-such-distribution is not installed."
    monkeypatch.setattr(r_tools.shutil, "which", lambda name: None)
    assert r_tools.missing("PMA") == "PMA is skipped: R is not installed."


def _sends_and_hangs(send):
    send("ready")
    threading.Event().wait()


def _starts_another(send):
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    send(other.pid)
    threading.Event().wait()


def _is_running(pid):
    try:
        # What has ended and is not yet forgotten has no command any more.
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False


def _fails(send):
    send("ready")
    send("first")
    raise ValueError("no such thing")


@pytest.mark.slow
def test_a_child_that_hangs_is_ended_and_what_it_sent_is_kept():
    """Tests the limit on code that does not return, and the message of one that fails."""
    ended = child.run_in_child(_sends_and_hangs, limit=0.1)
    assert ended.values == ["ready"]
    assert not ended.in_time
    [other] = child.run_in_child(_starts_another, limit=0.1).values
    while _is_running(other):
        time.sleep(0.01)
    failed = child.run_in_child(_fails, limit=600.0)
    assert failed.values == ["ready", "first"]
    assert failed.error == "ValueError: no such thing"


def test_the_semidefinite_bound_is_a_bound():
    """Tests the relaxation between the optimum and the eigenvalue, on published correlations."""
    pytest.importorskip("scs")
    from orthospca import solve

    matrix = instances.load("Pitprops-13")
    bound = dspca.l1_semidefinite_bound(matrix, 5)
    best = solve(matrix, 5).variances[0]
    assert best <= bound < np.linalg.eigvalsh(matrix)[-1]
    # The optimum of the primal by the interior-point method of Clarabel.
    assert bound == pytest.approx(3.4580987, rel=1e-5)


def test_the_grid_solves_the_best_set_where_solve_can(monkeypatch):
    """Tests that joint columns are filled once ``solve`` has that objective, and say so if not."""
    matrix = np.diag([3.0, 2.0, 1.0])

    def stagewise(Q, sparsity, n_components, *, gap, time_limit):
        raise AssertionError("not asked for")

    monkeypatch.setattr(grid, "solve", stagewise)
    assert grid._joint(matrix, 1, 2, 1.0) == {"joint outcome": grid.NO_JOINT}

    def joint(Q, sparsity, n_components, *, objective, gap, time_limit):
        assert objective == "joint"
        status = SimpleNamespace(value="optimal")
        return SimpleNamespace(
            joint_variance=5.0, joint_upper_bound=5.1, joint_gap=0.02, status=status, nodes=1
        )

    monkeypatch.setattr(grid, "solve", joint)
    row = grid._joint(matrix, 1, 2, 1.0)
    assert row["joint"] == pytest.approx(5 / 6)
    assert row["joint bound"] == pytest.approx(5.1 / 6)
    assert (row["joint gap"], row["joint outcome"]) == (0.02, "optimal")


def test_powers_are_fitted_to_what_was_certified():
    """Tests the exponent on a known law, beside rows that are open or went another way."""
    rows = [
        {"n": str(n), "seconds": str(3.0 * n**1.5), "status": "optimal"}
        for n in (5000, 10_000, 40_000)
    ]
    rows.append({"n": "80000", "seconds": "1.0", "status": "time limit"})
    rows.insert(0, {"n": "300", "seconds": "1e9", "status": "optimal"})
    assert fits.exponent(rows, "n", "seconds") == pytest.approx(1.5)
    assert fits.last_exponent(rows, "n", "seconds") == pytest.approx(1.5)


ROW = {
    "instance": "made up",
    "p": "5",
    "K": "2",
    "gap asked": "0.0001",
    "limit": "60.0",
    "variances": "2 1",
    "gap": "0.0001",
    "status": "optimal",
    "seconds": "1.0",
    "unit": "eigh",
    "unit seconds": "0.1",
    "units": "10.0",
}
OPEN = {**ROW, "status": "time limit", "gap": "0.1"}


@pytest.mark.parametrize(
    ("old", "change", "sentence"),
    [
        (ROW, {"units": "25.0"}, "25 units instead of 10"),
        (ROW, {"units": "19.0"}, None),
        (ROW, {"units": "25.0", "unit seconds": "0.001"}, None),
        (ROW, {"gap": "0.00009"}, None),
        (
            ROW,
            {"gap": "0.02", "status": "time limit"},
            "was certified, and now ends with time limit",
        ),
        (ROW, {"variances": "1.9 1.2"}, "variance 1.9 instead of 2"),
        # A better first component may leave less to the second one.
        (ROW, {"variances": "2.1 0.8"}, None),
        (OPEN, {"gap": "0.2"}, "gap 0.2 instead of 0.1"),
        (OPEN, {"gap": "0.11", "units": "30.0"}, None),
    ],
)
def test_the_check_says_what_got_worse(old, change, sentence):
    """Tests each rule, and that noise is not reported."""
    worse = check.compare([old], [{**old, **change}])
    if sentence is None:
        assert worse == []
    else:
        assert f"made up, p = 5, K = 2: {sentence}" in worse


def test_a_second_measurement_may_take_a_verdict_back():
    """Tests that of two measurements the better one counts."""
    slow, fast = {**ROW, "units": "40.0"}, {**ROW, "units": "11.0"}
    assert check.better_of([slow], [fast]) == [fast]
    assert check.compare([ROW], check.better_of([slow], [fast])) == []


def test_the_check_ends_with_1_if_something_got_worse(tmp_path, capsys):
    """Tests the exit code and the words of the command, on tables that are there."""
    for name, units in (("old", "10.0"), ("new", "99.0")):
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(ROW))
            writer.writeheader()
            writer.writerow({**ROW, "units": units})
    command = ["--stored", str(tmp_path / "old.csv"), "--measured"]
    assert check.main([*command, str(tmp_path / "old.csv")]) == 0
    assert "nothing got worse" in capsys.readouterr().out
    assert check.main([*command, str(tmp_path / "new.csv")]) == 1
    printed = capsys.readouterr().out
    assert "worse: made up, p = 5, K = 2: 99 units instead of 10" in printed
    with pytest.raises(SystemExit) as ended:
        check.main(["--stored", str(tmp_path / "nothing.csv")])
    assert ended.value.code == 2


def test_the_stored_check_has_every_solve_of_the_subset():
    """Tests that nothing of the subset is compared with nothing."""
    known = {
        (row["instance"], row["p"], row["K"], float(row["gap asked"]), row["how"])
        for row in check.read(ROOT / check.STORED)
    }
    assert known == {(a.instance, str(a.p), str(a.K), a.gap, a.how) for a in check.SUBSET}


def test_gap_at_a_moment():
    """Tests the largest gap of all components at moments, one after the end among them."""
    told = [(0, 0.5, 0.2), (1, 0.9, np.inf), (1, 2.0, 0.4), (0, 2.5, 0.01), (1, 3.5, 0.02)]
    history = [SimpleNamespace(stage=k, elapsed=t, gap=gap) for k, t, gap in told]
    times, gaps = anytime.gap_over_time(SimpleNamespace(history=history), 2, 4.0)
    found = [anytime.gap_at(moment, times, gaps) for moment in (1.0, 2.2, 3.0, 10.0)]
    assert found == [1.0, 0.4, 0.4, 0.02]
