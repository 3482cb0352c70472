"""The Monday morning of the bookings' tests, for every door."""

from tests.bookings.conftest import book, client, meeting, runtime
from tests.clocks import clock

__all__ = ["book", "client", "clock", "meeting", "runtime"]
