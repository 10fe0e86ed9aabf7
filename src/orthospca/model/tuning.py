"""Numbers that decide how fast an answer comes, and never whether it is true.

Each was chosen by measuring; each class belongs to the room whose name it bears.  They are passed
in, so that a test or an experiment can take others.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class WalkTuning:
    """The conditioned search.

    Attributes
    ----------
    enumerate_below : int
        Supports left in a node below which they are tested one by one.
    penalties : tuple of float
        The κ tried, as multiples of the level.
    smallest_step : int
        Indices below which a step costs the same, whatever their number.
    step_growth : float
        How the cost of a step grows with larger numbers of them.
    free_steps : float
        Steps are not counted against the budget before so many of them, as a share of it.
    tile : int
        Entries of the scaled complement worked on at once.  Of what fits into a tile all costs are
        worked out, and the compiled step may do it.
    first_rows : int
        Rows whose costs are worked out first where there are more than fit into a tile.
    full_share : int
        With at most so many free indices for each place that is left, all of them together are
        tried.
    largest_weighted : int
        Free indices up to which weighted row sums are tried where norms rule out little.
    weight_rounds : int
        Power iterations that the weights are given.
    compiled_after : float
        Work of a stage's walks, in steps on ``smallest_step`` indices, after which the compiled
        step is asked for; infinity to do without.
    compiled_speed : float
        From then on a step counts for so many times less, where there is something to compile with:
        whether it has been compiled by then makes no difference to what is found.
    largest_compiled : int
        Features up to which a step is compiled.
    split_after : float
        Further work after which a walk is cut into parts.
    parts : int
        How many parts.
    direct_share, direct_most, largest_direct : float, float, int
        What the first attempt on a stage, over all features, may cost, as a share of what the
        relaxation is expected to, and at most: what closes a stage so does it soon.  And with how
        many features it is made: with more of them a single step costs more than the rungs that
        leave few.
    rung_budget, rung_features : float, int
        Of a rung below the last one: so much for stages of up to a number of features, and with
        more of them as many times as much as the relaxation of the stage is expected to cost.
    """

    enumerate_below: int = 200
    penalties: tuple[float, ...] = (0.0, 10.0, 1e3, 1e5)
    smallest_step: int = 100
    step_growth: float = 1.6
    free_steps: float = 0.1
    tile: int = 2**19
    first_rows: int = 64
    full_share: int = 4
    largest_weighted: int = 2000
    weight_rounds: int = 3
    compiled_after: float = 800.0
    compiled_speed: float = 2.0
    largest_compiled: int = 2048
    split_after: float = 400.0
    parts: int = 96
    direct_share: float = 0.5
    direct_most: float = 1100.0
    largest_direct: int = 600
    rung_budget: float = 600.0
    rung_features: int = 300


@dataclass(frozen=True)
class ShareTuning:
    """The share relaxation.

    Attributes
    ----------
    between_checks : int
        Iterations between two proofs.
    first_checks : int
        Proofs before progress is judged.
    patience, later_patience : float
        Of the first node and of later ones: how many times the last gain may be missing.
    fix_within : float
        Features are tested where the bound is so close to the level, relative to it.
    branch_near : float
        Branch on the share closest to this.
    cost, cost_growth : float
        What it takes to close a stage of a hundred features, in steps of a walk on as many, and how
        that grows with their number.  Measured: an iteration grows like the power 1.6, and larger
        stages need fewer nodes.
    rung_nodes : int
        Nodes for a rung below the last one, if they do not cost more than the whole stage.
    """

    between_checks: int = 25
    first_checks: int = 3
    patience: float = 20.0
    later_patience: float = 4.0
    fix_within: float = 0.05
    branch_near: float = 0.5
    cost: float = 800.0
    cost_growth: float = 1.2
    rung_nodes: int = 8


@dataclass(frozen=True)
class TreeTuning:
    """Branch and bound.

    Attributes
    ----------
    round : int
        Nodes branched in one round.
    enumerate_below : int
        Nodes with this few supports are enumerated rather than bounded by eigenvalues.
    enumerate_below_strong : int
        The relaxation costs more, and so does a node worth enumerating.
    enumerate_below_proved : int
        The same for a proof: a checker tests supports one by one.
    largest_proof : int
        Bytes of multipliers that a proof may take.
    enumerate_without_incumbent : int
        With no incumbent there is nothing to prune by: enumeration is then the better search.
    """

    round: int = 8
    enumerate_below: int = 200
    enumerate_below_strong: int = 100_000
    enumerate_below_proved: int = 1000
    largest_proof: int = 2**29
    enumerate_without_incumbent: int = 300_000


@dataclass(frozen=True)
class WideTuning:
    """A covariance that is given by data.

    Attributes
    ----------
    formed : int
        Features up to which it is formed in full at once for a proof, for blocks, or to list
        alternatives.
    starts, iterations : int
        Features with the largest variances from which the first supports are grown, and truncated
        power iterations from them.
    few : int
        Features of which a matrix is formed without trying to do with fewer.
    columns_at_once : int
        Columns that are brought into this process together.
    spare_entries : int
        Largest entries listed of a row beyond those that a support needs: components change some.
    few_traced, traced_budget : float
        Features of which a node of the search by traces is searched as a matrix, and the budget of
        such a search.
    trace_budget : int
        Steps of a search by traces before rows are looked at instead.
    most_heavy : int
        With more features than this whose variance is a support's share of the level, a search by
        traces is not tried.
    early_budget : int
        The same, on a rung below the last one.
    cheap_products, entry_cost : float
        A matrix that takes at most so many multiplications is formed without a search by traces
        before; an entry counts as some more, for what is done with it.  Measured: with searches by
        traces three times slower on 62 × 4026, a fifth faster on 181 × 12533, seven times faster on
        word counts of 20 000 × 30 000.
    read_cost : float
        Multiplications in whose time one number of the data is read.
    trace_patience : int
        Steps after which a search by traces is given up unless it will end within its budget.
    """

    formed: int = 4000
    starts: int = 48
    iterations: int = 6
    few: int = 400
    columns_at_once: int = 512
    spare_entries: int = 56
    few_traced: int = 400
    traced_budget: float = 200
    trace_budget: int = 6000
    most_heavy: int = 200
    early_budget: int = 500
    cheap_products: float = 2e10
    entry_cost: float = 50.0
    read_cost: float = 64.0
    trace_patience: int = 64


@dataclass(frozen=True)
class BlockTuning:
    """Blocks and what they prove of the whole.

    Attributes
    ----------
    round : int
        Blocks solved in one round, at most; the first rounds of a stage are smaller (1, 2, 4),
        because what they find may spare the others.
    groups : int
        Blocks told apart in the bound by groups; the others are one group.
    large : int
        Eigenvalues and norms of larger submatrices cost more than they are worth.
    largest_share : float
        Splitting helps if the largest block has at most this share of the features.
    """

    round: int = 8
    groups: int = 8
    large: int = 500
    largest_share: float = 0.8


@dataclass(frozen=True)
class SavingTuning:
    """A certificate that is saved while the search goes on.

    Attributes
    ----------
    every : float
        Seconds between two savings, at least.
    apart : float
        Times what a saving takes, at least, between two of them.
    """

    every: float = 1.0
    apart: float = 20.0


@dataclass(frozen=True)
class Effort:
    """How hard the bound of a set is worked on.

    Attributes
    ----------
    temperatures : tuple of float
        Of the smoothed maximum, relative to the variance of a component, one after the other.
    pace : int
        Iterations of the quasi-Newton method over which it has to gain something, for more of them
        at the same temperature.
    rounds : int
        Of choosing patterns and minimising over them.
    working : int
        Patterns of a group that are added in a round.
    """

    temperatures: tuple[float, ...]
    pace: int
    rounds: int = 1
    working: int = 40

    @property
    def later(self) -> Effort:
        """The same with the last temperatures only, once something good is known."""
        return replace(self, temperatures=self.temperatures[-2:])


@dataclass(frozen=True)
class RelaxedTuning:
    """The share relaxation of sets.

    Attributes
    ----------
    between_checks : int
        Iterations between two proofs.
    first_checks : int
        Proofs before progress is judged; twice as many where there is nothing to begin with.
    patience, last_patience : float
        How many times the last gain may be missing; at the root and where nothing is left to branch
        on.
    fix_within : float
        Features are tested where the bound is so close to the level, relative to it.
    fresh_starts : int
        Proofs up to which iterates that are not finite are begun anew.
    steps : float
        Steps of the search for sets that go with a node.
    features, at_once, first_features : int
        Features that are relaxed at most; up to which that is done at once, and how many of them
        come first where there are more.
    core : int
        Features from which on those that are hardly used are set apart.
    """

    between_checks: int = 25
    first_checks: int = 2
    patience: float = 30.0
    last_patience: float = 50.0
    fix_within: float = 0.1
    fresh_starts: int = 10
    steps: float = 0.1
    features: int = 600
    at_once: int = 300
    first_features: int = 150
    core: int = 150


@dataclass(frozen=True)
class JointTuning:
    """Sets of components, and ties of stages.

    Attributes
    ----------
    patterns : int
        Patterns up to which all of them are looked at, or branched on.
    listed : int
        Supports that are listed at most, where not all patterns are looked at.
    list_within, list_share, list_nodes : float, float, int
        Gap of the relaxation from which on they are listed, the share of the time, and the nodes of
        the stage that are there for it.
    stagewise_share : float
        Share of the time that the stage-wise solution may use.
    first_steps, first_share : int, float
        Steps of the search for sets before the tree, for each component, and the share of the time
        for the first sets where patterns are too many and steps are dear.
    too_many : int
        Features from which on no steps are made.
    divided, divisions : int
        Features that are divided into blocks, at most, and how often that is begun.
    rounds : int
        Rounds in which every component is sought anew.
    turns, promising : int, float
        Rounds in which all pairs are improved, and how near to the best a set must be for that.
    worth_improving : float
        How near a set that a node suggests must be for more than a little effort.
    all_tried : int
        Supports that are all tried for the best response; with more of them it is sought.
    penalties, loosened : tuples of float
        For not being orthogonal, relative to the largest eigenvalue, one after the other; for
        random components, and for those that a node suggests.
    patience : int
        Steps without a better set after which it is begun anew.
    enough : float
        How far below the cut a bound over some patterns may be, relative to the variance of a
        component, before all of them are looked at again.
    gap_share : float
        Gap to which the last stage problem is solved, as a share of the one that is asked for.
    first, node, last : Effort
        At the root, at other nodes, and where nothing is left to branch on.
    relaxed : RelaxedTuning
        Where patterns are too many.
    ties, sequences : int
        Ties of one stage, and sequences, that are looked at.
    """

    patterns: int = 30_000
    listed: int = 20_000
    list_within: float = 0.03
    list_share: float = 0.2
    list_nodes: int = 30
    stagewise_share: float = 0.25
    first_steps: int = 8
    first_share: float = 0.15
    too_many: int = 200
    divided: int = 48
    divisions: int = 6
    rounds: int = 60
    turns: int = 40
    promising: float = 0.01
    worth_improving: float = 0.03
    all_tried: int = 3000
    penalties: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.5, 4.0, 20.0)
    loosened: tuple[float, ...] = (0.1, 0.3, 1.0, 4.0, 20.0)
    patience: int = 25
    enough: float = 0.1
    gap_share: float = 0.1
    first: Effort = Effort((1e-1, 1e-2, 1e-3, 3e-4), 100, 14, 120)
    node: Effort = Effort((1e-2, 1e-3), 40, 5)
    last: Effort = Effort((1e-2, 1e-3, 1e-4, 1e-5), 150, 10)
    relaxed: RelaxedTuning = RelaxedTuning()
    ties: int = 200
    sequences: int = 200


@dataclass(frozen=True)
class NonnegativeTuning:
    """Non-negative loadings.

    Attributes
    ----------
    few, many : int
        Parts of a support that are looked at for a good vector, and to close it.
    rung : int
        Features of data up to which a sparsity below the one asked for is solved.
    """

    few: int = 40
    many: int = 20_000
    rung: int = 600


@dataclass(frozen=True)
class Tuning:
    """All of them."""

    walk: WalkTuning = field(default_factory=WalkTuning)
    share: ShareTuning = field(default_factory=ShareTuning)
    tree: TreeTuning = field(default_factory=TreeTuning)
    wide: WideTuning = field(default_factory=WideTuning)
    blocks: BlockTuning = field(default_factory=BlockTuning)
    saving: SavingTuning = field(default_factory=SavingTuning)
    joint: JointTuning = field(default_factory=JointTuning)
    nonnegative: NonnegativeTuning = field(default_factory=NonnegativeTuning)


DEFAULT = Tuning()
