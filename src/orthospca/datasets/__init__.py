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

from orthospca.datasets._colon import load_colon as load_colon
from orthospca.datasets._dataset import Dataset as Dataset
from orthospca.datasets._expression import Expression as Expression
from orthospca.datasets._expression import make_expression as make_expression
from orthospca.datasets._known import KnownAnswer as KnownAnswer
from orthospca.datasets._known import make_block_diagonal as make_block_diagonal
from orthospca.datasets._known import make_exhausting as make_exhausting
from orthospca.datasets._known import make_path_dependent as make_path_dependent
from orthospca.datasets._known import make_planted_blocks as make_planted_blocks
from orthospca.datasets._known import make_rank_one as make_rank_one
from orthospca.datasets._known import make_tied as make_tied
from orthospca.datasets._published import load_breast_cancer as load_breast_cancer
from orthospca.datasets._published import load_digits as load_digits
from orthospca.datasets._published import load_pitprops as load_pitprops
from orthospca.datasets._published import load_wine as load_wine
from orthospca.datasets._samples import PlantedSamples as PlantedSamples
from orthospca.datasets._samples import make_planted_samples as make_planted_samples
