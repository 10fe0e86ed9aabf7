"""``orthospca paper``: the paper's experiments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orthospca.interface.cli.options import SOLVED, command, of_command, of_folder


@dataclass(frozen=True)
class Paper:
    """How much, and where to."""

    output: Path = of_folder(
        help="Folder for the CSV files and pictures.",
        default=Path("orthospca-out/paper"),
        panel=None,
    )
    quick: bool = of_command(
        "Smaller sparsities and samples; takes a few seconds.", "--quick", default=False
    )


@command
def paper(*, asked: Paper) -> int:
    """Repeat the experiments of Cheng and Hu on colon-cancer genes, and some they left out.

    The data are not bundled. Set the environment variable ORTHOSPCA_DATA to their folder, or
    install pooch to download them.

    For example: `ORTHOSPCA_DATA=~/data orthospca paper -o experiments`
    """
    from orthospca.paper import FULL, QUICK, run_paper

    run_paper(asked.output, QUICK if asked.quick else FULL)
    return SOLVED
