"""One support or all of them: its best vector, enumeration, and heuristics that find good ones."""
