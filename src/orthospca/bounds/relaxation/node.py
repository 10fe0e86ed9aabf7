"""The strong bound of a node: multipliers inherited from the parent, then re-optimised.

A cascade, cheap steps first: Frobenius fixing; the parent's proof restricted to the node; a run of
the first-order method, warm-started, that stops as soon as it prunes or cannot.  Each proof also
fixes indices by reduced costs.  Where a node has too many variables for the relaxation, it is
solved on an active set and the others are priced out (``pricing``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.bounds.relaxation.pricing import Lump, make_lump, pattern_of
from orthospca.bounds.relaxation.proof import Fixing, Proof, eigenpart, fix_by_costs, make_proof
from orthospca.bounds.relaxation.solver import Relaxation, State, solve_relaxation
from orthospca.bounds.screening import fix_by_frobenius
from orthospca.model.limits import Watch
from orthospca.model.nodes import Node, NodeBound, Reason
from orthospca.model.stage import Subproblem
from orthospca.model.tuning import RelaxationTuning
from orthospca.supports.best import complement_basis
from orthospca.supports.heuristics import round_to_support


@dataclass(frozen=True, eq=False)
class Inheritance:
    """What a node hands to its children.

    Attributes
    ----------
    proof : Proof
        On the active indices that are left.
    lump : Lump or None
        The variables priced out.
    state : State
        A warm start, on ``indices``.
    indices : integer array
    """

    proof: Proof
    lump: Lump | None
    state: State
    indices: IntArray


class StrongBound:
    """Upper bounds from the multipliers of the convex relaxation.

    Parameters
    ----------
    problem : Subproblem
    scale : float
        What Q is divided by in the relaxation: the incumbent's value.
    shift : float
        The μ of the Frobenius bound.
    tuning : RelaxationTuning
    """

    def __init__(
        self,
        problem: Subproblem,
        scale: float,
        shift: float = 0.0,
        tuning: RelaxationTuning | None = None,
    ) -> None:
        self.problem = problem
        self.scale = scale
        self.shift = shift
        self.tuning = tuning or RelaxationTuning()

    def __call__(self, node: Node, cutoff: float, watch: Watch) -> NodeBound:
        """Bound a node."""
        work = _Work(self.problem, node, cutoff, self.tuning)
        inherited: Inheritance | None = node.payload
        cheap = inherited is None or len(node.allowed) <= self.tuning.largest_active
        if cheap and work.fix_by_frobenius(self.shift):
            return work.closed(Reason.FROBENIUS)
        if inherited is not None:
            work.inherit(inherited)
            if work.upper <= cutoff:
                return work.closed(Reason.MULTIPLIERS)
        else:
            work.choose_active()
        if work.determined:
            return work.outcome(None)
        relaxation = None
        for rounds_left in reversed(range(self.tuning.growth_rounds)):
            relaxation = self._relax(work, watch)
            if relaxation is None:
                work.upper = -math.inf
                return work.closed(Reason.INFEASIBLE)
            work.take(relaxation)
            done = work.upper <= cutoff or work.determined or watch.out_of_time()
            # Growing after the last round would only spoil the proof for the children.
            if done or rounds_left == 0 or not work.grow():
                break
        return work.outcome(relaxation)

    def _relax(self, work: _Work, watch: Watch) -> Relaxation | None:
        """Solve the relaxation of a node; None if fixing has left nothing feasible in it."""
        problem = self.problem
        basis = complement_basis(problem.touching(work.active))
        while _leaves_nothing(basis, work.active) and len(work.waiting):
            work.enlarge(np.union1d(work.active, work.waiting[: self.tuning.growth]))
            basis = complement_basis(problem.touching(work.active))
        if _leaves_nothing(basis, work.active):
            return None
        active = work.active
        return solve_relaxation(
            problem.covariance[np.ix_(active, active)],
            min(problem.sparsity, len(active)),
            scale=self.scale,
            included=np.searchsorted(active, work.included),
            basis=basis,
            target=work.cutoff,
            beat=work.upper,
            state=work.warm_start(),
            max_iterations=self.tuning.max_iterations,
            should_stop=watch.out_of_time,
        )


def _leaves_nothing(basis: Array | None, active: IntArray) -> bool:
    """Whether the active set is empty or filled by the previous components."""
    return len(active) == 0 or (basis is not None and basis.shape[1] == 0)


class _Work:
    """A node while it is being bounded: it shrinks as indices are fixed.

    ``allowed`` is the union of ``active``, on which the relaxation is solved, and ``waiting``.
    """

    def __init__(
        self, problem: Subproblem, node: Node, cutoff: float, tuning: RelaxationTuning
    ) -> None:
        self.problem = problem
        self.cutoff = cutoff
        self.tuning = tuning
        self.included, self.allowed = node.included, node.allowed
        self.active = self.allowed
        self.upper = node.upper
        self.removed_upper = -math.inf
        self.proof: Proof | None = None
        self.proof_upper = math.inf
        self.lump: Lump | None = None
        self.lump_is_fresh = False
        self.state: State | None = None
        self.state_indices = self.allowed
        self.costs = np.zeros(0)

    @property
    def waiting(self) -> IntArray:
        return np.setdiff1d(self.allowed, self.active, assume_unique=True)

    @property
    def determined(self) -> bool:
        """Whether fixing has left a single support."""
        p = self.problem.sparsity
        return len(self.allowed) <= p or len(self.included) >= p

    def fix_by_frobenius(self, shift: float) -> bool:
        """Drop what the norm rules out; True if nothing is left."""
        fixed = fix_by_frobenius(self.problem, self.included, self.allowed, self.cutoff, shift)
        self.removed_upper = max(self.removed_upper, fixed.removed_upper)
        if len(fixed.allowed) == 0:
            self.upper = min(self.upper, fixed.removed_upper)
            return True
        self.allowed = self.active = fixed.allowed
        return False

    def choose_active(self) -> None:
        """Take the most promising variables and all that previous components use."""
        if len(self.allowed) <= self.tuning.largest_active:
            return
        Q = self.problem.projected[np.ix_(self.allowed, self.allowed)]
        squares = np.sort(Q * Q, axis=1)[:, ::-1][:, : self.problem.sparsity].sum(axis=1)
        squares[np.isin(self.allowed, self.included)] = math.inf
        if self.problem.constrained:
            squares[np.abs(self.problem.previous[self.allowed]).max(axis=1) > 0] = math.inf
        count = max(self.tuning.first_active, int(np.count_nonzero(np.isinf(squares))))
        self.active = np.sort(self.allowed[np.argsort(-squares, kind="stable")[:count]])

    def inherit(self, inherited: Inheritance) -> None:
        """Apply the parent's proof."""
        self.state, self.state_indices = inherited.state, inherited.indices
        self.lump = inherited.lump
        if self.lump is not None:
            self.active = np.setdiff1d(self.allowed, self.lump.indices, assume_unique=True)
        self.apply(inherited.proof)
        if self.lump is not None and len(self.allowed) <= self.tuning.largest_active:
            self.enlarge(self.allowed)

    def warm_start(self) -> State | None:
        """Return the state moved to the active indices, old ones dropped and new ones added."""
        if self.state is None:
            return None
        kept = np.intersect1d(self.state_indices, self.active, assume_unique=True)
        state = self.state.restrict(np.searchsorted(self.state_indices, kept))
        if len(kept) == len(self.active):
            return state
        return state.expand(np.searchsorted(self.active, kept), len(self.active))

    def take(self, relaxation: Relaxation) -> None:
        """Use the multipliers of a relaxation on the active indices."""
        self.state, self.state_indices = relaxation.state, self.active
        Q, waiting = self.problem.covariance, self.waiting
        matrix = Q[np.ix_(self.active, self.active)]
        pattern = pattern_of(Q, self.active, waiting) if len(waiting) else None
        inside = np.isin(self.active, self.included)
        size = self.problem.sparsity
        proof = make_proof(matrix, self.active, relaxation.multipliers, inside, size, pattern)
        if proof is None:
            self.proof = None
            return
        if len(waiting) == 0:
            self.lump = None
        elif self.lump is None or len(self.lump.indices) != len(waiting):
            eigenvalue = eigenpart(self.problem, proof).upper
            last_price = self._last_price(proof)
            self.lump_is_fresh = True
            self.lump = make_lump(Q, waiting, proof, eigenvalue, last_price, size)
        self.apply(proof)

    def _last_price(self, proof: Proof) -> float:
        """Price of the cheapest variable in the dearest support."""
        free = np.sort(proof.costs[~np.isin(self.active, self.included)])[::-1]
        room = self.problem.sparsity - len(self.included)
        return float(free[min(room, len(free)) - 1]) if len(free) else 0.0

    def apply(self, proof: Proof) -> None:
        """Bound the node by a proof and fix by its costs, until nothing more is fixed."""
        for _ in range(4):
            proof = proof.restrict(self.active)
            eigenvalue = eigenpart(self.problem, proof).upper
            costs = np.empty(len(self.allowed))
            costs[np.searchsorted(self.allowed, self.active)] = proof.costs
            if self.lump is not None:
                self.lump = self.lump.restrict(self.waiting)
                prices = self.lump.prices(self.problem.covariance, proof, eigenvalue)
                costs[np.searchsorted(self.allowed, self.lump.indices)] = prices
            inside = np.isin(self.allowed, self.included)
            size = self.problem.sparsity
            fixing = fix_by_costs(eigenvalue, costs, inside, size, self.cutoff)
            self.costs = costs
            self.upper = min(self.upper, fixing.upper)
            # An interrupted or unlucky run may end above the inherited proof: keep the better one.
            if self.proof is None or fixing.upper <= self.proof_upper:
                self.proof, self.proof_upper = proof, fixing.upper
            if self.upper <= self.cutoff or not self._fix(fixing):
                return

    def _fix(self, fixing: Fixing) -> bool:
        if not (fixing.out.any() or fixing.into.any()):
            return False
        self.removed_upper = max(self.removed_upper, fixing.removed_upper)
        # A variable outside the active set cannot be included: the proof does not speak of it.
        into = np.intersect1d(self.allowed[fixing.into], self.active, assume_unique=True)
        self.included = np.union1d(self.included, into)
        gone = self.allowed[fixing.out]
        self.allowed = self.allowed[~fixing.out]
        self.active = np.setdiff1d(self.active, gone, assume_unique=True)
        if len(self.allowed) == 0:
            # No support is left: what was removed is all there was.
            self.upper = min(self.upper, self.removed_upper)
        return not self.determined

    def grow(self) -> bool:
        """Take into the active set what holds the bound up, or everything if little is left.

        Returns
        -------
        bool
            Whether the active set grew, so that another relaxation is worth while.
        """
        waiting = self.waiting
        if len(waiting) == 0 or self.proof is None:
            return False
        if len(self.allowed) <= self.tuning.largest_active:
            self.enlarge(self.allowed)
            return True
        prices = self.costs[np.searchsorted(self.allowed, waiting)]
        last_price = self._last_price(self.proof.restrict(self.active))
        dear = prices > last_price
        if not dear.any():
            return False
        if not self.lump_is_fresh:
            # The prices were set up for another node: better ones may do without growth.
            return self._reprice(last_price)
        order = np.argsort(-prices, kind="stable")[
            : min(int(np.count_nonzero(dear)), self.tuning.growth)
        ]
        self.enlarge(np.union1d(self.active, waiting[order]))
        return True

    def _reprice(self, last_price: float) -> bool:
        """Set the lump up anew for the present proof; grow if that does not help."""
        proof = self.proof
        if proof is None:
            return False
        proof = proof.restrict(self.active)
        eigenvalue = eigenpart(self.problem, proof).upper
        Q, size = self.problem.covariance, self.problem.sparsity
        self.lump = make_lump(Q, self.waiting, proof, eigenvalue, last_price, size)
        self.lump_is_fresh = True
        self.apply(proof)
        return self.upper > self.cutoff and not self.determined and self.grow()

    def enlarge(self, active: IntArray) -> None:
        """Change the active set; proofs that do not speak of it are of no more use."""
        self.active = active
        if len(active) == len(self.allowed):
            self.lump = None
        elif self.lump is not None:
            self.lump = self.lump.restrict(self.waiting)
        if self.proof is not None and len(np.setdiff1d(active, self.proof.indices)):
            self.proof, self.proof_upper = None, math.inf

    def closed(self, reason: Reason) -> NodeBound:
        """Return the bound of a node that is closed."""
        return NodeBound(
            self.upper,
            reason,
            self.included,
            self.allowed,
            fixed_upper=self.removed_upper,
            proof=self.proof,
        )

    def outcome(self, relaxation: Relaxation | None) -> NodeBound:
        """Return the bound with what the search needs to go on."""
        # Where nothing better is known (all active variables are fixed, say), any free index
        # serves; the children then start afresh.
        free = np.setdiff1d(self.allowed, self.included, assume_unique=True)
        branch = int(free[0]) if len(free) else -1
        supports: tuple[IntArray, ...] = ()
        payload: Inheritance | None = None
        known = np.intersect1d(self.active, self.state_indices, assume_unique=True)
        if relaxation is not None and len(np.setdiff1d(known, self.included)):
            at = np.searchsorted(self.state_indices, known)
            z, direction = relaxation.z[at], relaxation.direction[at]
            branch = self._branching_index(known, z)
            if len(known) >= self.problem.sparsity:
                supports = tuple(
                    round_to_support(self.problem, guide, self.included, known)
                    for guide in (z, direction)
                )
            if self.proof is not None and self.state is not None:
                proof = self.proof.restrict(np.intersect1d(self.proof.indices, self.active))
                payload = Inheritance(proof, self.lump, self.state, self.state_indices)
        return NodeBound(
            self.upper,
            Reason.MULTIPLIERS,
            self.included,
            self.allowed,
            branch=branch,
            supports=supports,
            fixed_upper=self.removed_upper,
            payload=payload,
            proof=self.proof,
        )

    def _branching_index(self, known: IntArray, z: Array) -> int:
        """Return the free index whose z is closest to ``tuning.branch_near``."""
        distance = np.abs(z - self.tuning.branch_near)
        distance[np.isin(known, self.included)] = math.inf
        return int(known[np.argmin(distance)])
