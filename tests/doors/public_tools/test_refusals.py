"""Nothing that the booking page would not show: tools refuse what the public API refuses, within the same limits."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import ELEVEN, TEN
from tests.doors.public_tools.conftest import INVITEE, TestAssistant
from tests.support.clocks import MovingClock
from tests.support.live import connect, serving
from tests.support.private_tokens import get_private_token

Hide = Callable[[Runtime, User, EventType], Awaitable[object]]


async def make_private(runtime: Runtime, _: User, event_type: EventType) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await event_types.make_event_type_private(work, event_type)


async def switch_off(runtime: Runtime, _: User, event_type: EventType) -> None:
    await runtime.pool.execute("update event_types set active = false where id = $1", event_type.id)


async def disable_host(runtime: Runtime, user: User, _: EventType) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, user, reason="Spam")


@pytest.mark.parametrize("hide", [make_private, switch_off, disable_host])
async def test_what_the_page_does_not_show_no_tool_shows(
    assistant: TestAssistant, runtime: Runtime, user: User, meeting: EventType, hide: Hide
) -> None:
    await hide(runtime, user, meeting)
    by_id: dict[str, Any] = {"eventTypeId": str(meeting.id)}
    unknown = {"eventTypeId": str(new_id())}
    rest = await assistant.client.get("/api/public/mara/meeting")
    base = str(assistant.client.base_url).rstrip("/")

    assert rest.status_code == 404
    refused = await assistant.refusal("find_host", page=f"{base}/mara/meeting")
    assert refused["code"] == rest.headers["x-error-code"]
    for tool, more in (
        ("list_free_times", {"timezone": "UTC"}),
        ("hold_time", {"startTime": TEN}),
        ("book", {"startTime": TEN, **INVITEE}),
    ):
        refused = await assistant.refusal(tool, **by_id, **more)
        assert refused["code"] == "event_type_not_found"
        assert refused == await assistant.refusal(tool, **unknown, **more)
    assert await runtime.pool.fetchval("select count(*) from bookings") == 0


async def test_a_disabled_host_has_no_page(assistant: TestAssistant, runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, user, reason="Spam")

    assert await assistant.refusal("find_host", page="mara") == await assistant.refusal("find_host", page="nobody")


async def test_a_private_event_type_is_found_held_and_booked_with_its_token(
    assistant: TestAssistant, runtime: Runtime, meeting: EventType
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        private = await event_types.make_event_type_private(work, meeting)
        token = await get_private_token(work, private)
    base = str(assistant.client.base_url).rstrip("/")

    listed = await assistant.result("find_host", page="mara")
    assert "meeting" not in [each["slug"] for each in listed["eventTypes"]]
    found = await assistant.result("find_host", page=f"{base}/mara/meeting?token={token}")
    assert [each["id"] for each in found["eventTypes"]] == [str(meeting.id)]
    assert token not in str(found)
    by_id = {"eventTypeId": str(meeting.id), "token": token}
    assert (await assistant.result("list_free_times", **by_id, timezone="UTC"))["data"]
    hold = await assistant.result("hold_time", **by_id, startTime=TEN)
    booked = await assistant.book(meeting, holdId=hold["holdId"], token=token)
    link = {"manageUrl": booked["manageUrl"]}
    assert (await assistant.result("list_new_times", **link))["data"]
    assert (await assistant.result("reschedule_booking", **link, newStartTime=ELEVEN))["startTime"] == ELEVEN


@pytest.fixture
async def limited(settings: Settings, clock: MovingClock) -> Any:
    """A server with the limits that it has by default."""
    async with serving(create_app(replace(settings, limit_public=10), clock=clock)) as url, connect(url) as client:
        yield TestAssistant(client)


async def test_bookings_by_tools_and_by_the_api_share_one_limit(limited: TestAssistant, meeting: EventType) -> None:
    body = {"eventTypeId": str(meeting.id), "startTime": "2026-03-17T03:00:00Z", **INVITEE}
    for turn in range(10):
        if turn % 2:
            assert (await limited.refusal("book", **body))["code"] == "invalid_start_time"
        else:
            assert (await limited.client.post("/api/bookings", json=body)).status_code == 400

    refused = await limited.refusal("book", **body)
    assert refused["code"] == "rate_limited"
    assert 0 < refused["retryAfterSeconds"] <= 60
    assert (await limited.refusal("cancel_booking", manageUrl="x"))["code"] == "rate_limited"
    assert (await limited.client.post("/api/bookings", json=body)).status_code == 429
    assert (await limited.result("find_host", page="mara"))["host"]["username"] == "mara"


async def test_an_address_holds_three_times_and_asks_ten_times_a_minute(
    limited: TestAssistant, meeting: EventType
) -> None:
    wanted = [{"eventTypeId": str(meeting.id), "startTime": f"2026-03-1{day}T10:00:00Z"} for day in (6, 7, 8, 9)]
    for each in wanted[:3]:
        await limited.result("hold_time", **each)

    assert (await limited.refusal("hold_time", **wanted[3]))["code"] == "hold_limit_exceeded"
    for _ in range(6):
        await limited.refusal("release_hold", holdId="x")
    assert (await limited.refusal("release_hold", holdId="x"))["code"] == "rate_limited"


async def test_every_message_counts_as_a_request_to_read(limited: TestAssistant, user: User) -> None:
    batch = [{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in range(20)]
    for _ in range(6):
        answers = (await limited.post(batch, MCP_Protocol_Version="2025-03-26")).json()
        assert [each.get("result") for each in answers] == [{}] * 20

    refused = await limited.post(batch[0])
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, -32015)
    assert int(refused.headers["retry-after"]) > 0
    assert (await limited.client.get("/api/public/mara")).status_code == 429


async def test_a_credential_opens_nothing_more(
    client: httpx2.AsyncClient, assistant: TestAssistant, bearer: dict[str, str], meeting: EventType
) -> None:
    assistant.headers |= bearer

    listed = (await assistant.ask("tools/list"))["result"]["tools"]
    assert [each["name"] for each in listed] == [
        "find_host",
        "list_free_times",
        "hold_time",
        "release_hold",
        "book",
        "get_booking",
        "list_new_times",
        "reschedule_booking",
        "cancel_booking",
    ]
