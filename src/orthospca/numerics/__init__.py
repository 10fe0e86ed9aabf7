"""Arithmetic that is never wrong: outward rounding, definiteness, sums over supports, threads."""
