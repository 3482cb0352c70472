"""A host in Berlin, signed in."""

from tests.web.dashboard.conftest import book, clock, member, settings, stranger, user

__all__ = ["book", "clock", "member", "settings", "stranger", "user"]
