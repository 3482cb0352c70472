"""HubSpot keeps the contract of every CRM, with the unique property of meetings and without it."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network

import pytest
from msgspec import Struct

from openslot.domains.crm.models import MeetingOutcome
from openslot.domains.crm.ports import CrmCredentials
from openslot.platform.core.config import Settings
from openslot.platform.core.outbound import Outbound
from openslot.vendors.hubspot.vendor import HubSpotVendor
from tests.contracts.crm_servers import CrmContract, CrmPeer
from tests.support.clocks import MovingClock
from tests.support.fake_hubspot import SCHEMAS, TOKEN, FakeHubSpot, Fault, FaultKind, serving

OUTCOMES = {
    "SCHEDULED": MeetingOutcome.SCHEDULED,
    "RESCHEDULED": MeetingOutcome.RESCHEDULED,
    "CANCELED": MeetingOutcome.CANCELLED,
    "NO_SHOW": MeetingOutcome.NO_SHOW,
}
WRITES = "/crm/objects/2026-09/"


class SeenMeeting(Struct, frozen=True, kw_only=True):
    title: str
    starts_at: datetime
    ends_at: datetime
    outcome: MeetingOutcome
    url: str
    person_email: str


class HubSpotPeer:
    """A portal, and what people do in it."""

    secret = TOKEN

    def __init__(self, fake: FakeHubSpot, outbound: Outbound) -> None:
        self.fake, self.portal = fake, fake.portal
        credentials = CrmCredentials(secret=TOKEN, options={"moved": "RESCHEDULED"})
        self.crm = HubSpotVendor().open(outbound, fake.configure(Settings()), credentials)

    def list_people(self) -> dict[str, str]:
        return {
            each["email"]: " ".join([each.get("firstname", ""), each.get("lastname", "")])
            for each in self.portal.contacts
        }

    def rename(self, email: str, name: str) -> None:
        first, _, last = name.rpartition(" ")
        contact = self.portal.find("contacts", "email", email)
        assert contact is not None
        self.portal.update("contacts", contact, {"firstname": first, "lastname": last})

    def list_meetings(self) -> list[SeenMeeting]:
        emails = dict(self.portal.associations)
        return [
            SeenMeeting(
                title=each.properties["hs_meeting_title"],
                starts_at=datetime.fromisoformat(each.properties["hs_meeting_start_time"]),
                ends_at=datetime.fromisoformat(each.properties["hs_meeting_end_time"]),
                outcome=OUTCOMES[each.properties["hs_meeting_outcome"]],
                url=each.properties["hs_meeting_external_url"],
                person_email=self.portal.records["contacts"][emails[each.id]].properties["email"],
            )
            for each in self.portal.records["meetings"].values()
        ]

    def delete_meetings(self) -> None:
        self.portal.records["meetings"].clear()

    def lose_answer(self) -> None:
        self.fake.faults.append(Fault(FaultKind.LOSE_ANSWER, WRITES, "POST"))

    def fail(self) -> None:
        self.fake.faults.append(Fault(FaultKind.STATUS, status=500))

    def refuse(self, reason: str) -> None:
        body = json.dumps({"status": "error", "category": "VALIDATION_ERROR", "message": reason}).encode()
        self.fake.faults.append(Fault(FaultKind.STATUS, WRITES, "POST", status=400, body=body))

    def ask_to_wait(self, seconds: int) -> None:
        self.fake.faults.append(Fault(FaultKind.STATUS, status=429, headers={"Retry-After": str(seconds)}))

    def revoke(self) -> None:
        self.fake.tokens.clear()


@pytest.fixture
async def fake() -> AsyncIterator[FakeHubSpot]:
    async with serving(MovingClock(datetime(2026, 3, 10, 8, tzinfo=UTC))) as running:
        yield running


@pytest.fixture
async def hubspot(fake: FakeHubSpot) -> AsyncIterator[HubSpotPeer]:
    outbound = Outbound(allow=(ip_network("127.0.0.0/8"),))
    peer = HubSpotPeer(fake, outbound)
    yield peer
    await peer.crm.close()
    await outbound.close()


class TestUniqueProperty(CrmContract):
    @pytest.fixture
    async def peer(self, hubspot: HubSpotPeer) -> CrmPeer:
        return hubspot


class TestSearch(CrmContract):
    """The token may not create the property; what was written is found at once, as after the wait that is asked for."""

    @pytest.fixture
    async def peer(self, hubspot: HubSpotPeer) -> CrmPeer:
        hubspot.portal.scopes.remove(SCHEMAS)
        hubspot.portal.index_lags = timedelta()
        return hubspot
