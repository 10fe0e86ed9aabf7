"""Pictures: what is drawn is said once, as data; one renderer makes SVG, the other matplotlib.

``spec.py`` has the words: marks on two axes (``XY``) and the cells of a matrix (``Grid``), with
their titles, captions, tips and axes.  ``results.py``, ``scores.py`` and ``choosing.py`` say what
each picture shows.  ``svg.py`` draws it for a report, ``mpl.py`` on axes of matplotlib.
"""
