"""``orthospca paper``: the paper's experiments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orthospca.interface.cli.options import SOLVED, command, of_command


@dataclass(frozen=True)
class Paper:
    """How much, and where to."""

    output: Path = of_command(
        Path("orthospca-out/paper"),
        "For the CSV files and pictures.",
        "-o",
        "--output",
        metavar="FOLDER",
    )
    quick: bool = of_command(
        False, "Smaller sparsities and samples; takes a few seconds.", "--quick"
    )


@command
def paper(*, asked: Paper) -> int:
    """Repeat the experiments of Cheng and Hu on colon-cancer genes, and some they left out.

    The data are not bundled: the environment variable ORTHOSPCA_DATA names their folder, or pooch
    downloads them.

    For example: `ORTHOSPCA_DATA=~/data orthospca paper -o experiments`
    """
    from orthospca.paper import FULL, QUICK, run_paper

    run_paper(asked.output, QUICK if asked.quick else FULL)
    return SOLVED
