"""The share relaxation: who shares a support with whom; see ``docs/theory/share.md``."""
