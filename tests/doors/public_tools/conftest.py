"""A host with a meeting, a Stripe on loopback, and an assistant without an account."""

from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import TEN, offer
from tests.support.agent import NEWEST, TestAgent
from tests.support.clocks import clock
from tests.support.fake_stripe import FakeStripe
from tests.support.payments import books, fake_stripe

__all__ = ["books", "clock", "fake_stripe"]

INVITEE = {"inviteeName": "Jonas Okafor", "inviteeEmail": "jonas@okafor.example", "inviteeTimezone": "Africa/Lagos"}


class TestAssistant(TestAgent):
    """An assistant that anyone can use: it has no key."""

    path = "/mcp/public"

    def __init__(self, client: httpx2.AsyncClient) -> None:
        super().__init__(client, "")
        self.headers = {"MCP-Protocol-Version": NEWEST}

    async def refusal(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must refuse, and return its error."""
        answer = await self.call(tool, **arguments)
        assert answer["result"]["isError"], answer
        error: dict[str, Any] = answer["result"]["structuredContent"]["error"]
        return error

    async def book(self, event_type: EventType, start: str = TEN, **changes: Any) -> dict[str, Any]:
        """Book for Jonas."""
        return await self.result(
            "book", **{"eventTypeId": str(event_type.id), "startTime": start, **INVITEE, **changes}
        )


@pytest.fixture
def settings(settings: Settings, fake_stripe: FakeStripe) -> Settings:
    """Stripe is on loopback, and there is room for tests that send much."""
    loopback = Networks.parse("127.0.0.0/8")
    return replace(settings, limit_public=10_000, outbound_allow=loopback, stripe_url=fake_stripe.url)


@pytest.fixture
def assistant(client: httpx2.AsyncClient) -> TestAssistant:
    return TestAssistant(client)


@pytest.fixture
async def meeting(runtime: Runtime, user: User) -> EventType:
    """A plain meeting of 30 minutes."""
    return await offer(runtime, user, "meeting")
