"""Event types with several locations: what is shown before and after booking, what is chosen, and what is refused."""

from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef
from openslot.domains.bookings.words import format_location
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.locations import WantedLocation
from openslot.domains.event_types.models import EventType, Location, LocationAsks, LocationKind
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import TEN, offer
from tests.domains.bookings.support import LATER, book

VIDEO = Location(LocationKind.VIDEO_LINK, "https://meet.example/secret")
DESK = Location(LocationKind.PHONE, "+49 30 5550123")
CALL = Location(LocationKind.PHONE, asks=LocationAsks.PHONE)
ASK = Location(LocationKind.TEXT, asks=LocationAsks.PLACE)
ROOM = Location(LocationKind.IN_PERSON, "Room 2")
WANTED = {"inviteeName": "Li", "inviteeEmail": "li@wei.example", "inviteeTimezone": "UTC", "startTime": TEN}
ELSEWHEN = {"startTime": "2026-03-16T13:00:00Z"}


@pytest.fixture
async def talk(runtime: Runtime, user: User) -> EventType:
    return await offer(runtime, user, "talk", location=VIDEO, locations=(VIDEO, DESK, CALL, ASK, ROOM))


async def send(client: httpx2.AsyncClient, talk: EventType, location: Any, **more: Any) -> httpx2.Response:
    """Book as an invitee."""
    given = {} if location is None else {"location": location}
    return await client.post("/api/bookings", json={**WANTED, "eventTypeId": str(talk.id), **given, **more})


def test_a_call_is_promised_only_with_a_number_or_a_question_for_one() -> None:
    places = {
        Location(LocationKind.PHONE): "Phone call",
        Location(LocationKind.PHONE, "+49 30 1"): "+49 30 1",
        Location(LocationKind.PHONE, asks=LocationAsks.PHONE): "Mara will call you",
        Location(LocationKind.PHONE, "+4930", asks=LocationAsks.PHONE): "Mara will call you at +4930",
    }
    assert {each: str(format_location(each, "Mara")) for each in places} == places


async def test_hosts_see_all_of_them_and_invitees_no_link_and_no_number(
    client: httpx2.AsyncClient, bearer: dict[str, str], user: User, talk: EventType, meeting: EventType
) -> None:
    config = (await client.get(f"/api/v1/event-types/{talk.id}", headers=bearer)).json()["schedulingConfig"]
    assert config["location"] == config["locations"][0]
    assert [each["id"] for each in config["locations"]] == ["video_link", "phone", "phone_2", "place", "in_person"]
    assert config["locations"][1] == {"kind": "phone", "value": "+49 30 5550123", "id": "phone"}

    shown = await client.get(f"/api/public/{user.username}/talk")
    assert "secret" not in shown.text
    assert "5550123" not in shown.text
    offered = shown.json()["eventType"]["locations"]
    assert offered[1] == {"kind": "phone", "value": "", "toldWhenBooked": True, "id": "phone"}
    assert offered[2] == {"kind": "phone", "value": "", "toldWhenBooked": False, "asks": "phone", "id": "phone_2"}
    assert offered[4]["value"] == "Room 2"

    plain = (await client.get(f"/api/v1/event-types/{meeting.id}", headers=bearer)).json()["schedulingConfig"]
    assert plain["locations"] == [plain["location"]] == [{"kind": "text", "value": ""}]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (None, replace(VIDEO, id="video_link")),
        ({}, replace(VIDEO, id="video_link")),
        ({"id": "phone"}, replace(DESK, id="phone")),
        ({"id": "phone_2", "value": " +49 30 12345678 "}, replace(CALL, id="phone_2", value="+493012345678")),
        ({"id": "place", "value": " مقهى «النيل» ☕ "}, replace(ASK, id="place", value="مقهى «النيل» ☕")),
        ({"id": "in_person"}, replace(ROOM, id="in_person")),
    ],
)
async def test_the_chosen_one_is_on_the_booking_at_every_door(
    client: httpx2.AsyncClient, bearer: dict[str, str], runtime: Runtime, talk: EventType, chosen: Any, expected: Any
) -> None:
    made = await send(client, talk, chosen)
    assert made.status_code == 200, made.text
    stored = await client.get(f"/api/v1/bookings/{made.json()['bookingId']}", headers=bearer)
    token = made.json()["manageUrl"].rpartition("/")[2]
    managed = await client.get(f"/api/public/manage/{token}")
    wanted = {
        name: value
        for name, value in (("kind", expected.kind), ("value", expected.value), ("id", expected.id))
        if value is not None
    } | ({"asks": expected.asks} if expected.asks else {})
    for answer in (stored, managed):
        assert answer.json()["location"] == wanted


async def test_the_host_chooses_too_and_need_not_tell_what_is_asked(
    client: httpx2.AsyncClient, bearer: dict[str, str], talk: EventType
) -> None:
    body = {**WANTED, "eventTypeSlug": "talk", "location": {"id": "phone_2"}}
    made = await client.post("/api/v1/bookings", json=body, headers=bearer)
    assert made.status_code in (200, 201), made.text
    shown = (await client.get(f"/api/v1/bookings/{made.json()['bookingId']}", headers=bearer)).json()
    assert shown["location"] == {"kind": "phone", "value": "", "asks": "phone", "id": "phone_2"}

    refused = await client.post(
        "/api/v1/bookings", json={**body, **ELSEWHEN, "location": {"id": "moon"}}, headers=bearer
    )
    assert (refused.status_code, refused.json()["details"]) == (
        400,
        {"location.id": "is not a location of this event type"},
    )


@pytest.mark.parametrize(
    ("chosen", "field"),
    [
        ({"id": "moon"}, "location.id"),
        ({"id": ""}, "location.id"),
        ({"id": "x" * 101}, "location.id"),
        ({"id": "VIDEO_LINK"}, "location.id"),
        ({"id": "phone_2"}, "location.value"),
        ({"id": "phone_2", "value": "  "}, "location.value"),
        ({"id": "phone_2", "value": "call me"}, "location.value"),
        ({"id": "phone_2", "value": "030 12345678"}, "location.value"),
        ({"id": "phone_2", "value": "+49 30 12345678\u202e"}, "location.value"),
        ({"id": "place"}, "location.value"),
        ({"id": "place", "value": "\u200b\u3164"}, "location.value"),
        ({"id": "place", "value": "x" * 501}, "location.value"),
        ({"id": "place", "value": "a\nb"}, "location.value"),
        ({"id": "video_link", "value": "https://evil.example"}, "location.value"),
        ({"value": "https://evil.example"}, "location.value"),
        ({"id": "phone", "kind": "text"}, "location.kind"),
        ("phone", "location"),
        (["phone"], "location"),
    ],
)
async def test_what_is_not_listed_or_not_told_is_refused_by_name(
    client: httpx2.AsyncClient, runtime: Runtime, talk: EventType, chosen: Any, field: str
) -> None:
    answer = await send(client, talk, chosen)

    assert (answer.status_code, list(answer.json()["details"])) == (400, [field]), answer.text
    assert await runtime.pool.fetchval("select count(*) from bookings") == 0
    assert await runtime.pool.fetchval("select count(*) from claims where active") == 0


async def test_a_single_location_can_ask_and_one_without_ids_takes_none(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, meeting: EventType
) -> None:
    call = await offer(runtime, user, "call", location=CALL)
    missing = await send(client, call, None)
    assert (missing.status_code, missing.json()["details"]) == (400, {"location.value": "is required"})
    assert (await send(client, call, {"value": "+493012345678"})).status_code == 200
    assert (await send(client, meeting, {"id": "text"}, **ELSEWHEN)).json()["details"].keys() == {"location.id"}
    assert (await send(client, meeting, {"value": "x"}, **ELSEWHEN)).json()["details"].keys() == {"location.value"}


async def test_it_survives_a_reschedule_and_changes_of_the_event_type(runtime: Runtime, talk: EventType) -> None:
    chosen = WantedLocation(id="phone_2", value="+493012345678")
    booking = await book(runtime, talk, location=chosen)
    async with runtime.transaction(OPERATOR) as work:
        await event_types.change_event_type(work, replace(talk, location=ROOM, locations=()))
    async with runtime.transaction(PUBLIC) as work:
        moved = await bookings.reschedule_booking(work, BookingRef(booking.id, None), LATER)
    assert moved.location == booking.location
    assert moved.location.value == "+493012345678"
    with pytest.raises(Invalid):
        await book(runtime, talk, LATER.replace(hour=14), location=chosen)


async def test_a_request_keeps_it_until_the_host_confirms(
    client: httpx2.AsyncClient, bearer: dict[str, str], runtime: Runtime, user: User
) -> None:
    asked = await offer(runtime, user, "asked", location=VIDEO, locations=(VIDEO, DESK), requires_confirmation=True)
    made = await send(client, asked, {"id": "phone"})
    token = made.json()["manageUrl"].rpartition("/")[2]
    waiting = (await client.get(f"/api/public/manage/{token}")).json()
    assert (waiting["status"], waiting["location"]["kind"]) == ("PENDING_CONFIRMATION", "phone")
    assert waiting["location"]["value"] == ""


async def test_a_row_that_the_last_release_has_changed_can_be_read_and_booked(
    client: httpx2.AsyncClient, runtime: Runtime, talk: EventType
) -> None:
    await runtime.pool.execute(
        """update event_types set location = '{"kind": "in_person", "value": "Room 9"}' where id = $1""", talk.id
    )
    made = await send(client, talk, None)
    assert made.status_code == 200
    place = await runtime.pool.fetchval("select location ->> 'value' from bookings")
    assert place == "Room 9"
    assert (await send(client, talk, {"id": "phone"}, **ELSEWHEN)).json()["details"].keys() == {"location.id"}
