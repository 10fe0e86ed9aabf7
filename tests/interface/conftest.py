"""What the tests of the interface share."""

from __future__ import annotations

import pytest

from orthospca.interface.report import _pictures


@pytest.fixture
def sketches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the pictures of a report, but do not render them: that takes most of the time."""
    monkeypatch.setattr(_pictures, "data_uri", lambda figure: "data:image/svg+xml;base64,")
