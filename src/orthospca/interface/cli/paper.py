"""``orthospca paper``: the paper's experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from orthospca.interface.cli.options import SOLVED, command, option


@command
def paper(
    *,
    output: Annotated[
        Path, option("-o", "--output", metavar="FOLDER", help="For the CSV files and pictures.")
    ] = Path("orthospca-out/paper"),
    quick: Annotated[
        bool, option("--quick", help="Smaller sparsities and samples; takes a few seconds.")
    ] = False,
) -> int:
    """Repeat the experiments of Cheng and Hu on colon-cancer genes, and some they left out.

    The data are not bundled: the environment variable ORTHOSPCA_DATA names their folder, or pooch
    downloads them.

    For example: `ORTHOSPCA_DATA=~/data orthospca paper -o experiments`
    """
    from orthospca.paper import run_paper

    run_paper(output, quick=quick)
    return SOLVED
