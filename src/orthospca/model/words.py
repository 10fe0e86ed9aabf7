"""What is said of a result: once, for terminal, notebook, report, warnings and files.

Every sentence is true of the result it is said of: components of a set are not called optimal, a
limit is named only if it was met, and a bound is written rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING, Any

from orthospca.model.component import Component, Status, format_gap, relative_gap
from orthospca.model.validation import names_at

if TYPE_CHECKING:
    from orthospca.model.result import Result

#: Why a search ended before that.
REASONS = {
    Status.TIME_LIMIT: "stopped by the time limit",
    Status.NODE_LIMIT: "stopped by the node limit",
    Status.INTERRUPTED: "interrupted",
    Status.FEATURE_LIMIT: "too many variables are left to form their matrix",
    Status.WORK_LIMIT: "the search gave up",
    Status.PROOF_LIMIT: "only steps that a certificate can record were used",
    Status.THRESHOLD: "the blocks are solved",
    Status.PRECISION: "the search is complete",
}
#: The verdict on a lexicographic result whose stages are certified, and the choice among them not.
TIES_OPEN = "Ties open."
#: What was asked for, in a few words.
OBJECTIVES = {
    "stagewise": "each component is the best given those before it",
    "lexicographic": "each component is the best given those before it, with ties resolved in "
    "favour of later components",
    "joint": "the components with the largest total variance",
}
#: What the bound of one component of a set means.
IN_ITS_PLACE = (
    "The bound of each component limits what any other could have in its place, given the rest."
)


def is_set(result: Result) -> bool:
    """Whether it is the components together that are certified, and not each of them."""
    return result.objective == "joint" and result.n_components > 1


def rounded_up(bound: float, digits: int = 6) -> float:
    """A bound with the digits that are written: rounded up, it is a bound as well."""
    if not math.isfinite(bound):
        return bound
    return float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(bound)))


def gap_of(value: float, upper: float, closed: bool = False) -> str:
    """The relative gap; the difference where a closed one has nothing to be relative to."""
    gap = relative_gap(value, upper)
    return f"{upper - value:.1g}" if closed and not math.isfinite(gap) else format_gap(gap)


def gap_of_set(result: Result) -> str:
    """The gap of the components together."""
    closed = result.status.finished
    return gap_of(result.joint_variance, result.joint_upper_bound, closed)


def gap_of_component(component: Component) -> str:
    """The gap of one component."""
    deflated, closed = component.deflated_variance, (Status.OPTIMAL, Status.PART_OF_SET)
    value = component.variance if deflated is None else deflated
    return gap_of(value, component.upper_bound, component.status in closed)


def written_bound(result: Result, component: Component) -> float:
    """The bound of one component; where it is the set that is certified, with six digits."""
    upper = component.upper_bound
    return rounded_up(upper) if is_set(result) else upper


def bound_label(result: Result) -> str:
    """What the bound of one component is, beside it."""
    return "bound in its place" if is_set(result) else "proved bound"


def is_open(result: Result, component: Component) -> bool:
    """Whether more of a component, or of its set, is left to prove than the tolerance allows."""
    if component.status is Status.PART_OF_SET:
        return not result.status.finished
    return component.status is not Status.OPTIMAL


def counted(result: Result) -> str:
    """How many components, and what they explain together."""
    count, wanted = result.n_components, len(result.sparsity)
    found = f"{count} component{'' if count == 1 else 's'}"
    found += f" of {wanted} requested" if 0 < count < wanted else ""
    found += asked(result)
    if not result.orthogonal:
        how = " by deflation" if result.method == "deflation" else ""
        return f"{found}{how} (not orthogonal: their variances do not add up)"
    if count and result.total_variance > 0:
        found += f", {result.explained_variance_ratio.sum():.1%} of the total variance"
    return found


def asked(result: Result) -> str:
    """What was asked beyond the sparsity, to be added to a noun; empty if nothing was."""
    said = []
    for word, name in (("with", "include"), ("without", "exclude")):
        lists = [tuple(features) for features in result.asked.get(name, ())]
        for own in dict.fromkeys(filter(None, lists)):
            whose = [str(k) for k, features in enumerate(lists, start=1) if features == own]
            each = "" if len(whose) == len(lists) else f" (component {', '.join(whose)})"
            said.append(f"{word} {', '.join(names_at(result.feature_names, own))}{each}")
    if result.asked.get("nonnegative"):
        said.append("with non-negative loadings")
    if "relation" in result.asked:
        disjoint = result.asked["relation"] == "disjoint"
        said.append("that share no variable" if disjoint else "with uncorrelated scores")
    if count := result.asked.get("previous", 0):
        said.append(f"after {count} given vector{'' if count == 1 else 's'}")
    return "".join(f" {part}" for part in said)


def closing(result: Result) -> str:
    """What the result as a whole means."""
    said = f"{counted(result)}; {result.runtime:.3g} s; {meaning(result)}"
    return f"{said}. {IN_ITS_PLACE}" if is_set(result) else said


def verdict(result: Result) -> str:
    """The result in two words."""
    if not result.n_components:
        return "No component."
    if result.status.finished:
        return "Certified."
    if _certified_but_not_all_found(result):
        return "Not all found."
    return TIES_OPEN if _ties_open(result) else "Gap open."


def meaning(result: Result) -> str:
    """What is proved of a result as a whole, in a clause that needs no table beside it."""
    if is_set(result):
        return _of_the_set(result)
    status, certified = result.status, "each is certified within the tolerance"
    no_further = "it is proved that no further component exists"
    lexicographic = result.objective == "lexicographic"
    if status is Status.OPTIMAL:
        return f"{certified}, and all ties were examined" if lexicographic else certified
    if status is Status.EXHAUSTED:
        return f"{certified}, and {no_further}" if result.n_components else no_further
    if not result.n_components:
        return REASONS[status]
    if _ties_open(result):
        ended = f", and {no_further}" if result.exhausted else ""
        stopped = "" if status is Status.WORK_LIMIT else f"{REASONS[status]}; "
        return f"{stopped}{certified}{ended}, but not all ties were examined"
    if _certified_but_not_all_found(result):
        return f"{REASONS[status]}; those found are certified within the tolerance"
    causes = {Status.THRESHOLD: "due to the threshold", Status.PRECISION: "due to rounding"}
    return f"{REASONS[status]}; the gaps are {causes.get(status, 'still to be proved')}"


def _ties_open(result: Result) -> bool:
    """Whether nothing but ties was left out of a lexicographic search."""
    certified = all(status is Status.OPTIMAL for status in result.statuses)
    complete = result.exhausted or result.n_components == len(result.sparsity)
    return result.objective == "lexicographic" and certified and complete


def _certified_but_not_all_found(result: Result) -> bool:
    """Whether a search that was stopped leaves no gap, but components that were not found."""
    certified = all(status is Status.OPTIMAL for status in result.statuses)
    return certified and not result.exhausted and result.n_components < len(result.sparsity)


def _of_the_set(result: Result) -> str:
    ended = {
        Status.OPTIMAL: "the set is certified within the tolerance: it has",
        Status.PRECISION: "the set is certified up to rounding: it has",
    }.get(result.status) or f"{REASONS[result.status]}; the set has"
    return (
        f"{ended} {result.joint_variance:.6g}, and it is proved that no such set has more than "
        f"{rounded_up(result.joint_upper_bound):.6g} (gap {gap_of_set(result)})"
    )


def of_path(path: Any) -> str:
    """What is proved of a :class:`~orthospca.path.SparsityPath`."""
    certified = "certified within the tolerance"
    if path.status.finished:
        return f"all {certified}"
    if all(result.status.finished for result in path.results):
        return f"{REASONS[path.status]}; those found are {certified}"
    return f"{REASONS[path.status]}; the gaps are still to be proved"


def advice(result: Result, spelled: Callable[[str], str] = str) -> str:
    """What can be done about a gap that is open; empty if none is, or nothing can.

    Parameters
    ----------
    result : Result
    spelled : callable
        How the name of an argument of ``solve`` is written.
    """
    if verdict(result) not in ("Gap open.", "Not all found."):
        return ""
    more = {
        Status.TIME_LIMIT: f"raise {spelled('time_limit')}",
        Status.NODE_LIMIT: f"raise {spelled('node_limit')}",
        Status.INTERRUPTED: "give it more time",
        Status.THRESHOLD: f"lower {spelled('threshold')}",
        Status.PROOF_LIMIT: f"omit {spelled('proof')}, which limits the search to steps that a "
        "certificate can record",
    }.get(result.status)
    less = f"a larger {spelled('gap')} or a smaller {spelled('sparsity')}"
    if more is None:
        return f"To finish, accept {less}."
    return f"To continue, {more}; or accept {less}."


#: What a certificate says: the sentence that a paragraph is about, if it has one, ends with a bar.
_POPULATION = (
    "A proof is about the matrix, not the population it was sampled from: another sample may give "
    "other components."
)
_STAGE = (
    "The k-th component maximises the variance xᵀQx over all unit vectors x with at most p nonzero "
    "loadings that are orthogonal to the components before it. Finding a good one is easy; "
    "knowing how good it is takes a proof. The upper bound is proved for the given matrix: no "
    "choice of variables and loadings has more variance. The gap, (upper bound − variance) / "
    "variance, is what is left to prove, and a component is called optimal only if its gap is "
    "within the tolerance."
)
_CONDITIONAL = "The certificate of a component is conditional on the components before it."
_NOT_THE_SET = (
    "It is not claimed that the components together explain the most variance of any such set."
)
_STOPPED = (
    "If a limit or an interrupt stopped the search, the component is still feasible and its bound "
    "still valid: only the gap is larger. “Exhausted” means it is proved that no further "
    "vector with so few nonzero loadings is orthogonal to all those found."
)
_EXPLANATIONS = {
    "stagewise": (
        _STAGE,
        f"{_CONDITIONAL}|Where a stage has several optima, or is solved to a tolerance, another "
        f"choice could lead to other components later. {_NOT_THE_SET}",
        _STOPPED,
    ),
    "lexicographic": (
        _STAGE,
        f"{_CONDITIONAL}|Where several choices of variables are within the tolerance of the best "
        "of a stage, the one that makes the next component largest is chosen, then the one after "
        f"it, and so on; the result says whether all such ties were examined. {_NOT_THE_SET}",
        _STOPPED,
    ),
    "joint": (
        "The components are orthogonal unit vectors with at most p nonzero loadings each whose "
        "variances xᵀQx have the largest sum. The upper bound of the set is proved for the given "
        "matrix: no choice of variables and loadings has more variance in total. The gap of the "
        "set, (upper bound − total) / total, is what is left to prove, and the set is called "
        "optimal only if its gap is within the tolerance.",
        "It is the set that is certified, not each component.|A component of the best set need not "
        "be the best single one, and adding a component may change all of them. " + IN_ITS_PLACE,
        "If a limit or an interrupt stopped the search, the set is still feasible and its bound "
        "still valid: only the gap is larger.",
    ),
    "uncorrelated": (
        _STAGE.replace(
            "that are orthogonal to the components before it",
            "whose scores are uncorrelated with those of the components before it",
        ),
        "The components need not be orthogonal.|Their variances do not add up. " + _CONDITIONAL,
        _STOPPED.replace(
            "is orthogonal to all those found", "has scores uncorrelated with all those found"
        ),
    ),
    "deflation": (
        "The k-th component maximises xᵀAx over all unit vectors x with at most p nonzero "
        "loadings, where A is the matrix adjusted for the components before it. The upper bound "
        "and the gap are for A.",
        "Components found by deflation are not orthogonal.|Their variances in the given matrix "
        "overlap, and nothing is proved about them.",
        _STOPPED,
    ),
}


def kind_of(result: Result) -> str:
    """What the certificates of a result are like: its objective, or the baseline's method."""
    if result.objective == "joint" and not is_set(result):
        return "stagewise"
    if result.method != "deflation" and not result.orthogonal:
        return "uncorrelated"
    return "deflation" if result.method == "deflation" else result.objective


def explanation(kind: str = "stagewise") -> tuple[tuple[str, str], ...]:
    """What a certificate says and what it does not, in paragraphs.

    Parameters
    ----------
    kind : str
        As :func:`kind_of` names it.

    Returns
    -------
    tuple of pairs of str
        The sentence that a paragraph is about, or nothing; and the rest of it.
    """
    parts = (text.rpartition("|") for text in (*_EXPLANATIONS[kind], _POPULATION))
    return tuple((about, rest) for about, _, rest in parts)
