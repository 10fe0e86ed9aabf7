"""One stage by each method, and stage after stage."""
