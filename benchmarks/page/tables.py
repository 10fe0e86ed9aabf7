"""The tables of the page, each from one stored table."""

from __future__ import annotations

from benchmarks.grid import PITPROPS_LIMIT
from benchmarks.page import audits
from benchmarks.page.fits import exponent, last_exponent, one_way
from benchmarks.page.stored import (
    NBSP,
    Rows,
    cosine,
    gap,
    markdown,
    nonzeros,
    percent,
    plain,
    rows_of,
    seconds,
    table,
)
from benchmarks.peers.problems import HEADLINE
from benchmarks.pitprops import VERSIONS

#: Tools of the README's table.
FEW = ("orthospca", "SparsePCA", "SparsePCA, tuned", "abess", "truncated power")
PEER_HEADER = (
    "nonzeros",
    "variance explained",
    "largest \\|cos\\|",
    "certified gap",
    "time",
    "time / ours",
)


def _tool(row: dict[str, str]) -> str:
    name = f"**{row['tool']}**" if row["tool"] == "orthospca" else row["tool"]
    setting = row["setting"].removesuffix(" (tuned)").removesuffix(" (default)")
    return f"{name} (`{setting}`)" if setting else name


def _peer_cells(row: dict[str, str]) -> list[str]:
    if not row["variance"]:
        return ["", "", "", "", row["outcome"].rstrip("."), ""]
    certified = f"≤{NBSP}{gap(row['gap'])}" if row["gap"] else "none"
    return [
        nonzeros(row),
        percent(row["variance"]),
        cosine(row["cosine"]),
        certified,
        seconds(row["seconds"]) + (", search stopped" if row["outcome"] != "ok" else ""),
        plain(row["ratio"]),
    ]


def _measured(rows: Rows) -> Rows:
    return [row for row in rows if "skipped" not in row["outcome"]]


def peers() -> str:
    """All tools on the five data sets, a table for each."""
    parts = []
    for name in HEADLINE:
        rows = _measured(rows_of("peers", data=name))
        lines = [[_tool(row), *_peer_cells(row)] for row in rows]
        shown = markdown(("tool", *PEER_HEADER), lines, "1 2 3 4 5 6")
        parts.append(f"### {name}\n\n{shown}")
    return "\n\n".join(parts)


def readme() -> str:
    """Five rows: a few tools on bundled data, with what the audit says of them."""
    data = HEADLINE[0]
    lines = [
        [
            _tool(row),
            nonzeros(row),
            cosine(row["cosine"]),
            audits.furthest(data, row["tool"]),
            "yes" if row["gap"] else "no",
            seconds(row["seconds"]),
        ]
        for row in rows_of("peers", data=data)
        if row["tool"] in FEW
    ]
    header = (
        "tool",
        "nonzeros",
        "largest \\|cos\\|",
        "furthest component, of the best",
        "certified",
        "time",
    )
    return markdown(header, lines, "1 2 3 4 5")


def beside_published() -> str:
    """A small data set of a published comparison: measured here, and as published."""
    rows = _measured(rows_of("peers", data="mtcars"))
    lines = [
        [
            _tool(row),
            "measured",
            f"{float(row['variance']):.3f}" if row["variance"] else row["outcome"],
            nonzeros(row) if row["variance"] else "",
            cosine(row["cosine"]) if row["variance"] else "",
        ]
        for row in rows
    ]
    lines += [
        [row["tool"], "*published*", row["value"], "", row["note"]]
        for row in rows_of("published", instance="mtcars")
    ]
    header = ("tool", "", "fraction of variance", "nonzeros", "largest \\|cos\\|, or note")
    return markdown(header, lines, "2 3")


def pitprops() -> str:
    """Both matrices: ours on each, and what was published on the second."""
    kinds = dict.fromkeys(row["what"] for row in table("pitprops"))
    lines = []
    for what in kinds:
        cells = []
        for version in VERSIONS:
            found = rows_of("pitprops", matrix=version, what=what)
            cells.append(_pitprops_cell(found[0]) if found and found[0]["value"] else "–")
        lines.append([what.replace("orthospca", "**orthospca**"), *cells])
    lines += [
        [f"{row['tool']} (*published*), {row['note']}", "", row["value"]]
        for row in rows_of("published", instance="Pitprops")
    ]
    return markdown(("", "Jeffers' matrix", "as typed in the benchmark"), lines, "1 2")


def _pitprops_cell(row: dict[str, str]) -> str:
    value = f"{float(row['value']):.4f}"
    if not row["gap"]:
        return value
    if row["bound"]:
        return f"{value}, at most {float(row['bound']):.4f} ({gap(row['gap'])})"
    return f"{value}, each to {gap(row['gap'])}"


def constrained() -> str:
    """Components that may not have negative loadings, or share features."""
    lines = [
        [
            row["data"],
            row["asked"],
            f"**{row['tool']}**" if row["tool"] == "orthospca" else row["tool"],
            row["found"],
            percent(row["variance"]),
            f"{plain(100 * float(row['first']), 3)}{NBSP}%",
            cosine(row["cosine"]),
            f"≤{NBSP}{gap(row['gap'])}" if row["gap"] else "none",
            seconds(row["seconds"]),
        ]
        for row in table("constrained")
        if row["variance"]
    ]
    header = (
        "data",
        "asked",
        "tool",
        "components",
        "variance explained",
        "first component, of the best",
        "largest \\|cos\\|",
        "certified gap",
        "time",
    )
    return markdown(header, lines, "3 4 5 6 7 8")


def cells() -> str:
    """Data like those of single cells."""
    lines = [
        [
            plain(row["cells"], 6),
            plain(row["genes"], 6),
            percent(row["nonzero"]),
            row["p"],
            row["K"],
            gap(row["gap"]),
            seconds(row["seconds"]),
            seconds(row["Gram"]),
            plain(row["units"]),
        ]
        for row in table("cells")
    ]
    header = ("cells", "genes", "nonzero", "p", "K", "largest gap", "time", "XᵀX", "time / XᵀX")
    return markdown(header, lines, "0 1 2 3 4 5 6 7 8")


def optimal_spca() -> str:
    """First components to 1e-4, in units, beside those of Optimal-SPCA."""
    lines = []
    for row in rows_of("published", quantity="units"):
        (ours,) = rows_of(
            "strong",
            instance=row["instance"],
            p=row["p"],
            gap_asked="0.0001",
            method="branch-and-bound",
        )
        theirs = plain(row["value"], 6)
        unsolved = row["note"] == "unsolved"
        times = float(row["value"]) / float(ours["units"])
        lines.append(
            [
                row["instance"],
                row["p"],
                plain(ours["units"]),
                f"unsolved after {theirs}" if unsolved else theirs,
                f"{'> ' if unsolved else ''}{plain(times)}",
            ]
        )
    header = (
        "instance",
        "p",
        "orthospca: units",
        "Optimal-SPCA, *not of this run*: units",
        "ratio",
    )
    return markdown(header, lines, "1 2 3 4")


def others_published() -> str:
    """What else was published, as it was published."""
    lines = [
        [
            row["source"],
            row["instance"],
            row["K"],
            row["p"],
            f"{row['quantity']} {gap(row['value'], 3)}" if row["value"] else row["quantity"],
            seconds(row["seconds"]) if row["seconds"] else "",
            row["note"],
        ]
        for row in table("published")
        if row["quantity"] in ("gap", "error") or row["instance"] == "riboflavin"
    ]
    header = ("source (*published*)", "problem", "K", "p", "figure", "time", "note")
    return markdown(header, lines, "5")


def grid() -> str:
    """Two and three components of published problems."""
    return _stages_and_sets("grid")


def sets() -> str:
    """Sets of Pitprops: the gap for each number of components and of features."""
    rows = {(row["r"], row["p"]): row for row in table("sets")}
    counts = list(dict.fromkeys(r for r, _ in rows))
    sparsities = list(dict.fromkeys(p for _, p in rows))
    lines = []
    for r in counts:
        found = [rows[r, p] for p in sparsities]
        lines.append([r, *(_set_cell(row) for row in found)])
    header = ("r", *(f"p = {p}" for p in sparsities))
    closed = sum(row["joint outcome"] == "optimal" for row in rows.values())
    largest = max(float(row["joint gap"]) for row in rows.values())
    return (
        f"{markdown(header, lines, ' '.join(map(str, range(len(header)))))}\n\n"
        f"{closed} of {len(rows)} are closed to {gap(1e-4)}, each within {plain(PITPROPS_LIMIT)} "
        f"seconds; the largest gap is {gap(largest)}."
    )


def _set_cell(row: dict[str, str]) -> str:
    value = f"{float(row['joint']):.4f}"
    return value if row["joint outcome"] == "optimal" else f"{value} ({gap(row['joint gap'])})"


def snp500() -> str:
    """Four components of shares."""
    return _stages_and_sets("snp500")


def _stages_and_sets(name: str) -> str:
    """Stage by stage, and the best set where it was solved."""
    lines = []
    for row in table(name):
        joint = bool(row["joint"])
        lines.append(
            [
                row["instance"],
                row["p"],
                row["r"],
                f"{float(row['stagewise']):.4f}",
                gap(row["stage gap"]),
                seconds(row["seconds"]),
                f"{float(row['set bound']):.4f}",
                gap(row["set gap"]),
                f"{float(row['joint']):.4f}" if joint else "–",
                f"{float(row['joint bound']):.4f}" if joint else "–",
                gap(row["joint gap"]) if joint else "–",
                seconds(row["joint seconds"]) if joint else "–",
            ]
        )
    header = (
        "instance",
        "p",
        "r",
        "stage by stage",
        "largest gap of a stage",
        "time",
        "simple bound on the set",
        "gap to it",
        "best set",
        "bound",
        "gap",
        "time",
    )
    return markdown(header, lines, "1 2 3 4 5 6 7 8 9 10 11")


def relaxations() -> str:
    """Gaps of bounds before branching, and their times."""
    kinds = list(dict.fromkeys(row["bound"] for row in table("relaxations")))
    lines = []
    keys = dict.fromkeys((row["instance"], row["n"], row["p"]) for row in table("relaxations"))
    for name, n, p in keys:
        rows = {row["bound"]: row for row in rows_of("relaxations", instance=name, n=n, p=p)}
        cells = [
            f"{gap(rows[kind]['gap'])}, {seconds(rows[kind]['seconds'])}"
            if rows[kind]["gap"]
            else rows[kind]["outcome"]
            for kind in kinds
        ]
        published = rows_of("published", instance=name, p=p, tool="semidefinite bound")
        theirs = [f"{gap(row['value'], 3)}, {seconds(row['seconds'])}" for row in published]
        lines.append([name, n, p, *cells, *(theirs or ["–"])])
    header = ("instance", "n", "p", *kinds, "Li and Xie (*published*)")
    return markdown(header, lines, " ".join(map(str, range(1, len(header)))))


def growth() -> str:
    """Time and memory along each of the four directions."""
    lines = [
        [
            row["against"],
            plain(row["n"], 6),
            row["samples"],
            row["p"],
            row["K"],
            gap(row["gap"]) if row["gap"] else "–",
            seconds(row["seconds"]) if row["seconds"] else row["status"],
            f"{plain(row['data MB'], 3)} MB" if row["data MB"] else "–",
            f"{plain(max(float(row['added MB']), 0.0), 3)} MB" if row["added MB"] else "–",
        ]
        for row in table("growth")
    ]
    header = (
        "varied",
        "n",
        "samples",
        "p",
        "K",
        "largest gap",
        "time",
        "data",
        "extra memory",
    )
    return markdown(header, lines, "1 2 3 4 5 6 7 8")


def exponents() -> str:
    """Powers fitted to the growth."""
    lines = []
    for against in ("n", "p", "K", "samples"):
        rows = one_way(rows_of("growth", against=against), against)
        low, high = (plain(row[against], 6) for row in (rows[0], rows[-1]))
        time = exponent(rows, against, "seconds")
        memory = exponent(rows, against, "added MB")
        last = last_exponent(rows, against, "seconds")
        lines.append([against, f"{low} to {high}", f"{time:.2f}", f"{last:.2f}", f"{memory:.2f}"])
    header = (
        "varied",
        "range",
        "exponent of time",
        "for the last two sizes",
        "exponent of memory",
    )
    return markdown(header, lines, "1 2 3 4")


def strong() -> str:
    """First components at two gaps, and with the bounds of the literature."""
    lines = []
    keys = dict.fromkeys((row["instance"], row["n"], row["p"]) for row in table("strong"))
    for name, n, p in keys:
        shared = {"instance": name, "n": n, "p": p}
        loose, tight = (
            rows_of("strong", **shared, method="branch-and-bound", gap_asked=asked)[0]
            for asked in ("0.001", "0.0001")
        )
        (classical,) = rows_of("strong", **shared, method="eigenvalue")
        units = plain(classical["units"])
        if classical["status"] != "optimal":
            units = f"open ({gap(classical['gap'])}) after {units}"
        lines.append([name, n, p, plain(loose["units"]), plain(tight["units"]), units])
    header = (
        "instance",
        "n",
        "p",
        "1e-3: units",
        "1e-4: units",
        '`method="eigenvalue"`, 1e-3: units',
    )
    return markdown(header, lines, "1 2 3 4 5")


def kernel() -> str:
    """Hard solves in NumPy and compiled."""
    lines = [
        [
            row["instance"],
            row["p"],
            row["K"],
            gap(row["gap asked"]),
            f"{seconds(row['in NumPy'])}, {gap(row['gap'])}",
            f"{seconds(row['compiled'])}, {gap(row['gap compiled'])}",
        ]
        for row in table("kernel")
    ]
    header = ("problem", "p", "K", "gap asked", "in NumPy", "compiled")
    return markdown(header, lines, "1 2 3 4 5")


def wide() -> str:
    """Gene expression as it is downloaded."""
    lines = [
        [
            row["instance"].removesuffix(" corr."),
            "correlation" if row["instance"].endswith("corr.") else "covariance",
            row["p"],
            row["K"],
            gap(row["largest gap"]),
            seconds(row["seconds"]),
            plain(row["XᵀX"]),
        ]
        for row in table("wide")
    ]
    header = ("data", "matrix", "p", "K", "largest gap", "time", "units")
    return markdown(header, lines, "2 3 4 5 6")


def scale() -> str:
    """Planted samples of more and more features."""
    lines = [
        [
            plain(row["n"], 6),
            row["noise"],
            gap(row["gap"]),
            seconds(row["seconds"]),
            plain(row["formed"], 6),
            seconds(row["products"]),
            seconds(row["all products"]),
        ]
        for row in table("scale")
    ]
    header = (
        "n",
        "largest noise variance",
        "largest gap",
        "time",
        "features whose covariances were formed",
        "products for those alone",
        "products for the whole covariance",
    )
    return markdown(header, lines, "0 1 2 3 4 5 6")
