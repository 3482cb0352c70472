"""Tools on event types: what can be booked, and when."""

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Refusal
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import Book, offer
from tests.doors.agents.tools.conftest import Run
from tests.support.private_tokens import get_private_token

NOBODY = str(new_id())


@pytest.fixture
async def closed(runtime: Runtime, user: User, meeting: EventType) -> EventType:
    """An event type that is not active, beside two that are."""
    del meeting
    made = await offer(runtime, user, "closed")
    async with runtime.transaction(OPERATOR) as work:
        return await event_types.set_event_type_active(work, made, active=False)


async def test_one_hosts_event_types_are_those_of_the_rest_api(
    run: Run, client: httpx2.AsyncClient, bearer: dict[str, str], user: User, closed: EventType
) -> None:
    own = {"userId": str(user.id)}
    listed = (await client.get("/api/v1/event-types", headers=bearer)).json()
    listed["data"] = [row | own for row in listed["data"]]

    assert len(listed["data"]) == 2
    assert await run("list_event_types", **own, active=True) == listed
    assert [row["id"] for row in (await run("list_event_types", **own, active=False))["data"]] == [str(closed.id)]
    for row in (await run("list_event_types", **own))["data"]:
        detail = (await client.get(f"/api/v1/event-types/{row['id']}", headers=bearer)).json()
        assert await run("get_event_type", eventTypeId=row["id"]) == detail | own


async def test_all_hosts_event_types_are_listed_newest_first(
    run: Run, runtime: Runtime, admin: User, closed: EventType
) -> None:
    del admin
    newest = [str(row["id"]) for row in await runtime.pool.fetch("select id from event_types order by id desc")]
    assert len(newest) == 4

    async def ids(**given: object) -> list[str]:
        return [row["id"] for row in (await run("list_event_types", **given))["data"]]

    assert await ids() == newest
    assert await ids(limit=3, page=2) == newest[3:]
    assert await ids(active=False) == [str(closed.id)]
    assert (await run("list_event_types", active=True))["pagination"]["total"] == 3


async def test_availability_is_that_of_the_rest_api(
    run: Run,
    runtime: Runtime,
    client: httpx2.AsyncClient,
    bearer: dict[str, str],
    meeting: EventType,
    book: Book,
) -> None:
    await book()
    days = {"timezone": "Africa/Lagos", "startDate": "2026-03-16", "endDate": "2026-03-18"}
    offered = (await client.get("/api/v1/availability/meeting", params=days, headers=bearer)).json()

    assert len(offered["data"]) > 30
    assert await run("check_availability", eventTypeId=str(meeting.id), **days) == offered
    async with runtime.transaction(OPERATOR) as work:
        await event_types.make_event_type_private(work, meeting)
    assert await run("check_availability", eventTypeId=str(meeting.id), **days) == offered
    week = (await client.get("/api/v1/availability/meeting", params={"timezone": "UTC"}, headers=bearer)).json()
    assert await run("check_availability", eventTypeId=str(meeting.id), timezone="utc") == week


async def test_no_tool_gives_away_the_token_of_a_private_event_type(
    run: Run, runtime: Runtime, meeting: EventType
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        private = await event_types.make_event_type_private(work, meeting)
        token = await get_private_token(work, private)

    shown = [await run("list_event_types"), await run("get_event_type", eventTypeId=str(meeting.id))]
    assert str(meeting.id) in str(shown)
    assert token not in str(shown)


@pytest.mark.parametrize(
    ("name", "arguments", "details"),
    [
        ("list_event_types", {"userId": NOBODY}, {"userId": "does not exist"}),
        ("list_event_types", {"active": "yes"}, {"active": "must be true or false, not a string"}),
        ("get_event_type", {"eventTypeId": NOBODY}, {"eventTypeId": "does not exist"}),
        ("get_event_type", {"eventTypeId": "30min"}, {"eventTypeId": "must be a UUID"}),
        ("check_availability", {"eventTypeId": NOBODY, "timezone": "UTC"}, {"eventTypeId": "does not exist"}),
        ("check_availability", {"eventTypeId": "closed", "timezone": "UTC"}, {"eventTypeId": "does not exist"}),
        (
            "check_availability",
            {"eventTypeId": NOBODY, "timezone": "Mars", "startDate": "soon"},
            {
                "timezone": "is not a time zone; use a name such as Europe/Berlin",
                "startDate": "must be a date, such as 2026-03-16",
            },
        ),
        (
            "check_availability",
            {"eventTypeId": "meeting", "timezone": "UTC", "startDate": "2026-03-16", "endDate": "2026-06-16"},
            {"endDate": "must be at most 61 days after startDate"},
        ),
    ],
)
async def test_wrong_event_types_and_arguments_are_named(
    run: Run,
    meeting: EventType,
    closed: EventType,
    name: str,
    arguments: dict[str, object],
    details: dict[str, str],
) -> None:
    known = {"meeting": str(meeting.id), "closed": str(closed.id)}
    given = {key: known.get(str(value), value) for key, value in arguments.items()}
    with pytest.raises(Refusal) as refused:
        await run(name, **given)

    assert refused.value.details == details
