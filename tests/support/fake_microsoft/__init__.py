"""A Microsoft of our own: mailboxes with calendars, a login server and subscriptions by its clock.

It is stricter than Graph: what the documentation does not name is refused with 400.
"""

from tests.support.fake_microsoft.delta import GONE, INVALID, NOT_FOUND, Deltas
from tests.support.fake_microsoft.errors import GraphRefusal
from tests.support.fake_microsoft.login import CLIENT_ID, CLIENT_SECRET, PERSONAL, TENANT, SignInRefused
from tests.support.fake_microsoft.mailbox import Mailbox
from tests.support.fake_microsoft.server import FakeMicrosoft, serving
from tests.support.fake_microsoft.subscriptions import Reply
from tests.support.fake_server import Fault, FaultKind

__all__ = [
    "CLIENT_ID",
    "CLIENT_SECRET",
    "GONE",
    "INVALID",
    "NOT_FOUND",
    "PERSONAL",
    "TENANT",
    "Deltas",
    "FakeMicrosoft",
    "Fault",
    "FaultKind",
    "GraphRefusal",
    "Mailbox",
    "Reply",
    "SignInRefused",
    "serving",
]
