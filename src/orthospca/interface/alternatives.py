"""The command that lists what is nearly as good: read, search, show and write."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from orthospca import Alternatives, alternatives
from orthospca._errors import InputError
from orthospca.interface.folders import unless_refused
from orthospca.interface.output import (
    open_folder,
    run_of,
    say,
    say_written,
    show,
    working,
    write_json,
    write_table,
)
from orthospca.interface.source import Source

FILES = ("alternatives.json", "alternatives.csv")
#: Features of a support, unless there are fewer.
DEFAULT_SPARSITY = 5


def parse_share(text: str) -> float:
    """Read ``1%`` or ``0.01``."""
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise InputError(f"--within must be a share such as 1% or 0.01, got {text!r}") from None


def run_alternatives(
    source: Source,
    sparsity: int | None,
    tolerance: float,
    most: int,
    time_limit: float | None,
    n_jobs: int | None,
    output: Path | None,
    as_json: bool,
) -> bool:
    """List them; whether the list is proved to be complete."""
    settings = {
        "tolerance": tolerance,
        "max_supports": most,
        "time_limit": time_limit,
        "n_jobs": n_jobs,
    }
    folder = source.folder(output, as_json)
    table, Q = source.read({"method": "branch-and-bound", "threshold": 0.0})
    if sparsity is None:
        sparsity = min(DEFAULT_SPARSITY, Q.shape[0])
    source.announce(table, say)
    with unless_refused(folder), working("looking for alternatives"):
        found = alternatives(
            Q,
            sparsity,
            tolerance,
            max_supports=most,
            time_limit=time_limit,
            n_jobs=n_jobs,
            feature_names=table.columns,
        )
    place = None
    if folder is not None:
        run = run_of(source, {"sparsity": sparsity, **settings})
        place = open_folder(folder, FILES, run, "OPTIMAL" if found.complete else "NODE_LIMIT")
        write_table(place, "alternatives.csv", _rows(found))
        write_json(place, "alternatives.json", found.to_dict(), run)
    if as_json:
        print(json.dumps(found.to_dict()))
    else:
        show(found.summary(20))
    say_written(place)
    return found.complete


def _rows(found: Alternatives) -> Iterator[Sequence[object]]:
    """One row for each support."""
    yield ("rank", "variance", "features")
    for i, (support, variance) in enumerate(zip(found.supports, found.variances, strict=True)):
        yield (i + 1, repr(float(variance)), " ".join(found.names(support)))
