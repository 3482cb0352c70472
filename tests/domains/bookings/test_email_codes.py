"""Invitees prove their email address with a code: at every public door, once, and without losing what they typed."""

import asyncio
from datetime import timedelta

import httpx2
import pytest

from openslot.domains.access.email_codes import read_code as parse_code
from openslot.domains.accounts.models import User
from openslot.domains.availability.models import ById
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingWanted, Invitee
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import OPERATOR, Actor, ActorKind
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import ELEVEN, TEN, offer
from tests.domains.bookings.email_codes import BOOKED, EMAIL, FINE, FORM, INVITEE, PAGE, REQUIRED, ask, proven, tell
from tests.domains.bookings.support import AT, hold
from tests.domains.mail.conftest import messages
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.email_codes import count_codes, read_code

__all__ = ["proven"]


async def test_the_api_refuses_sends_the_code_and_books_with_it(
    client: httpx2.AsyncClient, runtime: Runtime, proven: EventType, clock: MovingClock
) -> None:
    refused = await ask(client, proven, inviteeLocale="de")

    assert tell(refused) == REQUIRED
    assert "emailCode" in refused.json()["details"]
    assert await runtime.pool.fetchval("select count(*) from contacts") == 0
    await work_off(runtime, clock)
    (mail,) = await messages(runtime, EMAIL)
    code = await read_code(runtime)
    body = mail.get_body(("plain",))
    assert mail["Subject"].startswith(f"{code} ist Ihr Code")
    assert body is not None
    assert code in body.get_content()
    assert "Mara" in body.get_content()
    booked = await ask(client, proven, emailCode=f" {code[:3]} {code[3:]} ")
    assert tell(booked) == FINE
    assert await runtime.pool.fetchval("select invitee_email from bookings") == EMAIL


async def test_the_code_is_stored_nowhere(
    client: httpx2.AsyncClient, runtime: Runtime, proven: EventType, clock: MovingClock
) -> None:
    await ask(client, proven)
    await work_off(runtime, clock)
    code = await read_code(runtime)

    tables = "select table_name from information_schema.tables where table_schema = 'public' and table_type <> 'VIEW'"
    for row in await runtime.pool.fetch(tables):
        found = await runtime.pool.fetch(f'select t::text as line from "{row["table_name"]}" t')
        # Times and ids may have the same six digits.
        assert [each for each in found if f'"{code}' in each["line"] or f" {code} " in each["line"]] == []
    assert await runtime.pool.fetchval("select subject from mail_messages") == "Code to book Proven with Mara Lindqvist"
    assert await runtime.pool.fetchval("select host_id from mail_messages") is None


async def test_the_plain_form_keeps_what_was_typed_and_asks_for_the_code(
    client: httpx2.AsyncClient, runtime: Runtime, proven: EventType
) -> None:
    shown = await client.get(PAGE, params={"start": TEN})
    assert "email_code" not in shown.text
    assert "data-plain" in shown.text
    refused = await client.post(PAGE, data=FORM)

    assert refused.status_code == 403
    assert "the code stays in its mailbox" in refused.text
    assert 'autocomplete="one-time-code"' in refused.text
    assert "About prices" in refused.text
    assert "Send a new code" in refused.text
    assert await count_codes(runtime) == 1
    wrong = await client.post(PAGE, data={**FORM, "email_code": "abc"})
    assert wrong.status_code == 400
    assert 'id="fault-email_code"' in wrong.text
    booked = await client.post(PAGE, data={**FORM, "email_code": await read_code(runtime)})
    assert booked.status_code == 303
    assert booked.headers["location"].startswith("/manage/")


async def test_another_code_is_sent_on_request_and_both_are_good(
    client: httpx2.AsyncClient, runtime: Runtime, proven: EventType, clock: MovingClock
) -> None:
    await client.post(PAGE, data=FORM)
    first = await read_code(runtime)
    again = {**FORM, "email_code": "123", "new_code": "1"}
    # Twice within a moment is once.
    assert (await client.post(PAGE, data=again)).status_code == 403
    assert await count_codes(runtime) == 1
    clock.now += timedelta(seconds=31)
    assert (await client.post(PAGE, data=again)).status_code == 403
    assert await count_codes(runtime) == 2
    assert await read_code(runtime) != first
    # The mail with the first one may come late.
    assert (await client.post(PAGE, data={**FORM, "email_code": first})).status_code == 303


@pytest.mark.parametrize("door", ["api", "page"])
async def test_a_series_needs_the_code_once(
    client: httpx2.AsyncClient, runtime: Runtime, proven: EventType, door: str
) -> None:
    async def send(code: str | None) -> int:
        if door == "page":
            form = {**FORM, "weeks": "3", **({"email_code": code} if code else {})}
            return (await client.post(PAGE, data=form)).status_code
        return (await ask(client, proven, recurrence={"weeks": 3}, emailCode=code)).status_code

    assert await send(None) == 403
    assert await runtime.pool.fetchval(BOOKED) == 0
    assert await send(await read_code(runtime)) in {200, 303}
    assert await runtime.pool.fetchval(BOOKED) == 3


async def test_a_request_needs_the_code(client: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    confirmed = await offer(runtime, user, "asked", requires_email_verification=True, requires_confirmation=True)
    assert tell(await ask(client, confirmed)) == REQUIRED
    assert await runtime.pool.fetchval("select count(*) from booking_requests") == 0
    booked = await ask(client, confirmed, emailCode=await read_code(runtime))
    assert booked.json()["status"] == "PENDING_CONFIRMATION"


async def test_a_refused_booking_leaves_the_code(
    client: httpx2.AsyncClient, runtime: Runtime, proven: EventType, user: User
) -> None:
    await ask(client, proven)
    code = await read_code(runtime)
    await runtime.pool.execute("update event_types set requires_email_verification = false")
    assert tell(await ask(client, proven, inviteeEmail="first@x.example")) == FINE
    await runtime.pool.execute("update event_types set requires_email_verification = true, limit_per_invitee = 1")

    taken = await ask(client, proven, emailCode=code)
    assert tell(taken) == (409, "slot_unavailable")
    page = await client.post(PAGE, data={**FORM, "email_code": code})
    assert page.status_code == 409
    assert f'value="{code}"' in page.text
    assert tell(await ask(client, proven, ELEVEN, emailCode=code)) == FINE


async def test_two_bookings_with_one_code_are_one(
    client: httpx2.AsyncClient, runtime: Runtime, proven: EventType
) -> None:
    await ask(client, proven)
    code = await read_code(runtime)
    starts = [f"2026-03-16T{hour:02}:00:00Z" for hour in range(9, 15)]
    answers = await asyncio.gather(*(ask(client, proven, start, emailCode=code) for start in starts))

    assert sorted(tell(each)[0] for each in answers) == [200, *[400] * 5]
    assert await runtime.pool.fetchval(BOOKED) == 1


async def test_the_hold_stays_while_the_code_is_fetched(
    client: httpx2.AsyncClient, runtime: Runtime, proven: EventType
) -> None:
    held = await hold(runtime, proven)
    assert tell(await ask(client, proven, holdId=str(held.id))) == REQUIRED
    assert tell(await ask(client, proven, inviteeEmail="ana@x.example"))[0] == 409
    page = await client.post(PAGE, data={**FORM, "hold": str(held.id)})
    assert f'name="hold" value="{held.id}"' in page.text
    code = await read_code(runtime)
    assert tell(await ask(client, proven, holdId=str(held.id), emailCode=code)) == FINE


async def test_a_repeated_request_with_its_key_books_once(
    client: httpx2.AsyncClient, runtime: Runtime, proven: EventType
) -> None:
    body = {"eventTypeId": str(proven.id), "startTime": TEN, **INVITEE}
    headers = {"idempotency-key": "k"}
    assert tell(await client.post("/api/bookings", json=body, headers=headers)) == REQUIRED
    body["emailCode"] = await read_code(runtime)
    first = await client.post("/api/bookings", json=body, headers=headers)
    again = await client.post("/api/bookings", json=body, headers=headers)
    assert (tell(first), again.json()) == (FINE, first.json())
    assert again.headers["idempotent-replayed"] == "true"


async def test_the_hosts_side_needs_no_code(
    client: httpx2.AsyncClient, bearer: dict[str, str], runtime: Runtime, proven: EventType
) -> None:
    body = {"eventTypeSlug": "proven", "startTime": TEN, **INVITEE}
    assert (await client.post("/api/v1/bookings", json=body, headers=bearer)).status_code == 200
    actors = (OPERATOR, Actor(kind=ActorKind.AGENT, agent="x"), Actor(kind=ActorKind.ASSISTANT))
    for hour, actor in enumerate(actors, 11):
        async with runtime.transaction(actor) as work:
            invitee = Invitee(name="Jonas", email=EMAIL, zone="UTC")
            wanted = BookingWanted(which=ById(proven.id), starts_at=AT.replace(hour=hour), invitee=invitee)
            await bookings.create_booking(work, wanted)
    assert await runtime.pool.fetchval(BOOKED) == 4
    assert await count_codes(runtime) == 0


async def test_the_setting_is_told_by_the_api(
    client: httpx2.AsyncClient, bearer: dict[str, str], proven: EventType
) -> None:
    detail = (await client.get(f"/api/v1/event-types/{proven.id}", headers=bearer)).json()
    offered = (await client.get("/api/public/mara/proven")).json()
    assert detail["schedulingConfig"]["requiresEmailVerification"] is True
    assert offered["eventType"]["requiresEmailVerification"] is True


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("012345", "012345"),
        (" 012 345\n", "012345"),
        ("٠١٢٣٤٥", "012345"),
        ("０１２３４５", "012345"),
        ("12345", None),
        ("0123456", None),
        ("1234.5", None),
        ("-12345", None),
        ("¹²³⁴⁵⁶", None),
        ("", None),
    ],
)
def test_digits_of_every_script_are_read(typed: str, read: str | None) -> None:
    assert parse_code(typed) == read


@pytest.mark.parametrize("code", ["0" * 51, "12\x003456", 123456, ["1"], {"a": 1}, True])
async def test_a_code_that_is_none_is_a_clear_error(
    client: httpx2.AsyncClient, runtime: Runtime, proven: EventType, code: object
) -> None:
    answer = await ask(client, proven, emailCode=code)
    assert tell(answer) == (400, "invalid_request")
    assert list(answer.json()["details"]) == ["emailCode"]
    assert (await client.post(PAGE, data={**FORM, "email_code": "0" * 51})).status_code == 400
