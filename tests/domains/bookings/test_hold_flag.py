"""Holds can be switched off; booking goes on without them."""

import httpx2

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType
from openslot.platform.core.work import Runtime
from openslot.platform.flags.models import FlagKey
from tests.domains.bookings.conftest import TEN
from tests.support.flags import SWITCHED, switch


@SWITCHED
async def test_a_slot_can_be_held_only_if_holds_are_on(
    runtime: Runtime,
    client: httpx2.AsyncClient,
    user: User,
    meeting: EventType,
    everyone: bool,
    own: bool | None,
    works: bool,
) -> None:
    await switch(runtime, FlagKey.BOOKING_HOLDS, user, everyone=everyone, own=own)
    body = {"eventTypeId": str(meeting.id), "startTime": TEN}

    answer = await client.post("/api/public/holds", json=body)

    assert answer.status_code == (200 if works else 403)
    assert ("holdId" in answer.json()) is works
    if not works:
        assert answer.json() == {"error": "This feature is switched off"}
        assert await runtime.pool.fetchval("select count(*) from claims") == 0
    invitee = {"inviteeName": "Jonas", "inviteeEmail": "jonas@okafor.example", "inviteeTimezone": "UTC"}
    held = {"holdId": answer.json()["holdId"]} if works else {}
    assert (await client.post("/api/bookings", json=body | invitee | held)).status_code == 200
