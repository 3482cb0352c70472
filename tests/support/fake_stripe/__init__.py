"""A Stripe of our own: it keeps accounts in memory, speaks the documented wire format, and fails when told to."""

from tests.support.fake_server import Fault, FaultKind, Request
from tests.support.fake_stripe.books import Books
from tests.support.fake_stripe.errors import StripeRefusal
from tests.support.fake_stripe.notices import Delivery
from tests.support.fake_stripe.server import FakeStripe, serving

__all__ = ["Books", "Delivery", "FakeStripe", "Fault", "FaultKind", "Request", "StripeRefusal", "serving"]
