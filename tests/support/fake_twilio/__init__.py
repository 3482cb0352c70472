"""A Twilio of our own: it keeps messages, moves them on by its clock, signs its notices, and fails when told."""

from tests.support.fake_server import Fault, FaultKind
from tests.support.fake_twilio.account import FakeAccount, FakeMessage
from tests.support.fake_twilio.errors import TwilioRefusal
from tests.support.fake_twilio.notices import Delivery
from tests.support.fake_twilio.server import FakeTwilio, serving

__all__ = [
    "Delivery",
    "FakeAccount",
    "FakeMessage",
    "FakeTwilio",
    "Fault",
    "FaultKind",
    "TwilioRefusal",
    "serving",
]
