"""The conditioned search: one step given what is included, and the walk made of such steps."""
