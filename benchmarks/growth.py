"""How time and memory grow with features, sparsity, components and samples."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from benchmarks.child import Send, forget_peak, peak_memory, run_in_child
from benchmarks.measure import Case, Row, Settings
from benchmarks.timing import PROCESSOR, Units, repeated
from orthospca import DataCovariance, datasets, solve

#: Columns: "against" is what varies; "data MB" the size of the data, "peak MB" the peak of memory
#: of the process during the solve, "added MB" what that is more than before the solve.
GROWTH_COLUMNS = (
    "against",
    "n",
    "samples",
    "p",
    "K",
    "planted",
    "gap asked",
    "gap",
    "status",
    "seconds",
    "data MB",
    "added MB",
    "peak MB",
)

GAP = 1e-2
LIMIT, QUICK_LIMIT = 120.0, 10.0


@dataclass(frozen=True)
class Size:
    """A planted problem: groups of features that share a factor, in noise of uneven variances.

    Attributes
    ----------
    n, samples, p, K : int
    planted : int
        Features in each group; their number is larger than K by three.
    """

    n: int = 10_000
    samples: int = 200
    p: int = 10
    K: int = 5
    planted: int = 10


#: What varies, and its values; those after the bar are left out of a quick run.
SERIES: tuple[tuple[str, Size, tuple[int, ...], tuple[int, ...]], ...] = (
    ("n", Size(), (1000, 3000, 10_000), (30_000, 100_000, 200_000)),
    ("p", Size(n=2000, planted=100), (1, 2, 5, 10), (20, 50, 100)),
    ("K", Size(), (1, 2, 5), (10, 20)),
    ("samples", Size(), (100, 200), (500, 1000, 2000)),
)


def growth_cases(settings: Settings) -> list[Case]:
    """Each series, from a common middle."""
    return [
        _case(against, replace(middle, **{against: value}))
        for against, middle, few, more in SERIES
        for value in (few if settings.quick else few + more)
    ]


def _case(against: str, size: Size) -> Case:
    def run(settings: Settings, units: Units) -> list[Row]:
        limit = settings.limit(LIMIT, QUICK_LIMIT)
        ended = run_in_child(_measure, size, limit, limit=2 * limit)
        if ended.error:
            raise RuntimeError(ended.error)
        row: Row = {"against": against, **asdict(size), "gap asked": GAP}
        if len(ended.values) < 2:
            return [{**row, "status": f"> {2 * limit:g} s"}]
        return [{**row, **ended.values[1]}]

    return Case(f"growth with {against}: {size}", run)


def _measure(send: Send, size: Size, limit: float) -> None:
    """In the child: make the data, warm up, solve."""
    data = datasets.make_planted_samples(
        size.n, size.samples, sparsity=size.planted, n_groups=size.K + 3, noise=(0.2, 2.0)
    ).data
    solve(DataCovariance(data[:, :200]), 3, gap=0.1, time_limit=5)
    before = forget_peak()
    send("ready")
    # The fastest of a few: what is compiled or loaded on the way is not measured.
    result, taken = repeated(
        lambda: solve(DataCovariance(data), size.p, size.K, gap=GAP, time_limit=limit),
        3,
        10.0,
        PROCESSOR,
    )
    peak = peak_memory()
    send(
        {
            "gap": float(result.gaps.max()) if len(result.gaps) else None,
            "status": result.status.value,
            "seconds": min(taken),
            "data MB": data.nbytes / 1e6,
            "added MB": peak - before,
            "peak MB": peak,
        }
    )
