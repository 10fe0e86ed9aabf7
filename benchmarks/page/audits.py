"""What the table `audits` comes to: tables, sentences and a picture."""

from __future__ import annotations

from benchmarks.audits import GAP
from benchmarks.page.stored import NBSP, Rows, cosine, markdown, plain, rows_of, spread, table
from benchmarks.page.svg import document, share_rows
from benchmarks.peers.problems import HEADLINE, WANTED

#: Tools of the README's table, and of the sentences: those that use exactly p features.
EXACT = (
    "abess",
    "msPCA (R)",
    "nsprcomp (R)",
    "elasticnet (R)",
    "irlba (R)",
    "truncated power",
    "greedy",
    "PCA, thresholded",
)
#: Cosines above this count variance twice; some tools are orthogonal up to a tolerance below it.
SLANTED = 1e-3
#: Far from the best.
FAR = 0.1


def tools_of(data: str) -> dict[str, Rows]:
    """The rows of each tool on a problem."""
    found: dict[str, Rows] = {}
    for row in rows_of("audits", data=data):
        found.setdefault(row["tool"], []).append(row)
    return found


def share(row: dict[str, str]) -> str:
    """A component's variance as a percentage of what is proved to be the most."""
    if not row["share"]:
        return "–"
    value = 100 * float(row["share"])
    # Never better than proved: what rounds to 100 and is not is shown with a digit more.
    shown = f"{value:.1f}" if value < 99.95 or value > 100.05 else f"{min(value, 100):.0f}"
    if float(row["cosine"]) > SLANTED:
        shown = f"*{shown}*"
    if row["closed"] != "True":
        shown = f"≥{NBSP}{shown}"
    return shown


def tables() -> str:
    """For each problem, the components of each tool."""
    parts = []
    for data in HEADLINE:
        count = WANTED[data][1]
        lines = []
        for tool, rows in tools_of(data).items():
            by_number = {int(row["component"]): row for row in rows}
            shares = [
                share(by_number[k]) if k in by_number else "zero" for k in range(1, count + 1)
            ]
            sizes = sorted(int(row["nonzeros"]) for row in rows)
            nonzeros = str(sizes[0]) if sizes[0] == sizes[-1] else f"{sizes[0]}–{sizes[-1]}"
            largest = max(float(row["cosine"]) for row in rows)
            name = f"**{tool}**" if tool == "orthospca" else tool
            together = rows[0]["together"]
            all_of_them = f"{100 * float(together):.1f}" if together else "–"
            lines.append([name, nonzeros, *shares, all_of_them, cosine(largest)])
        numbers = map(str, range(1, count + 1))
        header = ("tool", "nonzeros", *numbers, "together", "\\|cos\\|")
        right = " ".join(map(str, range(1, len(header))))
        parts.append(f"### {data}\n\n{markdown(header, lines, right)}")
    return "\n\n".join(parts)


def _upright(rows: Rows) -> Rows:
    """Components that can be compared: with a bound, and orthogonal to those before."""
    return [row for row in rows if row["share"] and float(row["cosine"]) <= SLANTED]


def summary() -> str:
    """How far other tools are from the best, in numbers."""
    others = [
        row for row in table("audits") if row["data"] in HEADLINE and row["tool"] != "orthospca"
    ]
    tools = len({row["tool"] for row in others})
    exact = [row for row in others if row["tool"] in EXACT]
    upright = _upright(exact)
    best = [row for row in upright if float(row["share"]) >= 1 / (1 + 1.001 * GAP)]
    far = [row for row in upright if float(row["share"]) < 1 - FAR and row["closed"] == "True"]
    worst = min(
        (row for row in upright if row["closed"] == "True"), key=lambda row: float(row["share"])
    )
    slanted = [row for row in exact if float(row["cosine"]) > SLANTED]
    firsts = []
    for tool in EXACT:
        rows = [row for row in exact if row["tool"] == tool and row["component"] == "1"]
        shares = [100 * float(row["share"]) for row in rows if row["share"]]
        if shares:
            firsts.append(f"{tool} {spread(shares, 3)}")
    best_shown = f"{100 / (1 + GAP):.1f}"
    return "\n\n".join(
        [
            f"- **{best_shown}** or 100: proved to be the best there is; bounds are proved to "
            f"{plain(100 * GAP)}{NBSP}%.\n"
            "- **Less**: a better component was found, except where **≥** says that the bound is "
            "still open.\n"
            "- *In italics*, crosses in the picture: not orthogonal to the components before. Such "
            "a component repeats variance that is counted already, and may have more than all.\n"
            '- "zero": the component came back empty.\n'
            "- **Together**: the variance of the span as a share of what is proved for every set "
            "of orthogonal components with as many nonzeros. That bound is simple and loose, "
            "for ours as for all; it is there because msPCA, `SparsePCA` and A-ManPG look for all "
            "components at once, and a single one of theirs need not be the best of its kind.",
            f"{tools} tools other than ours returned {len(others)} components with a nonzero "
            f"loading on the five data sets. {len(exact)} of them come from tools that use exactly "
            f"the number of features asked for. Of these, {len(slanted)} are not orthogonal to "
            f"those before them; of the {len(upright)} that are, {len(best)} are within "
            f"{plain(100 * GAP)}{NBSP}% of the best possible, and {len(far)} are proved to be more "
            f"than {plain(100 * FAR)}{NBSP}% below a component that was found. The furthest: "
            f"component {worst['component']} of {worst['tool']} on {worst['data']}, with "
            f"{plain(100 * float(worst['share']), 2)}{NBSP}% of the best.",
            "First components, where orthogonality plays no part, in percent of the best, from the "
            f"worst data set to the best: {'; '.join(firsts)}.",
        ]
    )


def picture() -> str:
    """A dot for each component: its variance as a share of the proved most."""
    columns = []
    names: dict[str, None] = {}
    for data in HEADLINE:
        values: dict[str, list[tuple[float, str]]] = {}
        for tool, rows in tools_of(data).items():
            names.setdefault(tool)
            values[tool] = [
                (
                    float(row["share"]),
                    "cross"
                    if float(row["cosine"]) > SLANTED
                    else ("full" if row["closed"] == "True" else "ring"),
                )
                for row in rows
                if row["share"]
            ]
        columns.append((data, values))
    order = [name for name in _order() if name in names]
    words = (
        "variance as a share of the proved bound; dots: orthogonal to those before "
        "(rings: bound still open), crosses: not"
    )
    shapes = share_rows(order, columns, words, (0, 0, 900, 420))
    return document(shapes, 900, 420, "How far the components of each tool are from the best")


def _order() -> list[str]:
    """All tools, as the tables have them."""
    return list(dict.fromkeys(row["tool"] for row in table("audits")))


def furthest(data: str, tool: str) -> str:
    """The least share of a tool's components on a problem, for the README."""
    rows = [row for row in tools_of(data).get(tool, []) if row["share"]]
    if not rows:
        return "–"
    least = min(rows, key=lambda row: float(row["share"]))
    return f"{plain(100 * float(least['share']), 3)}{NBSP}%"
