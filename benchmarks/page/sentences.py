"""What the tables say, in words; the numbers come from the tables too."""

from __future__ import annotations

import re

from benchmarks.grid import JOINT_LIMIT
from benchmarks.page.fits import exponent, one_way
from benchmarks.page.stored import (
    gap,
    machines,
    markdown,
    percent,
    plain,
    rows_of,
    seconds,
    spread,
    table,
)
from benchmarks.peers.problems import HEADLINE

#: Heuristics that use exactly p features, as ours do.
SAME_SPARSITY = (
    "abess",
    "msPCA (R)",
    "nsprcomp (R)",
    "elasticnet (R)",
    "irlba (R)",
    "truncated power",
    "greedy",
)
#: Heuristics that the headline speaks of: short programs with exactly p features.
FASTEST = ("truncated power", "greedy", "PCA, thresholded")


def _peer(data: str, tool: str) -> dict[str, str]:
    (row,) = rows_of("peers", data=data, tool=tool)
    return row


def _ratios(tool: str, column: str = "seconds") -> tuple[list[float], int]:
    """How many times as long as ours a tool took, and on how many data sets it did not end."""
    found, open_ones = [], 0
    for data in HEADLINE:
        row = _peer(data, tool)
        if row[column]:
            found.append(float(row[column]) / float(_peer(data, "orthospca")["seconds"]))
        else:
            open_ones += 1
    return found, open_ones


def headline() -> str:
    """Two sentences that are fair to everyone."""
    ours = [_peer(data, "orthospca") for data in HEADLINE]
    largest = max(float(row["gap"]) for row in ours)
    times = spread(float(row["seconds"]) for row in ours)
    # The number of features ends the name of each.
    sizes = spread((float(re.findall(r"\d+", name)[-1]) for name in HEADLINE), 4)
    quick = [
        float(row["seconds"])
        for data in HEADLINE
        for row in rows_of("peers", data=data)
        if row["tool"] in FASTEST and row["seconds"]
    ]
    return (
        f"**Heuristics take milliseconds ({seconds(min(quick))} to {seconds(max(quick))} here) and "
        "cannot say how good they are. A second buys right angles and a proof: five components of "
        f"ten features, exactly orthogonal and certified to {gap(largest)}, took {times} seconds "
        f"on data with {sizes} features.**"
    )


def _package(tool: str) -> str:
    return "scikit-learn" if "SparsePCA" in tool else tool.split(",")[0]


def skipped() -> str:
    """Tools that were not there."""
    words = dict.fromkeys(row["outcome"] for row in table("peers") if "skipped" in row["outcome"])
    versions = dict.fromkeys(
        f"{_package(row['tool'])} {row['version']}" for row in table("peers") if row["version"]
    )
    return f"Versions: {', '.join(versions)}.\n\nNot run: {' '.join(words) or 'none.'}"


def grid_summary() -> str:
    """The spread of the gaps of the grid."""
    rows = table("grid")
    closed = sum(row["status"] == "optimal" for row in rows)
    words = (
        f"Stage by stage, {closed} of the {len(rows)} problems are certified to "
        f"{gap(1e-4)}; the largest gap left is {gap(max(float(row['stage gap']) for row in rows))}."
    )
    joint = [row for row in rows if row["joint"]]
    if not joint:
        gaps = [float(row["set gap"]) for row in rows]
        return (
            f"{words} This version solves stage by stage only: the joint columns are empty, and "
            "for the best set of components only the simple bound is known, "
            f"{gap(min(gaps))} to {gap(max(gaps))} above the stage-wise value."
        )
    gaps = [float(row["joint gap"]) for row in joint]
    gains = [float(row["joint"]) / float(row["stagewise"]) - 1.0 for row in joint]
    return (
        f"{words} For the best set of components, with at most {plain(JOINT_LIMIT)} seconds for "
        f"each, the gaps are {gap(min(gaps))} to {gap(max(gaps))}, "
        f"{gap(sum(gaps) / len(gaps))} on average; {sum(g <= 1e-4 for g in gaps)} are closed. The "
        f"set explains up to {gap(max(gains))} more than stage by stage. A remaining gap may be "
        "due to the bound, the search, or both."
    )


def growth_summary() -> str:
    """What grows how, in a sentence."""
    rows = rows_of("growth", against="n")
    slope = exponent(rows, "n", "seconds")
    last, first = rows[-1], one_way(rows, "n")[0]
    return (
        f"With {plain(last['n'], 6)} features ({plain(last['data MB'], 3)} MB of data) five "
        f"components were certified to {gap(last['gap asked'])} in {seconds(last['seconds'])}; "
        f"from {plain(first['n'], 6)} features on, the time grows like $n^{{{slope:.2f}}}$."
    )


def readme_growth() -> str:
    """The same for the README."""
    last = rows_of("growth", against="n")[-1]
    return (
        f"{last['samples']} samples of {plain(last['n'], 6)} planted features gave five components "
        f"certified to {gap(last['gap asked'])} in {seconds(last['seconds'])} "
        "([evidence](docs/evidence.md), [how](docs/how-to/scale.md))."
    )


def limits() -> str:
    """Where we lose."""
    ahead = []
    for data in HEADLINE:
        ours = float(_peer(data, "orthospca")["variance"])
        better = [
            row
            for row in rows_of("peers", data=data)
            if row["tool"] in SAME_SPARSITY and row["variance"] and float(row["variance"]) > ours
        ]
        if better:
            best = max(better, key=lambda row: float(row["variance"]))
            ahead.append(
                f"{data}: {best['tool']} {percent(best['variance'])} against {percent(ours)}"
            )
    listed = f" ({'; '.join(ahead)})" if ahead else ""
    denser = sum(
        float(_peer(data, "SparsePCA")["variance"] or 0)
        > float(_peer(data, "orthospca")["variance"])
        for data in HEADLINE
    )
    ratios = [
        [
            float(row["ratio"])
            for row in rows_of("peers", data=data)
            if row["tool"] in SAME_SPARSITY and row["ratio"]
        ]
        for data in HEADLINE
    ]
    batches = _ratios("MiniBatchSparsePCA")[0] + _ratios("MiniBatchSparsePCA, tuned")[0]
    noise = [
        f"p = {row['p']} {row['status']}, gap {gap(row['gap'])}, after "
        f"{seconds(row['seconds'])}, or {plain(row['units'])} units"
        for row in table("noise")
    ]
    hard = [row for row in table("anytime") if float(row["at the end"]) > 1.01e-4]
    worst = max(hard, key=lambda row: float(row["at the end"]), default=None)
    of_hard = (
        f" Of the {len(table('anytime'))} hard problems in the table `anytime`, {len(hard)} still "
        f"have a gap after {plain(table('anytime')[0]['limit'], 3)} seconds; the largest is "
        f"{gap(worst['at the end'])}, for {worst['instance']} with p = {worst['p']} and "
        f"K = {worst['K']}."
        if worst
        else ""
    )
    large = rows_of("growth", against="p")[-1]
    size = f"p = {large['p']} of {plain(large['n'], 6)} features"
    took = (
        f"{seconds(large['seconds'])}, gap {gap(large['gap'])}" if large["seconds"] else "no answer"
    )
    return "\n".join(
        [
            f"- **Variance without orthogonality.** Exact orthogonality costs variance. With ten "
            f"features per component, heuristics without it explained more on {len(ahead)} of the "
            f"five data sets{listed}. `SparsePCA` with its default penalty, and more features, did "
            f"on {denser}.",
            f"- **Time without a certificate.** Of the heuristics that use the same number of "
            f"features, the fastest on each data set took {spread(map(min, ratios))} times our "
            f"time, the slowest {spread(map(max, ratios))} times; `MiniBatchSparsePCA` "
            f"{spread(batches)} times. If you need not know how good the components are, use a "
            "fast one.",
            f"- **Noise.** Where there is nothing to find, proofs can take long. For 100 "
            f"independent variables and a gap of 1e-4: {'; '.join(noise)}.",
            f"- **Large p.** Gaps stay open where many features are about equally good.{of_hard} "
            f"Planted data, five components with {size}: {took}.",
            "- **Stage by stage.** A certificate covers a component given those before it. The "
            "{doc}`grid </evidence/sets>` shows how much better the best *set* could be.",
        ]
    )


#: Tables that the pages show.
SHOWN = (
    "peers",
    "audits",
    "pitprops",
    "grid",
    "sets",
    "snp500",
    "constrained",
    "cells",
    "relaxations",
    "growth",
    "strong",
    "noise",
    "anytime",
    "check",
    "scale",
    "wide",
    "kernel",
    "rungs",
    "ablation",
    "proofs",
)


def measured_where() -> str:
    """The machine and the commit of each table on the pages."""
    lines = []
    for name in SHOWN:
        where = machines()[name]
        packages = ", ".join(f"{key} {value}" for key, value in where["packages"].items())
        commit = f"`{where['commit']}`" if where.get("commit") else "not noted"
        cells = [f"`{name}`", where["date"][:10], commit, where["processor"]]
        cells += [
            str(where["cores"]),
            str(where["load"][0]),
            f"Python {where['python']}, {packages}",
        ]
        lines.append(cells)
    header = ("table", "date", "commit", "processor", "cores", "load", "versions")
    return markdown(header, lines, "4 5")
