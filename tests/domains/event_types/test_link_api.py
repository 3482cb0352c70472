"""Links for a number of bookings, by key: created, listed, revoked."""

from datetime import timedelta
from typing import Any

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types.links import operations as links
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.ids import new_id
from openslot.platform.core.times import iso
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import ELEVEN, TEN, meeting, settings
from tests.support.bookings import public_body
from tests.support.clocks import clock
from tests.support.host import stranger

__all__ = ["clock", "meeting", "settings", "stranger"]


@pytest.fixture
def path(meeting: EventType) -> str:
    """Where the links of an event type are."""
    return f"/api/v1/event-types/{meeting.id}/links"


async def create(client: httpx2.AsyncClient, bearer: dict[str, str], path: str, **body: object) -> dict[str, Any]:
    answer = await client.post(path, json=body, headers=bearer)
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def test_a_link_is_for_one_booking_and_does_not_end_unless_that_is_said(
    client: httpx2.AsyncClient, bearer: dict[str, str], path: str, runtime: Runtime
) -> None:
    made = await create(client, bearer, path)
    bare = await client.post(path, headers=bearer)
    assert bare.status_code == 200, bare.text
    ends_at = iso(runtime.clock() + timedelta(days=2))
    other = await create(client, bearer, path, uses=3, endsAt=ends_at, note="  For Jonas ")

    assert made["url"].startswith(f"{runtime.settings.public_url}/mara/meeting?token=")
    assert {name: made[name] for name in ("status", "uses", "used", "endsAt", "note", "bookingIds", "revokedAt")} == {
        "status": "open",
        "uses": 1,
        "used": 0,
        "endsAt": None,
        "note": None,
        "bookingIds": [],
        "revokedAt": None,
    }
    assert (other["uses"], other["endsAt"], other["note"]) == (3, ends_at, "For Jonas")
    listed = (await client.get(path, headers=bearer, params={"limit": 2})).json()
    assert [each["id"] for each in listed["data"]] == [other["id"], bare.json()["id"]]
    assert listed["data"][0] == other
    assert listed["pagination"]["total"] == 3


async def test_the_list_says_what_became_of_each_link(
    client: httpx2.AsyncClient, bearer: dict[str, str], path: str, meeting: EventType
) -> None:
    used, revoked, unused = [await create(client, bearer, path) for _ in range(3)]
    token = used["url"].partition("token=")[2]
    made = await client.post("/api/bookings", json=public_body(meeting, TEN, token=token))
    for _ in range(2):
        assert (await client.delete(f"{path}/{revoked['id']}", headers=bearer)).json() == {"success": True}

    listed = {each["id"]: each for each in (await client.get(path, headers=bearer)).json()["data"]}
    assert [listed[each["id"]]["status"] for each in (used, revoked, unused)] == ["used_up", "revoked", "open"]
    assert listed[used["id"]]["bookingIds"] == [made.json()["bookingId"]]
    closed = await client.post("/api/bookings", json=public_body(meeting, ELEVEN, token=token))
    assert (closed.status_code, closed.json()) == (410, {"error": "This link was already used"})


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"uses": 0}, "uses"),
        ({"uses": 1001}, "uses"),
        ({"uses": "1"}, "uses"),
        ({"endsAt": "2026-03-01T00:00:00Z"}, "endsAt"),
        ({"endsAt": "2026-04-01T00:00:00"}, "endsAt"),
        ({"endsAt": "9999-12-31T23:59:59Z"}, "endsAt"),
        ({"note": "a\nb"}, "note"),
        ({"note": "x" * 201}, "note"),
        ({"count": 2}, "count"),
    ],
)
async def test_wrong_links_are_refused_at_their_field(
    client: httpx2.AsyncClient, bearer: dict[str, str], path: str, body: dict[str, object], field: str
) -> None:
    answer = await client.post(path, json=body, headers=bearer)
    assert (answer.status_code, list(answer.json()["details"])) == (400, [field])


async def test_others_can_neither_see_nor_change_links(
    client: httpx2.AsyncClient, bearer: dict[str, str], runtime: Runtime, stranger: User, path: str
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        found = await runtime.pool.fetchval("select id from event_types where owner_id = $1", stranger.id)
        _, foreign = await links.create_booking_link(work, stranger, found)
    theirs = f"/api/v1/event-types/{found}/links"
    answers = [
        await client.get(theirs, headers=bearer),
        await client.post(theirs, headers=bearer),
        await client.delete(f"{theirs}/{foreign.link.id}", headers=bearer),
        await client.delete(f"{path}/{foreign.link.id}", headers=bearer),
        await client.delete(f"{path}/{new_id()}", headers=bearer),
    ]
    assert [each.status_code for each in answers] == [404] * 5
    assert (await client.get(path)).status_code == 401
    assert await runtime.pool.fetchval("select count(*) from booking_links where revoked_at is null") == 1
