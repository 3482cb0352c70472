"""The clock of these tests stands still until it is moved."""

from tests.support.clocks import clock

__all__ = ["clock"]
