"""What other packages return, audited: how far each component is from the best possible one."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np

from benchmarks.instances import Array
from benchmarks.measure import Case, Row, Settings
from benchmarks.peers.problems import WANTED, Problem, problem
from benchmarks.timing import PROCESSOR, Units, timed
from orthospca import DataCovariance, audit

#: Columns: "bound" is proved for every unit vector with as many nonzeros that is orthogonal to the
#: components before; "share" is the variance as a part of it; "found" is the best one known, and
#: "added" what the span gains by the component; "together" is the variance of the span of all as a
#: part of what is proved for sets of such components.
AUDIT_COLUMNS = (
    "data",
    "tool",
    "setting",
    "component",
    "nonzeros",
    "variance",
    "cosine",
    "added",
    "found",
    "bound",
    "share",
    "gap",
    "together",
    "closed",
    "seconds",
)

#: Where ``python -m benchmarks peers`` leaves what the tools return; not part of the repository.
KEPT = Path("benchmarks/results/components")
#: Gap of the search for a better component, and seconds for all of a tool's on one problem.
GAP, LIMIT = 1e-3, 15.0


def path_of(folder: Path, data: str, tool: str) -> Path:
    """The file with what a tool returned."""
    return folder / (re.sub(r"\W+", "-", f"{data} {tool}").strip("-") + ".npz")


def keep(folder: Path, data: str, tool: str, components: Array, setting: str) -> None:
    """Store what a tool returned, for the audit."""
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(path_of(folder, data, tool), components=components, setting=setting, tool=tool)


def audit_cases(settings: Settings) -> list[Case]:
    """One case for each problem of the table `peers`, with all tools that returned something."""
    return [] if settings.quick else [_case(name) for name in WANTED]


def _case(name: str) -> Case:
    def run(settings: Settings, units: Units) -> list[Row]:
        from benchmarks.peers.tools import TOOLS

        asked = problem(name)
        limit = settings.limit(LIMIT, LIMIT)
        rows: list[Row] = []
        for tool in TOOLS:
            path = path_of(KEPT, name, tool.name)
            # Ordinary PCA has nothing to audit: it is the best there is with all features.
            if tool.name != "PCA, not sparse" and path.is_file():
                with np.load(path) as kept:
                    setting = str(kept["setting"])
                    found = audited(asked, kept["components"], limit)
                rows += [{"data": name, "tool": tool.name, "setting": setting, **r} for r in found]
        if not rows:
            raise RuntimeError("there is nothing to audit; run `python -m benchmarks peers` before")
        return rows

    return Case(name, run)


def audited(asked: Problem, components: Array, limit: float) -> list[Row]:
    """One row for each component that is not zero, the one of most variance first.

    Some tools look for all components together and return them in no order.
    """
    lengths = np.linalg.norm(components, axis=1)
    scores = np.square(asked.data @ components.T).sum(axis=0) / np.maximum(
        np.square(lengths), 1e-300
    )
    components = components[np.argsort(-scores, kind="stable")]
    given = DataCovariance(asked.data) if asked.given is None else asked.given
    found, seconds = timed(
        lambda: audit(given, components, gap=GAP, time_limit=limit, n_jobs=1), PROCESSOR
    )
    together = found.joint_variance / found.joint_upper_bound
    rows: list[Row] = []
    for k, (result, bound) in enumerate(zip(found.results, found.upper_bounds, strict=True)):
        variance = float(found.variances[k])
        best = max(variance, float(result.variances[0])) if result.stages else None
        rows.append(
            {
                "component": found.numbers[k],
                "nonzeros": found.sparsity[k],
                "variance": variance / found.total_variance,
                "cosine": float(found.cosines[k].max()),
                "added": _part(float(found.added[k]), found.total_variance),
                "found": None if best is None else best / found.total_variance,
                "bound": _part(float(bound), found.total_variance),
                "share": None if not math.isfinite(bound) else variance / float(bound),
                "gap": None if not math.isfinite(bound) else float(found.gaps[k]),
                "together": float(together) if math.isfinite(together) else None,
                "closed": bool(result.stages) and float(result.gaps[0]) <= 1.001 * GAP,
                "seconds": seconds,
            }
        )
    return rows


def _part(value: float, total: float) -> float | None:
    return value / total if math.isfinite(value) else None
