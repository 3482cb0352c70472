"""The Monday morning of the bookings' tests, for every door."""

from tests.bookings.conftest import book, meeting, settings
from tests.clocks import clock

__all__ = ["book", "clock", "meeting", "settings"]
