"""The façade ``solve``: check what is asked, choose the way, go stage after stage."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from orthospca._errors import InputError
from orthospca._methods import Method, Objective, Relation
from orthospca.blocks.partition import Blocks
from orthospca.blocks.thresholds import validate_threshold
from orthospca.certificate.files import Certificate
from orthospca.certificate.joint import (
    claimed_of_sets,
    make_joint_certificate,
    make_tree_certificate,
    of_another_set,
    read_saved_set,
)
from orthospca.certificate.recorder import Recorder
from orthospca.data.contrast import contrasted
from orthospca.data.covariance import DataCovariance
from orthospca.data.problem import Problem, diagonal_of
from orthospca.joint.bound import spectral_bound
from orthospca.joint.branching import written
from orthospca.joint.solving import solve_jointly
from orthospca.joint.wide import solve_wide_jointly
from orthospca.model.demands import DEMANDED, NO_DEMANDS, Demands
from orthospca.model.journal import Callback
from orthospca.model.limits import Watch
from orthospca.model.printing import ProgressPrinter
from orthospca.model.result import Component, Result, Status, noted
from orthospca.model.settings import Settings
from orthospca.model.validation import names_of, validate_names, validate_path
from orthospca.numerics.exact import total_down
from orthospca.numerics.rounding import add_up
from orthospca.numerics.threads import single_threaded_blas
from orthospca.routes import (
    certified_by,
    formed_if_needed,
    is_formed,
    needs_matrix,
    stages_of_data,
    stages_of_matrix,
)
from orthospca.search.lexicographic import Lexicographic
from orthospca.search.sequence import Found, run_stages
from orthospca.search.stages import MatrixStages
from orthospca.wide.stage import WideProblem, WideStages

#: Orders up to which the bound of ordinary PCA is part of every result, and of those that there is
#: time for.
SMALL_SPECTRUM, LARGEST_SPECTRUM = 300, 1000
#: Ways on which the path of a result can be proved afterwards.
Climbing = MatrixStages | WideStages
#: What is said where a matrix was needed, and could not be formed in time.
NO_MATRIX = "the time limit left no time to form the covariance matrix, which this needs"
#: Relative difference up to which variances of single features are the same.
TIED = 1e-9


def solve(
    Q: Any,
    sparsity: int | Any,
    n_components: int = 1,
    *,
    objective: str = "stagewise",
    method: str = "branch-and-bound",
    eps: float = 0.0,
    gap: float = 1e-4,
    threshold: float | str | Blocks = 0.0,
    time_limit: float | None = None,
    node_limit: int | None = None,
    n_jobs: int | None = None,
    random_state: int | None = None,
    callback: Callback | None = None,
    proof: bool = False,
    resume: str | os.PathLike[str] | None = None,
    feature_names: Sequence[str] | None = None,
    memory_limit: float | str | None = None,
    include: Any = None,
    exclude: Any = None,
    relation: str = "orthogonal",
    previous: Any = None,
    start: Any = None,
    nonnegative: bool = False,
    verbose: bool | int = False,
    reference: Any = None,
    contrast: float = 1.0,
) -> Result:
    """Find orthogonal sparse principal components with certificates.

    The k-th component solves ``max xᵀQx`` over unit vectors with at most ``sparsity`` nonzero
    entries that are orthogonal to the components before it.

    Parameters
    ----------
    Q : array-like of shape (n, n), or DataCovariance
        Symmetric, such as a covariance or correlation matrix; it may be indefinite.  A
        :class:`~orthospca.DataCovariance` defines it by data, and only the necessary part is
        formed.
    sparsity : int or sequence of int
        Number of features each component may use: one number, or one for each component.
    n_components : int
        Number of components to find.
    objective : {"stagewise", "lexicographic", "joint"}
        ``"stagewise"``: each component is the best one given those before it.
        ``"lexicographic"``: the same, but if a stage has several optima (within the tolerance), the
        one that makes the following stages largest; ``Result.note`` says whether all ties were
        examined.  ``"joint"``: the components with the largest total variance, with a proved bound
        on the total of every such set, ``Result.joint_upper_bound``.  Then the set is certified:
        each component has the status ``PART_OF_SET``, and its bound limits any other component in
        its place.  A joint search may take long: set a time or node limit.  The last two need
        ``method="branch-and-bound"`` and no threshold, and ``"lexicographic"`` also needs a matrix.
    method : {"branch-and-bound", "enumeration", "eigenvalue", "deflation"}
        ``"branch-and-bound"`` certifies sparsity after sparsity, each of which leaves few features
        for the next, searches given the strongest features and, if necessary, continues with the
        share relaxation and branching.  ``"enumeration"`` tests every support (Algorithm 1).
        ``"eigenvalue"`` is branch and bound with the eigenvalue, Gershgorin, Frobenius and trace
        bounds (Algorithm 4).  ``"deflation"`` is the baseline that solves adjusted covariances; its
        components are **not** orthogonal.
    eps, gap : float
        A stage ends when ``upper - lower ≤ max(eps, gap·|lower|)``, exactly.  If floating point
        cannot reach that, as when both are 0, the status is ``PRECISION``.
    threshold : float, "auto" or Blocks
        Split the problem into blocks, ignoring smaller entries of Q between them (Algorithms 2 and
        3).  This is faster, but the components may fall short of the best ones by
        ``Result.guarantee``; the upper bounds always hold for Q itself.  0 splits along exact zeros
        only and ignores nothing.  ``"auto"`` takes the largest threshold that the tolerance allows,
        or 0 if that would not help; ``Result.note`` says which.  You may also pass the blocks, from
        :func:`orthospca.block_diagonalize`.  With ``"deflation"`` the threshold must be 0.
    time_limit : float, optional
        Seconds for the whole solve, including forming a matrix from data.  Each stage may use two
        fifths of the remaining time, or an equal share if that is more.
    node_limit : int, optional
        Nodes for each stage; with ``objective="joint"``, for all components together.
    n_jobs : int, optional
        Jobs over nodes or blocks, as in joblib: threads, unless ``joblib.parallel_config`` sets
        another backend for the blocks.  The result does not depend on it.
    random_state : int, optional
        Seed of the search for good sets with ``objective="joint"`` (default 0).  Nothing else is
        random.
    callback : callable, optional
        Called with a ``Progress`` record at least twice a second; if it returns a true value, the
        solve stops.
    proof : bool
        Whether to return a certificate, ``Result.certificate``, which :func:`orthospca.verify`
        checks without trusting the solver.  The search then uses only steps that a certificate can
        record: no blocks (a threshold has no effect), no multipliers of more than some hundred
        megabytes, and for a joint set with many features no branching.  If they leave a gap, the
        status is ``PROOF_LIMIT``.
    resume : path, optional
        File in which to keep the certificate (implies ``proof``).  If it exists, it is verified,
        and its finished stages and rungs are not proved again; a certificate of another problem is
        an error.  The file is rewritten from time to time and at the end, completely or not at all,
        so that a run that was killed can be continued.  For a joint set it is written at the end; a
        later run starts from the set and its bound.
    feature_names : sequence of str, optional
        One name for each feature; by default those of Q, if it is a data frame (pandas, polars) or
        a :class:`~orthospca.DataCovariance` of one.
    memory_limit : float or str, optional
        Bytes, or a size such as ``"4GB"``, that a matrix formed from data may take; by default half
        of the free memory.
    include, exclude : sequence of str or int, or one for each component, optional
        Features, by name or number, that every support must contain, or must not contain.  Included
        features count against the sparsity, even if their best loading is zero.
    relation : {"orthogonal", "disjoint", "uncorrelated"}
        ``"orthogonal"``: each component is orthogonal to those before it.  ``"disjoint"``: each
        feature serves only one component; features that a later component includes are reserved
        for it.  ``"uncorrelated"``: scores are uncorrelated, ``xᵀQy = 0``, and components need not
        be orthogonal; this needs a matrix.
    previous : array-like of shape (k, n), optional
        Linearly independent vectors before the first component: all components are orthogonal to
        them (with ``relation="disjoint"``, use none of their features).  ``n_components`` counts
        only the new components, and the result holds only these.
    start : array-like of shape (k, n), optional
        Vectors to start from, the k-th for the k-th component.
    nonnegative : bool
        Whether to allow no negative loadings.  Such components are disjoint, because a sum of
        non-negative terms is 0 only if all of them are; vectors of ``previous`` must be
        non-negative too.
    verbose : bool or int
        1 prints a line for each finished component, 2 also reports progress every few seconds; in a
        notebook, a progress bar appears instead.  The same lines are always log records, at level
        INFO of the logger ``"orthospca"``.
    reference : array-like of shape (n, n), or DataCovariance, optional
        The covariance of another sample of the same features.  ``Q - contrast·reference`` is
        solved: what varies in one condition and not in the other.  ``Result.note`` says what is
        certified.
    contrast : float
        Weight of the reference.

    Returns
    -------
    Result
        With fewer than ``n_components`` components if it is proved that no more exist, or if a
        limit or an interrupt came first.

    Examples
    --------
    >>> import orthospca
    >>> result = orthospca.solve([[5, 1, 0], [1, 5, 2], [0, 2, 2]], sparsity=2, n_components=3)
    >>> result.variances.round(6).tolist() in ([6.0, 4.0, 2.0], [6.0, 5.0, 1.0])
    True
    >>> result.status.name
    'OPTIMAL'
    """
    settings = Settings.validate(
        *(method, eps, gap, time_limit, node_limit, n_jobs, callback),
        random_state=random_state,
        proof=proof or resume is not None,
        objective=objective,
        memory_limit=memory_limit,
    )
    values = (include, exclude, relation, previous, nonnegative)
    asked = dict(zip(DEMANDED, values, strict=True)) | {"start": start}
    note = ""
    if reference is not None:
        feature_names = names_of(Q) if feature_names is None else feature_names
        Q, note = contrasted(Q, reference, contrast)
    elif contrast != 1.0:
        raise InputError(f"contrast needs a reference, got contrast={contrast!r} without one")
    together = objective == "joint"
    teller = ProgressPrinter("solve", n_components, verbose, together=together, callback=callback)
    listener = teller if teller.is_heard else callback
    given = (Q, sparsity, n_components, settings, threshold, listener)
    path = validate_path("resume", resume)
    result = solve_with(*given, resume=path, names=feature_names, asked=asked)
    teller.close()
    return noted(result, note)


def solve_with(
    Q: Any,
    sparsity: Any,
    n_components: Any,
    settings: Settings,
    threshold: Any = 0.0,
    callback: Callback | None = None,
    learnt: WideProblem | None = None,
    known: Sequence[Component] = (),
    resume: Path | None = None,
    names: Any = None,
    watch: Watch | None = None,
    asked: Mapping[str, Any] | Demands = NO_DEMANDS,
) -> Result:
    """As :func:`solve`, with its settings in one piece.

    Parameters
    ----------
    Q, sparsity, n_components, threshold, callback
        As in :func:`solve`.
    settings : Settings
    learnt : WideProblem, optional
        Holds what earlier solves have learnt about the rows of Q, which is given by data and is
        not formed.
    known : sequence of Component
        The first components, if they are known already; they are not sought again.
    resume : path, optional
        As in :func:`solve`.
    names : sequence of str, optional
        As ``feature_names`` in :func:`solve`.
    watch : Watch, optional
        Whose clock is running already.
    asked : mapping or Demands
        What is asked beyond the sparsity: arguments of :func:`solve`, or validated.
    """
    watch = watch or settings.watch(callback)
    with watch.listening():
        given = Problem.validate(Q, sparsity, n_components)
        names = validate_names(names, given.n_features, given.feature_names)
        if not isinstance(asked, Demands):
            asked = Demands.validate(given.sparsity, given.n_features, names, **asked)
        given = replace(given, demands=asked, feature_names=names)
        _refuse_demands(asked, settings)
        formed = is_formed(Q, settings, threshold, asked)
        formed &= learnt is None or bool(needs_matrix(settings, asked))
        threshold = validate_threshold(threshold, given.n_features, settings.method, formed)
        in_turn = settings.objective is Objective.STAGEWISE
        if not in_turn:
            _refuse_what_needs_stages(threshold, settings, resume)
        Q = formed_if_needed(given.covariance, formed, settings, threshold, asked, watch)
        if Q is None:
            found = Found((), False, math.nan, watch.verdict() or Status.TIME_LIMIT)
            return _Solve(given, settings, watch).result(found, NO_MATRIX)
        solving = _Solve(replace(given, covariance=Q), settings, watch)
        with single_threaded_blas():
            if not in_turn:
                return solving.together(resume)
            climb = functools.partial(_climb, given, settings)
            return solving.in_turn(threshold, climb, learnt, known, resume)


@dataclass(frozen=True, eq=False)
class _Solve:
    """A validated problem, how it is to be solved, and its clock."""

    problem: Problem
    settings: Settings
    watch: Watch

    def in_turn(
        self,
        threshold: Any,
        climb: Callable[[], tuple[Component, ...]],
        learnt: WideProblem | None,
        known: Sequence[Component],
        resume: Path | None,
    ) -> Result:
        """Find one component after another."""
        problem, settings, watch = self.problem, self.settings, self.watch
        Q = problem.covariance
        if isinstance(Q, DataCovariance):
            wide = learnt or WideProblem(Q, max(problem.sparsity), settings)
            stages = stages_of_data(wide, problem.demands, threshold, settings, watch)
        else:
            stages = stages_of_matrix(Q, problem, threshold, settings, watch)
        recorder = self._recorder(resume) if settings.proof else None
        if recorder is not None:
            known = recorder.finished or known
        sequence = (stages, problem.sparsity, settings.tolerance, watch, known, recorder)
        found = run_stages(*sequence, problem.demands)
        certificate = None if recorder is None else recorder.close(found)
        result = self.result(found, stages.note, certificate, self._bound_of_all(found))
        has_path = isinstance(stages, Climbing) and settings.method is Method.BRANCH_AND_BOUND
        has_path &= bool(found.components) and not found.path
        return replace(result, climb=climb) if has_path else result

    def together(self, resume: Path | None) -> Result:
        """Find components that are chosen with regard to those after them."""
        problem, settings = self.problem, self.settings
        certificate: Certificate | None = None
        Q, limits, told = problem.covariance, problem.sparsity, problem.demands.manifest()
        way = (limits, settings, self.watch, problem.demands)
        if isinstance(Q, DataCovariance):
            joint = solve_wide_jointly(WideProblem(Q, max(limits), settings), *way)
            found = Found(joint.components, False, math.nan, joint.status)
            return self.result(found, joint.note, None, joint.upper)
        if settings.objective is Objective.LEXICOGRAPHIC:
            found, note = Lexicographic(Q, *way).run()
            if settings.proof:
                certificate = self._recorder().close(found)
            return self.result(found, note, certificate, self._bound_of_all(found))
        saved = None if resume is None else read_saved_set(resume, Q, limits, told)
        if saved is None:
            joint = solve_jointly(Q, *way)
        else:
            known = list(saved.arrays["components.npy"])
            joint = solve_jointly(Q, *way, known, claimed_of_sets(saved))
        vectors = [component.vector for component in joint.components]
        if settings.proof and joint.tree is not None:
            tree = (*written(joint.tree), joint.upper)
            certificate = make_tree_certificate(Q, limits, vectors, tree, told)
        elif settings.proof and joint.root is not None:
            ladders = {size: outcome.rungs for size, outcome in joint.root.outcomes.items()}
            root = (joint.root.matrix, ladders)
            certificate = make_joint_certificate(Q, limits, vectors, *root, told)
        if saved is not None:
            kept = of_another_set(saved, Q, vectors)
            certificate = min(kept, certificate or kept, key=claimed_of_sets)
        if resume is not None and certificate is not None:
            certificate.save(resume)
        found = Found(joint.components, False, math.nan, joint.status)
        return self.result(found, joint.note, certificate, joint.upper)

    def result(
        self,
        found: Found,
        note: str,
        certificate: Certificate | None = None,
        together: float = math.nan,
    ) -> Result:
        """What was asked and what was found, in one piece."""
        problem, settings = self.problem, self.settings
        result = Result(
            stages=found.components,
            n_features=problem.n_features,
            sparsity=problem.sparsity,
            status=found.status,
            exhausted=found.exhausted,
            method=str(settings.method),
            guarantee=found.guarantee,
            runtime=self.watch.clock.elapsed,
            history=tuple(self.watch.journal.history),
            feature_names=problem.feature_names,
            total_variance=float(diagonal_of(problem.covariance).sum()),
            note=note,
            known_path=found.path,
            certificate=certificate,
            objective=str(settings.objective),
            joint_upper_bound=together,
            asked=problem.demands.manifest(),
        )
        return noted(result, _on_ties(problem))

    def _recorder(self, resume: Path | None = None) -> Recorder:
        """What keeps the certificate."""
        problem = self.problem
        given = (*certified_by(problem.covariance), problem.sparsity, self.settings)
        return Recorder(*given, resume, problem.demands)

    def _bound_of_all(self, found: Found) -> float:
        """A bound on the total variance of every set, where it costs little."""
        problem, count = self.problem, len(found.components)
        Q = problem.covariance
        deflated = self.settings.method is Method.DEFLATION
        if deflated or problem.demands.uncorrelated or count == 0:
            return math.nan
        limits = problem.sparsity[:count]
        upper = math.inf
        if max(limits) <= limits[0] and all(problem.demands.nests(0, k) for k in range(1, count)):
            # What holds for the first component holds for every one.
            upper = add_up(*([found.components[0].upper_bound] * count), 0.0)
        n = problem.n_features
        in_time = n <= LARGEST_SPECTRUM and self.watch.has_time_for(4.0 * n**3)
        if not isinstance(Q, DataCovariance) and count > 1 and (n <= SMALL_SPECTRUM or in_time):
            upper = min(upper, spectral_bound(Q, count))
        return max(upper, total_down(component.variance for component in found.components))


def _climb(given: Problem, settings: Settings) -> tuple[Component, ...]:
    """Prove all sparsities of the first component up to one: what is behind ``Result.path``."""
    settings, asked = replace(settings, rungs=True, proof=False), given.demands.of_first()
    if asked.nonnegative:
        # One sparsity proves nothing for the next that the plain search does not prove anew.
        first = max(len(asked.asked(0).included), 1)
        sizes = range(first, given.sparsity[0] + 1)
        results = [solve_with(given.covariance, p, 1, settings, asked=asked) for p in sizes]
        return tuple(result.stages[0] for result in results if result.stages)
    return solve_with(given.covariance, given.sparsity[0], 1, settings, asked=asked).known_path


def _on_ties(problem: Problem) -> str:
    """A note if single features are asked for and none has more variance, as in correlations."""
    if min(problem.sparsity) > 1 or problem.n_features == 1:
        return ""
    variances = diagonal_of(problem.covariance)
    varying = variances[variances != 0]
    if not len(varying) or np.ptp(varying) > TIED * np.abs(varying).max():
        return ""
    return (
        f"with sparsity 1 all {len(varying)} features tie, because each has the same variance (as "
        "in every correlation matrix)"
    )


def _refuse_demands(demands: Demands, settings: Settings) -> None:
    """Refuse what is asked where there is no certified way to it."""
    deflated, objective = settings.method is Method.DEFLATION, settings.objective
    if objective is Objective.STAGEWISE and not deflated:
        return
    what = "method='deflation'" if deflated else f"objective={str(objective)!r}"
    relation = f"relation={str(demands.relation)!r}"
    named: dict[str, Any] = {"nonnegative=True": demands.nonnegative}
    if objective is not Objective.LEXICOGRAPHIC:
        named |= {"start": demands.start, "previous": demands.previous is not None}
    if deflated:
        named |= {"include": demands.include, "exclude": demands.exclude}
        named[relation] = demands.relation is not Relation.ORTHOGONAL
    else:
        named[relation] = demands.uncorrelated
    for name in (name for name, value in named.items() if value):
        raise InputError(f"{name} does not work with {what}")


def _refuse_what_needs_stages(threshold: Any, settings: Settings, resume: Path | None) -> None:
    if isinstance(threshold, Blocks) or threshold != 0.0:
        raise InputError(f"threshold must be 0 unless objective is 'stagewise', got {threshold!r}")
    if resume is not None and settings.objective is Objective.LEXICOGRAPHIC:
        raise InputError(
            f"resume does not work with objective='lexicographic', got {str(resume)!r}"
        )
