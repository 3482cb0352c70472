"""The same host as for contacts."""

from tests.doors.web.contacts.conftest import add, book, clock, member, ring, say, settings, stranger, user

__all__ = ["add", "book", "clock", "member", "ring", "say", "settings", "stranger", "user"]
