"""A meeting whose invitees prove their address with a code, and how the service answers."""

from typing import Any

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType, RollingWindow
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import TEN, offer

EMAIL = "jonas@okafor.example"
INVITEE = {"inviteeName": "Jonas Okafor", "inviteeEmail": EMAIL, "inviteeTimezone": "Africa/Lagos"}
FORM = {"start": TEN, "tz": "Africa/Lagos", "name": "Jonas Okafor", "email": EMAIL, "notes": "About prices"}
FORM |= {"guests": "", "hold": "", "website": ""}
PAGE = "/mara/proven"
BOOKED = "select count(*) from bookings"


@pytest.fixture
async def proven(runtime: Runtime, user: User) -> EventType:
    """A meeting whose invitees prove their address."""
    return await offer(
        runtime, user, "proven", requires_email_verification=True, recurring_weeks=4, booking_window=RollingWindow(99)
    )


async def ask(client: httpx2.AsyncClient, event_type: EventType, start: str = TEN, **changes: Any) -> httpx2.Response:
    return await client.post(
        "/api/bookings", json={"eventTypeId": str(event_type.id), "startTime": start, **INVITEE, **changes}
    )


def tell(answer: httpx2.Response) -> tuple[int, str | None]:
    return answer.status_code, answer.headers.get("x-error-code")


REQUIRED = (403, "email_verification_required")
INVALID = (400, "email_code_invalid")
FINE = (200, None)
