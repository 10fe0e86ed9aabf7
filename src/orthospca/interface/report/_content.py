"""What a report says of one result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from orthospca import DataCovariance
from orthospca._typing import Array
from orthospca.interface.display import closing_sentence
from orthospca.interface.report._html import Html, element, facts, paragraph, table
from orthospca.interface.report._pictures import Picture
from orthospca.result import Component, Result, Status, format_gap
from orthospca.spectrum import leading_eigenvalues

METHODS = {
    "branch-and-bound": "branch and bound with the strong bound",
    "eigenvalue": "branch and bound with eigenvalue, Gershgorin, Frobenius and trace bounds",
    "enumeration": "enumeration of every support",
    "deflation": "deflation (a baseline; its components are not orthogonal)",
}


@dataclass(frozen=True)
class Section:
    """A result and what is worth knowing about where it comes from.

    Attributes
    ----------
    title : str
    result : Result
    matrix : ndarray of shape (n, n), or DataCovariance
        The matrix that was solved; if it is defined by data, the report does not form it.
    source : str
        What the data are, in a few words.
    matrix_kind : str
        What the matrix is: covariance, correlation, ...
    settings : mapping
        The arguments of ``solve`` that are worth reporting (``gap``, ``eps``, limits).
    certificate : str
        The file beside the report that holds the result's certificate; empty if there is none.
    """

    title: str
    result: Result
    matrix: Array | DataCovariance
    source: str = ""
    matrix_kind: str = "covariance"
    settings: Mapping[str, Any] = field(default_factory=dict)
    certificate: str = ""

    @cached_property
    def eigenvalues(self) -> Array:
        """The variances of as many components of ordinary PCA."""
        return leading_eigenvalues(self.matrix, max(self.result.n_components, 1))


def render(section: Section, pictures: list[Picture]) -> Html:
    """The section as HTML."""
    result = section.result
    certified = result.status in (Status.OPTIMAL, Status.EXHAUSTED)
    parts = [
        element("h2", section.title),
        element("p", _verdict(result), class_="verdict good" if certified else "verdict open"),
        element("h3", "What was solved"),
        _problem(section),
    ]
    if result.n_components:
        parts += [
            element("h3", "Components"),
            _components(result),
            element("h3", "Explained variance"),
            _explained(section),
        ]
    if pictures:
        parts += [
            element("h3", "Pictures"),
            element("div", *map(_picture, pictures), class_="pictures"),
        ]
    return element("section", *parts)


def _verdict(result: Result) -> str:
    sentence = closing_sentence(result)
    return sentence[0].upper() + sentence[1:]


def _problem(section: Section) -> Html:
    result, settings = section.result, section.settings
    limits = sorted(set(result.sparsity))
    sparsity = str(limits[0]) if len(limits) == 1 else ", ".join(map(str, result.sparsity))
    gap, eps = settings.get("gap", 1e-4), settings.get("eps", 0.0)
    pairs: list[tuple[str, object]] = [
        ("data", section.source or "a matrix"),
        ("matrix", f"{section.matrix_kind}, {result.n_features} × {result.n_features}"),
        ("components asked for", len(result.sparsity)),
        ("nonzero loadings, at most", sparsity),
        ("method", METHODS.get(result.method, result.method)),
        ("tolerance", f"upper − lower ≤ max({eps:g}, {gap:g}·|lower|)"),
    ]
    if settings.get("time_limit") is not None:
        pairs.append(("time limit", f"{settings['time_limit']:g} s"))
    if settings.get("node_limit") is not None:
        pairs.append(("node limit", f"{settings['node_limit']} for each component"))
    if result.note:
        pairs.append(("note", result.note))
    pairs += [
        ("status", result.status.value),
        ("time", f"{result.runtime:.2f} s"),
        ("nodes", result.nodes),
    ]
    if result.n_components > 1:
        pairs.append(("largest |cos| between components", f"{largest_cosine(result):.1e}"))
    return facts(pairs)


def largest_cosine(result: Result) -> float:
    """The largest ``|cos|`` of the angle between two components."""
    X = result.components
    return float(np.abs(X @ X.T - np.diag(np.square(X).sum(axis=1))).max(initial=0.0))


def _components(result: Result) -> Html:
    deflated = result.method == "deflation"
    headings = [
        "#",
        "variance",
        "proved upper bound",
        "gap",
        "nodes",
        "status",
        "variables and loadings",
    ]
    if deflated:
        headings.insert(2, "in the adjusted matrix")
    rows = []
    for k, component in enumerate(result.stages, start=1):
        row: list[object] = [
            k,
            f"{component.variance:#.6g}",
            f"{component.upper_bound:#.6g}",
            format_gap(component.gap),
            component.nodes,
            component.status.value,
            _loadings(component, result.feature_names),
        ]
        if deflated:
            row.insert(2, f"{component.deflated_variance:#.6g}")
        rows.append(row)
    return table(headings, rows, numbers=len(headings) - 2)


def _loadings(component: Component, names: tuple[str, ...] | None) -> Html:
    order = sorted(component.support.tolist(), key=lambda j: (-abs(component.vector[j]), j))
    return element(
        "span",
        *(
            element(
                "span",
                names[j] if names is not None else str(j),
                " ",
                element("b", f"{component.vector[j]:+.3f}".replace("-", "−")),
                class_="plus" if component.vector[j] > 0 else "minus",
            )
            for j in order
        ),
        class_="loadings",
    )


def _explained(section: Section) -> Html:
    result, total = section.result, section.result.total_variance
    if result.method == "deflation":
        return paragraph(
            "Components found by deflation are not orthogonal: their variances overlap, and their "
            "total would mean nothing."
        )
    if not (math.isfinite(total) and total > 0.0):
        return paragraph(
            "The matrix has no positive trace, so there is no total to take a share of."
        )
    shares = result.variances / total
    dense = section.eigenvalues[: len(shares)] / total
    rows = [
        [k, *(f"{share:.1%}" for share in row)]
        for k, row in enumerate(
            zip(shares, shares.cumsum(), dense, dense.cumsum(), strict=True), start=1
        )
    ]
    headings = ["#", "share of the total", "so far", "ordinary PCA", "so far"]
    meaning = (
        "The components are orthogonal, so their variances add up to what their span explains, as "
        "in ordinary PCA, whose components use every variable. No choice of as many orthogonal "
        "components explains more than those of ordinary PCA: the difference is the price of "
        "sparsity."
    )
    if result.exhausted:
        meaning += (
            " Here it is proved that no further component exists: there are fewer components than "
            "variables, and what they explain stays below 100 %."
        )
    return Html(table(headings, rows, numbers=5) + paragraph(meaning))


def _picture(picture: Picture) -> Html:
    image = Html(f'<img src="{picture.address}" alt="">')
    caption = element("figcaption", picture.caption)
    return element("figure", image, caption, class_=picture.shape)
