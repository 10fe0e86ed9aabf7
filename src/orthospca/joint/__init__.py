"""The best set of components: a bound on all of them together, and sets that come close."""
