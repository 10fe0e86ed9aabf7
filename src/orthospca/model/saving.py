"""Results as plain objects and JSON files, and back; numbers survive exactly."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from orthospca._errors import InputError
from orthospca.model import words
from orthospca.model.component import ClosedBy, Component, Progress, Status

if TYPE_CHECKING:
    from orthospca.model.result import Result

FORMAT = "orthospca-result"
FORMAT_VERSION = 1


def _status(name: str) -> Status:
    return Status[name]


def _or_none(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


#: The fields of a result that a file has by their names, and how they are read back.
RESULT: dict[str, Callable[[Any], Any]] = {
    "method": str,
    "objective": str,
    "joint_upper_bound": float,
    "status": _status,
    "exhausted": bool,
    "n_features": int,
    "sparsity": tuple,
    "guarantee": float,
    "runtime": float,
    "note": str,
    "total_variance": float,
    "feature_names": _or_none(tuple),
    "asked": dict,
}
#: The same of a component, beside its support and its loadings.
COMPONENT: dict[str, Callable[[Any], Any]] = {
    "variance": float,
    "upper_bound": float,
    "status": _status,
    "nodes": int,
    "runtime": float,
    "deflated_variance": _or_none(float),
    "closed_by": _or_none(ClosedBy),
}
#: An entry of the history is a list of these.
ENTRY = ("stage", "nodes", "open_nodes", "lower", "upper", "elapsed", "proved_by")


def to_dict(result: Result) -> dict[str, Any]:
    """Return a result as plain Python objects."""
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "meaning": words.meaning(result),
        "joint_variance": _plain(result.joint_variance),
        **_named(result, RESULT),
        "components": _plain(result.stages),
        "path": _plain(result.known_path),
        "history": _plain(result.history),
    }


def _named(record: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: _plain(getattr(record, name)) for name in names}


def _plain(value: Any) -> Any:
    """A value as JSON knows it."""
    match value:
        case Status():
            return value.name
        case Component():
            loadings = value.vector[value.support].tolist()
            found = {"support": value.support.tolist(), "loadings": loadings}
            return found | _named(value, COMPONENT)
        case Progress():
            return list(_named(value, ENTRY).values())
        case tuple():
            return [_plain(each) for each in value]
        case float() if not math.isfinite(value):
            return str(value)  # JSON has no infinities, and ``float`` reads them back
    return value


def read_fields(path: str | Path) -> dict[str, Any]:
    """Return the fields of the result that a file holds, or raise ``ValueError`` that names it."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"path: {str(path)!r} is not a saved result ({error})") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"path: {str(path)!r} is not a saved result (no {FORMAT!r} mark)")
    if content.get("version") != FORMAT_VERSION:
        raise InputError(
            f"path: {str(path)!r} has format version {content.get('version')!r}, "
            f"this release reads version {FORMAT_VERSION}"
        )
    try:
        return _fields(content)
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise InputError(f"path: {str(path)!r} is damaged ({error!r})") from error


def _fields(content: dict[str, Any]) -> dict[str, Any]:
    found = {name: read(content[name]) for name, read in RESULT.items()}
    n_features = found["n_features"]
    return found | {
        "stages": tuple(_component(record, n_features) for record in content["components"]),
        "known_path": tuple(_component(record, n_features) for record in content["path"]),
        "history": tuple(_entry(**dict(zip(ENTRY, e, strict=True))) for e in content["history"]),
    }


def _component(record: dict[str, Any], n_features: int) -> Component:
    vector = np.zeros(n_features)
    if len(record["support"]) != len(record["loadings"]):
        raise InputError("support and loadings differ in length")
    vector[record["support"]] = record["loadings"]
    vector.flags.writeable = False
    return Component(vector, **{name: read(record[name]) for name, read in COMPONENT.items()})


def _entry(lower: Any, upper: Any, proved_by: Any, **counts: Any) -> Progress:
    by = _or_none(ClosedBy)(proved_by)
    return Progress(lower=float(lower), upper=float(upper), proved_by=by, **counts)
