"""What a solve returns: components, certificates, and what the numbers mean."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import Array, IntArray

FORMAT = "orthospca-result"
FORMAT_VERSION = 1


class Status(str, Enum):
    """Why a stage, or a whole solve, ended, and so what its numbers mean.

    In every case the component is feasible (sparse, unit length, orthogonal to those before it) and
    ``upper_bound`` is a proved bound on the best possible variance of its stage, *given the
    components before it*.
    """

    OPTIMAL = "optimal"
    """``upper - lower ≤ max(eps, gap·|lower|)``, exactly."""
    TIME_LIMIT = "time limit"
    """The time ran out; the gap is as reported."""
    NODE_LIMIT = "node limit"
    """The node limit was reached; the gap is as reported."""
    THRESHOLD = "threshold"
    """The blocks are solved; the entries that the threshold ignores leave the gap as reported."""
    FEATURE_LIMIT = "feature limit"
    """More features could matter than a matrix is formed for; the gap is as reported."""
    PRECISION = "precision"
    """Everything was searched; rounding leaves the gap as reported."""
    INTERRUPTED = "interrupted"
    """Ctrl-C, or the callback asked to stop; the gap is as reported."""
    EXHAUSTED = "exhausted"
    """Only of a whole result: it is proved that no further component exists."""


@dataclass(frozen=True)
class Progress:
    """The state of a search at one moment.

    Attributes
    ----------
    stage : int
        Which component is being sought, from 0.
    nodes : int
        Nodes bounded so far in this stage.
    open_nodes : int
        Nodes still to be explored.
    lower, upper : float
        The incumbent's variance (``-inf`` if none) and the proved bound of the stage.
    elapsed : float
        Seconds since the solve began.
    block : int
        The block being worked on, where the problem was split into blocks and the record is not
        about all of them (the numbers are: they speak of the stage); -1 otherwise.
    """

    stage: int
    nodes: int
    open_nodes: int
    lower: float
    upper: float
    elapsed: float
    block: int = -1

    @property
    def gap(self) -> float:
        """Relative gap, as in :attr:`Component.gap`."""
        return relative_gap(self.lower, self.upper)


@dataclass(frozen=True)
class Component:
    """One sparse component with its certificate.

    Attributes
    ----------
    vector : array of shape (n,)
        Unit length; its entry of largest magnitude is positive.
    variance : float
        ``vector @ Q @ vector``.
    upper_bound : float
        Proved: no feasible vector of this stage, given the components before it, has more.
    status : Status
    nodes : int
        Nodes bounded in the search.
    runtime : float
        Seconds.
    deflated_variance : float or None
        Variance in the deflated matrix; only with ``method="deflation"``, whose certificate speaks
        of that matrix.
    """

    vector: Array
    variance: float
    upper_bound: float
    status: Status
    nodes: int = 0
    runtime: float = 0.0
    deflated_variance: float | None = None

    @property
    def support(self) -> IntArray:
        """Indices of the features used, ascending."""
        return np.flatnonzero(self.vector)

    @property
    def gap(self) -> float:
        """``(upper_bound - value) / |value|``, the value being the one that was maximised."""
        value = self.variance if self.deflated_variance is None else self.deflated_variance
        return relative_gap(value, self.upper_bound)


def relative_gap(lower: float, upper: float) -> float:
    """Return ``(upper - lower) / |lower|``; 0 if they agree, ``inf`` if there is no lower bound."""
    if upper <= lower:
        return 0.0
    if not math.isfinite(lower) or lower == 0:
        return math.inf
    return (upper - lower) / abs(lower)


@dataclass(frozen=True)
class Result:
    """The components found, stage after stage, with their certificates.

    Each stage's certificate is conditional on the components returned before it: where a stage has
    several optima, another choice may lead to other later variances.

    Attributes
    ----------
    stages : tuple of Component
    n_features : int
    sparsity : tuple of int
        The sparsity asked of each component.
    status : Status
        ``OPTIMAL`` if every component asked for was found and is optimal within tolerance;
        ``EXHAUSTED`` if those found are and it is proved that no further one exists; else what
        stopped the search.
    exhausted : bool
        Proved that no further component exists (within the sparsity limit that was next).
    method : str
    guarantee : float
        The a-priori guarantee: every variance is within this of the best of its stage.
    runtime : float
    history : tuple of Progress
    feature_names : tuple of str or None
    total_variance : float
        The trace of Q.
    note : str
        How the problem was split into blocks and why; empty where it was not.
    path : tuple of Component
        The first component for sparsity 1, 2, … up to the one asked for, each with what was proved
        of it on the way; empty where the way was another.
    certificate : Certificate or None
        With ``proof=True``: what a checker needs (:class:`orthospca.Certificate`).
    """

    stages: tuple[Component, ...]
    n_features: int
    sparsity: tuple[int, ...]
    status: Status
    exhausted: bool = False
    method: str = "branch-and-bound"
    guarantee: float = 0.0
    runtime: float = 0.0
    history: tuple[Progress, ...] = field(default=(), repr=False)
    feature_names: tuple[str, ...] | None = None
    total_variance: float = math.nan
    note: str = ""
    path: tuple[Component, ...] = field(default=(), repr=False)
    certificate: Any = field(default=None, repr=False)

    @property
    def n_components(self) -> int:
        """How many components were found."""
        return len(self.stages)

    @property
    def components(self) -> Array:
        """The components as rows, shape (K, n)."""
        if not self.stages:
            return np.zeros((0, self.n_features))
        return np.vstack([component.vector for component in self.stages])

    @property
    def variances(self) -> Array:
        """``xᵀQx`` of each component."""
        return np.array([component.variance for component in self.stages])

    @property
    def deflated_variances(self) -> Array | None:
        """Variances in the deflated matrices (``method="deflation"`` only)."""
        if self.method != "deflation":
            return None
        return np.array([component.deflated_variance for component in self.stages], dtype=float)

    @property
    def upper_bounds(self) -> Array:
        """Proved upper bounds of each stage, given the components before it."""
        return np.array([component.upper_bound for component in self.stages])

    @property
    def gaps(self) -> Array:
        """Relative certified gaps."""
        return np.array([component.gap for component in self.stages])

    @property
    def statuses(self) -> tuple[Status, ...]:
        """One status for each component."""
        return tuple(component.status for component in self.stages)

    @property
    def supports(self) -> tuple[IntArray, ...]:
        """Indices of the features each component uses."""
        return tuple(component.support for component in self.stages)

    @property
    def nodes(self) -> int:
        """Nodes bounded in all stages."""
        return sum(component.nodes for component in self.stages)

    def summary(self) -> str:
        """Return a table that a person can read."""
        header = (
            f"{'#':>3}  {'variance':>12}  {'upper bound':>12}  {'gap':>9}  {'nodes':>7}  "
            f"{'status':<11}  features"
        )
        lines = [header]
        for k, component in enumerate(self.stages, start=1):
            features = ", ".join(self._names(component.support))
            lines.append(
                f"{k:>3}  {component.variance:>12.6g}  {component.upper_bound:>12.6g}  "
                f"{self._gap(component):>9}  {component.nodes:>7}  "
                f"{component.status.value:<11}  {features}"
            )
        lines.append("")
        share = ""
        if self.total_variance > 0:
            explained = float(self.variances.sum()) / self.total_variance
            share = f", {explained:.1%} of the total variance"
        if self.method == "deflation":
            share = " (not orthogonal: their variances do not add up)"
        lines.append(
            f"{self.n_components} components{share}; {self.runtime:.3g} s; {self._meaning()}"
        )
        if self.note:
            lines.append(self.note)
        return "\n".join(lines)

    @staticmethod
    def _gap(component: Component) -> str:
        if component.status is Status.OPTIMAL and not math.isfinite(component.gap):
            # A variance of zero has no relative gap.
            return f"{component.upper_bound - component.variance:.1g}"
        return format_gap(component.gap)

    def _names(self, support: Sequence[int] | IntArray) -> list[str]:
        names = self.feature_names
        return [str(j) if names is None else names[j] for j in support]

    def _meaning(self) -> str:
        if self.status is Status.OPTIMAL:
            return "all certified within tolerance"
        if self.status is Status.EXHAUSTED:
            return "proved that no further component exists"
        if self.status is Status.THRESHOLD:
            return "the blocks are solved; the gaps above are what the threshold leaves open"
        if self.status is Status.PRECISION:
            return "everything was searched; the gaps above are what rounding leaves open"
        return f"stopped: {self.status.value}; the gaps above are proved all the same"

    def save(self, path: str | Path) -> None:
        """Write the result as JSON (numbers survive exactly)."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=1), encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain Python objects, as :meth:`save` writes them."""
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "method": self.method,
            "status": self.status.name,
            "exhausted": self.exhausted,
            "n_features": self.n_features,
            "sparsity": list(self.sparsity),
            "guarantee": _encode(self.guarantee),
            "runtime": self.runtime,
            "note": self.note,
            "total_variance": _encode(self.total_variance),
            "feature_names": None if self.feature_names is None else list(self.feature_names),
            "components": [_component_to_dict(component) for component in self.stages],
            "path": [_component_to_dict(component) for component in self.path],
            "history": [
                [e.stage, e.nodes, e.open_nodes, _encode(e.lower), _encode(e.upper), e.elapsed]
                for e in self.history
            ],
        }

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read a result that :meth:`save` wrote."""
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
            return cls._from_dict(content)
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise InputError(f"path: {str(path)!r} is damaged ({error!r})") from error

    @classmethod
    def _from_dict(cls, content: dict[str, Any]) -> Result:
        n_features = int(content["n_features"])
        stages = [_component_from_dict(c, n_features) for c in content["components"]]
        path = [_component_from_dict(c, n_features) for c in content.get("path", [])]
        names = content["feature_names"]
        return cls(
            stages=tuple(stages),
            n_features=n_features,
            sparsity=tuple(content["sparsity"]),
            status=Status[content["status"]],
            exhausted=bool(content["exhausted"]),
            method=content["method"],
            guarantee=float(content["guarantee"]),
            runtime=float(content["runtime"]),
            history=tuple(
                Progress(e[0], e[1], e[2], float(e[3]), float(e[4]), e[5])
                for e in content["history"]
            ),
            feature_names=None if names is None else tuple(names),
            total_variance=float(content["total_variance"]),
            note=str(content.get("note", "")),
            path=tuple(path),
        )


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
    }


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
    )


def format_gap(gap: float) -> str:
    """Write a relative gap for people: ``0.012 %``, ``<1e-9 %``, ``open``."""
    if not math.isfinite(gap):
        return "open"
    percent = 100 * gap
    return "<1e-9 %" if percent < 1e-9 else f"{percent:.2g} %"


def _encode(number: float | None) -> float | str | None:
    """JSON has no infinities: they travel as strings, which ``float`` reads back."""
    if number is None or math.isfinite(number):
        return number
    return str(number)
