"""A HubSpot of our own: a portal with contacts, meetings, properties and rules by its clock, and refusals when told.

Requests are checked against the models of HubSpot's own library.
"""

from tests.support.fake_hubspot.portal import READ, SCHEMAS, WRITE, Portal
from tests.support.fake_hubspot.server import TOKEN, FakeHubSpot, serving
from tests.support.fake_hubspot.shapes import HubSpotRefusal
from tests.support.fake_server import Fault, FaultKind

__all__ = [
    "READ",
    "SCHEMAS",
    "TOKEN",
    "WRITE",
    "FakeHubSpot",
    "Fault",
    "FaultKind",
    "HubSpotRefusal",
    "Portal",
    "serving",
]
