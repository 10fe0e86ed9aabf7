"""What several test modules share; none of it is imported from a test module."""
