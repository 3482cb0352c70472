"""The Monday morning of the bookings' tests, for every door."""

from tests.bookings.conftest import book, client, clock, meeting, runtime

__all__ = ["book", "client", "clock", "meeting", "runtime"]
