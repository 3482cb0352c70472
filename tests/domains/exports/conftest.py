"""A host in Berlin on a Monday morning."""

from tests.support.host import book, clock, member, settings, stranger, user

__all__ = ["book", "clock", "member", "settings", "stranger", "user"]
