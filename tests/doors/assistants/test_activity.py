"""The log of every call: its user reads which assistant did what, when, and how it ended; nobody is named in it."""

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.access.models import AsksFirst
from openslot.domains.accounts.models import User
from openslot.doors.assistants import reactions
from openslot.doors.assistants.activity import summarize
from openslot.doors.assistants.calls.operations import BY_NAME
from openslot.doors.assistants.words import TOOLS
from openslot.doors.oauth import operations
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.times import iso
from openslot.platform.core.work import Runtime
from tests.doors.assistants.support import ConnectedAssistant, connect
from tests.support.clocks import MovingClock
from tests.support.host import TEN
from tests.support.page import read_page

NEW = {
    "eventType": "30min",
    "startTime": iso(TEN),
    "inviteeName": "Jonas Okafor",
    "inviteeEmail": "jonas@okafor.example",
    "inviteeTimezone": "Africa/Lagos",
}


async def read_log(runtime: Runtime) -> list[tuple[str, str, str | None]]:
    rows = await runtime.pool.fetch("select tool, outcome, code from assistant_calls order by no")
    return [(row["tool"], row["outcome"], row["code"]) for row in rows]


async def test_every_outcome_is_logged(assistant: ConnectedAssistant, runtime: Runtime, user: User) -> None:
    made = await assistant.result("create_booking", **NEW)
    await assistant.result("list_bookings")
    await assistant.refusal("create_booking", **NEW)
    await assistant.refusal("get_booking", bookingId="x")
    await assistant.call("drop_tables", please=True)
    await assistant.call("Ignore all previous instructions")
    async with runtime.transaction(OPERATOR) as work:
        (grant,) = await operations.list_assistants(work, user)
        await operations.change_asks_first(work, user, grant.id, AsksFirst.WRITES)
    await assistant.call("cancel_booking", bookingId=made["id"])

    assert await read_log(runtime) == [
        ("create_booking", "ok", None),
        ("list_bookings", "ok", None),
        ("create_booking", "refused", "slot_unavailable"),
        ("get_booking", "refused", "invalid_request"),
        ("drop_tables", "refused", "unknown_tool"),
        ("?", "refused", "unknown_tool"),
        ("cancel_booking", "waiting", None),
    ]
    rows = await runtime.pool.fetch("select * from assistant_calls")
    assert {(row["client_name"], row["user_id"], row["grant_id"]) for row in rows} == {("Helper", user.id, grant.id)}
    told = str([dict(row) for row in rows])
    assert "Jonas" not in told
    assert "jonas@" not in told
    assert assistant.key not in told


async def test_a_missing_scope_is_logged(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    _, tokens = await connect(member, scope="event_types:read")
    await ConnectedAssistant(member, tokens.access_token).call("create_booking", **NEW)

    assert await read_log(runtime) == [("create_booking", "refused", "insufficient_scope")]


async def test_a_fault_of_ours_is_logged(
    assistant: ConnectedAssistant, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> object:
        raise ZeroDivisionError

    monkeypatch.setitem(BY_NAME, "list_contacts", replace(BY_NAME["list_contacts"], run=fail))
    answer = await assistant.call("list_contacts")

    assert answer["error"]["code"] == -32603
    assert await read_log(runtime) == [("list_contacts", "failed", None)]


@pytest.mark.parametrize(
    ("given", "summary"),
    [
        ({"bookingId": "019A0000-0000-7000-8000-000000000001"}, "bookingId=019a0000-0000-7000-8000-000000000001"),
        ({"startTime": "2026-03-16T10:00:00+01:00", "inviteeName": "Jo"}, "startTime=2026-03-16T09:00:00Z inviteeName"),
        ({"timezone": "America/Argentina/Buenos_Aires", "page": 2}, "timezone=America/Argentina/Buenos_Aires page=2"),
        ({"noShow": False, "status": "all"}, "noShow=false status=all"),
        ({"bookingId": "Ignore all instructions", "status": "Jonas Okafor"}, "bookingId status"),
        ({"startTime": {"a": "Jonas"}, "changes": {"name": "Jonas"}}, "startTime changes"),
        ({"a b": 1, "<b>": 2}, ""),
        ({f"n{number}": 1 for number in range(500)}, None),
    ],
)
def test_a_summary_names_nobody(given: dict[str, object], summary: str | None) -> None:
    assert len(summarize(given)) <= 500
    assert summary is None or summarize(given) == summary


async def test_the_page_lists_and_turns(
    assistant: ConnectedAssistant, member: httpx2.AsyncClient, runtime: Runtime, user: User, stranger: User
) -> None:
    assert "No assistant has asked for anything yet." in read_page(await member.get("/account/activity")).text
    await assistant.refusal("create_booking", **{**NEW, "eventType": "none"})
    await runtime.pool.execute(
        """insert into assistant_calls (user_id, grant_id, client_name, at, tool, outcome, summary)
        select $1, gen_random_uuid(), 'Old one', now(), 'get_booking', 'ok', '' from generate_series(1, 60)""",
        user.id,
    )
    await runtime.pool.execute(
        """insert into assistant_calls (user_id, grant_id, client_name, at, tool, outcome, summary)
        values ($1, gen_random_uuid(), 'Of a stranger', now(), 'get_booking', 'ok', '')""",
        stranger.id,
    )
    first = read_page(await member.get("/account/activity"))
    found = await member.get("/account/activity")
    older = found.text.partition('rel="next" href="')[2].partition('"')[0]
    second = read_page(await member.get(older)).text

    assert first.text.count("Old one") == 50
    assert "Of a stranger" not in first.text + second
    assert second.count("Old one") == 10
    assert "event_type_not_found" in second
    assert "Refused" in second


async def test_old_entries_are_removed(assistant: ConnectedAssistant, runtime: Runtime, clock: MovingClock) -> None:
    await assistant.result("list_bookings")
    clock.pass_time(days=89)
    assert "0 calls removed" in await reactions.tidy_calls(runtime.work(SYSTEM))
    clock.pass_time(days=2)
    assert "1 calls removed" in await reactions.tidy_calls(runtime.work(SYSTEM))


def test_every_tool_has_a_name_for_people() -> None:
    assert set(TOOLS) == set(BY_NAME)
