"""Proved upper bounds on nodes: rows and norms, conditioning, the convex relaxation."""
