"""A Google of our own: accounts with calendars, consents and tokens by its clock, and refusals when told.

Requests are checked against the description of the API inside of Google's own library.
"""

from tests.support.fake_google.account import GoogleAccount, GoogleMail
from tests.support.fake_google.consents import CLIENT_ID, CLIENT_SECRET
from tests.support.fake_google.errors import GoogleRefusal
from tests.support.fake_google.server import FakeGoogle, serving
from tests.support.fake_server import Fault, FaultKind

__all__ = [
    "CLIENT_ID",
    "CLIENT_SECRET",
    "FakeGoogle",
    "Fault",
    "FaultKind",
    "GoogleAccount",
    "GoogleMail",
    "GoogleRefusal",
    "serving",
]
