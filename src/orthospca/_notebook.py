"""Notebooks: whether there is one, and a bar on its page."""

from __future__ import annotations

import sys
from html import escape
from typing import Any


def in_notebook() -> bool:
    """Whether somebody looks at a page of a notebook."""
    found = sys.modules.get("IPython")
    shell = None if found is None else found.get_ipython()
    return hasattr(shell, "kernel")


class NotebookBar:
    """A bar with a line beside it, which is drawn anew in its place."""

    def __init__(self) -> None:
        self._place: Any = None

    def show(self, done: int, total: int, line: str) -> None:
        """Draw the bar."""
        from IPython.display import HTML, display

        page = HTML(f'<progress value="{done}" max="{total}"></progress> {escape(line)}')
        if self._place is None:
            self._place = display(page, display_id=True)
        else:
            self._place.update(page)
