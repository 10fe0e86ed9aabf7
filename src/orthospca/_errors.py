"""Whose fault it is."""

from __future__ import annotations


class InputError(ValueError):
    """Something is wrong with what was given; the message is one sentence for whoever gave it.

    The command line turns it into that sentence and exit code 2. Any other exception is a fault of
    the program and is shown as one.
    """
