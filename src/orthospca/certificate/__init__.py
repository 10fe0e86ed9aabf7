"""What a proof file holds: what a checker needs of each stage, written and read."""
