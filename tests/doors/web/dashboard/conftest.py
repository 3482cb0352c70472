"""A host in Berlin on a Monday morning, signed in."""

from tests.support.host import as_, book, clock, member, settings, stranger, user

__all__ = ["as_", "book", "clock", "member", "settings", "stranger", "user"]
