"""Check a certificate, trusting nothing of the solver that wrote it.

``python verify.py certificate.zip`` answers from any folder; ``--help`` says what else it can do.
This file says what is claimed and compares; ``verify_ladder.py`` beside it has the argument for a
bound, and ``verify_sets.py`` the checks of lists of supports and of sets as a whole.  The three
need Python and NumPy and nothing else of the package, so that they can be read, and copied, on
their own.  ``docs/theory/trust.md`` derives every inequality used.

A certificate says of each stage k: *no vector of unit length with at most p nonzeros, orthogonal to
the components before it, has a variance above U*.  The argument is a ladder.

More may be asked: features that a support contains (F; they count against p), or does not (E),
vectors before the first component, or that no feature serves two of them.  If no loading may be
negative, the ladder is one of Q⁺, which has 0 in the place of negative entries off the diagonal:
for ``x ≥ 0`` no product ``Q_ij x_i x_j`` is larger.  Uncorrelated components are orthogonal to Qx
of those before them, instead of x.
"""

from __future__ import annotations

import argparse
import decimal
import hashlib
import importlib
import io
import itertools
import json
import math
import os
import sys
import time
import types
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING or __package__:
    from orthospca import verify_ladder as ladder
else:  # a copy: the other files lie beside it
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    try:
        import verify_ladder as ladder
    except ModuleNotFoundError:
        print("verify.py: copy verify_ladder.py to the same folder", file=sys.stderr)
        sys.exit(2)

FORMAT, VERSION = "orthospca-certificate", 7
#: What may be asked beyond a sparsity.
DEMANDS = ("include", "exclude", "relation", "previous", "nonnegative")
#: Components have the variances stated, and no more than this share of them is left unsaid.
ACCURACY = 1e-11
#: Products of Q with a component that are this small, relative to Q, are nothing but rounding.
SMALLEST_IMAGE = 1e-12
#: Bytes that a file may unpack to and seconds that a check may take, unless it is said otherwise.
MAX_BYTES, TIME_LIMIT = 2**28, 3600.0
#: At most: bytes of the manifest, of the header of an array, and members of a file …
LARGEST_MANIFEST, LONGEST_HEADER, MOST_MEMBERS = 2**20, 2**12, 20_000
#: … and supports of the end of the sequence that are tested one by one.
LARGEST_END = 2**18

Array = Any
Progress = Callable[[float], None]
Features = frozenset[int]
Unreadable, Undecided, Rejected = ladder.Unreadable, ladder.Undecided, ladder.Rejected


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
    joint_variance, joint_upper_bound : float or None
        Of a set that was verified as a whole, the total variance and the bound on that of every
        such set; None otherwise.
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
        The matrix.  It is required if the certificate does not hold it; if it does, both must be
        equal.
    factor : array-like of shape (m, n), optional
        B of ``Q = BᵀB`` instead, if the certificate is about data.
    max_bytes : int or None
        Bytes that the file may unpack to; None for no limit.
    time_limit : float or None
        Seconds, checked between steps; None for no limit.
    progress : callable, optional
        Called with the share of the work done.

    Returns
    -------
    Verdict
        If a limit was reached, ``undecided`` is true, and the reason says which.

    Raises
    ------
    Unreadable
        If the file is not a certificate.
    """
    if Q is not None and factor is not None:
        raise ValueError("give Q or factor, not both: a certificate is about one of them")
    before = ladder.LIMIT.set((time.monotonic(), math.inf if time_limit is None else time_limit))
    check = _Check(progress or (lambda share: None))
    verified, undecided, reason = False, False, ""
    try:
        if hasattr(certificate, "manifest"):
            check.manifest, check.arrays = certificate.manifest, certificate.arrays
        else:
            if not isinstance(certificate, str | os.PathLike) and not hasattr(certificate, "seek"):
                raise Unreadable(
                    f"a certificate or its file is expected, got {certificate!r:.60}; a result has "
                    "one, result.certificate, if it was solved with proof=True"
                )
            check.manifest, check.arrays = read(certificate, max_bytes)
        ladder.check_machine()
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
        ladder.LIMIT.reset(before)
    proved, said = tuple(check.proved), tuple(check.said)
    return Verdict(verified, reason, proved, *check.joint, undecided, check.statement, said)


# Reading: nothing is unpacked before its size is known, and nothing is executed.


def read(path: Any, max_bytes: float | None = MAX_BYTES) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the manifest and the arrays of a file."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {member.filename: member for member in archive.infolist()}
            size = sum(member.file_size for member in archive.infolist())
            if len(members) < len(archive.infolist()) or len(members) > MOST_MEMBERS:
                raise ValueError("more than a certificate may hold")
            if max_bytes is not None and size > max_bytes:
                limit = f"the limit is {max_bytes:.0f}: raise max_bytes (--max-bytes)"
                raise Undecided(f"{path} unpacks to {size} bytes and {limit}")
            if members["manifest.json"].file_size > LARGEST_MANIFEST:
                raise ValueError("manifest.json is too long")
            contents = {name: _unpacked(archive, member) for name, member in members.items()}
        manifest = json.loads(contents.pop("manifest.json").decode("utf-8"))
        if manifest["format"] != FORMAT or manifest["version"] != VERSION:
            raise ValueError("not a certificate, or one of an unknown version")
        return manifest, {name: _array(data) for name, data in contents.items()}
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


def _array(data: bytes) -> Array:
    """Return an array of plain numbers; its header must agree with the bytes there are."""
    stream = io.BytesIO(data[:LONGEST_HEADER])
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("an array of another version")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if fortran or dtype.str not in ("<f4", "<f8", "<i4", "<i8") or any(d < 0 for d in shape):
        raise ValueError("an array that is not of numbers in rows")
    if math.prod(shape) * dtype.itemsize != len(data) - stream.tell():
        raise ValueError("an array that is not of the shape it says")
    return np.frombuffer(data, dtype=dtype, offset=stream.tell()).reshape(shape)


def fingerprint(matrix: Array) -> str:
    """SHA-256 of a matrix: its shape, then its rows as little-endian doubles."""
    matrix = np.ascontiguousarray(matrix, dtype="<f8")
    return hashlib.sha256(repr(matrix.shape).encode() + matrix.tobytes()).hexdigest()


def _entry(holder: Any, name: Any, kind: type) -> Any:
    """An entry of the manifest, which must be of its kind: true is no number, nor is infinity."""
    value = holder[name]
    right = isinstance(value, (int, float) if kind is float else kind)
    if not right or (kind is not bool and isinstance(value, bool)):
        raise Rejected(f"{name}: {kind.__name__} is expected, got {value!r:.40}")
    if kind is float and not (math.isfinite(value) and float(value) == value):
        raise Rejected(f"{name}: a number in double precision is expected, got {value!r:.40}")
    return float(value) if kind is float else value


def _entries(holder: Any, name: Any, kind: type) -> list[Any]:
    """A list of such entries."""
    values = _entry(holder, name, list)
    return [_entry(values, i, kind) for i in range(len(values))]


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
        version = _entry(self.manifest, "version", int)
        if (self.manifest["format"], version) != (FORMAT, VERSION):
            raise Rejected("not a certificate, or one of an unknown version")
        problem = _entry(self.manifest, "problem", dict)
        n, kind = _entry(problem, "features", int), _entry(problem, "kind", str)
        limits = _entries(problem, "sparsity", int)
        if not limits or not all(1 <= p <= n for p in limits):
            raise Rejected("problem: the sparsities make no sense")
        matrix = self._given(given, kind, n, _entry(problem, "sha256", str))
        source, asked = (
            ladder.Source(matrix, kind, max(limits)),
            _asked(self.arrays, problem, n, limits),
        )
        names = (name for name in self.arrays if name.endswith("/steps.npy"))
        self._work = max(sum(len(self.arrays[name]) for name in names), 1)
        claim = self.manifest.get("claim", "components")
        if claim == "components":
            self._check_components(source, limits, asked)
        elif claim in ("alternatives", "joint"):
            _second_file().CHECKS[claim](sys.modules[__name__], self, source, limits, asked)
        else:
            raise Rejected("not a certificate, or one of an unknown version")

    def _given(self, given: Mapping[str, Any], kind: str, n: int, sha: str) -> Array:
        """The matrix in question, or B of ``Q = BᵀB``: given, or held by the certificate."""
        held: Any = self.arrays.get(f"{kind}.npy")
        Q: Any = given[kind]
        if Q is None and any(other is not None for other in given.values()):
            raise Undecided(
                "the certificate is about a matrix, but a factor is given: give Q"
                if kind == "matrix"
                else "the certificate is about data, but a matrix is given: omit --precomputed "
                "(in Python, give B of Q = BᵀB as factor)"
            )
        if Q is None and held is None:
            raise Undecided(
                "the certificate does not hold the matrix: name the data with --data (in Python, "
                "give Q or factor)"
            )
        Q = held if Q is None else np.asarray(Q, dtype=float)
        if Q.ndim != 2 or Q.shape[1] != n or Q.dtype != np.float64:
            raise Rejected(f"problem: {n} features are expected, got the shape {Q.shape}")
        if not (np.abs(Q) <= 1e150).all():
            raise Rejected("problem: entries that are not numbers, or too large")
        if Q is not held and kind == "matrix" and len(Q) == n:
            # Rounding may have left the matrix not quite symmetric: the mean is what is certified.
            Q = 0.5 * (Q + Q.T)
        if fingerprint(Q) != sha:
            Q = Q + 0.0  # the sign of a zero says nothing
        if fingerprint(Q) != sha:
            right = Q is not held and held is not None and fingerprint(held) == sha
            difference = _difference(Q, held) if right else ""
            raise Rejected(f"problem: not the matrix that was certified{difference}")
        if kind == "matrix" and (len(Q) != n or not (Q == Q.T).all()):
            raise Rejected("problem: the matrix is not symmetric")
        return np.array(Q)

    def _check_components(self, source: ladder.Source, limits: list[int], asked: _Asked) -> None:
        """Every component has its variance, and every stage its bound."""
        stages = _entry(self.manifest, "stages", list)
        exhausted = _entry(self.manifest, "exhausted", bool)
        if not 0 < len(stages) <= len(limits):
            raise Rejected("problem: no stages, so that nothing is claimed, or too many")
        components = ladder.numbers(self.arrays, "components.npy", (len(stages), source.n))
        bounded = source
        if asked.nonnegative:
            bounded = ladder.Source(_nonnegative_part(source.given), "matrix", max(limits))
        rungs: list[dict[int, float]] = []
        gaps = []
        for k, stage in enumerate(stages):
            where, p, x = f"stage {k + 1}", limits[k], components[k]
            value, upper = _entry(stage, "variance", float), _entry(stage, "upper_bound", float)
            X, F, E = asked.stage(k, components[:k], source)
            if asked.nonnegative and (x < 0).any():
                raise Rejected(f"{where}: a loading is negative")
            before = X.T if asked.uncorrelated else np.vstack([asked.previous, components[:k]])
            check_component(source, x, before, p, value, where, F, E, len(asked.previous))
            # What is feasible here was feasible in stages before that ask for less.
            outer = [j for j in range(k) if asked.contains(j, k)]
            proof = ladder.Stage(bounded, X, F, E)
            caps = [rungs[j] for j in outer]
            rungs.append(dict(self.ladder(proof, f"stage-{k}", p, caps, where)))
            earlier = [self.proved[j] for j in outer if limits[j] >= p]
            best = min([rungs[k].get(min(p, len(proof.usable)), math.inf), *earlier])
            if asked.nonnegative and f"stage-{k}/parts.npy" in self.arrays:
                best = min(best, self._check_parts(source, f"stage-{k}", (F, E), p, best, upper))
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
            check_exhausted(limits[len(stages)], *asked.stage(len(stages), components, source))
            end = "; no further component exists"
        what = f"{_several(len(stages), 'component')} of {source.n} features{asked.words()}"
        self.statement = f"{what}; the largest gap is {_percent(max(gaps))}{end}"

    def _check_parts(
        self, source: ladder.Source, folder: str, root: Any, p: int, best: float, upper: float
    ) -> float:
        """The largest bound of the parts that a stage with non-negative loadings is cut into.

        A part has features F in, and E out.  It is bounded by a ladder of Q^F, in which pairs of F
        have their entries; by what it is a part of; or, if F is all there is, by its faces.
        """
        cuts = ladder.integers(self.arrays, f"{folder}/parts.npy", -1, source.n - 1)
        faces = _faces(self.arrays, folder, source.n)
        nothing, pending, worst = np.zeros((source.n, 0)), [(*root, best)], -math.inf
        for number, (i, j) in enumerate(cuts.reshape(-1, 2).tolist()):
            where = f"{folder}, part {number}"
            if not pending:
                raise Rejected(f"{where}: nothing is left to do")
            F, E, bound = pending.pop()
            part = ladder.Source(_nonnegative_part(source.given, F), "matrix", p)
            proof = ladder.Stage(part, nothing, F, E)
            rungs = dict(self.ladder(proof, f"{folder}/part-{number}", p, [], where))
            last = min(p, len(proof.usable))
            bound = min(bound, rungs.get(last, math.inf)) if last else -math.inf
            if i < 0:
                single = last == len(F) > 0 and _faces_are_below(source.given, F, upper, faces)
                worst = max(worst, min(bound, upper) if single else bound)
                continue
            new = {i} if j < 0 else {i, j}
            if i == j or new & (F | E):
                raise Rejected(f"{where}: a feature that is not there")
            pending.append((F, E | {i}, bound))
            pending += [(F | {i}, E | {j}, bound)] * (j >= 0)
            pending += [(F | new, E, bound)] * (len(F | new) <= p)
        if pending:
            raise Rejected(f"{folder}: the parts end too early")
        return worst

    def ladder(
        self, proof: ladder.Stage, folder: str, p: int, caps: Any, where: str, listing: bool = False
    ) -> Any:
        """The bounds of a ladder, each proved."""
        return ladder.prove(self.arrays, proof, folder, p, caps, where, self._tick, listing)

    def _tick(self) -> None:
        ladder.check_time()
        self._done += 1
        if self._done % 64 == 0:
            self.progress(self._done / self._work)


def _second_file() -> Any:
    """The checks of lists and sets."""
    try:
        return importlib.import_module(
            f"{__package__}.verify_sets" if __package__ else "verify_sets"
        )
    except ModuleNotFoundError:
        raise Undecided("lists and sets need verify_sets.py in the folder of verify.py") from None


def _difference(given: Array, held: Array) -> str:
    """By how much what is given differs from what the certificate holds."""
    if given.shape != held.shape:
        return ""
    share = float(np.abs(given - held).max() / np.abs(held).max())
    # What sums in another order may cause.
    hint = "rounding on another machine" if share <= 1e-12 else "how the data were read"
    return f"; they differ by {share:.1g} of the largest entry, which may be due to {hint}"


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


# What is asked


@dataclass(frozen=True, eq=False)
class _Asked:
    """What is asked of the components beyond their sparsities."""

    include: list[Features]
    exclude: list[Features]
    previous: Array
    disjoint: bool
    uncorrelated: bool = False
    nonnegative: bool = False

    def _own(self, k: int) -> tuple[Features, Features]:
        """Features in and out, whatever the others are; of disjoint ones a later one's are out."""
        later = self.include[k + 1 :] if self.disjoint else []
        return self.include[k], self.exclude[k].union(*later)

    def stage(
        self, k: int, components: Array, source: ladder.Source
    ) -> tuple[Array, Features, Features]:
        """Columns that a component is orthogonal to, and the features in and out."""
        (F, E), before = self._own(k), np.vstack([self.previous, components])
        if self.uncorrelated:
            return _images(source.given, before), F, E
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


def _asked(
    arrays: Mapping[str, Array], problem: Mapping[str, Any], n: int, limits: list[int]
) -> _Asked:
    """What is asked beyond the sparsities."""
    lists: dict[str, list[Features]] = {"include": [], "exclude": []}
    for name, own in lists.items():
        given = _entry(problem, name, list) if name in problem else [[]] * len(limits)
        if len(given) != len(limits):
            raise Rejected(f"{name}: one list for each of the {len(limits)} components")
        for k in range(len(given)):
            features = _entries(given, k, int)
            if features != sorted(set(features)) or not all(0 <= j < n for j in features):
                raise Rejected(f"{name}: {features!r:.40} is no list of features in order")
            own.append(frozenset(features))
    count = _entry(problem, "previous", int) if "previous" in problem else 0
    previous = ladder.numbers(arrays, "previous.npy", (count, n)) if count else np.zeros((0, n))
    if not all(0.25 <= float(v @ v) <= 4.0 for v in previous):
        raise Rejected("previous: a vector that is not of a length between 1/2 and 2")
    relation, nonnegative = problem.get("relation", ""), "nonnegative" in problem
    if "relation" in problem and relation not in ("disjoint", "uncorrelated"):
        raise Rejected("relation: no such relation")
    if nonnegative and (problem["nonnegative"] is not True or previous.min(initial=0.0) < 0):
        raise Rejected("nonnegative: false, or a vector before that is negative")
    uncorrelated = relation == "uncorrelated"
    if (uncorrelated or nonnegative) and problem["kind"] != "matrix":
        raise Rejected("problem: of data neither signs nor scores are certified")
    asked = zip(*lists.values(), limits, strict=True)
    if (uncorrelated and nonnegative) or any(len(F) > p or F & E for F, E, p in asked):
        raise Rejected("problem: what is asked cannot be")
    disjoint = relation == "disjoint" or nonnegative
    include, exclude = lists["include"], lists["exclude"]
    return _Asked(include, exclude, previous, disjoint, uncorrelated, nonnegative)


def _nonnegative_part(Q: Array, F: Features = frozenset()) -> Array:
    """Q^F: 0 in the place of negative entries off the diagonal, but for pairs of F; Q⁺ = Q^∅."""
    part = np.maximum(Q, 0.0)
    np.fill_diagonal(part, Q.diagonal())
    own = np.ix_(sorted(F), sorted(F))
    if F:
        part[own] = Q[own]
    return part


def _faces(arrays: Mapping[str, Array], folder: str, n: int) -> dict[tuple[int, ...], Array]:
    """Sets of features, and weights of each."""
    if f"{folder}/faces.npy" not in arrays:
        return {}
    count = len(arrays[f"{folder}/faces_ends.npy"])
    lists = ladder.Lists(arrays, f"{folder}/faces", n, count)
    weights = ladder.numbers(arrays, f"{folder}/weights.npy", (len(lists.values),))
    own = (slice(*lists.ends[k : k + 2]) for k in range(count))
    return {tuple(lists.values[at].tolist()): weights[at] for at in own}


def _faces_are_below(
    Q: Array, F: Features, level: float, faces: Mapping[tuple[int, ...], Array]
) -> bool:
    """Whether ``xᵀQx ≤ L`` for every unit vector ``x ≥ 0`` on F.

    A best one that is positive on its face has ``Qx = λx``, and with ``y ≥ 0``, ``Qy ≤ Ly`` it is
    ``λyᵀx = yᵀQx ≤ Lyᵀx``; so a face is below L if its eigenvalues are, or if it has such a y and
    all faces with one feature less are below.
    """
    pending, seen = [tuple(sorted(F))], set()
    while pending:
        ladder.check_time()
        T = pending.pop()
        part = Q[np.ix_(T, T)]
        if not T or T in seen or ladder.proves_below(part, level, 0.0):
            continue
        seen.add(T)
        y = faces.get(T)
        if y is None or not ((y >= 0).all() and y.any()):
            return False
        if any(ladder.inner(part[i], y) > Fraction(level) * Fraction(y[i]) for i in range(len(T))):
            return False
        pending += itertools.combinations(T, len(T) - 1)
    return True


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


def check_exhausted(p: int, X: Array, F: Features, E: Features) -> None:
    """No further vector is orthogonal to all columns, on any support."""
    left = np.setdiff1d(np.arange(len(X)), list(ladder.used_up(X, F, E)))
    if len(left) == 0 or ladder.nothing_orthogonal(X[left]):
        return
    free, room = np.setdiff1d(left, list(F)).tolist(), min(p, len(left)) - len(F)
    if math.comb(len(free), room) > LARGEST_END:
        raise Rejected("exhausted: too many supports to look at")
    for rest in itertools.combinations(free, room):
        ladder.check_time()
        support = sorted((*F, *rest))
        if not ladder.nothing_orthogonal(X[support]):
            raise Rejected(f"exhausted: a vector on the features {tuple(support)} is left")


# The matrix in question


def check_vector(
    x: Array, before: Array, p: int, where: str, given: int = 0
) -> tuple[Array, list[Fraction], Fraction]:
    """Length, sparsity and orthogonality; the support, what is on it, and its squared length."""
    support = np.flatnonzero(x)
    if not 0 < len(support) <= p:
        raise Rejected(f"{where}: {len(support)} nonzeros, and {p} are allowed")
    exact = [Fraction(float(v)) for v in x[support]]
    length = ladder.inner(exact, exact)
    if abs(length - 1) > Fraction(ladder.ORTHOGONALITY):
        raise Rejected(f"{where}: the component is not of unit length")
    for j, other in enumerate(before):
        if abs(ladder.inner(exact, other[support])) > Fraction(ladder.ORTHOGONALITY):
            whose = f"component {j + 1 - given}" if j >= given else f"vector {j + 1} of previous"
            raise Rejected(f"{where}: not orthogonal to {whose}")
    return support, exact, length


# One stage


def check_component(
    source: ladder.Source,
    x: Array,
    before: Array,
    p: int,
    value: float,
    where: str,
    F: Features = frozenset(),
    E: Features = frozenset(),
    given: int = 0,
) -> Fraction:
    """Length, sparsity, orthogonality and variance, in rational arithmetic; the variance."""
    support, exact, length = check_vector(x, before, p, where, given)
    used = set(support.tolist())
    if len(used | F) > p:
        raise Rejected(f"{where}: {len(used | F)} features with those included, not {p}")
    if used & E:
        raise Rejected(f"{where}: feature {min(used & E)} is used, which must not be")
    part = source.given[np.ix_(support, support)] if source.formed else source.given[:, support]
    image = [ladder.inner(row, exact) for row in part]
    form = ladder.inner(exact if source.formed else image, image)
    size = float(np.abs(part).max() if source.formed else source.diagonal[support].max())
    unsaid = form / length - Fraction(value)
    if not 0 <= unsaid <= Fraction(ACCURACY) * max(abs(form), Fraction(size)):
        has = f"the component has the variance {float(form / length)!r}"
        raise Rejected(f"{where}: {has}, and {value!r} is stated")
    return form / length


# From a shell


def main(arguments: list[str] | None = None) -> int:
    """Answer as ``orthospca verify`` does; return 0, 1 or 2."""
    parser = argparse.ArgumentParser(
        description="Check a certificate without trusting the solver that wrote it.",
        epilog="The exit code is 0 if every claim is proved again, 1 if one is not, and 2 if this "
        "cannot be decided: the file is not a certificate, the data cannot be read, or a limit was "
        "reached.",
    )
    add = parser.add_argument
    add("file", metavar="FILE", help="a certificate")
    add("--data", metavar="DATA", help="check against these data: .npy, or .csv of numbers")
    add("--correlation", action="store_true", help="use correlations instead of covariances")
    add("--precomputed", action="store_true", help="DATA holds the matrix itself")
    add("--max-bytes", type=float, default=MAX_BYTES, metavar="N", help="unpack at most N bytes")
    add("--time-limit", type=float, default=TIME_LIMIT, metavar="S", help="stop after S seconds")
    add("-v", "--verbose", action="store_true", help="also show a line per component")
    add("-q", "--quiet", action="store_true", help="print nothing; see the exit code")
    asked = parser.parse_args(arguments)
    if asked.correlation and asked.precomputed:
        parser.error("use --correlation or --precomputed, not both")
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
    table = _table(asked.data)
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


def _table(file: str) -> Array:
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
        raise ValueError(
            f"{file} is neither a .npy file nor a .csv file of numbers ({error})"
        ) from None
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
