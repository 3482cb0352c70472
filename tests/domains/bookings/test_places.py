"""Everyone may know the place; the link or number by which one joins is for those who have booked."""

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import Location, LocationKind
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.support.bookings import public_body
from tests.support.private_tokens import get_private_token

ADDRESS = Location(LocationKind.IN_PERSON, "Harbor Studio, 12 Pier Street")
OPEN = [
    ADDRESS,
    Location(LocationKind.TEXT, "Ask for Mara at the door. 2nd floor/left"),
    Location(LocationKind.TEXT),
    Location(LocationKind.PHONE),
]
SECRET = [
    Location(LocationKind.VIDEO_LINK, "https://meet.example/secret-room"),
    Location(LocationKind.PHONE, "+49 30 901820-secret"),
    Location(LocationKind.TEXT, "Our room: HTTPS://meet.example/secret-room"),
    Location(LocationKind.TEXT, "meet.example/secret-room"),
    Location(LocationKind.TEXT, "www.meet.example (secret)"),
    Location(LocationKind.IN_PERSON, "12 Pier Street, or zoommtg://secret-room"),
]


async def read_all(client: httpx2.AsyncClient, token: str | None) -> list[httpx2.Response]:
    """Read everything that the public may read of a host and one event type."""
    params = {"token": token} if token else {}
    days = {"timezone": "UTC", "startDate": "2026-03-16", "endDate": "2026-03-17"}
    return [
        await client.get("/api/public/mara"),
        await client.get("/api/public/mara/place", params=params),
        await client.get("/api/public/mara/place/slots", params=params | days),
    ]


@pytest.mark.parametrize("location", SECRET, ids=lambda location: location.value)
@pytest.mark.parametrize("kind", ["listed", "private", "group"])
async def test_a_link_or_number_is_told_to_those_who_have_booked_alone(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, location: Location, kind: str
) -> None:
    seats, is_private = (5 if kind == "group" else 1), kind == "private"
    event_type = await offer(runtime, user, "place", location=location, seats=seats, is_private=is_private)
    token = await get_private_token(runtime.work(OPERATOR), event_type) if is_private else None

    booked = await client.post("/api/bookings", json=public_body(event_type, token=token))
    answers = await read_all(client, token)
    managed = await client.get("/api/public/manage/" + booked.json()["manageUrl"].rpartition("/")[2])

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert [answer.text for answer in answers if "secret" in answer.text.lower()] == []
    told = {"kind": location.kind, "value": "", "toldWhenBooked": True}
    assert answers[1].json()["eventType"]["location"] == told
    assert managed.json()["location"] == {"kind": location.kind, "value": location.value}


@pytest.mark.parametrize("location", OPEN, ids=lambda location: f"{location.kind} {location.value}")
async def test_the_place_is_told_to_everyone(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, location: Location
) -> None:
    await offer(runtime, user, "place", location=location)
    page, offered, _ = await read_all(client, None)
    told = {"kind": location.kind, "value": location.value, "toldWhenBooked": False}

    assert offered.json()["eventType"]["location"] == told
    assert told in [each["location"] for each in page.json()["eventTypes"]]
