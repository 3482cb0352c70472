"""A host in Berlin, signed in, and a Radicale with the host's calendars."""

from tests.domains.calendars.conftest import connect, radicale, work_calendar
from tests.support.host import book, clock, member, settings, stranger, user

__all__ = ["book", "clock", "connect", "member", "radicale", "settings", "stranger", "user", "work_calendar"]
