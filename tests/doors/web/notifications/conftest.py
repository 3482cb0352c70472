"""A host in Berlin, signed in."""

from tests.support.host import book, clock, member, settings, stranger, user

__all__ = ["book", "clock", "member", "settings", "stranger", "user"]
