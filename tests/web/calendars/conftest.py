"""A host in Berlin, signed in, and a Radicale with the host's calendars."""

from tests.integrations.calendars.conftest import connect, radicale, work_calendar
from tests.web.dashboard.conftest import book, client, clock, member, runtime, settings, stranger, user

__all__ = [
    "book",
    "client",
    "clock",
    "connect",
    "member",
    "radicale",
    "runtime",
    "settings",
    "stranger",
    "user",
    "work_calendar",
]
