"""A host in Berlin, signed in."""

from tests.web.dashboard.conftest import book, client, clock, member, runtime, settings, stranger, user

__all__ = ["book", "client", "clock", "member", "runtime", "settings", "stranger", "user"]
