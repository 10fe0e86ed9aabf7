"""Pictures and an example report, made while the pages are built and never kept in the source.

The first block of Python in ``gallery.md`` is run, and each public plotting function is called
with what it leaves behind, so that a new function appears by itself.  The report is what the
command line writes for the same data.  Pages ask for them with a comment:

- ``<!-- example: picture plot_loadings -->``: one picture,
- ``<!-- example: gallery -->``: every picture, with the call that draws it,
- ``<!-- example: files -->``: the files of the example run.
"""

from __future__ import annotations

import csv
import inspect
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cached_property
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

PICTURES, RUN, DATA = "_static/gallery", "example", "breast-cancer.csv"
COMMAND = "from orthospca.interface.cli import main; main()"
SETUP = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ASKED = re.compile(r"^<!-- example: (\w+)(?: (\w+))? -->$", re.MULTILINE)

#: What a parameter of a plotting function gets, by its name or by the type it is annotated with:
#: the name of a variable of the gallery's first block.
ARGUMENTS = MappingProxyType(
    {
        "result": "result",
        "Result": "result",
        "Q": "Q",
        "path": "path",
        "SparsityPath": "path",
        "X": "X",
        "data": "X",
        "scores": "scores",
        "CrossValidation": "held_out",
        "Stability": "stable",
        "StabilityPath": "stable_path",
        "Alternatives": "near",
        "Audit": "judged",
        "Significance": "tested",
    }
)
#: How to make a variable that only some pictures need; shown with those.
RECIPES = MappingProxyType(
    {
        "held_out": """\
from orthospca import cross_validate_sparsity

held_out = cross_validate_sparsity(X, range(1, 16), correlation=True)
""",
        "stable": """\
from orthospca import stability

stable = stability(X, 8, 3, correlation=True, n_resamples=20, feature_names=names)
""",
        "stable_path": """\
from orthospca import stability_path

stable_path = stability_path(X, range(2, 13, 2), correlation=True, n_resamples=20)
""",
        "near": """\
from orthospca import alternatives

near = alternatives(Q, 8, tolerance=0.03, feature_names=names)
""",
        "judged": """\
from sklearn.decomposition import SparsePCA
from sklearn.preprocessing import StandardScaler

from orthospca import audit

others = SparsePCA(5, alpha=5, random_state=0).fit(StandardScaler().fit_transform(X))
judged = audit(Q, others.components_, feature_names=names)
""",
        "tested": """\
from orthospca import significance

tested = significance(X, 8, 8, correlation=True, feature_names=names)
""",
    }
)
#: Optional parameters that make a picture say more.
WELCOME = MappingProxyType(
    {
        "feature_names": "names",
        "correlation": "True",
        **dict.fromkeys(("labels", "groups", "color", "colors", "colour"), "diagnosis"),
    }
)
#: What is shown first; others follow in alphabetical order.
FIRST = ("plot_loadings", "plot_scree", "plot_scores", "plot_biplot", "plot_sparsity_path")
#: What each file of a run is; others are listed without a word.
FILES = MappingProxyType(
    {
        "report.html": "the report",
        "loadings.csv": "a row for each variable, a column for each component",
        "scores.csv": "a row for each observation, a column for each component",
        "result.json": "everything, for programs",
        "certificate.zip": "the proof, for `orthospca verify`",
    }
)

_logger = logging.getLogger(__name__)


class Gallery:
    """The plotting functions and what to call them with."""

    def __init__(self, page: str) -> None:
        found = SETUP.search(page)
        if found is None:
            raise ValueError("gallery.md has no block of Python to begin with")
        self._code = found[1]

    @cached_property
    def _variables(self) -> dict[str, Any]:
        names: dict[str, Any] = {}
        exec(compile(self._code, "gallery.md", "exec"), names)
        return names

    def has(self, variable: str | None) -> bool:
        """Whether a variable is there, or can be made; it then is."""
        if variable in RECIPES and variable not in self._variables:
            try:
                exec(compile(RECIPES[variable], "gallery.md", "exec"), self._variables)
            except ImportError:
                return False
        return variable in self._variables or variable == "True"

    @staticmethod
    def functions() -> dict[str, Callable[..., Any]]:
        """The public plotting functions, by name."""
        from orthospca import plotting

        names = [name for name in vars(plotting) if name.startswith("plot_")]
        first = [name for name in FIRST if name in names]
        return {
            name: getattr(plotting, name) for name in [*first, *sorted(set(names) - set(first))]
        }

    def call(self, name: str) -> tuple[str, dict[str, Any]] | None:
        """Return the call as it is shown, and its arguments; None if one cannot be provided."""
        shown, given = [], {}
        for parameter in inspect.signature(self.functions()[name]).parameters.values():
            kind = str(parameter.annotation).partition(" ")[0].rpartition(".")[2]
            variable = ARGUMENTS.get(parameter.name, ARGUMENTS.get(kind))
            required = parameter.default is parameter.empty
            if not required:
                variable = WELCOME.get(parameter.name)
            if not self.has(variable):
                if required:
                    return None
                continue
            given[parameter.name] = self._variables.get(variable, True)
            by_name = parameter.kind is parameter.KEYWORD_ONLY or not required
            shown.append(f"{parameter.name}={variable}" if by_name else str(variable))
        recipes = "".join(f"{code}\n" for made, code in RECIPES.items() if made in shown)
        return f"{recipes}axes = plotting.{name}({', '.join(shown)})", given

    def draw(self, folder: Path) -> None:
        """Draw every picture into a folder."""
        import matplotlib

        folder.mkdir(parents=True, exist_ok=True)
        # The same pictures give the same files.
        matplotlib.rcParams["svg.hashsalt"] = "orthospca"
        for name, function in self.functions().items():
            call = self.call(name)
            if call is None:
                _logger.warning("gallery.md has nothing to call %s with", name)
                continue
            axes = function(**call[1])
            figure = getattr(axes, "figure", axes)
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})

    def picture(self, name: str, up: str) -> str:
        """Return a picture as HTML; ``up`` leads from the page to the top folder."""
        source = escape(f"{up}{PICTURES}/{name}.svg")
        about = escape(_sentence(self.functions()[name]).replace("``", ""))
        return f'<p><img class="picture" src="{source}" alt="{about}" loading="lazy"></p>\n'

    def page(self, up: str) -> str:
        """Return the gallery as Markdown."""
        parts = []
        for name, function in self.functions().items():
            call = self.call(name)
            title = name.removeprefix("plot_").replace("_", " ").capitalize()
            about = _sentence(function).replace("``", "`")
            parts.append(f"## {title}\n\n{about} ({{func}}`~orthospca.plotting.{name}`)\n")
            if call is not None:
                parts.append(f"{self.picture(name, up)}\n```py\n{call[0]}\n```\n")
        return "\n".join(parts)


def _sentence(function: Callable[..., Any]) -> str:
    return (inspect.getdoc(function) or "").partition("\n")[0]


def run_command_line(folder: Path) -> None:
    """Write a report of the breast-cancer data, with all that comes with it, into a folder."""
    from orthospca import datasets

    cancer = datasets.load_breast_cancer()
    # A run of an earlier build would be in the way.
    shutil.rmtree(folder, ignore_errors=True)
    options = ["-k", "5", "-p", "8", "--correlation", "--proof", "--label", "biopsy"]
    options += ["--color" if _has_option("fit", "--color") else "--label", "diagnosis"]
    with tempfile.TemporaryDirectory() as temporary:
        with (Path(temporary) / DATA).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["biopsy", "diagnosis", *cancer.feature_names])
            for k, (label, row) in enumerate(zip(cancer.target, cancer.data, strict=True), 1):
                writer.writerow([k, label, *row.tolist()])
        done = subprocess.run(
            [sys.executable, "-c", COMMAND, "fit", DATA, *options, "-o", str(folder.resolve())],
            cwd=temporary,
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise RuntimeError(f"the example of the documentation failed: {done.stderr}")


def _has_option(command: str, option: str) -> bool:
    from typer.main import get_command

    from orthospca.interface.cli import app

    parameters = get_command(app).commands[command].params
    return any(option in parameter.opts for parameter in parameters)


def list_files(folder: Path, up: str) -> str:
    """Return a list of the files of a run as Markdown."""
    names = sorted(file.name for file in folder.iterdir() if file.is_file())
    order = [*(name for name in FILES if name in names), *(n for n in names if n not in FILES)]
    lines = []
    for name in order:
        about = f": {FILES[name]}" if name in FILES else ""
        lines.append(f'- <a href="{up}{RUN}/{escape(name)}"><code>{escape(name)}</code></a>{about}')
    return "\n".join(lines) + "\n"


def _make(app: Sphinx) -> None:
    if app.builder.format != "html":
        return
    gallery = Gallery((Path(app.srcdir) / "gallery.md").read_text(encoding="utf-8"))
    gallery.draw(Path(app.outdir) / PICTURES)
    run_command_line(Path(app.outdir) / RUN)
    app.gallery = gallery  # type: ignore[attr-defined]


def _fill(app: Sphinx, name: str, source: list[str]) -> None:
    """Replace the comments of a page by what they ask for."""
    gallery = getattr(app, "gallery", None)
    if gallery is None:
        return
    up = "../" * name.count("/")

    def answer(found: re.Match[str]) -> str:
        if found[1] == "picture":
            return gallery.picture(found[2], up)
        if found[1] == "gallery":
            return gallery.page(up)
        if found[1] == "files":
            return list_files(Path(app.outdir) / RUN, up)
        _logger.warning("no such example: %s", found[0], location=name)
        return ""

    source[0] = ASKED.sub(answer, source[0])


def _outdated(app: Sphinx, env: Any, *_: Any) -> list[str]:
    """Pages with examples are read anew each time: what they show is not in the source."""
    return [
        name
        for name in env.found_docs
        if ASKED.search(Path(env.doc2path(name)).read_text(encoding="utf-8"))
    ]


def setup(app: Sphinx) -> dict[str, object]:
    """Make the examples before the pages are read, and fill them in."""
    app.connect("builder-inited", _make)
    app.connect("env-get-outdated", _outdated)
    app.connect("source-read", _fill)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
