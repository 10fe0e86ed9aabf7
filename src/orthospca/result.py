"""Public name of :mod:`orthospca.model.result`."""

from orthospca.model.result import Component, Progress, Result, Status

__all__ = ["Component", "Progress", "Result", "Status"]
