"""A host who takes payments, and the fake Stripe they go to."""

from tests.domains.payments.conftest import books, clock, connection, fake_stripe, paid, settings, user

__all__ = ["books", "clock", "connection", "fake_stripe", "paid", "settings", "user"]
