"""A new host in Berlin, and a Radicale with calendars."""

from tests.integrations.calendars.conftest import radicale
from tests.web.dashboard.conftest import book, client, clock, member, runtime, settings, stranger, user

__all__ = ["book", "client", "clock", "member", "radicale", "runtime", "settings", "stranger", "user"]
