"""What ``orthospca verify`` does: read a certificate, and the data if they are named, and check."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress

from orthospca import Certificate, DataCovariance
from orthospca._errors import InputError
from orthospca._typing import Array
from orthospca.interface.output import remarks
from orthospca.interface.source import Source
from orthospca.result import format_gap, relative_gap
from orthospca.verify import Unreadable, Verdict, fingerprint, verify

#: A difference, as a share of the largest entry, that sums in another order may cause.
ROUNDING = 1e-12
#: A program of one line that needs nothing but the checker.
CHECK = "import sys; from orthospca.verify import verify; print(verify(sys.argv[1]))"


def run_verify(file: Path, source: Source | None, details: bool, quiet: bool = False) -> bool:
    """Check a certificate and say what came of it; whether all of it is proved."""
    certificate = _read(file)
    given, differs = None, ""
    if source is not None:
        given, differs = _computed(certificate, source)
    elif not _holds_matrix(certificate):
        raise InputError(f"{file} does not hold the matrix: name the data with --data")
    verdict = Verdict(False, differs) if differs else _check(certificate, given)
    if quiet:
        return verdict.verified
    print(_sentence(certificate, verdict, source))
    if details:
        for line in _stages(certificate, verdict):
            print(line)
    return verdict.verified


def check_elsewhere(file: Path) -> str:
    """What another process, which knows nothing but the file, says of a certificate."""
    ended = subprocess.run(
        [sys.executable, "-c", CHECK, str(file)], capture_output=True, text=True, check=False
    )
    lines = (ended.stdout.strip() or ended.stderr.strip() or "no answer").splitlines()
    return lines[-1]


def _read(file: Path) -> Certificate:
    try:
        return Certificate.load(file)
    except Unreadable as error:
        cause = error.__cause__
        if isinstance(cause, OSError) and cause.strerror:
            raise InputError(f"{file} cannot be read: {cause.strerror.lower()}") from None
        raise InputError(f"{file} is not a certificate: {cause or error}") from None


def _check(certificate: Certificate, given: Array | None) -> Verdict:
    """Run the checker, with a bar on standard error if that is a terminal."""
    console = remarks()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("checking", total=1.0)
        return verify(certificate, given, lambda share: bar.update(task, completed=share))


def _problem(certificate: Certificate) -> dict[str, Any]:
    """What the certificate says its problem is; the checker complains if that makes no sense."""
    found = certificate.manifest.get("problem")
    return found if isinstance(found, dict) else {}


def _holds_matrix(certificate: Certificate) -> bool:
    """Whether the matrix is there, or it is not even clear what would be."""
    kind = _problem(certificate).get("kind")
    return kind not in ("matrix", "factor") or f"{kind}.npy" in certificate.arrays


def _computed(certificate: Certificate, source: Source) -> tuple[Array | None, str]:
    """The matrix, or the factor, that a file gives, as ``fit`` computes it; or how it differs."""
    problem = _problem(certificate)
    kind, features = problem.get("kind"), problem.get("features")
    table, Q = source.read({"method": "branch-and-bound"})
    if kind == "factor" and source.is_matrix:
        raise InputError("the certificate is of data, not of a matrix: leave --precomputed out")
    if kind not in ("matrix", "factor"):
        return None, ""
    if Q.shape[0] != features:
        count = len(table.columns)
        return None, f"{source.file} has {count} variables, and the certificate has {features}"
    if not isinstance(Q, DataCovariance):
        # As solve does, and no more: rounding between the two halves is evened out.
        given = Q if (Q == Q.T).all() else 0.5 * (Q + Q.T)
    elif kind == "matrix":
        given = Q.submatrix(np.arange(Q.n_features))
    else:
        given = Q.factor(np.arange(Q.n_features))
    if fingerprint(given) == problem.get("sha256"):
        return given, ""
    return None, _difference(certificate, f"{kind}.npy", given, source)


def _difference(certificate: Certificate, name: str, given: Array, source: Source) -> str:
    """That the file gives another matrix, and by how much if that is known."""
    other = f"{source.file} gives another matrix than the one that was certified"
    held = certificate.arrays.get(name)
    if held is None or held.shape != given.shape or fingerprint(held) != certificate.sha256:
        return f"{other}; options that say how to read it must be those of fit"
    with np.errstate(all="ignore"):
        share = float(np.abs(given - held).max() / np.abs(held).max())
    if share <= ROUNDING:
        return (
            f"{other}; the difference, {share:.0e} of its largest entry, may be the rounding of "
            "another machine (without --data, the matrix in the certificate is checked)"
        )
    return (
        f"{other}; the difference is {share:.1g} of its largest entry (options that say how to "
        "read it must be those of fit)"
    )


def _sentence(certificate: Certificate, verdict: Verdict, source: Source | None) -> str:
    """The verdict in one line."""
    if not verdict.verified:
        return str(verdict)
    whose = "in the certificate" if source is None else f"of {source.file}"
    matrix = f"the matrix is the one {whose}"
    if certificate.claim == "alternatives":
        return f"VERIFIED: {_list(certificate, verdict)}; {matrix}"
    if certificate.claim == "joint":
        return f"VERIFIED: {_set(certificate, verdict)}; {matrix}"
    stages = _variances(certificate, verdict)
    count = f"{len(stages)} component{'' if len(stages) == 1 else 's'}"
    parts = [f"VERIFIED: {count} of {_problem(certificate)['features']} features"]
    if stages:
        largest = format_gap(max(relative_gap(*stage) for stage in stages))
        parts.append(f"the largest gap is {largest}")
    if certificate.manifest["exhausted"]:
        parts.append("no further component exists")
    return "; ".join([*parts, matrix])


def _list(certificate: Certificate, verdict: Verdict) -> str:
    """What is proved of a list."""
    claims, problem = certificate.manifest["alternatives"], _problem(certificate)
    if not claims["count"]:
        return f"no vector on {problem['sparsity'][0]} features is left"
    several = claims["count"] != 1
    return (
        f"{claims['count']} support{'s' * several} of {problem['features']} features within "
        f"{100 * claims['tolerance']:.3g} % of the best variance; every other one is below "
        f"{verdict.upper_bounds[0]:.10g}"
    )


def _set(certificate: Certificate, verdict: Verdict) -> str:
    """What is proved of a set as a whole."""
    problem = _problem(certificate)
    total, bound = verdict.joint_variance, verdict.joint_upper_bound
    assert total is not None and bound is not None
    count = len(problem["sparsity"])
    return (
        f"{count} component{'s' * (count != 1)} of {problem['features']} features with a total "
        f"variance of {total:.10g}; no such set exceeds {bound:.10g}; the gap is "
        f"{format_gap(relative_gap(total, bound))}"
    )


def _stages(certificate: Certificate, verdict: Verdict) -> list[str]:
    """A line for each stage, support or component that was proved."""
    if certificate.claim == "alternatives":
        return _supports(certificate) if verdict.verified else []
    if certificate.claim == "joint":
        variances = certificate.manifest["joint"]["variances"] if verdict.verified else []
        return [f"component {k}: variance {v:.10g}" for k, v in enumerate(variances, start=1)]
    return [
        f"stage {k}: variance {variance:.10g}, proved bound {bound:.10g}, "
        f"gap {format_gap(relative_gap(variance, bound))}"
        for k, (variance, bound) in enumerate(_variances(certificate, verdict), start=1)
    ]


def _supports(certificate: Certificate) -> list[str]:
    """A line for each support of a list; features are counted from 1."""
    arrays = certificate.arrays
    variances: list[float] = arrays.get("list/variances.npy", np.zeros(0)).tolist()
    if not variances:
        return []
    supports = arrays["list/supports.npy"].reshape(len(variances), -1) + 1
    return [
        f"support {i}: variance {variance:.10g}, features {', '.join(map(str, support))}"
        for i, (variance, support) in enumerate(zip(variances, supports.tolist(), strict=True), 1)
    ]


def _variances(certificate: Certificate, verdict: Verdict) -> list[tuple[float, float]]:
    """Variance and proved bound of each stage that was proved."""
    stages = certificate.manifest["stages"] if verdict.upper_bounds else []
    return [
        (float(stage["variance"]), bound)
        for stage, bound in zip(stages, verdict.upper_bounds, strict=False)
    ]
