"""Results as plain objects and JSON files, and back; numbers survive exactly."""

from __future__ import annotations

import json
import math
from dataclasses import replace
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


def to_dict(result: Result) -> dict[str, Any]:
    """Return a result as plain Python objects."""
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "method": result.method,
        "objective": result.objective,
        "joint_variance": _encode(result.joint_variance),
        "joint_upper_bound": _encode(result.joint_upper_bound),
        "status": result.status.name,
        "meaning": words.meaning(result),
        "exhausted": result.exhausted,
        "n_features": result.n_features,
        "sparsity": list(result.sparsity),
        "guarantee": _encode(result.guarantee),
        "runtime": result.runtime,
        "note": result.note,
        "total_variance": _encode(result.total_variance),
        "feature_names": None if result.feature_names is None else list(result.feature_names),
        "components": [_component_to_dict(component) for component in result.stages],
        "path": [_component_to_dict(component) for component in result.known_path],
        "history": [_entry_to_list(entry) for entry in result.history],
    }


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
    n_features = int(content["n_features"])
    stages = [_component_from_dict(c, n_features) for c in content["components"]]
    path = [_component_from_dict(c, n_features) for c in content.get("path", [])]
    if content.get("objective") == "joint" and len(stages) > 1:
        # Earlier releases gave every component the status of the set.
        stages = [replace(stage, status=Status.PART_OF_SET) for stage in stages]
    names = content["feature_names"]
    return {
        "stages": tuple(stages),
        "n_features": n_features,
        "sparsity": tuple(content["sparsity"]),
        "status": Status[content["status"]],
        "exhausted": bool(content["exhausted"]),
        "method": content["method"],
        "guarantee": float(content["guarantee"]),
        "runtime": float(content["runtime"]),
        "history": tuple(
            Progress(e[0], e[1], e[2], float(e[3]), float(e[4]), e[5], -1, _means(*e[6:]))
            for e in content["history"]
        ),
        "feature_names": None if names is None else tuple(names),
        "total_variance": float(content["total_variance"]),
        "note": str(content.get("note", "")),
        "known_path": tuple(path),
        "objective": str(content.get("objective", "stagewise")),
        "joint_upper_bound": float(content.get("joint_upper_bound", math.nan)),
    }


def _component_to_dict(component: Component) -> dict[str, Any]:
    return {
        "support": component.support.tolist(),
        "loadings": component.vector[component.support].tolist(),
        "variance": _encode(component.variance),
        "upper_bound": _encode(component.upper_bound),
        "status": component.status.name,
        "nodes": component.nodes,
        "runtime": component.runtime,
        "deflated_variance": _encode(component.deflated_variance),
        "closed_by": component.closed_by,
    }


def _entry_to_list(entry: Progress) -> list[Any]:
    bounds = _encode(entry.lower), _encode(entry.upper)
    return [entry.stage, entry.nodes, entry.open_nodes, *bounds, entry.elapsed, entry.proved_by]


def _component_from_dict(record: dict[str, Any], n_features: int) -> Component:
    vector = np.zeros(n_features)
    if len(record["support"]) != len(record["loadings"]):
        raise InputError("support and loadings differ in length")
    vector[record["support"]] = record["loadings"]
    vector.flags.writeable = False
    deflated = record["deflated_variance"]
    return Component(
        vector=vector,
        variance=float(record["variance"]),
        upper_bound=float(record["upper_bound"]),
        status=Status[record["status"]],
        nodes=int(record["nodes"]),
        runtime=float(record["runtime"]),
        deflated_variance=None if deflated is None else float(deflated),
        closed_by=_means(record.get("closed_by")),
    )


def _means(name: str | None = None) -> ClosedBy | None:
    """What a bound rests on, if that is said."""
    return ClosedBy(name) if name else None


def _encode(number: float | None) -> float | str | None:
    """JSON has no infinities: they travel as strings, which ``float`` reads back."""
    if number is None or math.isfinite(number):
        return number
    return str(number)
