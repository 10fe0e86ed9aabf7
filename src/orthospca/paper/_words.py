"""What the experiments say, and where that differs from the paper's text (``findings.json``)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from orthospca.paper._paths import Paths
from orthospca.paper._splits import percent, sizes_of

if TYPE_CHECKING:
    from orthospca.paper._run import Experiments


def findings(found: Experiments) -> list[str]:
    """One sentence or two on each row of panels, with the numbers measured."""
    n, trace = len(found.matrix), found.matrix.trace()
    runs, deflated = found.orthogonal, list(found.deflation.values())
    sparsities = _list(map(str, runs))
    ended = [p for p, run in runs.items() if run.exhausted]
    low, *_, high = found.sweep
    lasts = [run.variances[-1] for run in runs.values()]
    ratios = [np.median(run.seconds[-3:]) / np.median(run.seconds[:3]) for run in runs.values()]
    values = {
        "n": n,
        "sparsities": sparsities,
        "tilted": max(run.deviations[-1] for run in deflated),
        "upright": max(run.deviations[-1] for run in runs.values()),
        "ratios": _list(f"{ratio:.1f}" for ratio in ratios),
        "low": low,
        "high": high,
        "first": found.sweep[low][0].seconds[:3].sum(),
        "last": found.sweep[high][0].seconds[:3].sum(),
        "lasts": _list(f"{last:.3g} ({last / trace:.2%} of the total)" for last in lasts),
        "rises": max(int((np.diff(run.variances) > 1e-9 * trace).sum()) for run in deflated),
        "ends": " and ".join(f"after {len(runs[p].variances)} with sparsity {p}" for p in ended),
    }
    keys = ("angles", "times", "sweep", "variances", "ended" if ended else "complete")
    said = [_texts()[key].format(**values) for key in keys]
    for threshold in dict.fromkeys(made.threshold for made in found.splits):
        splits = [made for made in found.splits if made.threshold == threshold]
        agree = all(made.agree for made in splits)
        said.append(
            _texts()["decomposition"].format(
                threshold=threshold,
                sizes=sizes_of(splits[0].sizes),
                agreement=_texts()["same" if agree else "other"],
                gaps=_list(percent(float(made.original.gaps[0])) for made in splits),
                sparsities=sparsities,
            )
        )
    return [*said, told(found.paths)]


def told(paths: Paths) -> str:
    """The example of the paths."""
    bases = {name: _list(f"{v:.4g}" for v in r.variances) for name, r in paths.bases.items()}
    pair, greedy = paths.pairs["joint"], paths.pairs["stagewise"]
    best_pair, basis = _list(f"{v:.4g}" for v in pair.variances), paths.bases["joint"]
    return _texts()["paths"].format(
        pair=pair, greedy=greedy, best_pair=best_pair, basis=basis, **bases
    )


def _texts() -> dict[str, str]:
    found: dict[str, str] = json.loads(
        resources.files(__package__).joinpath("findings.json").read_text(encoding="utf-8")
    )
    return found


def _list(parts: Iterable[str]) -> str:
    return ", ".join(parts)
