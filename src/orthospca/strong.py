"""The strong bound of a node: multipliers inherited from the parent, then re-optimised.

A cascade, cheap steps first: Frobenius fixing; the parent's proof restricted to the node; a run of
the first-order method, warm-started, that stops as soon as it prunes or cannot.  Each proof also
fixes indices by reduced costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.dual import Fixing, Proof, eigenpart, fix_by_costs, make_proof
from orthospca.heuristics import round_to_support
from orthospca.limits import Watch
from orthospca.nodes import Node, NodeBound, Reason
from orthospca.problem import Subproblem
from orthospca.relaxation import Relaxation, State, solve_relaxation
from orthospca.screening import fix_by_frobenius
from orthospca.support import complement_basis


@dataclass(frozen=True, eq=False)
class Inheritance:
    """What a node hands to its children: a proof and a warm start, on their indices."""

    proof: Proof
    state: State
    indices: IntArray


class StrongBound:
    """Upper bounds from the multipliers of the convex relaxation."""

    def __init__(
        self, problem: Subproblem, scale: float, shift: float = 0.0, max_iterations: int = 120
    ) -> None:
        self.problem = problem
        self.scale = scale
        self.shift = shift
        self.max_iterations = max_iterations

    def __call__(self, node: Node, cutoff: float, watch: Watch) -> NodeBound:
        """Bound a node."""
        work = _Work(self.problem, node, cutoff, self.shift)
        if work.fix_by_frobenius():
            return work.closed(Reason.FROBENIUS)
        inherited: Inheritance | None = node.payload
        if inherited is not None:
            work.apply(inherited.proof)
            if work.upper <= cutoff:
                return work.closed(Reason.MULTIPLIERS)
            if work.determined:
                return work.open_without_relaxation(inherited)
        relaxation = self._relax(work, inherited, watch)
        work.take(relaxation)
        return work.outcome(relaxation)

    def _relax(self, work: _Work, inherited: Inheritance | None, watch: Watch) -> Relaxation:
        problem, allowed = self.problem, work.allowed
        state = None
        if inherited is not None:
            state = inherited.state.restrict(np.searchsorted(inherited.indices, allowed))
        return solve_relaxation(
            problem.covariance[np.ix_(allowed, allowed)],
            min(problem.sparsity, len(allowed)),
            scale=self.scale,
            included=np.searchsorted(allowed, work.included),
            basis=complement_basis(problem.touching(allowed)),
            target=work.cutoff,
            state=state,
            max_iterations=self.max_iterations,
            should_stop=watch.out_of_time,
        )


class _Work:
    """A node while it is being bounded: it shrinks as indices are fixed."""

    def __init__(self, problem: Subproblem, node: Node, cutoff: float, shift: float) -> None:
        self.problem = problem
        self.shift = shift
        self.cutoff = cutoff
        self.included, self.allowed = node.included, node.allowed
        self.upper = node.upper
        self.removed_upper = -math.inf
        self.proof: Proof | None = None

    @property
    def determined(self) -> bool:
        """Whether fixing has left a single support."""
        p = self.problem.sparsity
        return len(self.allowed) <= p or len(self.included) >= p

    def fix_by_frobenius(self) -> bool:
        """Drop what the norm rules out; True if nothing is left."""
        fixed = fix_by_frobenius(self.problem, self.included, self.allowed, self.cutoff, self.shift)
        self.removed_upper = max(self.removed_upper, fixed.removed_upper)
        if len(fixed.allowed) == 0:
            self.upper = min(self.upper, fixed.removed_upper)
            return True
        self.allowed = fixed.allowed
        return False

    def apply(self, proof: Proof) -> None:
        """Bound the node by a proof and fix by its costs, until nothing more is fixed."""
        for _ in range(4):
            proof = proof.restrict(self.allowed)
            self.proof = proof
            part = eigenpart(self.problem, proof)
            inside = np.isin(self.allowed, self.included)
            fixing = fix_by_costs(
                part.upper, proof.costs, inside, self.problem.sparsity, self.cutoff
            )
            self.upper = min(self.upper, fixing.upper)
            if self.upper <= self.cutoff or not self._fix(fixing):
                return

    def _fix(self, fixing: Fixing) -> bool:
        if not (fixing.out.any() or fixing.into.any()):
            return False
        self.removed_upper = max(self.removed_upper, fixing.removed_upper)
        if fixing.into.any():
            self.included = np.union1d(self.included, self.allowed[fixing.into])
        self.allowed = self.allowed[~fixing.out]
        return not self.determined

    def take(self, relaxation: Relaxation) -> None:
        """Use the multipliers of a relaxation that was solved on the allowed indices."""
        matrix = self.problem.covariance[np.ix_(self.allowed, self.allowed)]
        proof = make_proof(matrix, self.allowed, relaxation.multipliers)
        self._solved_on = self.allowed
        if proof is not None:
            self.apply(proof)

    def closed(self, reason: Reason) -> NodeBound:
        return NodeBound(self.upper, reason, self.included, self.allowed, proof=self.proof)

    def open_without_relaxation(self, inherited: Inheritance) -> NodeBound:
        """Fixing left one support: the search will solve it when it takes the node up."""
        return NodeBound(
            self.upper,
            Reason.MULTIPLIERS,
            self.included,
            self.allowed,
            fixed_upper=self.removed_upper,
            payload=None,
        )

    def outcome(self, relaxation: Relaxation) -> NodeBound:
        at = np.searchsorted(self._solved_on, self.allowed)
        z, direction = relaxation.z[at], relaxation.direction[at]
        supports = tuple(
            round_to_support(self.problem, guide, self.included, self.allowed)
            for guide in (z, direction)
        )
        payload = None
        if self.proof is not None:
            payload = Inheritance(self.proof, relaxation.state, self._solved_on)
        return NodeBound(
            self.upper,
            Reason.MULTIPLIERS,
            self.included,
            self.allowed,
            branch=self._branching_index(z),
            supports=supports,
            fixed_upper=self.removed_upper,
            payload=payload,
            proof=self.proof,
        )

    def _branching_index(self, z: Array) -> int:
        """Return the free index whose z is closest to one half."""
        distance = np.abs(z - 0.5)
        distance[np.isin(self.allowed, self.included)] = math.inf
        return int(self.allowed[np.argmin(distance)])
