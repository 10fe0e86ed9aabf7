"""Check a certificate, trusting nothing of the solver that wrote it.

This module needs Python and NumPy and imports nothing else of the package, so that it can be read,
and copied, on its own.  ``docs/theory/trust.md`` derives every inequality used here.

A certificate says of each stage k: *no vector of unit length with at most p nonzeros, orthogonal to
the components before it, has a variance above U*.  The argument is a ladder.  For s = 1, 2, …, p a
rung claims a bound b_s for s nonzeros, for one of these reasons:

- SINGLE: b_1 is the largest variance of a feature that no component uses;
- SIEVE: at a level L, the border rule rules out every feature that is not kept, and a tree deals
  with every support among those kept, by conditioning or by multipliers of the share relaxation;
- CAP: an earlier stage, in which more vectors are feasible, has that bound;
- SUMS: no support has rows with larger sums, or of data variances with a larger sum.

More may be asked of the components: features that a support contains (F, the included; they count
against p), or does not (E), vectors before the first component, or that no feature serves two of
them.  Such a ladder begins with a rung for F alone, and the border rule does not speak of F.
If no loading may be negative, the ladder is one of Q⁺, which has 0 in the place of negative entries
off the diagonal: for ``x ≥ 0`` no product ``Q_ij x_i x_j`` is larger.  Uncorrelated components are
orthogonal to Qx of those before them, instead of x.

Another kind of certificate says of a list of supports: *no other one reaches the level L*.  The
argument is the same ladder, but that it ends with a tree, which may end in supports listed.

A third kind says of a set of components: *no such set, one orthogonal to the other, has a total
variance above U*.  The argument is a matrix A with Q - A positive semidefinite, and for each
sparsity a ladder of A: ``Σ xᵀQx ≤ tr(Q - A) + Σ xᵀAx`` for orthonormal x.

Everything is computed anew, in floating point, with errors bounded on the unfavourable side.

``python verify.py certificate.zip`` answers from any folder; ``--help`` says what else it can do.
"""

from __future__ import annotations

import argparse
import decimal
import functools
import hashlib
import io
import itertools
import json
import math
import sys
import time
import types
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

FORMAT, VERSION = "orthospca-certificate", 2
#: What can be claimed, and since which version of the format.
VERSIONS = {"components": VERSION, "alternatives": 3, "joint": 3}
#: Since which version steps of a tree may rest on multipliers, whatever is claimed.
WITH_MULTIPLIERS = 4
#: Since which version more may be asked than a sparsity, and by which entries of the problem.
WITH_DEMANDS, DEMANDS = 5, ("include", "exclude", "relation", "previous", "nonnegative")
#: Since which version loadings may have to be non-negative, or scores uncorrelated.
WITH_SIGNS = 6
#: Arrays of theirs, the only ones in single precision.
SINGLES = ("/pairs.npy", "/ratios.npy", "/prices.npy")
SINGLE, SIEVE, CAP, SUMS = range(4)

#: Unit roundoff of double precision, and more than all that underflow can take from a sum.
UNIT, TINY = 2.0**-53, 1e-290
#: Components are unit vectors, and orthogonal to each other, up to this.
ORTHOGONALITY = 1e-12
#: Where it is claimed that no orthogonal vector is left, there is none that is so up to this.
SINGULAR = 0.98 * ORTHOGONALITY
#: Components have the variances stated, and no more than this share of them is left unsaid …
ACCURACY = 1e-11
#: … and no vector on a listed support has more than is said, up to this share of the largest entry.
LARGEST_EXCESS = 1e-9
#: Products of Q with a component that are this small, relative to Q, are nothing but rounding.
SMALLEST_IMAGE = 1e-12
#: Bytes that a file may unpack to and seconds that a check may take, unless it is said otherwise.
MAX_BYTES, TIME_LIMIT = 2**28, 3600.0
#: Bytes of the manifest, and members of a file, at most.
LARGEST_MANIFEST, MOST_MEMBERS = 2**20, 20_000
#: Bytes in which the header of an array ends.
LONGEST_HEADER = 2**12
#: Sums of squares of rows that are kept, at most, and rows worked on at once.
MOST_SUMS, TILE = 2**25, 256
#: Features of which a part of ``BᵀB`` is formed, at most.
LARGEST_PART = 6000
#: Supports of one leaf, and of the end of the sequence, at most, that are tested one by one.
LARGEST_LEAF, LARGEST_END = 100_000, 2**18
#: Multiples of the level by which vectors that are not feasible are pushed down, tried in turn.
PENALTIES = (0.0, 10.0, 1e3, 1e5)
#: Rounds of weights that a step is given, and whether what each of them shows is used.
WEIGHTS = ((3, False), (8, True))
#: Products of vectors that are orthonormal but for rounding, and what is too small to be inverted.
ORTHONORMAL, SMALLEST_SHARE = 1e-8, 1e-12
#: A difference, as a share of the largest entry, that sums in another order may cause.
ROUNDING = 1e-12

Array = Any
Progress = Callable[[float], None]
Reach = Callable[[tuple[int, ...], float], float]


class Unreadable(ValueError):
    """The file is not a certificate, or damaged so that nothing can be said of it."""


class Undecided(Unreadable):
    """A limit was met, or the matrix is not there: nothing is proved, and nothing refuted."""


class Rejected(Exception):
    """Something that the certificate claims does not follow."""


@dataclass(frozen=True)
class Verdict:
    """What came of a check.

    Attributes
    ----------
    verified : bool
        Whether everything claimed was proved.
    reason : str
        The first thing that failed, and where; empty if verified.
    upper_bounds : tuple of float
        The bounds that were proved, stage by stage, before anything failed; of a list, the level
        that no other support reaches.  Of a set as a whole there are none.
    joint_variance : float or None
        Of a set that was verified as a whole, the total variance; None otherwise.
    joint_upper_bound : float or None
        The bound that was proved for the total of every such set; None otherwise.
    undecided : bool
        Whether nothing was refuted either: a limit was met, or the matrix is not there.
    statement : str
        What was proved, in words; empty unless verified.
    details : tuple of str
        Line by line, what was proved of each stage, support or component before anything failed.
    """

    verified: bool
    reason: str = ""
    upper_bounds: tuple[float, ...] = ()
    joint_variance: float | None = None
    joint_upper_bound: float | None = None
    undecided: bool = False
    statement: str = ""
    details: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.verified

    def __str__(self) -> str:
        if self.verified:
            return "VERIFIED"
        return f"{'UNDECIDED' if self.undecided else 'REJECTED'}: {self.reason}"

    def lines(self, data: Any = None, details: bool = False) -> list[str]:
        """Return what a command line prints; ``data`` is the file that the matrix comes from."""
        whose = "in the certificate" if data is None else f"of {data}"
        said = f"{self}: {self.statement}; the matrix is the one {whose}"
        return [said if self.verified else str(self), *(self.details if details else ())]


def verify(
    certificate: Any,
    Q: Any = None,
    *,
    factor: Any = None,
    max_bytes: float | None = MAX_BYTES,
    time_limit: float | None = TIME_LIMIT,
    progress: Progress | None = None,
) -> Verdict:
    """Check a certificate.

    Parameters
    ----------
    certificate : path, or an object with ``manifest`` and ``arrays``
    Q : array-like of shape (n, n), optional
        The matrix; needed if the certificate does not hold it.  One that it holds must be equal.
    factor : array-like of shape (m, n), optional
        B instead, if the certificate is of data: of ``Q = BᵀB``.
    max_bytes : int or None
        Bytes that a file may unpack to; None for any number.
    time_limit : float or None
        Seconds, looked at between steps; None for any number.
    progress : callable, optional
        Called with the share of the work done.

    Returns
    -------
    Verdict
        If a limit was met it is not verified, ``undecided`` is true, and the reason says which.

    Raises
    ------
    Unreadable
        If the file is no certificate.
    """
    if Q is not None and factor is not None:
        raise ValueError("Q and factor exclude each other: a certificate is of one of them")
    before = _LIMIT.set((time.monotonic(), math.inf if time_limit is None else time_limit))
    check = _Check(progress or (lambda share: None))
    verified, undecided, reason = False, False, ""
    try:
        if hasattr(certificate, "manifest"):
            check.manifest, check.arrays = certificate.manifest, certificate.arrays
        else:
            check.manifest, check.arrays = read(certificate, max_bytes)
        _check_machine()
        with np.errstate(all="ignore"):
            check.run({"matrix": Q, "factor": factor})
        verified = True
    except Undecided as error:
        undecided, reason = True, str(error)
    except Unreadable:
        raise
    except Rejected as error:
        reason = str(error)
    except Exception as error:  # an entry that is missing, or of another kind
        reason = f"malformed: {error!r}"
    finally:
        _LIMIT.reset(before)
    proved, said = tuple(check.proved), tuple(check.said)
    return Verdict(verified, reason, proved, *check.joint, undecided, check.statement, said)


#: When the check began, and how long it may take.
_LIMIT: ContextVar[tuple[float, float]] = ContextVar("_LIMIT", default=(0.0, math.inf))


def _check_time() -> None:
    """Asked wherever work may go on for long."""
    begin, limit = _LIMIT.get()
    if time.monotonic() - begin > limit:
        raise Undecided(f"the time limit of {limit:g} s is over: raise time_limit (--time-limit)")


# Reading: nothing is unpacked before its size is known, and nothing is executed.


def read(path: Any, max_bytes: float | None = MAX_BYTES) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the manifest and the arrays of a file."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            names = {member.filename for member in members}
            size = sum(member.file_size for member in members)
            if len(names) < len(members) or len(names) > MOST_MEMBERS:
                raise ValueError("more than a certificate may hold")
            if max_bytes is not None and size > max_bytes:
                raise Undecided(
                    f"{path} unpacks to {size} bytes and the limit is {max_bytes:.0f}: raise "
                    "max_bytes (--max-bytes)"
                )
            if archive.getinfo("manifest.json").file_size > LARGEST_MANIFEST:
                raise ValueError("manifest.json is too long")
            contents = {member.filename: _unpacked(archive, member) for member in members}
        manifest = json.loads(contents.pop("manifest.json").decode("utf-8"))
        known = (*VERSIONS.values(), WITH_MULTIPLIERS, WITH_DEMANDS, WITH_SIGNS)
        if manifest["format"] != FORMAT or manifest["version"] not in known:
            raise ValueError("not a certificate of a version that is known")
        return manifest, {name: _array(name, data) for name, data in contents.items()}
    except Undecided:
        raise
    except OSError as error:
        why = (error.strerror or type(error).__name__).lower()
        raise Unreadable(f"{path} cannot be read: {why}") from error
    except Exception as error:  # whatever damaged bytes may cause
        raise Unreadable(f"{path} is not a certificate: {error or repr(error)}") from error


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{member.filename} is packed in an unusual way")
    with archive.open(member) as stream:
        data = stream.read(member.file_size + 1)
    if len(data) != member.file_size:
        raise ValueError(f"{member.filename} is not of the size it says")
    return data


def _array(name: str, data: bytes) -> Array:
    """Return an array of plain numbers; its header must agree with the bytes there are."""
    stream = io.BytesIO(data[:LONGEST_HEADER])
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("an array of another version")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    kinds = ("<f4",) if name.endswith(SINGLES) else ("<f8", "<i4", "<i8")
    if fortran or dtype.str not in kinds or any(d < 0 for d in shape):
        raise ValueError("an array that is not of numbers in rows")
    if math.prod(shape) * dtype.itemsize != len(data) - stream.tell():
        raise ValueError("an array that is not of the shape it says")
    return np.frombuffer(data, dtype=dtype, offset=stream.tell()).reshape(shape)


def version_of(
    claim: str, arrays: Mapping[str, Array], problem: Mapping[str, Any] | None = None
) -> int | None:
    """Which version has what there is; None if there is no such claim."""
    if claim not in VERSIONS:
        return None
    asked = problem or {}
    if "nonnegative" in asked or asked.get("relation") == "uncorrelated":
        return WITH_SIGNS
    if any(name in asked for name in DEMANDS):
        return WITH_DEMANDS
    newer = any(name.endswith("/claims.npy") for name in arrays)
    return WITH_MULTIPLIERS if newer else VERSIONS[claim]


def fingerprint(matrix: Array) -> str:
    """SHA-256 of a matrix: its shape, then its rows as little-endian doubles."""
    matrix = np.ascontiguousarray(matrix, dtype="<f8")
    digest = hashlib.sha256(repr(matrix.shape).encode())
    digest.update(matrix.tobytes())
    return digest.hexdigest()


# What is certified


class _Check:
    """The claims of a certificate, one after the other."""

    manifest: Mapping[str, Any]
    arrays: Mapping[str, Array]

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.proved: list[float] = []
        self.joint: tuple[float | None, float | None] = (None, None)
        self.statement = ""
        self.said: list[str] = []
        self._work, self._done = 1, 0

    def run(self, given: Mapping[str, Any]) -> None:
        claim = self.manifest.get("claim", "components")
        version = _entry(self.manifest, "version", int)
        problem = _entry(self.manifest, "problem", dict)
        if (self.manifest["format"], version) != (FORMAT, version_of(claim, self.arrays, problem)):
            raise Rejected("not a certificate of a version that is known")
        n, kind = _entry(problem, "features", int), _entry(problem, "kind", str)
        kinds: dict[str, type[_Matrix | _Factor]] = {"matrix": _Matrix, "factor": _Factor}
        source = kinds[kind](self._given(given, kind, n, _entry(problem, "sha256", str)))
        sparsities = _entry(problem, "sparsity", list)
        limits = [_entry(sparsities, k, int) for k in range(len(sparsities))]
        if not limits or not all(1 <= p <= n for p in limits):
            raise Rejected("problem: the sparsities make no sense")
        names = (name for name in self.arrays if name.endswith("/steps.npy"))
        self._work = max(sum(len(self.arrays[name]) for name in names), 1)
        checks = {
            "components": self._check_components,
            "alternatives": self._check_list,
            "joint": self._check_joint,
        }
        checks[claim](source, limits, self._asked(problem, n, limits))

    def _asked(self, problem: Mapping[str, Any], n: int, limits: list[int]) -> _Asked:
        """What is asked beyond the sparsities."""
        lists: dict[str, list[frozenset[int]]] = {}
        for name in ("include", "exclude"):
            given = _entry(problem, name, list) if name in problem else [[]] * len(limits)
            if len(given) != len(limits):
                raise Rejected(f"{name}: one list for each of the {len(limits)} components")
            lists[name] = []
            for k in range(len(given)):
                own = _entry(given, k, list)
                features = [_entry(own, i, int) for i in range(len(own))]
                if features != sorted(set(features)) or not all(0 <= j < n for j in features):
                    raise Rejected(f"{name}: {features!r:.40} is no list of features in order")
                lists[name].append(frozenset(features))
        count = _entry(problem, "previous", int) if "previous" in problem else 0
        previous = np.zeros((0, n))
        if count:
            previous = self._floats("previous.npy", (count, n))
        if not all(0.25 <= float(v @ v) <= 4.0 for v in previous):
            raise Rejected("previous: a vector that is not of a length between 1/2 and 2")
        relation = problem.get("relation", "orthogonal")
        if "relation" in problem and relation not in ("disjoint", "uncorrelated"):
            raise Rejected("relation: no such relation")
        signed = "nonnegative" not in problem or not _entry(problem, "nonnegative", bool)
        if ("nonnegative" in problem and signed) or (previous.min(initial=0.0) < 0 and not signed):
            raise Rejected("nonnegative: false, or a vector before that is negative")
        uncorrelated = relation == "uncorrelated"
        if uncorrelated and not signed:
            raise Rejected("problem: what is asked cannot be")
        if (uncorrelated or not signed) and problem["kind"] != "matrix":
            raise Rejected("problem: of data neither signs nor scores are certified")
        disjoint = relation == "disjoint" or not signed
        given = (lists["include"], lists["exclude"], previous)
        asked = _Asked(*given, disjoint, uncorrelated, not signed)
        for F, E, p in zip(lists["include"], lists["exclude"], limits, strict=True):
            if len(F) > p or F & E:
                raise Rejected("problem: what is asked cannot be")
        return asked

    def _check_components(self, source: _Source, limits: list[int], asked: _Asked) -> None:
        """Every component has its variance, and every stage its bound."""
        stages = _entry(self.manifest, "stages", list)
        exhausted = _entry(self.manifest, "exhausted", bool)
        if not 0 < len(stages) <= len(limits):
            raise Rejected("problem: no stages, so that nothing is claimed, or too many")
        components = self._floats("components.npy", (len(stages), source.n))
        rungs: list[dict[int, float]] = []
        bounded, gaps = source, []
        if asked.nonnegative:
            assert isinstance(source, _Matrix)
            bounded = _Matrix(_nonnegative_part(source.Q))
        sums = _RowSums(bounded, max(limits))
        for k, stage in enumerate(stages):
            where = f"stage {k + 1}"
            value, upper = _entry(stage, "variance", float), _entry(stage, "upper_bound", float)
            before = np.concatenate([asked.previous, components[:k]])
            X, F, E = asked.stage(k, before, source)
            proof = _Stage(bounded, X, sums, included=F, excluded=E)
            given = len(asked.previous)
            if asked.uncorrelated:
                before = X.T
            rows = np.concatenate([before, components[k : k + 1]])
            if asked.nonnegative and (components[k] < 0).any():
                raise Rejected(f"{where}: a loading is negative")
            _check_component(source, rows, len(before), limits[k], value, where, F, E, given)
            rungs.append({})
            outer = [rungs[j] for j in range(k) if asked.contains(j, k)]
            for s, bound in self._rungs(proof, k, limits[k], outer, where):
                rungs[k][s] = bound
            # What is feasible here was feasible in stages before that ask for less.
            earlier = [
                self.proved[j] for j in range(k) if limits[j] >= limits[k] and asked.contains(j, k)
            ]
            last = min(limits[k], len(proof.usable))
            best = min([rungs[k].get(last, math.inf), *earlier])
            if not (best <= upper and value <= upper):
                raise Rejected(f"{where}: {upper!r} is claimed and only {best!r} proved")
            self.proved.append(best)
            gaps.append(_gap(value, best))
            bound_shown = f"proved bound {_shown(best, True)}, gap {_percent(gaps[k])}"
            self.said.append(f"{where}: variance {_shown(value, False)}, {bound_shown}")
        end = ""
        if exhausted:
            if len(stages) >= len(limits):
                raise Rejected("exhausted: all components that were asked for are there")
            before = np.concatenate([asked.previous, components])
            _check_exhausted(limits[len(stages)], *asked.stage(len(stages), before, source))
            end = "; no further component exists"
        largest = f"the largest gap is {_percent(max(gaps))}"
        self.statement = (
            f"{_several(len(stages), 'component')} of {source.n} features{asked.words()}; "
            f"{largest}{end}"
        )

    def _check_list(self, source: _Source, limits: list[int], asked: _Asked) -> None:
        """Every support that is listed has its variance, and no other one reaches the level."""
        n, claims = source.n, _entry(self.manifest, "alternatives", dict)
        (p,) = limits
        count = _entry(claims, "count", int)
        previous = self._floats("previous.npy", (_entry(claims, "previous", int), n))
        for k in range(len(previous)):
            _check_vector(previous, k, n, f"previous component {k + 1}")
        if len(asked.previous) or asked.disjoint or asked.uncorrelated:
            raise Rejected("problem: of a list no more is asked than features in or out")
        X, F, E = asked.stage(0, previous, source)
        spent = _used_up(X, F, E)
        p = min(p, n - len(spent))
        if count == 0:
            _check_exhausted(p, X, F, E)
            self.proved.append(-math.inf)
            self.statement = f"no vector on {_several(limits[0], 'feature')} is left"
            return
        tolerance = _entry(claims, "tolerance", float)
        level, within = Fraction(_entry(claims, "level", float)), Fraction(tolerance)
        variances = self._floats("list/variances.npy", (count,))
        loadings = self._floats("list/loadings.npy", (count, p))
        supports = lists_of_features(self.arrays, "list/supports", n, count)
        listed: dict[tuple[int, ...], float] = {}
        exact: list[Fraction] = []
        for i, value in enumerate(variances.tolist()):
            _check_time()
            where, support = f"support {i + 1}", supports[i]
            T = tuple(support.tolist())
            if len(T) != p or T in listed or not spent.isdisjoint(T):
                raise Rejected(f"{where}: {list(T)} is not one more choice of {p} features")
            x = np.zeros((1, n))
            x[0, support] = loadings[i]
            if not F.issubset(T):
                raise Rejected(f"{where}: {list(T)} lacks what is included")
            rows = np.concatenate([previous, x])
            exact.append(_check_component(source, rows, len(previous), p, value, where, F, E))
            if exact[i] < level:
                raise Rejected(f"{where}: {value!r} does not reach the level")
            listed[T] = value + LARGEST_EXCESS * source.size
        if within < 0 or level > max(exact) - within * abs(max(exact)):
            raise Rejected(f"list: what is within {tolerance!r} of the best may be below it")

        def reach(T: tuple[int, ...], claimed: float) -> float:
            """How far a support may reach; a feature that is used up is in none that counts."""
            if len(T) == p and not spent.isdisjoint(T):
                return math.inf
            return listed.get(T, claimed)

        proof = _Stage(source, X, _RowSums(source, p), reach, F, E)
        bounds = dict(self._rungs(proof, 0, p, [], "list", listing=True))
        if not bounds.get(p, math.inf) <= level:
            raise Rejected(f"list: {float(level)!r} is claimed and only {bounds.get(p)!r} proved")
        self.proved.append(bounds[p])
        for i, (T, value) in enumerate(zip(listed, variances.tolist(), strict=True), start=1):
            features = ", ".join(str(j + 1) for j in T)
            self.said.append(f"support {i}: variance {_shown(value, False)}, features {features}")
        # As it is written, so that 0.3 are 30 %.
        share = _shown(100 * Fraction(repr(tolerance)), False)
        self.statement = (
            f"{_several(count, 'support')} of {n} features{asked.words()} within {share} % of the "
            "best variance; "
            f"every other one is below {_shown(bounds[p], True)}"
        )

    def _check_joint(self, source: _Source, limits: list[int], asked: _Asked) -> None:
        """Every component has its variance, and no set of that kind has more than the bound.

        For orthonormal x and M = Q - A ≥ 0, ``Σ xᵀMx ≤ tr M`` because ``Σ xxᵀ ≤ I``.
        """
        if not isinstance(source, _Matrix):
            raise Rejected("problem: only of a matrix is a set certified as a whole")
        if asked.words():
            raise Rejected("problem: of a set no more is asked than sparsities")
        claims = _entry(self.manifest, "joint", dict)
        values, upper = _entry(claims, "variances", list), _entry(claims, "upper_bound", float)
        if len(values) != len(limits):
            raise Rejected(f"problem: {len(limits)} components are asked for, not {len(values)}")
        components = self._floats("components.npy", (len(limits), source.n))
        total, said = Fraction(0), []
        for k, p in enumerate(limits):
            value = _entry(values, k, float)
            _check_component(source, components, k, p, value, f"component {k + 1}")
            total += Fraction(value)
            said.append(f"component {k + 1}: variance {_shown(value, False)}")
        form, proved = self._adjusted(source)
        proof = _Stage(form, np.zeros((source.n, 0)), _RowSums(form, max(limits)))
        for k, p in enumerate(sorted(set(limits))):
            bounds = dict(self._rungs(proof, k, p, [], f"sparsity {p}"))
            if not abs(bounds.get(p, math.inf)) < math.inf:
                raise Rejected(f"sparsity {p}: nothing is proved")
            proved += limits.count(p) * Fraction(bounds[p])
        if not proved <= upper:
            raise Rejected(f"set: {upper!r} is claimed and only {rounded_up(proved)!r} proved")
        if total > upper:
            raise Rejected(f"set: {upper!r} is claimed and the components have {float(total)!r}")
        self.joint, self.said = (-rounded_up(-total), rounded_up(proved)), said
        self.statement = (
            f"{_several(len(limits), 'component')} of {source.n} features with a total variance of "
            f"{_shown(total, False)}; no such set exceeds {_shown(proved, True)}; "
            f"the gap is {_percent(_gap(total, proved))}"
        )

    def _adjusted(self, source: _Matrix) -> tuple[_Matrix, Fraction]:
        """A, which is Q but for some features, with Q - A positive semidefinite; its trace."""
        at = _integers(self.arrays, "joint/at.npy", 0, source.n - 1)
        if not (np.diff(at) > 0).all():
            raise Rejected("joint/at: features are not in order")
        block = self._floats("joint/block.npy", (len(at), len(at)), 1e150)
        if not (block == block.T).all():
            raise Rejected("joint/block: the matrix is not symmetric")
        difference = source.block(at) - block
        # The only rounding so far, and relative to what came out.
        if not _is_positive_definite(difference, UNIT * float(np.abs(difference).max(initial=0))):
            raise Rejected("joint/block: the matrix is not proved to be below the one in question")
        A = source.Q.copy()
        A[np.ix_(at, at)] = block
        pairs = zip(source.diagonal[at].tolist(), block.diagonal().tolist(), strict=True)
        return _Matrix(A), sum((Fraction(q) - Fraction(a) for q, a in pairs), Fraction(0))

    def _given(self, given: Mapping[str, Any], kind: str, n: int, sha: str) -> Array:
        """The matrix in question, or B of ``Q = BᵀB``: given, or held by the certificate."""
        held: Any = self.arrays.get(f"{kind}.npy")
        if any(given[other] is not None for other in given if other != kind):
            raise Undecided(
                "the certificate is of a matrix, and a factor is given: give Q"
                if kind == "matrix"
                else "the certificate is of data, and a matrix is given: leave --precomputed out "
                "(in Python, give B of Q = BᵀB as factor)"
            )
        if given[kind] is None and held is None:
            raise Undecided(
                "the certificate does not hold the matrix: name the data with --data (in Python, "
                "give Q or factor)"
            )
        Q = held if given[kind] is None else np.asarray(given[kind], dtype=float)
        if Q.ndim != 2 or Q.shape[1] != n or Q.dtype != np.float64:
            raise Rejected(f"problem: {n} features are expected, got the shape {Q.shape}")
        if not (np.abs(Q) <= 1e150).all():
            raise Rejected("problem: entries that are not numbers, or too large")
        if Q is not held and kind == "matrix" and len(Q) == n:
            # Rounding may have left the matrix not quite symmetric: the mean is what is certified.
            Q = 0.5 * (Q + Q.T)
        if fingerprint(Q) != sha:
            right = Q is not held and held is not None and fingerprint(held) == sha
            difference = _difference(Q, held) if right else ""
            raise Rejected(f"problem: another matrix than the one that was certified{difference}")
        if kind == "matrix" and (len(Q) != n or not (Q == Q.T).all()):
            raise Rejected("problem: the matrix is not symmetric")
        return np.array(Q)

    def _floats(self, name: str, shape: tuple[int, ...], largest: float = 1e300) -> Array:
        array = self.arrays.get(name)
        if array is None or array.dtype != np.float64 or array.shape != shape:
            raise Rejected(f"{name}: an array of shape {shape} is expected")
        if not (np.abs(array) <= largest).all():
            raise Rejected(f"{name}: entries that are not numbers")
        return array

    def _rungs(
        self,
        proof: _Stage,
        k: int,
        p: int,
        rungs: list[dict[int, float]],
        where: str,
        listing: bool = False,
    ) -> Iterator[tuple[int, float]]:
        """Prove the rungs of a stage, of whatever matrix it is, from the first to the last."""
        folder, arrays, n = f"stage-{k}", self.arrays, proof.n
        if f"{folder}/kinds.npy" not in arrays:
            return
        kinds = _integers(arrays, f"{folder}/kinds.npy", SINGLE, SUMS)
        first = max(len(proof.included), 1)
        if first - 1 + len(kinds) > p:
            raise Rejected(f"{where}: more rungs than there can be")
        bounds = self._floats(f"{folder}/bounds.npy", (len(kinds),), math.inf)
        levels = self._floats(f"{folder}/levels.npy", (len(kinds),))
        kept = lists_of_features(arrays, f"{folder}/kept", n, len(kinds))
        branches = _integers(arrays, f"{folder}/steps.npy", -1, n - 1)
        removed = lists_of_features(arrays, f"{folder}/removed", n, len(branches))
        forced = lists_of_features(arrays, f"{folder}/forced", n, len(branches))
        trees = _Lists(arrays, f"{folder}/steps", np.arange(len(branches)), len(kinds))
        claims = self._claims(folder, n, len(branches))
        below = -math.inf
        for i, kind in enumerate(kinds.tolist()):
            _check_time()
            s = first + i
            place, claimed = f"{where}, rung {s}", float(bounds[i])
            if listing and s == p and not (kind == SIEVE and len(trees[i])):
                # A bound that some reach says nothing of the others: they must be below it.
                raise Rejected(f"{place}: a list needs a tree that ends in what is listed")
            if kind == SINGLE and s == first:
                bound = proof.first_bound(claimed)
            elif kind == CAP:
                bound = min((r.get(s, math.inf) for r in rungs), default=math.inf)
            elif kind == SUMS:
                bound = proof.largest_sum(s)
            elif kind == SIEVE:
                level, features = float(levels[i]), kept[i]
                steps = trees[i]
                tree = ((int(branches[j]), removed[j], forced[j], claims(j)) for j in steps)
                proof.check_sieve(s, level, below, features, place)
                if len(steps) or len(features) >= s:
                    proof.check_tree(s, level, claimed, features, tree, place, self._tick)
                    bound = level
                else:
                    # Supports among so few features have fewer than s of them.
                    bound = max(level, below)
            else:
                raise Rejected(f"{place}: no such reason")
            if not bound <= claimed:
                raise Rejected(f"{place}: {claimed!r} is claimed and only {bound!r} proved")
            below = claimed
            yield s, claimed

    def _claims(self, folder: str, n: int, steps: int) -> Callable[[int], _Multipliers | None]:
        """The multipliers that a step rests on, if it does."""
        if f"{folder}/claims.npy" not in self.arrays:
            return lambda j: None
        units = self.arrays[f"{folder}/units.npy"]
        units = self._floats(f"{folder}/units.npy", (len(units),), 1e100)
        features = lists_of_features(self.arrays, f"{folder}/shared", n, len(units))
        which = _integers(self.arrays, f"{folder}/claims.npy", -1, len(units) - 1)
        if len(which) != steps:
            raise Rejected(f"{folder}/claims: one number for each step is expected")
        lengths = [len(features[i]) for i in range(len(units))]
        triangles = np.cumsum([0, *(m * (m - 1) // 2 for m in lengths)])
        N, r = (self._singles(f"{folder}/{name}.npy", triangles) for name in ("pairs", "ratios"))
        c = self._singles(f"{folder}/prices.npy", np.cumsum([0, *lengths]))
        if not (r > 0).all():
            raise Rejected(f"{folder}/ratios: a number that is not positive")

        @functools.lru_cache(maxsize=1)
        def laid_out(i: int) -> _Multipliers:
            part, own = slice(*triangles[i : i + 2]), features.ends[i] - lengths[i]
            prices = c[own : features.ends[i]] * units[i]
            return _Multipliers(features[i], N[part] * units[i], r[part], prices)

        return lambda j: None if which[j] < 0 else laid_out(int(which[j]))

    def _singles(self, name: str, ends: Array) -> Array:
        """Numbers in single precision, of which there are as many as parts that end so say."""
        array = self.arrays[name]
        if array.dtype != np.float32 or array.shape != (ends[-1],) or not np.isfinite(array).all():
            raise Rejected(f"{name}: {ends[-1]} numbers in single precision are expected")
        return array.astype(float)

    def _tick(self) -> None:
        _check_time()
        self._done += 1
        if self._done % 64 == 0:
            self.progress(self._done / self._work)


def _entry(holder: Any, name: Any, kind: type) -> Any:
    """An entry of the manifest, which must be of its kind: true is no number, nor is infinity."""
    value = holder[name]
    right = isinstance(value, (int, float) if kind is float else kind)
    if not right or (kind is not bool and isinstance(value, bool)):
        raise Rejected(f"{name}: {kind.__name__} is expected, got {value!r:.40}")
    if kind is float and not (math.isfinite(value) and float(value) == value):
        raise Rejected(f"{name}: a number in double precision is expected, got {value!r:.40}")
    return float(value) if kind is float else value


def _difference(given: Array, held: Array) -> str:
    """By how much what is given differs from what the certificate holds."""
    if given.shape != held.shape:
        return ""
    share = float(np.abs(given - held).max() / np.abs(held).max())
    hint = "the rounding of another machine" if share <= ROUNDING else "how the data were read"
    return f"; the difference is {share:.1g} of the largest entry, which may be {hint}"


# In words


def _shown(number: Fraction | float, up: bool, digits: int = 10) -> str:
    """A number in so many digits, rounded up, or down."""
    if number in (math.inf, -math.inf):
        return str(number)
    exact, rounding = Fraction(number), decimal.ROUND_CEILING if up else decimal.ROUND_FLOOR
    rounded = decimal.Context(digits, rounding).divide(exact.numerator, exact.denominator)
    return f"{float(rounded):.{digits}g}"


def _gap(lower: Fraction | float, upper: Fraction | float) -> Fraction | float:
    """How far the upper number is from the lower one, relative to that."""
    if upper <= lower:
        return 0.0
    return (Fraction(upper) - Fraction(lower)) / abs(Fraction(lower)) if lower else math.inf


def _percent(gap: Fraction | float) -> str:
    if gap == math.inf:
        return "open"
    return "<1e-9 %" if gap < 1e-11 else f"{_shown(100 * Fraction(gap), True, 2)} %"


def _several(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def rounded_up(exact: Fraction) -> float:
    """The least double that is not below a number."""
    nearest = float(exact)
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)


def _integers(arrays: Mapping[str, Array], name: str, least: int, most: int) -> Array:
    """A list of numbers within limits."""
    array = arrays[name]
    if array.dtype.kind != "i" or array.ndim != 1:
        raise Rejected(f"{name}: a list of integers is expected")
    if len(array) and not (array.min() >= least and array.max() <= most):
        raise Rejected(f"{name}: a number that cannot be")
    return array.astype(np.int64)


class _Lists:
    """Lists that were written end to end; each is cut out when it is asked for."""

    def __init__(self, arrays: Mapping[str, Array], name: str, values: Array, count: int) -> None:
        self.values = values
        self.ends = _integers(arrays, f"{name}_ends.npy", 0, len(values))
        last = self.ends[-1] if count else 0
        if len(self.ends) != count or (np.diff(self.ends) < 0).any() or last != len(values):
            raise Rejected(f"{name}: the parts do not add up")

    def __getitem__(self, i: int) -> Array:
        return self.values[self.ends[i - 1] if i else 0 : self.ends[i]]


def lists_of_features(arrays: Mapping[str, Array], name: str, n: int, count: int) -> _Lists:
    """Lists of features, each in ascending order."""
    lists = _Lists(arrays, name, _integers(arrays, f"{name}.npy", 0, n - 1), count)
    falls = np.flatnonzero(np.diff(lists.values) <= 0) + 1
    if not np.isin(falls, lists.ends).all():
        raise Rejected(f"{name}: features are not in order")
    return lists


# Components


@dataclass(frozen=True, eq=False)
class _Asked:
    """What is asked of the components beyond their sparsities."""

    include: list[frozenset[int]]
    exclude: list[frozenset[int]]
    previous: Array
    disjoint: bool
    uncorrelated: bool = False
    nonnegative: bool = False

    def _own(self, k: int) -> tuple[frozenset[int], frozenset[int]]:
        """Features in and out, whatever the other components are.

        Of disjoint ones, what a later one has to have is out.
        """
        later = self.include[k + 1 :] if self.disjoint else []
        return self.include[k], self.exclude[k].union(*later)

    def stage(
        self, k: int, before: Array, source: _Source
    ) -> tuple[Array, frozenset[int], frozenset[int]]:
        """Columns that a component is orthogonal to, and the features in and out."""
        F, E = self._own(k)
        if self.uncorrelated:
            assert isinstance(source, _Matrix)
            return _images(source.Q, before), F, E
        if not self.disjoint:
            return before.T, F, E
        return before.T[:, :0], F, E.union(np.flatnonzero(before.any(axis=0)).tolist())

    def contains(self, earlier: int, later: int) -> bool:
        """Whether what is feasible for a later component is so for an earlier one."""
        return all(a <= b for a, b in zip(self._own(earlier), self._own(later), strict=True))

    def words(self) -> str:
        """What is asked, features counted from 1; empty if nothing is."""
        said = []
        for what, lists in (("with", self.include), ("without", self.exclude)):
            for own in sorted(set(lists), key=lists.index):
                which = [str(k + 1) for k in range(len(lists)) if lists[k] == own]
                whose = "" if len(which) == len(lists) else f" (component {', '.join(which)})"
                features = ", ".join(str(j + 1) for j in sorted(own))
                said += [f"{what} {features}{whose}"] * bool(own)
        said += ["non-negative"] * self.nonnegative + ["uncorrelated"] * self.uncorrelated
        said += ["disjoint"] * self.disjoint
        if len(self.previous):
            apart = "uncorrelated with" if self.uncorrelated else "orthogonal to"
            apart = "disjoint from" if self.disjoint else apart
            said.append(f"{apart} {_several(len(self.previous), 'vector')} before")
        return "".join(f", {part}" for part in said)


_NOTHING: frozenset[int] = frozenset()


def _nonnegative_part(Q: Array) -> Array:
    """Q⁺: 0 in the place of negative entries off the diagonal."""
    part = np.maximum(Q, 0.0)
    np.fill_diagonal(part, Q.diagonal())
    return part


def _images(Q: Array, vectors: Array) -> Array:
    """Columns Qx, scaled by powers of two; without those that are but rounding.

    An entry is the sum of rounded products, rounded once.  To leave one out allows more vectors.
    """
    columns = [np.zeros((len(Q), 0))]
    least = SMALLEST_IMAGE * float(np.abs(Q).max(initial=0.0))
    for x in vectors:
        used = np.flatnonzero(x)
        image = np.array([math.fsum(row) for row in (Q[:, used] * x[used]).tolist()])
        largest = float(np.abs(image).max(initial=0.0))
        if largest > least:
            image = np.ldexp(image, -math.frexp(largest)[1])
            length = math.sqrt(float(image @ image))
            columns.append(np.ldexp(image, -round(math.log2(length)))[:, None])
    return np.concatenate(columns, axis=1)


def _check_component(
    source: _Source,
    components: Array,
    k: int,
    p: int,
    value: float,
    where: str,
    F: frozenset[int] = _NOTHING,
    E: frozenset[int] = _NOTHING,
    given: int = 0,
) -> Fraction:
    """Length, sparsity, orthogonality and variance, in rational arithmetic; the variance."""
    support, x, length = _check_vector(components, k, p, where, given)
    used = set(support.tolist())
    if len(used | F) > p:
        raise Rejected(f"{where}: {len(used | F)} features with those included, not {p}")
    if used & E:
        raise Rejected(f"{where}: feature {min(used & E)} is used, which must not be")
    form, size = source.exact_form(support, x)
    unsaid = form / length - Fraction(value)
    if not 0 <= unsaid <= Fraction(ACCURACY) * max(abs(form), size):
        has = f"the component has the variance {float(form / length)!r}"
        raise Rejected(f"{where}: {has}, and {value!r} is stated")
    return form / length


def _check_vector(
    components: Array, k: int, p: int, where: str, given: int = 0
) -> tuple[Array, list[Fraction], Fraction]:
    """Length, sparsity and orthogonality; the support, what is on it, and its squared length."""
    support = np.flatnonzero(components[k])
    if not 0 < len(support) <= p:
        raise Rejected(f"{where}: {len(support)} nonzeros, and {p} are allowed")
    x = [Fraction(float(v)) for v in components[k][support]]
    length = _inner(x, x)
    if abs(length - 1) > Fraction(ORTHOGONALITY):
        raise Rejected(f"{where}: the component is not of unit length")
    for j in range(k):
        if abs(_inner(x, components[j][support])) > Fraction(ORTHOGONALITY):
            other = f"component {j + 1 - given}" if j >= given else f"vector {j + 1} of previous"
            raise Rejected(f"{where}: not orthogonal to {other}")
    return support, x, length


def _inner(x: Any, y: Any) -> Fraction:
    return sum((Fraction(v) * Fraction(w) for v, w in zip(x, y, strict=True)), Fraction(0))


def _used_up(X: Array, F: frozenset[int], E: frozenset[int]) -> frozenset[int]:
    """Features that are zero in every feasible vector, and have no place in a support.

    They are excluded, or all that some component has of those that are not.
    """
    X = X.copy()
    X[list(E)] = 0.0
    alone = np.count_nonzero(X, axis=0) == 1
    return E.union(np.flatnonzero((X[:, alone] != 0).any(axis=1)).tolist()) - F


def _check_exhausted(p: int, X: Array, F: frozenset[int], E: frozenset[int]) -> None:
    """No further vector is orthogonal to all columns, on any support."""
    left = np.setdiff1d(np.arange(len(X)), list(_used_up(X, F, E)))
    if len(left) == 0 or _nothing_orthogonal(X[left]):
        return
    free, room = np.setdiff1d(left, list(F)).tolist(), min(p, len(left)) - len(F)
    if math.comb(len(free), room) > LARGEST_END:
        raise Rejected("exhausted: too many supports to look at")
    for rest in itertools.combinations(free, room):
        _check_time()
        support = sorted((*F, *rest))
        if not _nothing_orthogonal(X[support]):
            raise Rejected(f"exhausted: a vector on the features {tuple(support)} is left")


def _nothing_orthogonal(rows: Array) -> bool:
    """Whether no unit vector is orthogonal to all columns, not even up to ``SINGULAR``.

    That is so if and only if ``VVᵀ - τ²I`` is positive definite: elimination in rational arithmetic
    meets no pivot that is not positive.
    """
    if len(rows) > rows.shape[1]:
        return False
    gram = rows @ rows.T
    radius = _rel(rows.shape[1] + 4) * float(gram.diagonal().max(initial=0.0)) + SINGULAR**2
    if _is_positive_definite(gram, radius + TINY):
        # Floating point decides where nothing is near.
        return True
    exact = [[Fraction(float(v)) for v in row] for row in rows]
    shift = Fraction(SINGULAR) ** 2
    table = [
        [_inner(a, b) - (shift if i == j else 0) for j, b in enumerate(exact)]
        for i, a in enumerate(exact)
    ]
    for k, pivot in enumerate(table):
        _check_time()
        if pivot[k] <= 0:
            return False
        for i in range(k + 1, len(table)):
            factor = table[i][k] / pivot[k]
            table[i] = [a - factor * b for a, b in zip(table[i], pivot, strict=True)]
    return True


# The matrix in question


class _Matrix:
    """Q, given as it is."""

    #: Whether all of it is there, whether it is known to be ≥ 0, and how far an entry may be off.
    formed, semidefinite, entry = True, False, 0.0

    def __init__(self, Q: Array) -> None:
        self.Q, self.n, self.diagonal = Q, len(Q), Q.diagonal()
        self.size = float(np.abs(Q).max()) or 1.0

    def block(self, at: Array) -> Array:
        """Q on some features."""
        return self.Q[np.ix_(at, at)]

    def rows(self, at: Array) -> Array:
        """Sizes of the entries of some rows, rounded up."""
        return np.abs(self.Q[at])

    def exact_form(self, support: Array, x: list[Fraction]) -> tuple[Fraction, Fraction]:
        """``xᵀQx``, and the size of what it is added up from."""
        part = self.block(support)
        return _inner(x, [_inner(row, x) for row in part]), Fraction(float(np.abs(part).max()))

    def largest_sum(self, s: int, usable: Array) -> float:
        """Gershgorin, with the s - 1 largest entries of each row."""
        rows = np.abs(self.block(usable))
        np.fill_diagonal(rows, 0.0)
        sums = -np.sort(-rows, axis=1)[:, : s - 1].sum(axis=1)
        diagonal = self.diagonal[usable]
        raised = diagonal + sums + _rel(s + 2) * (np.abs(diagonal) + sums) + TINY
        return float(np.where(sums == 0.0, diagonal, raised).max(initial=-math.inf))


class _Factor:
    """``Q = BᵀB``, of which only parts are ever formed."""

    formed, semidefinite = False, True

    def __init__(self, B: Array) -> None:
        self.B, self.n = B, B.shape[1]
        squares, error = np.einsum("ij,ij->j", B, B), _rel(len(B) + 4)
        self.entry = error * float(squares.max()) + TINY
        self.diagonal = squares * (1 + error) + TINY
        self.size = float(squares.max()) or 1.0

    def block(self, at: Array) -> Array:
        """Q on some features, up to ``entry``."""
        if len(at) > LARGEST_PART:
            raise Rejected(f"{len(at)} features are left, too many")
        Q = self.B[:, at].T @ self.B[:, at]
        return 0.5 * (Q + Q.T)

    def rows(self, at: Array) -> Array:
        """Sizes of the entries of some rows, rounded up."""
        return np.abs(self.B[:, at].T @ self.B) + self.entry

    def exact_form(self, support: Array, x: list[Fraction]) -> tuple[Fraction, Fraction]:
        """``‖Bx‖²``, and the size of what it is added up from."""
        image = [_inner(row, x) for row in self.B[:, support]]
        sizes = np.square(self.B[:, support]).sum(axis=0)
        return _inner(image, image), Fraction(float(sizes.max()))

    def largest_sum(self, s: int, usable: Array) -> float:
        """No eigenvalue of a part exceeds its trace."""
        return float(np.sort(self.diagonal[usable])[-s:].sum()) * (1 + _rel(s))


_Source = _Matrix | _Factor


class _RowSums:
    """Sums of the largest squares off the diagonal of each row of Q, for all stages."""

    def __init__(self, source: _Source, largest: int) -> None:
        self.source, self.count = source, max(largest - 1, 1)
        if source.n * self.count > MOST_SUMS:
            raise Rejected("problem: more rows and a larger sparsity than can be checked")
        self.sums = np.full((source.n, self.count), math.inf)

    def __call__(self, s: int, wanted: Array) -> Array:
        """Of the s - 1 largest, right for the rows that are wanted."""
        new = wanted[np.isinf(self.sums[wanted, 0])]
        self.sums[new] = _largest_squares(self.source.rows, new, self.count)
        return self.sums[:, s - 2]


def _largest_squares(rows: Callable[[Array], Array], at: Array, count: int) -> Array:
    """Sums of the 1, 2, … largest squares off the diagonal of some rows, rounded up."""
    sums = np.zeros((len(at), count))
    for start in range(0, len(at), TILE):
        _check_time()
        own = at[start : start + TILE]
        tile = rows(own)
        tile[np.arange(len(own)), own] = 0.0
        width = min(count, tile.shape[1])
        tile.partition(tile.shape[1] - width, axis=1)
        top = -np.sort(-tile[:, tile.shape[1] - width :], axis=1)
        sums[start : start + TILE, :width] = np.cumsum(top * top, axis=1)
        sums[start : start + TILE, width:] = sums[start : start + TILE, width - 1 : width]
    return sums * (1 + _rel(count + 4)) + TINY


# One stage


class _Stage:
    """The form of a stage: ``Q + XBᵀ + BXᵀ``, which is that of Q on every feasible vector.

    ``B = ½X(YᵀQY) - QY`` would make it ``(I - XYᵀ)Q(I - YXᵀ)``, with Y such that ``XYᵀ`` projects
    on what X spans; any B is valid, so that only the rounding of the sum counts.  A feature that is
    all of some component is zero in every feasible vector; where Q is formed it is left out.  What
    a support that is tested may reach is the bound that is claimed, unless ``reach`` says otherwise
    of it.
    """

    def __init__(
        self,
        source: _Source,
        X: Array,
        sums: _RowSums,
        reach: Reach = lambda T, claimed: claimed,
        included: frozenset[int] = _NOTHING,
        excluded: frozenset[int] = _NOTHING,
    ) -> None:
        self.reach = reach
        self.source, self.sums, self.n = source, sums, source.n
        self.included: Array = np.array(sorted(included), dtype=np.int64)
        unusable = _used_up(X, included, excluded) if source.formed else excluded
        self.spent = np.isin(np.arange(self.n), list(unusable))
        # What is spent is zero in every feasible vector: nothing of X is left there.
        X = np.where(self.spent[:, None], 0.0, X)
        self.X = X[:, X.any(axis=0)]
        self.touched = (self.X != 0).any(axis=1)
        #: The border rule speaks neither of these nor of what is included.
        self.held = self.touched | np.isin(np.arange(self.n), self.included)
        self.usable = np.flatnonzero(~self.spent)
        self.core = (self.usable[:0], np.zeros((0, 0)), np.zeros((0, 0)), 0.0)

    def part(self, at: Array) -> tuple[Array, Array, float]:
        """Q and the form on some features, and how far an entry of these may be off."""
        if not _within(at, self.core[0]):
            core = self.usable if self.source.formed else at
            Q = self.source.block(core)
            M, radius = _folded(Q, self.X[core], np.flatnonzero(self.touched[core]))
            self.core = core, Q, M, radius + self.source.entry
        features, Q, M, radius = self.core
        places: Array = np.searchsorted(features, at)
        return Q[np.ix_(places, places)], M[np.ix_(places, places)], radius

    def first_bound(self, claimed: float) -> float:
        """What is included alone, or else the largest variance of a feature that none uses."""
        F = self.included
        if len(F) and claimed == math.inf:
            return claimed
        if len(F) and claimed == -math.inf:
            return -math.inf if _nothing_orthogonal(self.X[F]) else math.inf
        if len(F):
            walk = _Walk(self, F, len(F), claimed, claimed)
            return claimed if walk.is_below(np.arange(len(F)), claimed) else math.inf
        return self.largest_single()

    def largest_single(self) -> float:
        """The largest variance of a feature that no component uses."""
        free = ~self.touched & ~self.spent
        return float(np.max(self.source.diagonal, where=free, initial=-math.inf))

    def largest_sum(self, s: int) -> float:
        """A bound that costs next to nothing."""
        return self.source.largest_sum(s, self.usable)

    def check_sieve(self, s: int, level: float, below: float, kept: Array, where: str) -> None:
        """Every feature that is not kept is ruled out by the border rule.

        With x = y + t·e_j, no component using j, y is feasible with one nonzero less, and so
        ``xᵀQx`` is below the level if ``(L - U)(L - Q_jj) > β_j``, U bounding such y.  If Q ≥ 0 it
        is below ``U + Q_jj`` as well.
        """
        stays = np.zeros(self.n, dtype=bool)
        stays[kept] = True
        if (self.spent & stays).any():
            raise Rejected(f"{where}: a feature is kept that is used up")
        alive, room = ~self.spent, level - self.source.diagonal
        if self.source.semidefinite and below > -math.inf:
            total = (self.source.diagonal + max(below, 0.0)) * (1 + _rel(2))
            alive &= stays | self.held | ~(total < level)
        beta, of_all = self.sums(s, np.flatnonzero(alive & ~stays)), True
        while (alive & ~stays).any():
            _check_time()
            product = (level - below) * np.maximum(room, 0.0) * (1 - _rel(4))
            out = (product > beta) & (room > 0) & ~self.held & alive
            if not level > below > -math.inf or not (out.any() or of_all):
                lost = int(np.flatnonzero(alive & ~stays)[0])
                raise Rejected(f"{where}: feature {lost} is not ruled out")
            alive &= ~out
            # What is left has shorter rows, and those of the form itself.
            at, of_all = np.flatnonzero(alive), False
            if (alive & ~stays).any():
                _, M, radius = self.part(at)
                beta = np.full(self.n, math.inf)
                beta[at] = _largest_squares(
                    lambda own: np.abs(M[own]) + radius,  # noqa: B023
                    np.arange(len(at)),
                    s - 1,
                )[:, -1]

    def check_tree(
        self,
        s: int,
        level: float,
        claimed: float,
        kept: Array,
        tree: Iterator[tuple[int, Array, Array, _Multipliers | None]],
        where: str,
        tick: Callable[[], None],
    ) -> None:
        """Every support of s features among those kept is below the level, or tested."""
        if not (self.held <= np.isin(np.arange(self.n), kept)).all():
            raise Rejected(f"{where}: a feature that components use, or must, is not kept")
        walk = _Walk(self, kept, s, level, claimed)
        pending = [(self.included, np.setdiff1d(kept, self.included))]
        for number, (branch, removed, forced, multipliers) in enumerate(tree):
            place = f"{where}, step {number + 1}"
            tick()
            if not pending:
                raise Rejected(f"{place}: nothing is left to do")
            inside, free = pending.pop()
            left = np.setdiff1d(free, removed, assume_unique=True)
            others = np.setdiff1d(left, [*forced, branch])
            if not (_within(removed, free) and _within(forced, left)):
                raise Rejected(f"{place}: a feature that is not there")
            if multipliers is not None:
                if branch >= 0 or (len(removed) > 0) + len(forced) != 1:
                    raise Rejected(f"{place}: more than multipliers show at once")
                walk.check_claim(inside, free, removed, forced, multipliers, place)
                if len(left):
                    pending.append((np.union1d(inside, forced), others))
                continue
            if branch < 0 and not len(forced) and (len(left) or not len(free)):
                if len(removed):
                    raise Rejected(f"{place}: features are left")
                walk.check_supports(inside, free, place)
                continue
            if len(removed) or len(forced):
                walk.check_step(inside, free, removed, forced, place)
            if branch >= 0:
                if len(forced) or branch not in left:
                    raise Rejected(f"{place}: a feature that is not there")
                pending.append((inside, others))
                forced = np.array([branch])
            # More features than there is room for are in no support.
            if 0 < len(forced) <= s - len(inside):
                pending.append((np.union1d(inside, forced), others))
        if pending:
            raise Rejected(f"{where}: the tree ends too early")


def _folded(Q: Array, X: Array, at: Array) -> tuple[Array, float]:
    """``Q + XBᵀ + BXᵀ`` in the widest numbers there are, and how far an entry may be off."""
    if len(at) == 0:
        return Q, 0.0
    wide = np.longdouble
    used, gram = X[at].astype(wide), X[at].T @ X[at]
    dual = used
    if np.abs(gram - np.eye(len(gram))).max() > ORTHONORMAL:
        dual = (X[at] @ np.linalg.pinv(gram, rcond=SMALLEST_SHARE, hermitian=True)).astype(wide)
    image = Q[:, at].astype(wide) @ dual
    B = -image
    B[at] += 0.5 * used @ (dual.T @ image[at])
    product, sizes = used @ B.T, np.abs(used) @ np.abs(B).T
    product[:, at] += product[:, at].T
    sizes[:, at] += sizes[:, at].T
    M = Q.copy()
    M[at] = Q[at] + product
    M[:, at] = M[at].T
    largest = float((sizes + np.abs(Q[at])).max())
    unit = float(np.finfo(wide).eps)
    radius = 2 * (2 * X.shape[1] + 4) * unit * largest + TINY
    return M, radius + 2 * UNIT * float(np.abs(M[at]).max())


def _within(part: Array, whole: Array) -> bool:
    return bool(np.isin(part, whole).all())


def _rel(operations: int) -> float:
    """Relative error of so many roundings of numbers of one sign (up to a hundred million)."""
    return (operations + 4) * UNIT


# The conditioned search


class _Walk:
    """Steps and leaves of one tree, at one level.

    With F included and ``L·I - A_F = CCᵀ``, ``H = C⁻¹A_F``, a support ``F ∪ R`` is below the level
    if and only if ``I - W_R`` is positive definite, W being ``A + HᵀH`` off its diagonal, scaled by
    the roots of ``d = L - diag(A + HᵀH)``.  Rounding is taken from the level beforehand.
    """

    def __init__(self, stage: _Stage, kept: Array, s: int, level: float, claimed: float) -> None:
        self.kept, self.s, self.level, self.claimed = kept, s, level, claimed
        self.Q, self.M, self.radius = stage.part(kept)
        self.entry, self.reach = stage.source.entry, stage.reach
        self.X = stage.X[kept]
        self.scale = float(np.abs(self.M).max(initial=0.0)) or 1.0
        self.heaviest = float(np.square(self.X).sum(axis=1).max(initial=0.0))
        self.penalties = PENALTIES if self.X.any() else PENALTIES[:1]

    def check_step(
        self, inside: Array, free: Array, removed: Array, forced: Array, where: str
    ) -> None:
        """No support above the level has a removed feature or lacks a forced one."""
        F: Array = np.searchsorted(self.kept, inside)
        U: Array = np.searchsorted(self.kept, free)
        gone, must = np.isin(free, removed), np.isin(free, forced)
        for penalty in self.penalties:
            found = self._condition(F, U, penalty)
            if found is not None and self._rules_out(*found, self.s - len(F), gone, must):
                return
        raise Rejected(f"{where}: does not follow")

    def _condition(self, F: Array, U: Array, penalty: float) -> tuple[Array, Array] | None:
        """``A + HᵀH`` on the free features, and the d of each; None if F reaches the level."""
        s, level = self.s, self.level
        kappa = penalty * max(abs(level), 1e-3 * self.scale)
        radius = self.radius
        if kappa:
            size = kappa * self.heaviest + self.scale
            radius += 2 * (self.X.shape[1] + 4) * UNIT * size + TINY
        margin = 16 * s * (s + 8) * UNIT * (abs(level) + self.scale + kappa * self.heaviest) + TINY
        level = level - s * radius - margin
        A = self._form(U, U, kappa)
        if len(F):
            cross = self._form(F, U, kappa)
            core = -self._form(F, F, kappa)
            core[np.diag_indices(len(F))] += level
            try:
                C = np.linalg.cholesky(core)
                H = np.linalg.solve(C, cross)
            except np.linalg.LinAlgError:
                return None
            close = 0.5 * margin / s
            if not (
                np.abs(C @ C.T - core).max() <= close
                and np.abs(C @ H - cross).max(initial=0.0) <= close
                and not np.triu(C, 1).any()
            ):
                return None
            A += H.T @ H
        d = level - A.diagonal()
        return (A, d) if (d > 0).all() and np.isfinite(A).all() else None

    def _form(self, rows: Array, columns: Array, kappa: float) -> Array:
        part = self.M[np.ix_(rows, columns)]
        return part - kappa * (self.X[rows] @ self.X[columns].T) if kappa else part

    def _rules_out(self, A: Array, d: Array, room: int, gone: Array, must: Array) -> bool:
        """Whether all that is to be removed or forced follows from costs and weighted rows."""
        if gone.all() and len(d) <= 8 * room:
            complement = -A
            complement[np.diag_indices(len(d))] = d
            if _is_positive_definite(complement):
                return True
        W = A / np.sqrt(d)
        W /= np.sqrt(d)[:, None]
        np.fill_diagonal(W, 0.0)
        W = np.abs(W)
        # Not every choice of weights gets further with fewer features: two orders are tried.
        return any(_follows(W, room, gone, must, *way) for way in WEIGHTS)

    def check_claim(
        self,
        inside: Array,
        free: Array,
        removed: Array,
        forced: Array,
        multipliers: _Multipliers,
        where: str,
    ) -> None:
        """No support above the level has a removed feature, or lacks the one that is forced.

        For x on S, ``G_ij = |N_ij|·r_ij`` and ``H_ij = G_ij - c_i``,

            xᵀQx ≤ xᵀ(Q - N)x + Σ_j x_j² (Σ_{i∈S, i≠j} H_ij - c_j) + Σ_{i∈S} c_i

        and the sums are at most those of the largest numbers that S, with all that is inside and
        something that is removed, can have.
        """
        if len(forced):
            # What lacks it is among the others.
            free = removed = np.setdiff1d(free, forced)
        T = np.union1d(inside, free)
        room, size = min(self.s - len(inside), len(free)), len(T) + 8
        if room < 1 or not len(removed) or not _within(T, multipliers.features):
            raise Rejected(f"{where}: the multipliers do not speak of that")
        at: Array = np.searchsorted(self.kept, T)
        N, r, c = multipliers.on(T)
        own, gone = np.isin(T, free), np.isin(T, removed)
        H = np.abs(N) * r * (1 + _rel(2)) + TINY - c[:, None]
        H += 4 * UNIT * np.abs(H)
        np.fill_diagonal(H, 0.0)
        fixed = H[~own]
        np.fill_diagonal(H, -math.inf)
        # A support may have no other removed feature than that whose column it is.
        some = np.where(gone, math.inf, H[gone].max(axis=0))
        tau, sizes = _largest_sums(H[own], room - own.astype(int), some)
        sizes = sizes + np.abs(fixed).sum(axis=0)
        tau = tau + fixed.sum(axis=0) + _rel(size) * sizes + TINY
        (total,), (much,) = _largest_sums(c[own][:, None], np.array([room]), c[gone].max())
        much += np.abs(c[~own]).sum()
        total += c[~own].sum() + _rel(size) * much + TINY
        M = self.M[np.ix_(at, at)] - N
        radius = 2 * UNIT * float(np.abs(M).max())
        much = np.abs(M.diagonal()) + np.abs(tau) + np.abs(c)
        M[np.diag_indices(len(T))] += tau - c + _rel(4) * much
        if self.X[at].any():
            low = float(M.diagonal().max()) - 10 * float(np.abs(M).max())
            M, more = _constrained(M, self.X[at], low)
            radius += more
        unsure = self.s * self.radius
        lowered = self.level - total - unsure
        lowered -= _rel(4) * (abs(self.level) + abs(total) + unsure) + TINY
        if not _proves_below(M, lowered, radius):
            raise Rejected(f"{where}: does not follow")

    def check_supports(self, inside: Array, free: Array, where: str) -> None:
        """Every largest support of a leaf, one by one, is below what it may reach."""
        chosen = min(self.s - len(inside), len(free))
        if chosen < 0 or math.comb(len(free), chosen) > LARGEST_LEAF:
            raise Rejected(f"{where}: too many supports to look at")
        fixed: Array = np.searchsorted(self.kept, inside)
        places: Array = np.searchsorted(self.kept, free)
        for rest in itertools.combinations(places, chosen):
            _check_time()
            T: Array = np.array(sorted((*fixed, *rest)), dtype=np.intp)
            features = self.kept[T].tolist()
            bound = self.reach(tuple(features), self.claimed)
            if len(T) and not (bound == math.inf or self.is_below(T, bound)):
                raise Rejected(f"{where}: the support {features} is not below the bound")

    def is_below(self, T: Array, bound: float) -> bool:
        """Whether no feasible vector on some places has more."""
        X = self.X[T]
        if not X.any():
            return _proves_below(self.M[np.ix_(T, T)], bound, self.radius)
        kappa = 1e5 * self.scale * 2 * self.s
        radius = self.radius + 2 * (X.shape[1] + 4) * UNIT * (kappa * self.heaviest + self.scale)
        penalised = self.M[np.ix_(T, T)] - kappa * (X @ X.T)
        if _proves_below(penalised, bound, radius + TINY):
            return True
        matrix, radius = _constrained(self.Q[np.ix_(T, T)], X, bound - 0.1 * self.scale)
        return _proves_below(matrix, bound, radius + self.entry) or _nothing_orthogonal(X)


@dataclass(frozen=True)
class _Multipliers:
    """N, symmetric with zeros on its diagonal, ``r_ij·r_ji ≥ 1``, and c, of some features.

    N and r are given by what is below their diagonals.  Rounding changes which numbers they are,
    and nothing that is asked of them.
    """

    features: Array
    N: Array
    r: Array
    c: Array

    def on(self, T: Array) -> tuple[Array, Array, Array]:
        """N, r and c of some of the features."""
        m = len(self.features)
        low: Array = np.tril_indices(m, -1)
        N, r = np.zeros((m, m)), np.ones((m, m))
        N[low] = N.T[low] = self.N
        r[low] = self.r
        r.T[low] = 1 / self.r * (1 + 4 * UNIT)
        at: Array = np.searchsorted(self.features, T)
        return N[np.ix_(at, at)], r[np.ix_(at, at)], self.c[at]


def _largest_sums(rows: Array, counts: Array, some: Array) -> tuple[Array, Array]:
    """Of each column the largest sum of so many numbers, and the size of what it is made of.

    One of them, at least, is not larger than ``some`` of the column.
    """
    ordered = -np.sort(-rows, axis=0)
    chosen = np.where(np.arange(len(rows))[:, None] < counts, ordered, 0.0)
    last = np.where(counts > 0, ordered[counts - 1, np.arange(len(counts))], -math.inf)
    lost = np.maximum(last - some, 0.0)
    return chosen.sum(axis=0) - lost, np.abs(chosen).sum(axis=0) + lost


def _follows(W: Array, room: int, gone: Array, must: Array, rounds: int, every: bool) -> bool:
    """Whether costs and weights rule out what is gone, and force what must be in."""
    at, shown = np.arange(len(W)), ~must
    before = len(W) + 1
    while gone[at].any() or not shown.all():
        _check_time()
        if len(at) == before:
            return False
        before = len(at)
        if room <= 1 or before <= 1:
            return True
        at = at[_stays_by_costs(W[np.ix_(at, at)], room) | ~gone[at]]
        if len(at) <= 1 or len(at) <= 0.95 * before:
            continue
        left = np.ones(len(at), dtype=bool)
        found = list(_by_weights(W[np.ix_(at, at)], room, rounds))
        for stays, forced in found if every else found[-1:]:
            # What one choice of weights shows is true whatever the others show.
            shown[at[forced]] = True
            left &= stays | ~gone[at]
        at = at[left]
    return True


def _stays_by_costs(W: Array, room: int) -> Array:
    """``λmax(W_R)² ≤ (r-1)/r ‖W_R‖²``: whether the dearest R with an index can reach 1."""
    squares = W * W
    count = min(room - 1, len(W) - 1)
    squares.partition(len(W) - count, axis=1)
    costs = squares[:, len(W) - count :].sum(axis=1)
    ordered = np.sort(costs)[::-1]
    dearest = np.minimum(ordered[:room].sum(), ordered[: room - 1].sum() + costs)
    return dearest >= room / (room - 1) * (1 - _rel(4 * room * room + 60))


def _by_weights(W: Array, room: int, rounds: int) -> Iterator[tuple[Array, Array]]:
    """Collatz and Wielandt with the r - 1 largest products of each row, for better weights.

    Yields which indices an R that reaches 1 can contain, and which ones it must contain.
    """
    m, count = len(W), min(room - 1, len(W) - 1)
    limit = 1 - _rel(8 * room + 60)
    weights = np.ones(m)
    for _ in range(rounds):
        products = W * weights
        ordered = np.sort(products, axis=1)
        sums = ordered[:, m - count :].sum(axis=1)
        last, following = ordered[:, m - count], ordered[:, m - count - 1]
        if (sums < limit * weights).all():
            yield np.zeros(m, dtype=bool), np.ones(m, dtype=bool)
            return
        rounding = _rel(count + 4) * sums
        # An index with a weight of its own, which its own row allows.
        own = sums / limit * (1 + _rel(4))
        fits = (np.maximum(sums - last, 0.0) + rounding)[:, None] + W * own
        fits = fits < limit * weights[:, None]
        np.fill_diagonal(fits, True)
        # All rows without an index.
        less = np.where(products >= last[:, None], products - following[:, None], 0.0)
        without = (sums + rounding)[:, None] - less < limit * weights[:, None]
        np.fill_diagonal(without, True)
        yield ~fits.all(axis=0), without.all(axis=0)
        weights = np.maximum(sums / sums.max(), 1e-9)


# Definiteness (S. M. Rump, Verification of positive definiteness, BIT 46, 2006).  An entry of the
# factor passes n + 1 roundings at most, also if reciprocals of pivots multiply; n + 4 are allowed.


def _is_positive_definite(matrix: Array, radius: float = 0.0) -> bool:
    """Whether all symmetric matrices within the radius are positive definite, proved."""
    n = len(matrix)
    trace = float(matrix.diagonal().sum())
    if not (math.isfinite(float(np.abs(matrix).sum())) and (matrix.diagonal() >= 0).all()):
        return False
    shifted = matrix.copy()
    shift = 1.01 * (n + 4) * UNIT * trace + TINY + n * radius * (1 + 4 * UNIT)
    shifted[np.diag_indices(n)] -= shift
    try:
        factor = np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return bool(np.isfinite(factor).all())


def _proves_below(matrix: Array, threshold: float, radius: float) -> bool:
    negated = -matrix
    negated[np.diag_indices(len(matrix))] += threshold
    return _is_positive_definite(negated, radius)


def _constrained(matrix: Array, V: Array, level: float) -> tuple[Array, float]:
    """A form that is the same where ``Vᵀx = 0``, with the value ``level`` on the range of V."""
    left, singular, right = np.linalg.svd(V, full_matrices=False)
    kept = singular > 0.99 * ORTHOGONALITY
    left = left * kept
    inverse = np.divide(1.0, singular, out=np.zeros_like(singular), where=kept)
    image = matrix @ left
    G = image - 0.5 * left @ (left.T @ image) - 0.5 * level * left
    B = -(G * inverse) @ right
    wide = np.longdouble
    product = V.astype(wide) @ B.astype(wide).T
    folded = (matrix + product + product.T).astype(float)
    sizes = float((np.abs(V) @ np.abs(B).T + np.abs(matrix)).max())
    radius = 2 * (V.shape[1] + 4) * float(np.finfo(wide).eps) * sizes * (1 + 1e-6) + TINY
    return folded, radius + 2 * UNIT * float(np.abs(folded).max())


def _check_machine() -> None:
    """Rounding to nearest, no flushing to zero: what all of the above rests on."""
    one, ulp = np.float64(1.0), np.float64(UNIT)
    rounds = one + ulp == one and one + np.float64(1.5) * ulp == one + 2 * ulp
    if not rounds or np.float64(1e-308) * np.float64(1e-10) == 0.0:
        raise Rejected("this machine does not round to nearest, or loses small numbers")


# From a shell


def main(arguments: list[str] | None = None) -> int:
    """Answer as ``orthospca verify`` does; return 0, 1 or 2."""
    parser = argparse.ArgumentParser(
        description="Check a certificate, trusting nothing of the solver that wrote it.",
        epilog="Ends with 0 if everything claimed was proved, with 1 if something does not follow, "
        "with 2 if nothing can be said: the file is no certificate, the data cannot be read, or a "
        "limit was met.",
    )
    add = parser.add_argument
    add("file", metavar="FILE", help="a certificate")
    add("--data", metavar="DATA", help="check that it is of this file: .npy, or .csv of numbers")
    add("--correlation", action="store_true", help="of its correlations, not of its covariances")
    add("--precomputed", action="store_true", help="the file holds the matrix itself")
    add("--max-bytes", type=float, default=MAX_BYTES, metavar="N", help="unpack at most so many")
    add("--time-limit", type=float, default=TIME_LIMIT, metavar="S", help="seconds, at most")
    add("-v", "--verbose", action="store_true", help="a line for each component too")
    add("-q", "--quiet", action="store_true", help="say nothing: the exit code does")
    asked = parser.parse_args(arguments)
    if asked.correlation and asked.precomputed:
        parser.error("--correlation and --precomputed exclude each other")
    if (asked.correlation or asked.precomputed) and asked.data is None:
        parser.error("options that say how to read the data need --data")
    try:
        manifest, arrays = read(asked.file, asked.max_bytes)
        given = {} if asked.data is None else _of_data(asked, manifest.get("problem"))
        certificate = types.SimpleNamespace(manifest=manifest, arrays=arrays)
        verdict = verify(certificate, **given, time_limit=asked.time_limit)
        if verdict.undecided:
            raise Undecided(verdict.reason)
    except ValueError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    if not asked.quiet:
        print(*verdict.lines(asked.data, asked.verbose), sep="\n")
    return 0 if verdict else 1


def _of_data(asked: argparse.Namespace, problem: Any) -> dict[str, Array]:
    """Q, or B of ``Q = BᵀB``, of a file, as ``orthospca fit`` computes it."""
    table = _numbers(asked.data)
    if asked.precomputed:
        return {"Q": table}
    divisor, centred = math.sqrt(len(table) - 1), table - table.mean(axis=0)
    deviation = np.sqrt(np.square(centred).sum(axis=0)) / divisor if asked.correlation else 1.0
    with np.errstate(all="ignore"):
        B = centred / (deviation * divisor)
    known = problem if isinstance(problem, dict) else {}
    if known.get("kind") == "factor":
        return {"factor": B}
    # Of another number of features it is not formed: the shape alone is refused.
    return {"Q": B.T @ B if B.shape[1] == known.get("features") else B}


def _numbers(file: str) -> Array:
    """The table that a file holds."""
    try:
        if file.endswith(".npy"):
            table = np.load(file, allow_pickle=False)
        else:
            with open(file, encoding="utf-8-sig") as stream:
                rows = [line.split(",") for line in stream if line.strip()]
            try:
                table = np.array(rows, dtype=float)
            except ValueError:  # a line of names comes first
                table = np.array(rows[1:], dtype=float)
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error}") from None
    except ValueError as error:
        raise ValueError(f"{file} is no .npy, and no .csv of numbers alone ({error})") from None
    if table.ndim != 2 or len(table) < 2 or table.dtype.kind not in "fiu":
        raise ValueError(f"{file} is no table of numbers: {table.dtype} of the shape {table.shape}")
    return table.astype(float)


class _Callable(types.ModuleType):
    """The module can be called as the function that it is named after."""

    def __call__(self, *args: Any, **kwargs: Any) -> Verdict:
        return verify(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable

if __name__ == "__main__":
    sys.exit(main())
