"""A host in Berlin on a Monday morning."""

from tests.web.dashboard.conftest import book, client, clock, member, runtime, settings, stranger, user

__all__ = ["book", "client", "clock", "member", "runtime", "settings", "stranger", "user"]
