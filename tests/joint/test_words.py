"""Tests that what people read of a set is true of it, wherever they read it."""

from __future__ import annotations

import functools
import html
import io
import itertools
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning
from typer.testing import CliRunner

from helpers.certificates import relaxed
from helpers.seeds import later, seeds
from orthospca import OrthogonalSparsePCA, Result, Status, datasets, solve, words
from orthospca._methods import Objective
from orthospca.facade import solve_with
from orthospca.interface.cli import app
from orthospca.interface.display import advice
from orthospca.interface.progress import ProgressDisplay
from orthospca.joint.node import Bounding
from orthospca.model.component import Progress
from orthospca.model.printing import ProgressPrinter
from orthospca.model.settings import Settings
from orthospca.model.tuning import DEFAULT
from tests.joint.reference import best_total

#: What is false of components that were chosen together.
FALSE_OF_A_SET = (
    "best of its stage",
    "each is certified",
    "It is not claimed that the components together",
    "components before it",
    "a component is called optimal",
    "the gap of each component is what",
)


def small(seed):
    """Four features, of which two components use two each."""
    B = np.random.default_rng(seed).standard_normal((6, 4))
    return B.T @ B


PITPROPS = datasets.load_pitprops()


def hard():
    """A problem whose set is not proved at the root, nor within a few nodes."""
    return PITPROPS.covariance()[:10, :10]


@functools.cache
def pair(p, **options):
    """Two components of it, found together."""
    names = PITPROPS.feature_names[:10]
    return solve(hard(), p, 2, objective="joint", feature_names=names, **options)


def texts(result, tmp_path):
    """All that is said of a result: terminal, notebook, files, report."""
    console = Console(file=io.StringIO(), width=120)
    console.print(result.table())
    result.report(tmp_path / "report.html", settings={"gap": 1e-4, "node_limit": 5})
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    visible = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return {
        "summary": result.summary(),
        "notebook": html.unescape(re.sub("<[^>]+>", " ", result._repr_html_())),
        "table": console.file.getvalue(),
        "sentence": result.table().closing,
        "json": json.dumps(result.to_dict(), ensure_ascii=False),
        "report": html.unescape(re.sub("<[^>]+>", " ", visible)),
        "tips": page,
    }


def best_beside(Q, p, others):
    """The largest variance of a vector on p features that is orthogonal to others, by supports."""
    best = -math.inf
    for support in itertools.combinations(range(len(Q)), p):
        s = list(support)
        left, singular, _ = np.linalg.svd(np.array(others)[:, s].T, full_matrices=True)
        basis = left[:, np.count_nonzero(singular > 1e-11) :]
        if basis.shape[1]:
            best = max(best, np.linalg.eigvalsh(basis.T @ Q[np.ix_(s, s)] @ basis)[-1])
    return best


# ---------------------------------------------------------------------------- a set


@pytest.mark.parametrize("seed", seeds(1, 6))
def test_each_number_and_word_by_brute_force(seed, tmp_path):
    """Tests that what is said of two components of four features is so, by brute force."""
    Q = small(seed)
    result = solve(Q, 2, 2, objective="joint")
    best = best_total(Q, [2, 2], np.random.default_rng(seed), starts=6)
    assert result.statuses == (Status.PART_OF_SET, Status.PART_OF_SET)
    said = texts(result, tmp_path)
    for where in ("summary", "notebook", "sentence", "json", "report"):
        sentence = re.search(
            r"has ([-\d.e+]+), and .* no such set has more than (\S+)", said[where]
        )
        total, bound = map(float, sentence.groups())
        # As written, not as computed: the bound is rounded up.
        assert best <= bound + 1e-12 * bound
        assert total == pytest.approx(result.joint_variance, rel=1e-5)
    certified = "the set is certified within the tolerance" in said["summary"]
    assert certified == (result.status is Status.OPTIMAL)
    if certified:
        assert result.joint_variance >= best * (1 - 1e-4) - 1e-12
    for k, component in enumerate(result):
        beside = best_beside(Q, 2, [result.components[1 - k]])
        assert beside <= words.written_bound(result, component) * (1 + 1e-12)
        assert component.variance <= beside * (1 + 1e-9)
        tips = re.findall(r"component \d: \S+ .{0,20}bound in its place ([\d.]+)", said["tips"])
        assert beside <= float(tips[k]) * (1 + 1e-12)


def test_a_component_of_the_best_set_need_not_be_the_best_single_one():
    """Tests that calling it the best of a stage would be false, by brute force."""
    Q, joint = hard(), pair(5, node_limit=1)
    supports = itertools.combinations(range(len(Q)), 5)
    single = max(np.linalg.eigvalsh(Q[np.ix_(s, s)])[-1] for s in map(list, supports))
    assert single > 1.01 * joint.variances[0]


@pytest.mark.parametrize("options", [{}, {"node_limit": 1}, *later({"proof": True})])
def test_no_falsehood_anywhere(options, tmp_path):
    """Tests that nothing is said of a set that is meant for stages, closed or not."""
    result = pair(5 if options else 3, **options)
    said = texts(result, tmp_path)
    for where, text in said.items():
        assert not [words for words in FALSE_OF_A_SET if words in text], where
    assert "It is the set that is certified, not each component." in said["report"]
    for where in ("summary", "table", "notebook"):
        rows = [line.split() for line in said[where].replace("  all ", "\nall ").splitlines()]
        assert ["all"] in [row[:1] for row in rows], where
    for where in ("summary", "sentence", "notebook", "report"):
        assert words.IN_ITS_PLACE in said[where], where
    # The word "certified" is not attached to a component, nor is "optimal".
    assert 'class="badge' not in said["tips"]
    assert said["table"].count("part of a set") == 2
    assert said["table"].count("optimal") == (result.status is Status.OPTIMAL)
    assert "5 for the set" in said["report"] and "for each component" not in said["report"]
    assert ("Certified." in said["report"]) == (result.status is Status.OPTIMAL)


def test_one_component_is_a_stage(tmp_path):
    """Tests that a set of one is told as what it is: a component with a bound of its own."""
    result = solve(hard(), 5, 1, objective="joint")
    stage = solve(hard(), 5, 1)
    assert result.statuses == (result.status,) == (Status.OPTIMAL,)
    assert words.meaning(result) == words.meaning(stage)
    assert "It is the set" not in texts(result, tmp_path)["report"]


def test_pictures_of_a_set():
    """Tests that pictures speak of the set, and of bounds as open only if that of the set is."""
    pytest.importorskip("matplotlib")
    Q = hard()
    closed = pair(3)
    assert closed.status is Status.OPTIMAL
    legend = closed.plot("scree", Q).axes.get_legend()
    assert not [text for text in legend.get_texts() if "gap open" in text.get_text()]
    stopped = pair(5, node_limit=1)
    labels = [text.get_text() for text in stopped.plot("scree", Q).axes.get_legend().get_texts()]
    assert "bound in its place, gap open" in labels
    axes = stopped.plot("convergence").axes
    assert "all components together" in axes.get_title()
    assert [note.get_text() for note in axes.texts] == ["all"]


def test_several_objectives_in_one_report(tmp_path):
    """Tests that a report of results of different kinds explains each."""
    from orthospca.report import Section, write_report

    Q = small(0)
    results = [solve(Q, 2, 2, objective=each) for each in ("stagewise", "lexicographic", "joint")]
    results.append(solve(Q, 2, 2, method="deflation"))
    write_report(tmp_path / "all.html", [Section(r.objective, r) for r in results])
    text = (tmp_path / "all.html").read_text(encoding="utf-8")
    for sentence in (
        "another choice could lead to other components later",
        "the one that makes the next component largest is chosen",
        "It is the set that is certified",
        "Components found by deflation are not orthogonal.",
    ):
        assert text.count(sentence) == 1
    assert len(set(re.findall(r'id="part5-meaning-([a-z]*)"', text))) == 4


# ---------------------------------------------------------------------------- why it ended


def many():
    """A matrix of noise whose patterns are too many to list."""
    return np.corrcoef(np.random.default_rng(0).standard_normal((40, 24)).T)


def test_no_limit_is_blamed_that_was_not_given():
    """Tests the status of a set: that of a limit only if it was given and met."""
    Q = hard()
    assert pair(5, node_limit=1).status is Status.NODE_LIMIT
    assert solve(Q, 5, 2, objective="joint", time_limit=0.0).status is Status.TIME_LIMIT
    assert pair(5, proof=True, node_limit=1).status is Status.NODE_LIMIT
    # It is not the nodes that a proof of a set with many patterns runs out of.
    proved = solve(many(), 6, 2, objective="joint", proof=True)
    assert proved.status is Status.PROOF_LIMIT
    assert "the certificate holds the bound of one matrix" in proved.note
    for text in (proved.summary(), proved.table().closing, advice(proved)):
        assert not re.search("node.limit|time.limit", text)


def test_settled_sets_blame_nothing(monkeypatch):
    """Tests that supports that cannot be told apart are not a limit of nodes."""
    monkeypatch.setattr(Bounding, "split", lambda self, node: None)
    result = solve(hard(), 5, 2, objective="joint")
    assert result.status is Status.WORK_LIMIT and "undecided whether a better set" in result.note
    for text in (result.summary(), result.table().closing, advice(result)):
        assert not re.search("node.limit|time.limit", text)


def _settings(**changes):
    tuning = replace(DEFAULT, **changes.pop("tuning"))
    return Settings.validate(objective=Objective.STAGEWISE, tuning=tuning, **changes)


def test_a_stage_with_a_proof_blames_no_nodes():
    """Tests that a stage whose proof becomes too large says that it is for the proof."""
    rows = np.random.default_rng(3).standard_normal((50, 70))
    tuning = relaxed()
    small = {"tree": replace(tuning.tree, largest_proof=10_000)}
    changes = {"share": tuning.share, "walk": tuning.walk, **small}
    result = solve_with(rows.T @ rows, 10, 1, _settings(proof=True, tuning=changes))
    assert result.status is Status.PROOF_LIMIT
    assert words.meaning(result).startswith(
        "only steps that a certificate can record were used; the gaps"
    )
    assert "omit proof" in words.advice(result)


def test_rungs_blame_no_nodes():
    """Tests that smaller sparsities left open on the way say that it was for want of work."""
    Q = np.corrcoef(np.random.default_rng(0).standard_normal((60, 40)).T)
    budgets = replace(DEFAULT.walk, direct_share=0, rung_budget=0)
    result = solve_with(Q, 6, 1, _settings(gap=1e-9, tuning={"walk": budgets}))
    left = {point.status for point in result.path} - {Status.OPTIMAL}
    assert left == {Status.WORK_LIMIT}


@pytest.mark.slow
def test_command_line(tmp_path, monkeypatch):
    """Tests exit code, words, advice and files of a set whose proof leaves a gap."""
    monkeypatch.chdir(tmp_path)
    np.savetxt("q.csv", many(), delimiter=",")
    fit = ["fit", "q.csv", "--precomputed", "-k", "2", "-p", "6", "--objective", "joint"]
    ended = CliRunner().invoke(app, [*fit, "--proof", "-o", "out"])
    assert ended.exit_code == 3
    assert "only steps that a certificate can record were used; the set has" in ended.output
    assert "omit --proof" in ended.output and "--resume" not in ended.output
    assert not re.search("node.limit", ended.output)
    content = json.loads(Path("out/result.json").read_text(encoding="utf-8"))
    assert content["status"] == "PROOF_LIMIT"
    assert [c["status"] for c in content["components"]] == ["PART_OF_SET"] * 2
    assert content["meaning"] in ended.output
    assert content["meaning"] in Path("out/report.html").read_text(encoding="utf-8")
    assert Result.load("out/result.json").status is Status.PROOF_LIMIT


# ---------------------------------------------------------------------------- ties


def test_ties_that_are_left():
    """Tests that certified stages whose ties were not all examined are said to be just that."""
    result = solve(np.eye(30), 4, 2, objective="lexicographic")
    assert result.status is Status.WORK_LIMIT and set(result.statuses) == {Status.OPTIMAL}
    assert "time" not in result.note
    assert words.meaning(result).endswith("tolerance, but not all ties were examined")
    assert words.verdict(result) == words.TIES_OPEN
    assert words.advice(result) == ""


def test_ties_that_were_examined():
    """Tests the sentence where the second of two equal beginnings leads to more."""
    Q = np.array([[5.0, 1, 0], [1, 5, 2], [0, 2, 2]])
    result = solve(Q, 2, 2, objective="lexicographic")
    np.testing.assert_allclose(result.variances, [6, 5], atol=1e-9)
    sentence = "each is certified within the tolerance, and all ties were examined"
    assert words.meaning(result) == sentence


# ---------------------------------------------------------------------------- others who speak


def test_estimator_warns_of_the_set():
    """Tests that a warning speaks of the set, and that there is none where it is certified."""
    Q = hard()
    open_one = OrthogonalSparsePCA(
        2, 5, covariance="precomputed", objective="joint", node_limit=1, gap=1e-9
    )
    with pytest.warns(ConvergenceWarning, match=r"The set of 2 components .* raise node_limit"):
        open_one.fit(Q)
    closed = OrthogonalSparsePCA(2, 3, covariance="precomputed", objective="joint")
    assert closed.fit(Q).status_ is Status.OPTIMAL
    ties = OrthogonalSparsePCA(2, 4, covariance="precomputed", objective="lexicographic")
    with pytest.warns(ConvergenceWarning, match="certified, but not all ties were examined"):
        ties.fit(np.eye(30))


def test_progress_of_a_set():
    """Tests that numbers of a set are not told as those of its first component."""
    lines: list[str] = []
    teller = ProgressPrinter("Solver", 3, 1, lines.append, together=True)
    teller(Progress(0, 5, 2, 4.0, 5.0, 1.0))
    teller.close()
    assert lines == [
        "[Solver] all 3 components done: total variance 4, proved bound 5, gap 25 %, 5 nodes, 1.0 s"
    ]
    console = Console(file=io.StringIO(), width=100)
    with ProgressDisplay(console, 1, together=True) as display:
        display(Progress(0, 1, 0, 1.0, 1.0, 0.1))
    assert "component 1/1" in console.file.getvalue()


# ---------------------------------------------------------------------------- the words


def test_every_status_has_words():
    """Tests that whatever status a result has, it can be told, for each objective."""
    stagewise, joint = solve(small(2), 2, 2), solve(small(2), 2, 2, objective="joint")
    lexicographic = solve(small(2), 2, 2, objective="lexicographic")
    for status in set(Status) - {Status.PART_OF_SET}:
        for result in (stagewise, lexicographic, joint):
            if result is joint and status is Status.EXHAUSTED:
                continue
            told = replace(result, status=status)
            sentence = f"{words.verdict(told)} {words.meaning(told)} {words.advice(told)}"
            for limit in ("time limit", "node limit"):
                assert (limit in sentence) == (status.value == limit)
    assert set(words.REASONS) == {s for s in Status if not s.finished} - {Status.PART_OF_SET}


def test_not_all_found():
    """Tests that components that were found are not said to have gaps because others were not."""
    whole = solve(small(3), 2, 3)
    stopped = replace(whole, stages=whole.stages[:2], status=Status.TIME_LIMIT, exhausted=False)
    assert words.verdict(stopped) == "Not all found."
    assert words.meaning(stopped).endswith("those found are certified within the tolerance")
    assert "the gap" not in words.meaning(stopped)


@pytest.mark.parametrize("bound", [5.7109412, 5.71094, 11.0, -3.0000001, 1e-9 + 1e-16, 0.0, 123e90])
def test_bounds_are_written_rounded_up(bound):
    """Tests that the six digits that are written are a bound, and the nearest one."""
    written = float(f"{words.rounded_up(bound):.6g}")
    assert written == words.rounded_up(bound) >= bound
    assert written - bound <= 1e-5 * abs(bound)
    assert words.rounded_up(math.inf) == math.inf


def test_read_me():
    """Tests that the first page does not deny what one of the objectives is for."""
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    comparison = text[text.index("## Compared with other packages") :]
    row = next(line for line in comparison.splitlines() if line.startswith("| **orthospca**"))
    assert "jointly" in row and "for the set" in row
    assert "certificates here are stage by stage" not in comparison
