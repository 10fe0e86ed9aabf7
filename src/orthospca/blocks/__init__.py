"""Algorithms 2 and 3: the blocks of a problem, their solves, and what they prove of the whole."""

from orthospca.blocks.partition import Blocks, Sweep, block_diagonalize, threshold_sweep

__all__ = ["Blocks", "Sweep", "block_diagonalize", "threshold_sweep"]
