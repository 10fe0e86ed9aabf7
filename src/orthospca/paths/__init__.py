"""Variance by sparsity: several sparsities solved together, and what one proves for another."""
