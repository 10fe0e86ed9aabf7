"""The experiments of Cheng and Hu on colon-cancer genes, and those they left out.

``orthospca paper`` runs them. The first 20 rows and columns of CovColon are put into blocks by
Algorithm 2, and the components of the largest block are found stage after stage, orthogonal
(GS-SPCA, Algorithm 1) and by deflation (the baseline), for several sparsities.
"""

from orthospca.paper._run import FULL, QUICK, run_paper

__all__ = ["FULL", "QUICK", "run_paper"]
