"""The ways to solve a problem: one list for the solver, the estimator and the command line."""

from __future__ import annotations

from enum import Enum


class Choice(str, Enum):
    """One of several names, written as it is typed."""

    def __str__(self) -> str:
        return str(self.value)


class Method(Choice):
    """What ``solve(method=…)`` can be."""

    BRANCH_AND_BOUND = "branch-and-bound"
    """The ladder, conditioning and branch and bound with the share relaxation: all there is."""
    ENUMERATION = "enumeration"
    """Algorithm 1: every support is tested."""
    EIGENVALUE = "eigenvalue"
    """Algorithm 4 with the eigenvalue, Gershgorin, Frobenius and trace bounds of the paper."""
    DEFLATION = "deflation"
    """The baseline that solves adjusted covariances; its components are not orthogonal."""


class Objective(Choice):
    """What ``solve(objective=…)`` can be."""

    STAGEWISE = "stagewise"
    """Each component is the best one given those before it."""
    LEXICOGRAPHIC = "lexicographic"
    """The same, with ties resolved in favour of the stages that follow."""
    JOINT = "joint"
    """The components with the largest total variance."""


class Relation(Choice):
    """What ``solve(relation=…)`` can be."""

    ORTHOGONAL = "orthogonal"
    """Each component is orthogonal to those before it."""
    DISJOINT = "disjoint"
    """A feature serves one component."""
    UNCORRELATED = "uncorrelated"
    """Scores are uncorrelated: a component is orthogonal to Q times each of those before it."""
