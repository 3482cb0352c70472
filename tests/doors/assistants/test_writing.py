"""What an assistant changes for its user: the same verbs and refusals as everywhere, and it is named as the one."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx2
import msgspec
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import Booking
from openslot.domains.contacts import operations as contacts
from openslot.domains.contacts.schemas import ContactWanted
from openslot.domains.people import operations as people
from openslot.doors.assistants.calls.operations import TOOLS
from openslot.platform.core.actor import OPERATOR, Actor
from openslot.platform.core.text import EmailAddress, Name
from openslot.platform.core.times import iso
from openslot.platform.core.work import Runtime
from tests.doors.assistants.support import ConnectedAssistant, connect
from tests.support.clocks import MovingClock
from tests.support.host import ELEVEN, TEN, TWELVE, Book
from tests.support.page import read_page

INVITEE = {"inviteeName": "Jonas Okafor", "inviteeEmail": "jonas@okafor.example", "inviteeTimezone": "Africa/Lagos"}
NEW = {"eventType": "30min", "startTime": iso(TEN), **INVITEE}
BLOCK = {"startTime": iso(TEN), "endTime": iso(TWELVE)}
CONTACT = {"name": "Noor Haddad", "email": "noor@haddad.example"}
SOME = str(uuid4())
# One call of each tool that writes.
CALLS: dict[str, dict[str, Any]] = {
    "create_booking": NEW,
    "reschedule_booking": {"bookingId": SOME, "newStartTime": iso(ELEVEN)},
    "cancel_booking": {"bookingId": SOME},
    "mark_no_show": {"bookingId": SOME},
    "block_time": BLOCK,
    "create_link": {"eventType": "30min"},
    "create_contact": CONTACT,
    "update_contact": {"contactId": SOME, "changes": {"company": "Haddad Design"}},
    "delete_contact": {"contactId": SOME},
}


async def count(runtime: Runtime, table: str) -> int:
    return int(await runtime.pool.fetchval(f"select count(*) from {table}"))


async def add_contact(runtime: Runtime, owner: User, email: str = CONTACT["email"]) -> str:
    async with runtime.transaction(OPERATOR) as work:
        wanted = ContactWanted(name=Name("Noor Haddad"), email=EmailAddress(email))
        return str((await contacts.add_contact(work, owner, wanted)).id)


def test_every_tool_that_writes_is_tried_here() -> None:
    assert set(CALLS) == {tool.name for tool in TOOLS if not tool.is_read_only}


async def test_what_is_announced_is_true(assistant: ConnectedAssistant) -> None:
    listed = (await assistant.ask("tools/list"))["result"]["tools"]
    hints = {each["name"]: each["annotations"] for each in listed}

    assert [name for name, each in hints.items() if each["destructiveHint"]] == [
        "reschedule_booking",
        "cancel_booking",
        "mark_no_show",
        "update_contact",
        "delete_contact",
    ]
    assert [name for name, each in hints.items() if each["openWorldHint"]] == [
        "create_booking",
        "reschedule_booking",
        "cancel_booking",
    ]
    assert [each["name"] for each in listed if "idempotencyKey" in each["inputSchema"]["properties"]] == [
        name for name, each in hints.items() if not each["idempotentHint"]
    ]


async def test_a_booking_is_created_moved_and_cancelled(assistant: ConnectedAssistant, runtime: Runtime) -> None:
    made = await assistant.result("create_booking", **NEW, notes="Bring the plan")
    moved = await assistant.result("reschedule_booking", bookingId=made["id"], newStartTime=iso(ELEVEN))
    cancelled = await assistant.result("cancel_booking", bookingId=made["id"], reason="Ill today, sorry")
    again = await assistant.result("cancel_booking", bookingId=made["id"])

    assert (made["status"], made["startTime"]) == ("CONFIRMED", iso(TEN))
    assert made["inviteeName"] == {"quotedFrom": "invitee", "text": "Jonas Okafor"}
    assert (moved["startTime"], moved["previousStartTime"]) == (iso(ELEVEN), iso(TEN))
    assert (cancelled["status"], cancelled["cancelledBy"]) == ("CANCELLED", "host")
    assert cancelled["cancelReason"] == {"quotedFrom": "host or invitee", "text": "Ill today, sorry"}
    assert again == cancelled
    assert await count(runtime, "bookings") == 1


@pytest.mark.parametrize(
    ("scope", "tells"),
    [
        ("bookings:read bookings:write", False),
        ("bookings:read bookings:write contacts:read", True),
    ],
)
async def test_the_contact_of_a_booking_is_told_with_its_scope_alone(
    assistant: ConnectedAssistant, member: httpx2.AsyncClient, *, scope: str, tells: bool
) -> None:
    known = {"name": "Jonas Okafor", "email": INVITEE["inviteeEmail"], "phone": "+2348012345678"}
    await assistant.result("create_contact", **known, company="Okafor Ltd", notes="Pays late")
    _, tokens = await connect(member, scope=scope)
    asking = ConnectedAssistant(member, tokens.access_token)
    made = await asking.result("create_booking", **NEW)
    named = {"bookingId": made["id"]}
    (listed,) = (await asking.result("list_bookings"))["data"]
    _, reading = await connect(member, scope=scope.replace(" bookings:write", ""))
    read = await ConnectedAssistant(member, reading.access_token).result("get_booking", **named)
    moved = await asking.result("reschedule_booking", **named, newStartTime=iso(ELEVEN))
    cancelled = await asking.result("cancel_booking", **named)

    for shown in (made, listed, read, moved, cancelled):
        text = msgspec.json.encode(shown).decode()
        assert [each in text for each in ("+2348012345678", "Okafor Ltd", "Pays late")] == [tells] * 3
        assert (shown["contact"] is not None) is tells
        assert shown["inviteeEmail"] == INVITEE["inviteeEmail"]


async def test_the_history_says_that_the_assistant_did_it(
    assistant: ConnectedAssistant, member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    made = await assistant.result("create_booking", **NEW)
    await assistant.result("cancel_booking", bookingId=made["id"])
    text = read_page(await member.get(f"/bookings/{made['id']}")).text

    assert "Your assistant Helper created this booking" in text
    assert "Your assistant Helper cancelled this booking" in text
    written = await runtime.pool.fetch("select actor from events where subject_kind = 'booking'")
    grant_id = await runtime.pool.fetchval("select id from assistant_grants")
    actors = [msgspec.json.decode(row["actor"], type=Actor) for row in written]
    assert {(each.user_id, each.credential_id, each.assistant) for each in actors} == {(user.id, grant_id, "Helper")}
    # The release before knows these kinds alone, and reads what is written beside it.
    known = {"key", "session", "public", "scim", "agent", "operator", "system"}
    assert {each.kind.value for each in actors} <= known


async def test_the_same_key_books_once(assistant: ConnectedAssistant, runtime: Runtime) -> None:
    first = await assistant.result("create_booking", **NEW, idempotencyKey="a")
    again = await assistant.result("create_booking", **NEW, idempotencyKey="a")
    other = await assistant.refusal("create_booking", **{**NEW, "startTime": iso(ELEVEN)}, idempotencyKey="a")

    assert again == first
    assert other["code"] == "idempotency_key_reused"
    for name, arguments in (
        ("block_time", BLOCK),
        ("create_link", {"eventType": "30min"}),
        ("create_contact", CONTACT),
    ):
        assert await assistant.result(name, **arguments, idempotencyKey="b") == await assistant.result(
            name, **arguments, idempotencyKey="b"
        )
    for table in ("bookings", "out_of_office", "booking_links"):
        assert await count(runtime, table) == 1


async def test_of_many_with_one_key_one_books(assistant: ConnectedAssistant, runtime: Runtime) -> None:
    answers = await asyncio.gather(*(assistant.call("create_booking", **NEW, idempotencyKey="a") for _ in range(8)))

    assert any(not each["result"]["isError"] for each in answers)
    assert await count(runtime, "bookings") == 1


async def test_who_did_not_come_is_marked_and_unmarked(
    member: httpx2.AsyncClient, book: Book, clock: MovingClock
) -> None:
    booking = await book()
    clock.now = TEN - timedelta(minutes=20)
    assistant = ConnectedAssistant(member, (await connect(member))[1].access_token)
    early = await assistant.refusal("mark_no_show", bookingId=str(booking.id))
    clock.now = TEN + timedelta(minutes=20)
    marked = await assistant.result("mark_no_show", bookingId=str(booking.id))
    unmarked = await assistant.result("mark_no_show", bookingId=str(booking.id), noShow=False)

    assert early["code"] == "booking_not_started"
    assert (marked["noShow"], unmarked["noShow"]) == (True, False)


async def test_nothing_can_be_booked_in_a_blocked_time(assistant: ConnectedAssistant, book: Book) -> None:
    await book(ELEVEN)
    blocked = await assistant.result("block_time", **BLOCK, reason="Dentist")
    explained = await assistant.result("explain_time", eventType="30min", startTime=iso(TEN))
    refused = await assistant.refusal("create_booking", **NEW)
    free = await assistant.result("explain_time", eventType="30min", startTime=iso(TWELVE))

    assert (blocked["bookingsInside"], blocked["reason"]["text"]) == (1, "Dentist")
    assert [each["code"] for each in explained["reasons"]] == ["out_of_office"]
    assert explained["reasons"][0]["sentence"]["text"].startswith("Out of office (Dentist)")
    assert refused["code"] == "slot_unavailable"
    assert (free["isOpen"], free["reasons"]) == (True, [])


async def test_a_link_books_once(assistant: ConnectedAssistant, client: httpx2.AsyncClient) -> None:
    made = await assistant.result("create_link", eventType="30min", note="For Noor")
    path = made["url"].partition("//")[2].partition("/")[2]

    assert (made["uses"], made["endsAt"]) == (1, None)
    assert (await client.get(f"/{path}")).status_code == 200


async def test_contacts_are_created_changed_and_deleted(assistant: ConnectedAssistant) -> None:
    made = await assistant.result("create_contact", **CONTACT, tags=["vip"])
    changed = await assistant.result("update_contact", contactId=made["id"], changes={"company": "Haddad Design"})
    again = await assistant.refusal("create_contact", **CONTACT)
    await assistant.result("delete_contact", contactId=made["id"])

    assert made["tags"] == [{"quotedFrom": "host", "text": "vip"}]
    assert (changed["company"]["text"], changed["tags"]) == ("Haddad Design", made["tags"])
    assert again["code"] == "contact_email_already_exists"
    assert (await assistant.result("list_contacts"))["data"] == []


@pytest.mark.parametrize(
    ("tool", "changed", "field"),
    [
        ("create_booking", {"startTime": "tomorrow"}, "startTime"),
        ("create_booking", {"inviteeEmail": "nobody"}, "inviteeEmail"),
        ("create_booking", {"eventType": "none"}, "eventType"),
        ("create_booking", {"price": 1}, "price"),
        ("create_booking", {"idempotencyKey": ""}, "idempotencyKey"),
        ("reschedule_booking", {"newStartTime": "10:00"}, "newStartTime"),
        ("reschedule_booking", {"bookingId": "x"}, "bookingId"),
        ("cancel_booking", {"reason": "x" * 5000}, "reason"),
        ("mark_no_show", {"noShow": "yes"}, "noShow"),
        ("block_time", {"endTime": iso(TEN - timedelta(minutes=5))}, "endTime"),
        ("block_time", {"endTime": "2020-01-01T00:00:00Z"}, "endTime"),
        ("block_time", {"reason": "a\nb"}, "reason"),
        ("create_link", {"uses": 0}, "uses"),
        ("create_link", {"endsAt": "2020-01-01T00:00:00Z"}, "endsAt"),
        ("create_link", {"eventType": "none"}, "eventType"),
        ("create_contact", {"email": "nobody"}, "email"),
        ("update_contact", {"changes": {}}, "changes"),
        ("update_contact", {"changes": {"phone": "call me"}}, "changes.phone"),
        ("delete_contact", {"contactId": None}, "contactId"),
        ("explain_time", {"eventType": "none", "startTime": iso(TEN)}, "eventType"),
    ],
)
async def test_bad_arguments_are_named(
    assistant: ConnectedAssistant, runtime: Runtime, user: User, tool: str, changed: dict[str, Any], field: str
) -> None:
    contact_id = await add_contact(runtime, user)
    given = CALLS.get(tool, {}) | ({"contactId": contact_id} if tool == "update_contact" else {})
    refused = await assistant.refusal(tool, **{**given, **changed})

    assert list(refused["details"]) == [field], refused
    assert [await count(runtime, table) for table in ("bookings", "out_of_office", "booking_links")] == [0, 0, 0]


@pytest.mark.parametrize("tool", CALLS)
async def test_a_scope_that_is_missing_is_asked_for_with_all_that_goes_with_it(
    member: httpx2.AsyncClient, runtime: Runtime, tool: str
) -> None:
    _, tokens = await connect(member, scope="event_types:read")
    assistant = ConnectedAssistant(member, tokens.access_token)
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": CALLS[tool]}}
    refused = await assistant.post(message)

    area = "contacts" if "contact" in tool else "bookings"
    assert refused.status_code == 403
    assert 'error="insufficient_scope"' in refused.headers["www-authenticate"]
    assert refused.headers["www-authenticate"].endswith(f'scope="{area}:read {area}:write"')
    assert [await count(runtime, table) for table in ("bookings", "out_of_office", "booking_links")] == [0, 0, 0]


async def test_what_is_somebody_elses_is_not_found(
    assistant: ConnectedAssistant, runtime: Runtime, book: Book, stranger: User
) -> None:
    theirs = await book(host=stranger)
    contact_id = await add_contact(runtime, stranger)
    for tool, given in CALLS.items():
        if "bookingId" in given:
            refused = await assistant.refusal(tool, **{**given, "bookingId": str(theirs.id)})
            assert refused == await assistant.refusal(tool, **given)
            assert (refused["code"], list(refused["details"])) == ("booking_not_found", ["bookingId"])
        if "contactId" in given:
            refused = await assistant.refusal(tool, **{**given, "contactId": contact_id})
            assert refused == await assistant.refusal(tool, **given)
            assert (refused["code"], list(refused["details"])) == ("contact_not_found", ["contactId"])
    assert await runtime.pool.fetchval("select status from bookings") == "CONFIRMED"
    assert await runtime.pool.fetchval("select name from contacts where id = $1::uuid", contact_id) == "Noor Haddad"


async def test_the_assistant_of_a_disabled_user_changes_nothing(
    assistant: ConnectedAssistant, runtime: Runtime, user: User, book: Book
) -> None:
    booking: Booking = await book()
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, user)
    before = await runtime.pool.fetchval("select updated_at from bookings")
    for tool, given in CALLS.items():
        named = {**given, "bookingId": str(booking.id)} if "bookingId" in given else given
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": named}}
        assert (await assistant.post(message)).status_code == 401
    assert await runtime.pool.fetchval("select updated_at from bookings") == before
    assert [await count(runtime, table) for table in ("bookings", "out_of_office", "booking_links")] == [1, 0, 0]
