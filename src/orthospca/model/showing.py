"""What can be looked at shows itself: the way from a result to its pictures and its report.

Pictures and reports are drawn by what stands on top of the house, for results that come from its
foundations.  So that ``result.plot()`` can be written all the same, this module imports upwards,
inside functions only: nothing is loaded before somebody asks to see something.  It is the only
exception to the rule of the house, and ``.importlinter`` names it.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from orthospca.model.validation import validate_choice


def picture(kinds: tuple[str, ...], kind: str, shown: Any, *given: Any, **options: Any) -> Any:
    """Draw something with the function ``plot_<kind>`` of :mod:`orthospca.plotting`.

    Parameters
    ----------
    kinds : tuple of str
        The kinds of pictures that there are of it.
    kind : str
    shown
        What is to be seen.
    *given, **options
        For the function.

    Returns
    -------
    Picture
        Shows itself in a notebook; its ``axes`` and ``figure`` are those of matplotlib.
    """
    from orthospca import plotting

    validate_choice("kind", kind, kinds)
    return plotting.Picture(getattr(plotting, f"plot_{kind}")(shown, *given, **options))


def reports() -> ModuleType:
    """Return the module that writes reports."""
    from orthospca import report

    return report
