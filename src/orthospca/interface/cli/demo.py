"""``orthospca demo``: two bundled examples, from data to certificates that are checked."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import orthospca
from orthospca._errors import InputError
from orthospca.interface.cli.options import OPEN_GAP, SOLVED, Looking, command, of_folder

#: A program of one line that needs nothing but the checker.
CHECK = "import sys; from orthospca.verify import verify; print(verify(sys.argv[1]))"


@dataclass(frozen=True)
class Demo(Looking):
    """Where the files go."""

    output: Path = of_folder(
        help="Folder for the report and the certificates.", default=Path("orthospca-out/demo")
    )


@command
def demo(*, showing: Demo) -> int:
    """Solve two bundled examples, write a report and certificates, then verify the certificates.

    For example: `orthospca demo`, then open the report in a browser.
    """
    from orthospca.interface import display, report
    from orthospca.interface.cli.job import command_line, solve_shown
    from orthospca.interface.folders import Folder, make_folder
    from orthospca.interface.scores import Scores, scores_of
    from orthospca.interface.screen import Screen, show

    output = showing.output
    if (output / "result.json").exists():
        raise InputError(
            f"{output} holds the results of another run: choose another folder with -o"
        )
    screen, place = Screen(showing.quiet), Folder(make_folder(output))
    datasets = orthospca.datasets
    sections = []
    for dataset, title, n_components, sparsity in (
        (datasets.load_pitprops(), "Pitprops", 6, 5),
        (datasets.load_breast_cancer(), "Breast cancer", 5, 8),
    ):
        print(f"\n{dataset.description}")
        print(
            f"{n_components} orthogonal components with at most {sparsity} nonzero loadings each, "
            f"from the correlations of {dataset.n_features} variables:",
            flush=True,
        )
        Q = dataset.correlation()
        settings = {"sparsity": sparsity, "n_components": n_components, "gap": 1e-4}
        result = solve_shown(screen, Q, dataset.feature_names, {**settings, "proof": True})
        scores = None
        if dataset.data is not None:
            values = scores_of(dataset.data, result, correlation=True)
            scores = Scores(values, by="class", groups=dataset.target)
        certificate = f"{title.lower().replace(' ', '-')}.zip"
        section = report.Section(
            title, result, Q, dataset.description, "correlation", settings, certificate, scores
        )
        show(result.table(), display.beside_pca(result, section.eigenvalues))
        sections.append(section)
    # The report first, then numbers, then what others say of the proofs.
    with screen.working("writing report"), place.writing("report.html") as part:
        report.write_report(part, sections, command=command_line())
    print(f"\nreport: {output / 'report.html'}")
    for section in sections:
        if section.scores is not None:
            name = section.certificate.replace(".zip", "-scores.csv")
            place.write(name, section.scores.lines())
            print(f"scores: {output / name}")
    solved = True
    for section in sections:
        file = place.write(section.certificate, section.result.certificate)
        verdict = check_elsewhere(file)
        print(f"certificate: {file}, checked in a separate process: {verdict}", flush=True)
        solved &= section.result.status.finished and verdict == "VERIFIED"
    if showing.show_report:
        screen.open_in_browser(output / "report.html")
    return SOLVED if solved else OPEN_GAP


def check_elsewhere(file: Path) -> str:
    """What another process, which knows nothing but the file, says of a certificate."""
    ended = subprocess.run(
        [sys.executable, "-c", CHECK, str(file)], capture_output=True, text=True, check=False
    )
    lines = (ended.stdout.strip() or ended.stderr.strip() or "no answer").splitlines()
    return lines[-1]
