"""How a problem is to be solved: what every way through the package is given in one piece."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from orthospca._errors import InputError
from orthospca._methods import Method, Objective
from orthospca._typing import IntArray
from orthospca.model.journal import Callback
from orthospca.model.limits import Watch
from orthospca.model.memory import free_memory, validate_memory
from orthospca.model.tolerance import Tolerance
from orthospca.model.tuning import DEFAULT, Tuning
from orthospca.model.validation import (
    validate_choice,
    validate_flag,
    validate_integer,
    validate_nonnegative,
)


@dataclass(frozen=True)
class Settings:
    """Tolerances, limits and the method.

    Attributes
    ----------
    method : Method
    tolerance : Tolerance
    time_limit : float or None
        Seconds for everything.
    node_limit : int or None
        For each stage.
    n_jobs : int or None
    tuning : Tuning
    proof : bool
        Whether only such arguments are used as a certificate can hold.
    objective : Objective
    start : tuple of integer arrays
        Supports that may be good ones, as those of a similar problem are: they are tried first.
    rungs : bool
        Whether every sparsity up to the one asked for is to be proved as well.
    random_state : int
        Where the search for good sets of components begins.
    memory_limit : float or None
        Bytes that matrices formed from data may take.
    """

    method: Method = Method.BRANCH_AND_BOUND
    tolerance: Tolerance = field(default_factory=Tolerance)
    time_limit: float | None = None
    node_limit: int | None = None
    n_jobs: int | None = None
    tuning: Tuning = DEFAULT
    proof: bool = False
    objective: Objective = Objective.STAGEWISE
    start: tuple[IntArray, ...] = ()
    rungs: bool = False
    random_state: int = 0
    memory_limit: float | None = None

    @classmethod
    def validate(
        cls,
        method: Any = Method.BRANCH_AND_BOUND,
        eps: Any = 0.0,
        gap: Any = 1e-4,
        time_limit: Any = None,
        node_limit: Any = None,
        n_jobs: Any = None,
        callback: Any = None,
        *,
        random_state: Any = None,
        tuning: Tuning | None = None,
        proof: Any = False,
        objective: Any = Objective.STAGEWISE,
        memory_limit: Any = None,
    ) -> Settings:
        """Check the arguments; a bad one is a ``ValueError`` that names it."""
        validate_choice("method", method, Method)
        validate_choice("objective", objective, Objective)
        if objective != Objective.STAGEWISE and method != Method.BRANCH_AND_BOUND:
            raise InputError(
                f"method must be 'branch-and-bound' unless objective is 'stagewise', got {method!r}"
            )
        if time_limit is not None:
            time_limit = validate_nonnegative("time_limit", time_limit)
        if node_limit is not None:
            node_limit = validate_integer("node_limit", node_limit, 1)
        if n_jobs is not None and validate_integer("n_jobs", n_jobs, -(10**6)) == 0:
            raise InputError("n_jobs must not be 0, got 0")
        if random_state is None:
            random_state = 0
        if callback is not None and not callable(callback):
            raise InputError(f"callback must be callable, got {callback!r}")
        proof = validate_flag("proof", proof)
        if proof and method != Method.BRANCH_AND_BOUND:
            raise InputError(f"proof needs method='branch-and-bound', got {str(method)!r}")
        return cls(
            method=Method(method),
            tolerance=Tolerance(validate_nonnegative("eps", eps), validate_nonnegative("gap", gap)),
            time_limit=time_limit,
            node_limit=node_limit,
            n_jobs=n_jobs,
            tuning=tuning or DEFAULT,
            proof=proof,
            objective=Objective(objective),
            random_state=validate_integer("random_state", random_state, 0),
            memory_limit=validate_memory(memory_limit),
        )

    @property
    def memory(self) -> float:
        """Bytes that matrices formed from data may take: half of what is free, if not given."""
        return 0.5 * free_memory() if self.memory_limit is None else self.memory_limit

    def watch(self, callback: Callback | None = None) -> Watch:
        """Start the clock of a solve."""
        return Watch(self.time_limit, self.node_limit, callback)
