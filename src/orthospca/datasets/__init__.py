"""Data to try the package on, and problems whose optimum is known.

Real data come as a :class:`Dataset`: :func:`load_pitprops` (bundled), :func:`load_wine`,
:func:`load_breast_cancer`, :func:`load_digits` (through scikit-learn) and :func:`load_colon` (from
a local folder, or downloaded).

Generated problems come as a :class:`KnownAnswer`, a matrix with an optimal sequence of components
and a proof, one line long, that it is optimal: :func:`make_planted_blocks`,
:func:`make_block_diagonal`, :func:`make_rank_one`, :func:`make_tied`, :func:`make_exhausting` and
:func:`make_path_dependent`.

:func:`make_planted_samples` draws a data matrix of any size with planted groups of features, and
:func:`make_expression` a small table of gene expression, with files as such tables come in.
"""

from orthospca.datasets._colon import load_colon
from orthospca.datasets._dataset import Dataset
from orthospca.datasets._expression import Expression, make_expression
from orthospca.datasets._known import (
    KnownAnswer,
    make_block_diagonal,
    make_exhausting,
    make_path_dependent,
    make_planted_blocks,
    make_rank_one,
    make_tied,
)
from orthospca.datasets._published import (
    load_breast_cancer,
    load_digits,
    load_pitprops,
    load_wine,
)
from orthospca.datasets._samples import PlantedSamples, make_planted_samples

__all__ = [
    "Dataset",
    "Expression",
    "KnownAnswer",
    "PlantedSamples",
    "load_breast_cancer",
    "load_colon",
    "load_digits",
    "load_pitprops",
    "load_wine",
    "make_block_diagonal",
    "make_exhausting",
    "make_expression",
    "make_path_dependent",
    "make_planted_blocks",
    "make_planted_samples",
    "make_rank_one",
    "make_tied",
]
