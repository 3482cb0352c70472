"""The same host as for contacts."""

from tests.web.contacts.conftest import add, book, client, clock, member, ring, runtime, say, settings, stranger, user

__all__ = ["add", "book", "client", "clock", "member", "ring", "runtime", "say", "settings", "stranger", "user"]
