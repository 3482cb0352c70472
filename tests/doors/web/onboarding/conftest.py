"""A new host in Berlin, and a Radicale with calendars."""

from tests.domains.calendars.conftest import radicale
from tests.support.host import book, clock, member, settings, stranger, user

__all__ = ["book", "clock", "member", "radicale", "settings", "stranger", "user"]
