"""A host in Berlin on a Monday morning."""

from tests.web.dashboard.conftest import book, clock, member, settings, stranger, user

__all__ = ["book", "clock", "member", "settings", "stranger", "user"]
