"""The page of evidence and the README's table, written from the stored tables.

``python -m benchmarks.page`` rewrites what stands between ``<!-- evidence: NAME -->`` and
``<!-- end of evidence -->`` in the pages, and draws the pictures; ``--check`` only says whether
they agree with the tables.

``stored`` reads and formats, ``tables`` and ``sentences`` make the blocks, ``pictures`` the
drawings with the few shapes of ``svg``.
"""
