"""The convex relaxation: its first-order method, its multipliers, and the proofs they make."""
