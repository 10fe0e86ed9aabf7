"""Every condition and every rounding term of the checker, taken away in turn.

Run as a script it lists what becomes of each mutation; ``test_mutations.py`` runs it as a test.  A
mutation is noticed if some certificate that the checker refuses is then accepted, if more is then
taken for proved, or if the check does not end as it should.  What is not noticed has its reason
in ``REDUNDANT``.
"""

from __future__ import annotations

import ast
import copy
import functools
import io
import itertools
import math
import signal
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from helpers.certificates import Draft, Rung, draft_of, forge, npy, optimum, zipped
from helpers.corruptions import CORRUPTIONS, DAMAGES, members_of
from helpers.exact import ExactMatrix, stated
from helpers.forger import checker, ladder, lowest, lowest_bound, sets, stage_of
from helpers.joint import forged_sets
from helpers.lists import forged_lists
from helpers.multipliers import edges_of_multipliers, forged_multipliers
from helpers.problems import DATA, MATRICES
from helpers.questions import forged_questions
from helpers.trees import forged_parts, forged_trees

#: The files that the checker is made of.
SOURCES = {
    name: Path(file.__file__).read_text(encoding="utf-8")
    for name, file in (("verify", checker), ("ladder", ladder), ("sets", sets))
}
#: Seconds of the processor after which a check of a small certificate is taken for an endless one.
LONGEST = 3.0
SINGLE, SIEVE, CAP, SUMS = range(4)

#: Why no certificate notices a mutation, and which ones.
_REASONS: dict[str, tuple[str, ...]] = {
    "limits of bytes; see test_bombs.py and test_claims.py": (
        "read: max_bytes is not None and size > max_bytes -> False",
        "read: max_bytes is not None -> False",
        "read: size > max_bytes -> False",
    ),
    "a limit of time; see test_claims.py": (
        "check_time: time.monotonic() - begin > limit -> False",
    ),
    "the header of another version cannot be read as that of the first": (
        "_array: np.lib.format.read_magic(stream) != (1, 0) -> False",
    ),
    "another condition refuses the same, with other words": (
        "_Check._given: Q is None and held is None -> False",
        "_Check._given: Q is None -> False #2",
        "_Check._given: held is None -> False",
        "_Check.run: not limits -> False",
        "_Check._given: Q.ndim != 2 or Q.shape[1] != n or Q.dtype != np.float64 -> False",
        "_Check._given: Q.shape[1] != n -> False",
        "_Check._given: Q.dtype != np.float64 -> False",
        "numbers: array is None -> False",
        "read: manifest['format'] != FORMAT or manifest['version'] != VERSION -> False",
        "read: manifest['format'] != FORMAT -> False",
        "read: manifest['version'] != VERSION -> False",
        "_array: any((d < 0 for d in shape)) -> False",
        "_array: math.prod(shape) * dtype.itemsize != len(data) - stream.tell() -> False",
        "_Check._given: Q.ndim != 2 -> False",
        "_Check._given: len(Q) != n -> False",
        "integers: array.ndim != 1 -> False",
        "integers: array.max() <= most -> True",
        "_Check._check_components: len(stages) >= len(limits) -> False",
        "_Check._check_components: 0 < len(stages) <=  … s) -> len(stages) <= len(limits)",
        "check_list: len(T) != p -> False",
        "check_set: not source.formed -> False",
        "check_set: len(values) != len(limits) -> False",
        "check_set: not abs(bounds.get(p, math.inf)) < math.inf -> False",
        "Stage.check_tree: not pending -> False",
        "check_vector: not 0 < len(support) <= p -> False",
        "check_vector: 0 < len(support) <= p -> 0 < len(support)",
        "_asked: len(given) != len(limits) -> False",
        "_asked: (uncorrelated or nonnegative) and problem['kind'] != 'matrix' -> False",
        "_asked: uncorrelated or nonnegative -> False",
        "_asked: uncorrelated -> False",
        "_asked: nonnegative -> False #2",
        "_asked: problem['kind'] != 'matrix' -> False",
        "Walk.check_claim: not len(removed) -> False",
    ),
    "what is no number fails every comparison later, and infinity is no bound": (
        "numbers: not (np.abs(array) <= largest).all() -> False",
    ),
    "the form is then never laid out, and nothing is accepted any more": (
        "within: bool(np.isin(part, whole).all()) -> True",
    ),
    "lists could be written in yet another way, which proves nothing more": (
        "_parts: (np.diff(ends) < 0).any() -> False",
    ),
    "without room the multipliers prove it of what is inside, and that is all there is": (
        "Walk.check_claim: room < 1 -> False",
    ),
    "any numbers are multipliers, those of other features too": (
        "Walk.check_claim: not within(T, multipliers.features) -> False",
    ),
    "none of its three parts is noticed, nor needs another of them": (
        "Walk.check_claim: room < 1 or not len(removed …  multipliers.features)) -> False",
    ),
    "zero is not of unit length": ("check_vector: 0 < len(support) <= p -> len(support) <= p",),
    "a sieve without a tree proves that nothing reaches its level, and what is listed does": (
        "prove: len(steps) -> True",
    ),
    "what is cut by a feature that is in or out already is all in one of the parts": (
        "_Check._check_parts: i == j or new & (F | E) -> False",
        "_Check._check_parts: i == j -> False",
        "_Check._check_parts: new & (F | E) -> False",
    ),
    "nothing can be taken of an empty list, and that is refused with other words": (
        "_Check._check_parts: not pending -> False",
        "_Tree.run: not pending -> False",
        "_faces_are_below: y is None -> False",
    ),
    "limits the time only": (
        "_Tree.__init__: sum((math.comb(n, s) for s in sizes)) > MOST_PATTERNS -> False",
        "nothing_orthogonal: len(rows) > rows.shape[1] -> False",
        "check_exhausted: math.comb(len(free), room) > LARGEST_END -> False",
    ),
    "without it less is proved, not more": (
        "Stage.first_bound: ~self.touched & ~self.spent -> ~self.touched",
        "Stage.first_bound: ~self.touched & ~self.spent -> ~self.spent",
        "check_list.reach: len(T) == p and (not spent.isdisjoint(T)) -> False",
        "check_list.reach: len(T) == p -> False",
        "check_list.reach: not spent.isdisjoint(T) -> False",
    ),
    "covers underflow only: numbers near 1e-290": (
        "Walk.check_claim: TINY -> 0.0",
        "Walk.check_claim: TINY -> 0.0 #2",
        "Walk.check_claim: TINY -> 0.0 #3",
        "Walk.check_claim: TINY -> 0.0 #4",
        "_largest_squares: TINY -> 0.0",
        "Walk._condition: TINY -> 0.0",
        "Walk._condition: TINY -> 0.0 #2",
        "Walk.is_below: TINY -> 0.0",
        "is_positive_definite: TINY -> 0.0",
        "constrained: TINY -> 0.0",
        "nothing_orthogonal: TINY -> 0.0",
        "Source.largest_sum: TINY -> 0.0",
        "Source.__init__: TINY -> 0.0",
        "Source.__init__: TINY -> 0.0 #2",
    ),
    "what is out already is out once more": (
        "Stage.check_sieve: (product > beta) & (room > …  beta) & (room > 0) & ~self.held",
    ),
    "the product is zero without room": (
        "Stage.check_sieve: (product > beta) & (room > 0) -> product > beta",
    ),
    "the product is not positive, or components use every feature": (
        "Stage.check_sieve: not level > below > -math.inf -> False",
    ),
    "the product is not positive": (
        "Stage.check_sieve: level > below > -math.inf -> below > -math.inf",
    ),
    "components then use every feature, and none is ruled out": (
        "Stage.check_sieve: level > below > -math.inf -> level > below",
    ),
    "features that components use are never ruled out": (
        "Stage.check_tree: not within(np.flatnonzero(self.held), kept) -> False",
    ),
    "guards against a linear algebra that errs, which it does not here": (
        "Walk._condition: not off <= 0.5 * margin / s or np.triu(C, 1).any() -> False",
        "Walk._condition: not off <= 0.5 * margin / s -> False",
        "Walk._condition: np.triu(C, 1).any() -> False",
        "is_positive_definite: bool(np.isfinite(factor).all()) -> True",
    ),
    "d is then no positive number": ("Walk._condition: np.isfinite(A).all() -> True",),
    "no more features are inside than fit": ("Walk.check_supports: chosen < 0 -> False",),
    "the shift of the definiteness test, which has the penalty in its trace, is as large": (
        "Walk.is_below: UNIT -> 0.0",
    ),
    "the factorisation refuses such matrices too": (
        "is_positive_definite: not (math.isfinite(floa … diagonal() >= 0).all()) -> False",
        "is_positive_definite: math.isfinite(float(np.abs(matrix).sum())) -> True",
        "is_positive_definite: (matrix.diagonal() >= 0).all() -> True",
    ),
    "a rounding of the radius, far below what the shift has to spare": (
        "is_positive_definite: UNIT -> 0.0 #2",
    ),
    "this machine rounds to nearest": (
        "check_machine: not rounds or np.float64(1e-30 … p.float64(1e-10) == 0.0 -> False",
        "check_machine: not rounds -> False",
    ),
    "this machine keeps small numbers": (
        "check_machine: np.float64(1e-308) * np.float64(1e-10) == 0.0 -> False",
    ),
    "differs where fewer features are left than it has, and the stage ends on a lower rung": (
        "text: bound = max(level, below) -> bound = level",
    ),
    "limits the memory only; see test_bombs.py": (
        "read: members['manifest.json'].file_size > LARGEST_MANIFEST -> False",
        "Source.block: not self.formed and len(at) > LARGEST_PART -> False",
        "Source.block: not self.formed -> False",
        "Source.block: len(at) > LARGEST_PART -> False",
        "Source.__init__: self.n * self.count > MOST_SUMS -> False",
    ),
    "the shift of the definiteness test is as large, but for very many components": (
        "nothing_orthogonal: rel(rows.shape[1] + 4) -> 0.0",
    ),
}
#: Mutations that no certificate notices, and why.
REDUNDANT = {name: reason for reason, names in _REASONS.items() for name in names}

# Mutations


def _short(name: str) -> str:
    return name if len(name) <= 80 else f"{name[:45]} … {name[-32:]}"


def mutations() -> Iterator[tuple[str, str, ast.Module]]:
    """A name, a file, and that file without one of its conditions, or one of its terms.

    It is one tree, which is as it was when the next mutation is asked for.
    """
    seen: dict[str, int] = {}
    for file, source in SOURCES.items():
        tree = ast.parse(source)
        for where, path, replacement in list(_places(tree)):
            holder: Any = tree
            for step in path[:-1]:
                holder = getattr(holder, step) if isinstance(step, str) else holder[step]
            last = path[-1]
            put = setattr if isinstance(last, str) else type(holder).__setitem__
            old = getattr(holder, last) if isinstance(last, str) else holder[last]
            name = _short(f"{where}: {ast.unparse(old)} -> {ast.unparse(replacement)}")
            seen[name] = seen.get(name, 0) + 1
            if seen[name] > 1:
                name += f" #{seen[name]}"
            put(holder, last, ast.fix_missing_locations(ast.copy_location(replacement, old)))
            yield name, file, tree
            put(holder, last, old)


#: Changes of the text: terms that count, and steps that must not be left out.
TEXTS = (
    ("if kind == SINGLE and s == first:", "if kind == SINGLE:"),
    ('raise Rejected(f"{place}: no such reason")', "bound = -math.inf"),
    ("for j in outer if limits[j] >= p", "for j in outer"),
    ("bound = max(level, below)", "bound = level"),
    ("if len(steps) or len(kept[i]) >= s:", "if len(steps):"),
    ("proof.check_sieve(s, level, below, kept[i], place)", "pass"),
    ("(r.get(s, math.inf) for r in caps)", "(min(r.values()) for r in caps if r)"),
    ("if 0 < len(forced) <= s - len(inside):", "if 0 < len(forced) < s - len(inside):"),
    ("pending.append((inside, others))", "pass"),
    ("pending.append((np.union1d(inside, forced), others))", "pass"),
    ("(len(left) or not len(free)):", "len(left):"),
    ('raise Rejected(f"{where}: does not follow")', "return"),
    ("level = level - s * radius - margin", "level = level - margin"),
    ("level = level - s * radius - margin", "level = level - s * radius"),
    (" + n * radius * (1 + 4 * UNIT)", ""),
    ("core, Q, M, radius + self.source.entry", "core, Q, M, radius"),
    ("bound, radius + self.entry)", "bound, radius)"),
    ("return listed.get(T, claimed)", "return math.inf"),
    ("if len(T) == p and not spent.isdisjoint(T):", "if not spent.isdisjoint(T) or True:"),
    ("proved += limits.count(p) * Fraction(bounds[p])", "proved += Fraction(bounds[p])"),
    ("Fraction(q) - Fraction(a) for q, a in pairs", "Fraction(0) for q, a in pairs"),
    ("for k, p in enumerate(sorted(set(limits))):", "for k, p in enumerate([max(limits)]):"),
    ("listed[T] = value + LARGEST_EXCESS * size", "listed[T] = math.inf"),
    ("M, beta = np.abs(M) + radius,", "M, beta = np.abs(M),"),
    ("np.abs(self.part(at, every)) + self.entry", "np.abs(self.part(at, every))"),
    ("return self._squares[:, s - 2]", "return self._squares[:, 0]"),
    ("[-s:].sum()) * (1 + rel(s))", "[1 - s :].sum()) * (1 + rel(s))"),
    ("[:, : s - 1].sum(axis=1)", "[:, : s - 2].sum(axis=1)"),
    ("return dearest >= room / (room - 1) *", "return dearest >= 2 *"),
    ("if room <= 1 or before <= 1:", "if room <= 2 or before <= 1:"),
    ("if room <= 1 or before <= 1:", "if room <= 1 or before <= 2:"),
    ("own = sums / limit * (1 + rel(4))", "own = 0.9 * sums"),
    ("- less < limit", "- 2 * less < limit"),
    ("np.maximum(sums - last, 0.0)", "np.maximum(sums - 2 * last, 0.0)"),
    ("shift = 1.01 * (n + 4) * UNIT * trace", "shift = 0.0"),
    ("* unit * largest * (1 + 1e-6)", "* 0.0"),
    (
        "free = ~self.touched & ~self.spent",
        "free = ~self.touched & ~self.spent & (self.source.diagonal < 2.5)",
    ),
    ("if not self.source.formed and below", "if below"),
    ("self.diagonal = squares * (1 + error) + TINY", "self.diagonal = squares"),
    ("return claimed if walk.is_below(np.arange(len(F)), claimed) else math.inf", "return claimed"),
    ("return -math.inf if nothing_orthogonal(self.X[F]) else math.inf", "return -math.inf"),
    ("self.touched | np.isin(np.arange(self.n), self.included)", "self.touched"),
    (
        "return self.include[k], self.exclude[k].union(*later)",
        "return self.include[k], frozenset()",
    ),
    ("self.exclude[k].union(*later)", "self.exclude[k]"),
    ("E.union(np.flatnonzero(before.any(axis=0)).tolist())", "E"),
    ("for a, b in zip(self._own(earlier), self._own(later), strict=True))", "for a, b in ())"),
    ("before = X.T if asked.uncorrelated else", "before ="),
)


def rewritten() -> Iterator[tuple[str, str, ast.Module]]:
    """A name, a file, and that file with one change of its text."""
    for old, new in TEXTS:
        (file,) = [name for name, source in SOURCES.items() if old in source]
        yield _name_of_text(old, new), file, ast.parse(SOURCES[file].replace(old, new, 1))


def _name_of_text(old: str, new: str) -> str:
    return _short(f"text: {' '.join(old.split())} -> {' '.join(new.split())}")


Place = tuple[str, tuple[Any, ...], ast.expr]


def _places(tree: ast.Module) -> Iterator[Place]:
    """Where, and what is put there instead."""
    for path, node, where in _walk(tree, (), ""):
        if where in ("", "_follows") and isinstance(node, ast.Return):
            continue
        if where.split(".")[0] in ("", "Verdict", "_Callable", "fingerprint", *SHELL):
            continue
        if isinstance(node, ast.If) and _refuses(node.body):
            yield from _atoms(node.test, (*path, "test"), where, False)
        if isinstance(node, ast.IfExp) and ast.unparse(node.orelse) == "None":
            yield from _atoms(node.test, (*path, "test"), where, True)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "rel":
            yield where, path, ast.Constant(0.0)
        if isinstance(node, ast.Name) and node.id in ("TINY", "UNIT") and where != "check_machine":
            yield where, path, ast.Constant(0.0)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("margin", "unit"):
            yield where, (*path, "value"), ast.Constant(0.0)
        if isinstance(node, ast.Return) and node.value is not None and where in PREDICATES:
            yield from _atoms(node.value, (*path, "value"), where, True)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in MASKS.get(where, ()):
            yield from _masks(node.value, (*path, "value"), where)


#: What is not part of the check; see test_alone.py and test_claims.py.
SHELL = ("verify", "main", "_of_data", "_table", "_second_file")
#: Functions that return whether something was proved.
PREDICATES = ("within", "is_positive_definite", "_follows")
#: Arrays that say what was proved, and of which features.
MASKS = {
    "Stage.check_sieve": ("out", "alive", "total"),
    "Stage.first_bound": ("free",),
    "Stage.__init__": ("self.touched", "self.usable"),
}


def _refuses(body: list[ast.stmt]) -> bool:
    """Whether a branch is one that proves nothing."""
    first = body[0]
    if any(isinstance(statement, ast.Raise) for statement in body):
        return True
    return isinstance(first, ast.Return) and ast.unparse(first) in (
        "return False",
        "return None",
        "return math.inf",
    )


def _atoms(test: ast.expr, path: tuple[Any, ...], where: str, wanted: bool) -> Iterator[Place]:
    """All of a condition, and each of its parts, put to the value that lets things pass."""
    yield where, path, ast.Constant(wanted)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = test.operand
        if isinstance(inner, ast.BoolOp) or (isinstance(inner, ast.Compare) and len(inner.ops) > 1):
            parts = _parts(inner, (*path, "operand"), where, not wanted)
            yield from parts
    else:
        yield from _parts(test, path, where, wanted)


def _parts(test: ast.expr, path: tuple[Any, ...], where: str, wanted: bool) -> Iterator[Place]:
    if isinstance(test, ast.BoolOp):
        for i, value in enumerate(test.values):
            yield from _atoms(value, (*path, "values", i), where, wanted)
    elif isinstance(test, ast.Compare) and len(test.ops) > 1:
        operands = [test.left, *test.comparators]
        for i in range(len(test.ops)):
            links: list[ast.expr] = [
                ast.Compare(operands[j], [test.ops[j]], [operands[j + 1]])
                for j in range(len(test.ops))
                if j != i
            ]
            yield where, path, copy.deepcopy(links[0] if len(links) == 1 else _all(links))


def _all(links: list[ast.expr]) -> ast.expr:
    return ast.BoolOp(ast.And(), links)


def _masks(value: ast.expr, path: tuple[Any, ...], where: str) -> Iterator[Place]:
    """An intersection of arrays without one of them."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitAnd):
        yield where, path, copy.deepcopy(value.left)
        yield where, path, copy.deepcopy(value.right)
        yield from _masks(value.left, (*path, "left"), where)


def _walk(
    node: ast.AST, path: tuple[Any, ...], where: str
) -> Iterator[tuple[tuple[Any, ...], ast.AST, str]]:
    yield path, node, where
    for field, value in ast.iter_fields(node):
        children = enumerate(value) if isinstance(value, list) else [(None, value)]
        for i, child in children:
            if isinstance(child, ast.AST):
                step = (field,) if i is None else (field, i)
                inner = where
                if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                    inner = f"{where}.{child.name}" if where else child.name
                yield from _walk(child, (*path, *step), inner)


def module_of(file: str, tree: ast.Module) -> Any:
    """The checker with one of its files in another form."""
    parts = {}
    for name, source in SOURCES.items():
        parts[name] = module = types.ModuleType(f"mutated_{name}")
        module.__package__ = "orthospca"
        sys.modules[module.__name__] = module
        exec(compile(tree if name == file else source, module.__name__, "exec"), module.__dict__)
    made: Any = parts["verify"]
    made.ladder, made._second_file = parts["ladder"], lambda: parts["sets"]
    for name in ("Unreadable", "Undecided", "Rejected"):
        setattr(made, name, getattr(made.ladder, name))
    return made


# Certificates that are refused

Recipe = Callable[[], Any]


@dataclass(eq=False)
class Given(Draft):
    """A certificate, and what is given beside it."""

    given: dict[str, Any]


@dataclass(eq=False)
class Pool:
    """Certificates and files by name, all of which the checker refuses, and what it says of each.

    What has noticed one mutation may well notice the next: it comes first from then on.
    """

    made: dict[str, Any]
    usual: dict[str, tuple[bool, int, str]]

    @classmethod
    def of(cls, candidates: Iterator[tuple[str, Any]]) -> Pool:
        """Those of the candidates that are refused."""
        every = dict(candidates)
        usual = {name: accepts(checker, made) for name, made in every.items()}
        return cls({name: made for name, made in every.items() if not usual[name][0]}, usual)

    def noticed(self, module: Any) -> str:
        """The first that a mutated checker judges otherwise, and how; empty if there is none."""
        for name, made in self.made.items():
            verified, count, wrong = accepts(module, made)
            _, expected, fails = self.usual[name]
            if not verified and wrong == fails and count <= expected:
                continue
            if name != "too many members":
                self.made = {name: made, **self.made}
            return f"{name}: {'accepted' if verified else wrong or 'more proved'}"
        return ""


@functools.cache
def pool_of_false() -> Pool:
    """Certificates of which one thing is false, or damaged."""
    return Pool.of(_candidates())


@functools.cache
def pool_of_edges() -> Pool:
    """Those that fail by a rounding, which take a minute to find."""
    return Pool.of(
        itertools.chain(_rounded_steps(), edges_of_multipliers(), _edges(), _step_edges())
    )


def _candidates() -> Iterator[tuple[str, Any]]:
    yield from _by_hand()
    yield from forged_questions()
    yield from forged_multipliers()
    yield from forged_lists()
    yield from forged_sets()
    yield from forged_parts()
    yield from forged_trees()
    bases = [draft_of(seed) for seed in (236, 193, 64, 223, 255)]
    for how, change in CORRUPTIONS.items():
        for i, draft in enumerate(bases):
            for number in range(2):
                rng = np.random.default_rng([i, number])
                yield f"{how} {i} {number}", change(draft.copy(), rng)
    for how, damage in DAMAGES.items():
        for number in range(25):
            rng = np.random.default_rng(number)
            yield f"{how} {number}", damage(bases[number % 3].to_bytes(), rng)
    # It takes a second, so it comes last.
    more = members_of(bases[0].to_bytes())
    more |= {f"{number}.npy": npy(np.zeros(0)) for number in range(checker.MOST_MEMBERS)}
    yield "too many members", zipped(more, 0)


def _edges() -> Iterator[tuple[str, Any]]:
    """Bounds, levels and trees that fail by one unit in the last place."""
    for seed in range(36):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 6))
        s = int(rng.integers(2, min(n, 3) + 1))
        kind = "factor" if seed % 3 == 0 else "matrix"
        generators = DATA if kind == "factor" else MATRICES
        names = ("psd", "indefinite", "wide_range", "near_ties", "negative_definite", "integers")
        if kind == "factor":
            names = ("gaussian_columns", "vanishing_columns", "few_samples", "grouped_columns") * 2
        Q = generators[names[seed % 6]](rng, n)
        Q = Q if kind == "factor" else 0.5 * (Q + Q.T)
        if seed % 7 == 3:
            Q = Q * (1e-140 if kind == "matrix" else 1e-75)
        exact = ExactMatrix.gram(Q) if kind == "factor" else ExactMatrix.of(Q)
        limits = [s]
        components = np.zeros((0, n))
        if seed % 2 and n > 3:
            few = int(rng.integers(2, 4))
            x = np.zeros(n)
            x[:few] = rng.standard_normal(few)
            components, limits = (x / math.sqrt(x @ x))[None], [few, s]
        yield from _edges_of(f"edge {seed}", Q, kind, exact, components, limits)


def _edges_of(
    label: str,
    Q: np.ndarray,
    kind: str,
    exact: ExactMatrix,
    components: np.ndarray,
    limits: list[int],
) -> Iterator[tuple[str, Draft]]:
    s, n = limits[-1], Q.shape[1]
    stage = stage_of(Q, components, kind)
    free = np.flatnonzero(~stage.touched & ~stage.spent)
    if len(free) < 1 or len(stage.usable) < s:
        return
    truth = optimum(exact, components, s)
    before = _proved(stage, s - 1, optimum(exact, components, s - 1))
    below = before[0].bound
    worst = int(free[np.argmin(exact.rounded.diagonal()[free])])
    rows = np.vstack([components, np.eye(n)[worst]])
    values = [exact.stated(x) for x in rows]
    huge = 1e3 * float(np.abs(exact.rounded).sum()) + 1e-200
    claims = [(value, huge) for value in values]
    first = [[Rung(SUMS, huge)] * limits[0]] if len(limits) == 2 else []
    down = -math.inf
    known = [Rung(SUMS, huge)] * (s - 2)

    def draft(last: Rung, upper: float) -> Draft:
        ladder = [*known, *before, last]
        return forge(Q, limits, rows, [*claims[:-1], (values[-1], upper)], [*first, ladder], kind)

    under = math.nextafter(stage.source.largest_sum(s, stage.usable), down)
    yield f"{label} sums", draft(Rung(SUMS, under), under)
    if s == 2:
        single = stage.first_bound(0.0)
        if math.isfinite(single):
            under = math.nextafter(single, down)
            yield f"{label} single", draft_single(Q, kind, limits, rows, claims, first, under)
    scale = abs(truth) + float(np.abs(exact.rounded).max()) + 1e-280
    for leaves in (False, True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = None
            for top in (1e-13, 1e-10, 1.0):
                high, low = truth + top * scale, truth - 1e-13 * scale
                found = found or lowest_bound(stage, s, below, high, low, leaves)
        if found is None:
            continue
        level, kept, tree = found
        for steps in (1, 2, 4, 64):
            under = level - steps * math.ulp(level)
            last = Rung(SIEVE, under, under, tuple(kept.tolist()), tuple(tree))
            yield f"{label} tree {leaves} {steps}", draft(last, under)


def _step_edges() -> Iterator[tuple[str, Draft]]:
    """Single steps, and features ruled out, at a level one unit below the lowest that passes.

    What is left is tested one by one against a bound that is far above, so that only the step that
    is meant depends on the level.
    """
    leaf = (-1, (), ())
    for seed in range(STEP_EDGES):
        rng = np.random.default_rng(1000 + seed)
        n = int(rng.integers(4, 7))
        s = int(rng.integers(2, 5))
        kind = "factor" if seed % 4 == 0 else "matrix"
        Q = rng.standard_normal((n + 2, n)) * rng.uniform(0.3, 1.5, size=n)
        if kind == "matrix":
            Q = Q.T @ Q if seed % 3 else Q[:n] + Q[:n].T
            Q = 0.5 * (Q + Q.T)
        if seed % 8 == 4:
            Q = Q[:1]
        if seed % 9 == 5:
            Q = Q * (1e-140 if kind == "matrix" else 1e-70)
        exact = ExactMatrix.gram(Q) if kind == "factor" else ExactMatrix.of(Q)
        components = np.zeros((0, n))
        limits = [s]
        if seed % 2:
            x = np.zeros(n)
            x[:2] = rng.standard_normal(2)
            components, limits = (x / math.sqrt(x @ x))[None], [2, s]
        stage = stage_of(Q, components, kind)
        every = tuple(range(n))
        a, b, c = (int(v) for v in rng.permutation(n)[:3])
        trees: dict[str, Any] = {
            "all": (every, ((-1, every, ()),)),
            "one": (every, ((b, (a,), ()), leaf, leaf)),
            "two": (every, ((c, tuple(sorted((a, b))), ()), leaf, leaf)),
            "forced": (every, ((-1, (), (a,)), leaf)),
            "forced two": (every, ((-1, (), tuple(sorted((a, b)))), leaf)),
            "inside": (every, ((a, (), ()), (c, (b,), ()), leaf, leaf, leaf)),
            "all inside": (
                every,
                ((a, (), ()), (-1, tuple(j for j in every if j != a), ()), leaf),
            ),
            "forced inside": (every, ((a, (), ()), (-1, (), (b,)), leaf, leaf)),
            "sieve": (tuple(j for j in every if j != n - 1), (leaf,)),
            "sieve two": (every[: n - 2], (leaf,)),
        }
        size = float(np.abs(exact.rounded).max())
        huge = 1e3 * size + 1e-200
        below = optimum(exact, components, s - 1)
        if s > 2:
            below += 1e-9 * abs(below)
        elif kind == "factor":
            below = stage.first_bound(0.0)
        free = [j for j in stage.usable if not stage.touched[j]]
        rows = np.vstack([components, np.eye(n)[free[0]]])
        claims = [(exact.stated(x), huge) for x in rows]
        first = [[Rung(SUMS, huge)] * 2] if len(components) else []

        def draft(level: float, kept: Any, tree: Any) -> Draft:
            under = [Rung(SUMS, huge)] * (s - 2) + _exactly(stage, s - 1, below)  # noqa: B023
            ladder = [*under, Rung(SIEVE, huge, level, kept, tree)]  # noqa: B023
            return forge(Q, limits, rows, claims, [*first, ladder], kind)  # noqa: B023

        for name, (kept, tree) in trees.items():

            def passes(level: float, kept: Any = kept, tree: Any = tree) -> bool:
                return accepts(checker, draft(level, kept, tree))[0]

            if passes(0.5 * huge):
                level = lowest(passes, -10 * size, 0.5 * huge)
                for steps in (1, 8):
                    under = level - steps * math.ulp(level)
                    yield f"step {seed} {name} {steps}", draft(under, kept, tree)


def _rounded_steps() -> Iterator[tuple[str, Draft]]:
    """Steps that one formula decides, at levels just below the lowest that passes.

    Off its diagonal Q is W but for the level: a star, of which costs show most; pairs, of which
    equal weights do; and pairs and a feature whose own row tells how small its weight may be.  The
    factor has so many rows that their sums err.
    """
    leaf = (-1, (), ())
    star = np.zeros((7, 7))
    star[0, 1:] = star[1:, 0] = 1.0
    pairs = np.full((8, 8), 0.2)
    for i in range(0, 8, 2):
        pairs[i, i + 1] = pairs[i + 1, i] = 1.0
    cases: dict[str, tuple[np.ndarray, int, Any]] = {
        "costs": (star, 4, ((1, (6,), ()), leaf, leaf)),
        "weights": (pairs, 3, ((0, (7,), ()), leaf, leaf)),
    }
    for number, v in enumerate(np.linspace(0.4, 0.48, 8)):
        Q = np.where(pairs[:7, :7] == 1.0, 1.0 - 2 * v * v, 0.1)
        Q[6] = Q[:, 6] = v
        cases[f"own weight {number}"] = (0.9 * Q, 3, ((0, (6,), ()), leaf, leaf))
    rows = np.random.default_rng(0).standard_normal((200, 7))
    cases["factor"] = (rows / np.sqrt((rows * rows).sum(axis=0)), 3, ((0, (6,), ()), leaf, leaf))
    for name, (Q, s, tree) in cases.items():
        kind = "matrix" if len(Q) == Q.shape[1] else "factor"
        if kind == "matrix":
            np.fill_diagonal(Q, 0.0)
        n = Q.shape[1]
        stage = stage_of(Q, np.zeros((0, n)), kind)
        exact = ExactMatrix.gram(Q) if kind == "factor" else ExactMatrix.of(Q)
        below = 1e-9 + optimum(exact, np.zeros((0, n)), s - 1)

        def draft(level: float) -> Draft:
            under = [Rung(SUMS, 1e3)] * (s - 2) + _exactly(stage, s - 1, below)  # noqa: B023
            ladder = [*under, Rung(SIEVE, 1e3, level, tuple(range(n)), tree)]  # noqa: B023
            claims = [(exact.stated(np.eye(n)[0]), 1e3)]  # noqa: B023
            return forge(Q, [s], np.eye(1, n), claims, [ladder], kind)  # noqa: B023

        level = lowest(lambda number: accepts(checker, draft(number))[0], below, 100.0)
        for steps in (1, 2, 4, 8):
            yield f"step by {name} {steps}", draft(level - steps * math.ulp(level))


def _exactly(stage: Any, s: int, bound: float) -> list[Rung]:
    if s == 1:
        return [Rung(SINGLE, bound)]
    return [Rung(SIEVE, bound, bound, tuple(stage.usable.tolist()), ((-1, (), ()),))]


#: Random stages whose single steps are taken to the edge.
STEP_EDGES = 24


def _proved(stage: Any, s: int, bound: float) -> list[Rung]:
    """A rung for a bound that is true, raised until the checker accepts it."""
    if s == 1:
        return [Rung(SINGLE, bound if stage.source.entry == 0 else stage.first_bound(0.0))]
    kept = tuple(stage.usable.tolist())
    top = bound + 1e-9 * abs(bound)
    return [Rung(SIEVE, top, top, kept, ((-1, (), ()),))]


def draft_single(
    Q: np.ndarray,
    kind: str,
    limits: list[int],
    rows: np.ndarray,
    claims: list[tuple[float, float]],
    first: list[list[Rung]],
    bound: float,
) -> Draft:
    """One feature, for less than one has."""
    value = claims[-1][0]
    changed = [*claims[:-1], (min(value, bound), bound)]
    single = [*first, [Rung(SINGLE, bound)]]
    return forge(Q, [*limits[:-1], 1], rows, changed, single, kind)


def _by_hand() -> Iterator[tuple[str, Any]]:
    """Claims that are false, or not as they should be, one thing at a time."""
    Q = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 1.0]])
    one, half = np.eye(3), math.sqrt(0.5)
    ladder = [Rung(SUMS, 4.0), Rung(SUMS, 4.5)]
    good = forge(Q, [2], one[2:], [(1.0, 4.5)], [ladder])
    yield "nothing is wrong", good

    def changed(name: str, change: Callable[[Draft], Any], of: Draft = good) -> tuple[str, Draft]:
        draft = of.copy()
        change(draft)
        return name, draft

    def entry(*path: Any, value: Any) -> Callable[[Draft], None]:
        def change(draft: Draft) -> None:
            holder = draft.manifest
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = value

        return change

    def array(name: str, value: Any) -> Callable[[Draft], None]:
        return lambda draft: draft.arrays.__setitem__(name, np.array(value))

    yield changed("no format", entry("format", value="x"))
    yield "no format in a file", changed("", entry("format", value="x"))[1].to_bytes()
    yield "no version in a file", changed("", entry("version", value=1))[1].to_bytes()
    for upper in (math.inf, math.nan, 0.5, 4.4):
        yield changed(f"upper {upper}", entry("stages", 0, "upper_bound", value=upper))
    below = entry("stages", 0, "upper_bound", value=1 - 1e-12)
    easy = forge(np.diag([1.0, 0.5]), [1], np.eye(2)[:1], [(1.0, 1.0)], [[Rung(SINGLE, 1.0)]])
    yield changed("variance more", entry("stages", 0, "variance", value=1 + 1e-12), easy)
    # Orthogonal to the first component up to 4e-13 only, and so above the bound.
    joined = np.array([[4.0, 1.0], [1.0, 4.0]])
    rows = np.array([[1.0, 0.0], [4e-13, 1.0]])
    values = [(4.0, 5.1), (stated(joined, rows[1]), 4.0)]
    ladders = [[Rung(SUMS, 5.1)] * 2, [Rung(SINGLE, 4.0)]]
    yield "variance above", forge(joined, [2, 2], rows, values, ladders)
    yield changed("upper below", below, easy)
    for limits in ([0], [True], [4], [2.0], []):
        yield changed(f"limits {limits}", entry("problem", "sparsity", value=limits))
    many = forge(Q, [1] * 4, one[[0, 1, 2, 2]], [(2.0, 4.0)] * 4, [[Rung(SUMS, 4.0)]] * 4)
    yield "too many stages", many
    yield changed("no matrix", lambda draft: draft.arrays.pop("matrix.npy"))
    yield changed("no components", lambda draft: draft.arrays.pop("components.npy"))
    for name in ("features", "sha256"):
        yield changed(
            f"other {name}", entry("problem", name, value=4 if name == "features" else "")
        )
    for shape in ((2, 3), (3, 2), (1, 3), (9,)):
        wrong = np.ones(shape)
        draft = changed("", array("matrix.npy", wrong))[1]
        draft.manifest["problem"]["sha256"] = checker.fingerprint(wrong)
        yield f"matrix {shape}", draft
    crooked = Q.copy()
    crooked[0, 1] = 0.5
    yield "not symmetric", forge(crooked, [2], one[2:], [(1.0, 4.5)], [ladder])
    for number in (math.nan, math.inf, 1e160):
        odd = Q.copy()
        odd[0, 0] = number
        yield f"entry {number}", forge(odd, [2], one[2:], [(1.0, 1e170)], [[Rung(SUMS, 1e170)] * 2])
    fortran = good.copy()
    fortran.arrays["matrix.npy"] = np.asfortranarray(Q)
    yield "matrix in columns", fortran.to_bytes()
    yield changed("float32", array("matrix.npy", Q.astype(np.float32)))
    yield changed("components float32", array("components.npy", one[2:].astype(np.float32)))
    yield changed("components flat", array("components.npy", one[2]))
    # Components
    for name, x, value in (
        ("zero", [0, 0, 0], 0.0),
        ("too many", [half, 0.5, 0.5], 3.0),
        ("too long", [0, 0, 1 + 1e-12], 1.0),
        ("too short", [0, 0, 1 - 1e-12], 1.0),
        ("not a number", [0, 0, math.nan], 1.0),
    ):
        x = np.array([x])
        value = value if name in ("zero", "not a number") else stated(Q, x[0])
        yield f"component {name}", forge(Q, [2], x, [(value, 4.5)], [ladder])
    for size in (1e-11, 1e-12):
        yield changed(f"variance {size}", entry("stages", 0, "variance", value=1.0 + 4 * size))
    turned = np.array([[0, half, half], [0, half, -half * (1 - 4e-12)]])
    turned[1] /= math.sqrt(turned[1] @ turned[1])
    values = [(stated(Q, x), 4.5) for x in turned]
    yield "not orthogonal", forge(Q, [2, 2], turned, values, [ladder, ladder])
    again = forge(Q, [2, 2], one[[2, 2]], [(1.0, 4.5)] * 2, [ladder] * 2)
    yield "the same again", again
    # Rungs
    for kind in (-1, 4, SINGLE, SIEVE):
        for s, lad in ((1, [Rung(kind, 4.5, 4.4)]), (2, [Rung(SUMS, 4.0), Rung(kind, 4.5, 4.4)])):
            yield f"kind {kind} at {s}", forge(Q, [s], one[2:], [(1.0, 4.5)], [lad])
    yield "rungs too many", forge(Q, [2], one[2:], [(1.0, 4.5)], [[*ladder, Rung(SUMS, 9.0)]])
    for number in (math.nan, math.inf, -math.inf):
        lad = [Rung(SUMS, 4.0), Rung(SIEVE, 4.5, number, (0, 1, 2), ((-1, (0, 1, 2), ()),))]
        yield f"level {number}", forge(Q, [2], one[2:], [(1.0, 4.5)], [lad])
        yield f"bound {number}", forge(Q, [2], one[2:], [(1.0, 4.5)], [[Rung(SUMS, number)] * 2])
    caps = [ladder, [Rung(CAP, 3.9)]]
    yield "a cap", forge(Q, [2, 1], one[[2, 0]], [(1.0, 4.5), (2.0, 3.9)], caps)
    short = [[Rung(SUMS, 4.0)], [Rung(SUMS, 3.0), Rung(CAP, 4.0)]]
    yield "a cap from nowhere", forge(Q, [1, 2], one[[2, 0]], [(1.0, 4.0), (2.0, 4.0)], short)
    yield "an earlier bound", forge(Q, [1, 2], one[[2, 0]], [(1.0, 4.0), (2.0, 4.0)], short[:1])
    for name in ("kinds", "bounds", "levels", "kept", "kept_ends", "steps", "steps_ends"):
        full = f"stage-0/{name}.npy"
        for value in (good.arrays[full].astype(float if name[0] != "b" else int),):
            yield changed(f"{name} of another kind", array(full, value))
        yield changed(f"{name} in a table", array(full, good.arrays[full][None]))
    yield from _trees_by_hand()
    yield from _exhausted_by_hand()
    # The same numbers in another form, whole numbers that no double is, and what was not asked.
    for name, number in (("features", 3.0), ("sparsity", [2.0]), ("kind", ["matrix"])):
        yield changed(f"{name} {number}", entry("problem", name, value=number))
    yield changed("exhausted 0", entry("exhausted", value=0))
    yield changed("stages in a tuple", entry("stages", value=tuple(good.manifest["stages"])))
    yield changed("version 7.0", entry("version", value=7.0))
    yield changed("variance true", entry("stages", 0, "variance", value=True))
    top = 2.0**53 + 4
    large = forge(np.diag([top, 1.0]), [1], np.eye(2)[1:], [(1.0, top)], [[Rung(SINGLE, top)]])
    yield changed("rounded", entry("stages", 0, "upper_bound", value=2**53 + 3), large)
    yield "nothing", forge(Q, [2], one[:0], [], [])
    B = np.array([[0.1, 0.02], [0.02, 0.1]])
    claims = [(0.0104, 0.01041)]
    data = forge(B, [1], np.eye(1, 2), claims, [[Rung(SINGLE, 0.01041)]], "factor")
    yield "a matrix for a factor", Given(data.manifest, data.arrays, {"Q": B})
    yield "a factor for a matrix", Given(good.manifest, good.arrays, {"factor": Q})


def _trees_by_hand() -> Iterator[tuple[str, Draft]]:
    Q = np.array(
        [[2.0, 1.0, 0.2, 0.1], [1.0, 3.0, 1.0, 0.2], [0.2, 1.0, 1.0, 0.3], [0.1, 0.2, 0.3, 0.5]]
    )
    everything = (0, 1, 2, 3)
    leaf, closed = (-1, (), ()), (-1, everything, ())

    def make(
        kept: Any, tree: Any, level: float = 3.7, bound: float = 3.7, below: float = 3.0, s: int = 2
    ) -> Draft:
        first = [Rung(SINGLE, below)] if s == 2 else [Rung(SINGLE, 3.0), Rung(SUMS, 4.0)]
        ladder = [*first, Rung(SIEVE, bound, level, kept, tree)]
        return forge(Q, [s], np.eye(4)[3:], [(0.5, bound)], [ladder])

    parts = {
        "good": make(everything, (leaf,)),
        "no tree": make(everything, ()),
        "low": make(everything, (leaf,), 3.5, 3.5),
        "closed low": make(everything, (closed,), 3.5, 3.5),
        "level above": make(everything, (leaf,), 3.8, 3.7),
        "too early": make(everything, ((0, (), ()), leaf)),
        "too late": make(everything, (leaf, leaf)),
        "others": make((0, 1), ((-1, (2,), ()), leaf)),
        "others, branched": make((0, 1), ((0, (2,), ()), leaf, leaf)),
        "branch outside": make((0, 1, 2), ((3, (), ()), leaf, leaf)),
        "branch removed": make(everything, ((3, (3,), ()), leaf, leaf), 3.9, 3.9),
        "forced outside": make((0, 1, 2), ((-1, (), (3,)), leaf)),
        "forced and removed": make(everything, ((-1, (3,), (3,)), leaf), 3.9, 3.9),
        "forced and branched": make(everything, ((0, (3,), (1,)), leaf, leaf), 3.65, 3.7),
        "features are left": make(everything, ((-1, (3,), ()),), 3.65, 3.7),
        "some are removed": make(everything, ((-1, (0, 1), ()),), 3.65, 3.7),
        "forced": make(everything, ((-1, (), (0, 1)), leaf), 3.5, 3.7),
        "forced after it was left out": make(
            everything, ((2, (), ()), leaf, (-1, (), (2,)), leaf), 3.5, 3.5
        ),
        "forced more than fit": make(everything, ((-1, (), (0, 1, 2)),), 3.5, 3.5),
        "very low": make(everything, (leaf,), 2.5, 2.5),
        "without a child": make(everything, ((1, (), ()), (0, (), ()), leaf, leaf), 3.5, 3.5),
        "forced without a child": make(everything, ((-1, (), (0, 1)),), 3.5, 3.5),
        "repeated": make((0, 0, 1, 2, 3), (leaf,)),
        "not in order": make((1, 0, 2, 3), (leaf,)),
        "below zero": make((-1, 0, 1, 2), (leaf,)),
        "beyond": make((0, 1, 2, 4), (leaf,)),
        "not kept": make((1, 2, 3), (leaf,)),
        "few kept": make((1,), ()),
        "few kept, below": make((1,), (), 2.9, 2.9),
        "nothing kept": make((), ()),
        "a tree on nothing": make((), (leaf,), 2.0, 2.0),
        "removed by a wrong step": make(everything, ((1, (0,), ()), leaf, leaf), 3.5, 3.7),
        "inside low": make(everything, ((1, (), ()), (-1, (0, 2, 3), ()), leaf), 2.9, 2.9),
        "inside tested": make(everything, ((-1, (), (1,)), (-1, (0, 2, 3), ())), 3.0, 3.0, s=2),
    }
    # Two features of a large variance that a component uses: the smaller one is no longer small.
    B = np.diag([3.0, 3.0, 0.1])
    rows = np.array([[math.sqrt(0.5), math.sqrt(0.5), 0.0], [0.0, 0.0, 1.0]])
    claims = [(9.0, 20.0), (0.01, 5.0)]
    for kept in ((), (0,), (1,)):
        ladder = [Rung(SINGLE, 0.011), Rung(SIEVE, 5.0, 5.0, kept)]
        yield (
            f"used features {kept}",
            forge(B, [2, 2], rows, claims, [[Rung(SUMS, 20.0)] * 2, ladder], "factor"),
        )
    yield from ((f"tree {name}", draft) for name, draft in parts.items())
    for name in ("kept", "steps", "removed", "forced"):
        for number in (0, 1, 3, 99, -1):
            draft = parts["forced"].copy()
            ends = draft.arrays[f"stage-0/{name}_ends.npy"]
            if len(ends):
                ends[-1] = number
            yield f"ends of {name} {number}", draft
        draft = parts["forced"].copy()
        ends = draft.arrays[f"stage-0/{name}_ends.npy"]
        draft.arrays[f"stage-0/{name}_ends.npy"] = ends[:-1]
        yield f"ends of {name} too few", draft
        draft = parts["forced"].copy()
        ends = draft.arrays[f"stage-0/{name}_ends.npy"]
        draft.arrays[f"stage-0/{name}_ends.npy"] = np.append(ends, ends[-1:])
        yield f"ends of {name} too many", draft
        draft = parts["forced"].copy()
        ends = draft.arrays[f"stage-0/{name}_ends.npy"]
        ends[: len(ends) - 1] = ends[-1] + 1 if name == "steps" else ends[-1]
        ends[:1] = ends[-1]
        yield f"ends of {name} not in order", draft
    # Later stages: features that are used, or used up.
    half = math.sqrt(0.5)
    for name, x in (("used", [half, -half, 0, 0]), ("used up", [0, 1.0, 0, 0])):
        rows = np.array([x, [0, 0, 0, 1.0]])
        value = stated(Q, rows[0])
        first = [Rung(SUMS, 9.0)] * 2
        for kept in ((), (0,), (1,), (2, 3), (0, 1), (0, 2, 3), everything):
            for tree in ((), (leaf,), ((-1, kept, ()),)):
                for bound in (1.2, 2.0, 2.3, 3.0):
                    ladder = [Rung(SINGLE, 2.0 if name == "used up" else 1.0)]
                    ladder.append(Rung(SIEVE, bound, bound, kept, tree))
                    claims = [(value, 9.0), (0.5, bound)]
                    yield (
                        f"{name} {kept} {len(tree)} {bound}",
                        forge(Q, [2, 2], rows, claims, [first, ladder]),
                    )
        for bound in (0.9, 1.2, 1.9, 2.1):
            for kind in (SINGLE, SUMS):
                claims = [(value, 9.0), (0.5, bound)]
                ladder = [Rung(kind, bound)]
                draft = forge(Q, [2, 1], rows, claims, [first, ladder])
                yield f"{name} {kind} {bound}", draft


def _exhausted_by_hand() -> Iterator[tuple[str, Draft]]:
    Q = np.eye(3)
    full = np.full(3, math.sqrt(1 / 3))
    full /= math.sqrt(full @ full)
    one = np.eye(3)
    for name, rows, limits in (
        ("all there", [full], [3]),
        ("more", [full], [3, 2]),
        ("one more", [one[0]], [1, 1]),
        ("none", [], [1]),
    ):
        components = np.array(rows).reshape(-1, 3)
        ladders = [[Rung(SUMS, 2.0)] * p for p in limits[: len(rows)]]
        claims = [(float(x @ x), 2.0) for x in components]
        yield f"exhausted {name}", forge(Q, limits, components, claims, ladders, exhausted=True)
    n = 20
    rows = np.zeros((1, n))
    rows[0] = math.sqrt(1 / n)
    rows /= math.sqrt((rows @ rows.T)[0, 0])
    claims = [(float(rows[0] @ rows[0]), 2.0)]
    ladders = [[Rung(SUMS, 2.0)] * n]
    yield "exhausted many", forge(np.eye(n), [n, 10], rows, claims, ladders, exhausted=True)
    every = tuple(range(n))
    ladder = [*[Rung(SUMS, 1.0)] * 9, Rung(SIEVE, 1.5, 1.5, every, ((-1, (), ()),))]
    yield "tested many", forge(np.eye(n), [10], np.eye(1, n), [(1.0, 1.5)], [ladder])


# What a checker says


class _Endless(BaseException):
    """A check that does not end."""


def accepts(module: Any, made: Any) -> tuple[bool, int, str]:
    """Whether something is accepted, how many bounds are proved, and what went wrong."""

    def stop(*_: object) -> None:
        raise _Endless

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            source = made if isinstance(made, Draft) else io.BytesIO(made)
            verdict = module.verify(source, **getattr(made, "given", {}))
        return verdict.verified, len(verdict.upper_bounds), ""
    except module.Unreadable:
        return False, 0, ""
    except (Exception, _Endless) as error:
        return False, 0, type(error).__name__
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def noticed(file: str, tree: ast.Module) -> str:
    """What notices a mutated checker; empty if nothing does."""
    try:
        module = module_of(file, tree)
    except Exception as error:
        return f"cannot be imported: {error!r}"
    return pool_of_false().noticed(module) or pool_of_edges().noticed(module)


def run(part: int = 0, parts: int = 1, every: bool = True) -> dict[str, str]:
    """What notices each mutation of a part; those in ``REDUNDANT`` are left out if asked."""
    found = itertools.islice(itertools.chain(mutations(), rewritten()), part, None, parts)
    return {name: noticed(*what) for name, *what in found if every or name not in REDUNDANT}


def names() -> list[str]:
    """All mutations."""
    return [*(name for name, *_ in mutations()), *itertools.starmap(_name_of_text, TEXTS)]


if __name__ == "__main__":
    answers = run(*map(int, sys.argv[1:3]), every=len(sys.argv) < 4)
    for label, what in answers.items():
        print(f"{'-' if what else 'SURVIVES'} {label}: {what}")
    print(f"{sum(not what for what in answers.values())} of {len(answers)} survive")
