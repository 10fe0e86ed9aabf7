"""What is asked and answered: problem, stage, tolerance, settings, limits, nodes, result."""
