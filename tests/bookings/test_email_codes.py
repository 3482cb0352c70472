"""Invitees prove their email address with a code: at every public door, once, in time, and without unlimited tries."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from openslot.access.email_codes import read_code as parse_code
from openslot.access.email_codes import try_code
from openslot.access.jobs import ACCESS_JOBS
from openslot.accounts.models import User
from openslot.availability.models import ById
from openslot.bookings import email_proofs
from openslot.bookings import operations as bookings
from openslot.bookings.errors import EmailVerificationRequired
from openslot.bookings.models import BookingWanted, EmailProof, Invitee
from openslot.core.actor import OPERATOR, PUBLIC, Actor, ActorKind
from openslot.core.errors import Refusal
from openslot.core.work import Runtime
from openslot.event_types.models import EventType, Limits, RollingWindow
from openslot.jobs.periodic import run_job
from tests.bookings.conftest import ELEVEN, TEN, offer
from tests.bookings.support import AT, hold
from tests.integrations.mail.conftest import messages
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.email_codes import count_codes, read_code

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
    assert f"We sent a code to {EMAIL}" in refused.text
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


async def test_wrong_codes_of_others_and_of_other_event_types_are_the_same(
    client: httpx2.AsyncClient, runtime: Runtime, proven: EventType, user: User
) -> None:
    other = await offer(runtime, user, "other", requires_email_verification=True)
    await ask(client, other)
    of_other_type = await read_code(runtime)
    await ask(client, proven, inviteeEmail="ana@okafor.example")
    of_other_person = await read_code(runtime, "ana@okafor.example")
    assert await count_codes(runtime) == 2

    answers = [
        await ask(client, proven, emailCode=code) for code in (of_other_type, of_other_person, "12345", "x" * 50)
    ]
    assert [tell(each) for each in answers] == [INVALID] * 4
    assert len({each.text for each in answers}) == 1
    assert await runtime.pool.fetchval(BOOKED) == 0


async def test_a_used_or_expired_code_is_refused(
    client: httpx2.AsyncClient, runtime: Runtime, proven: EventType, clock: MovingClock
) -> None:
    await ask(client, proven)
    code = await read_code(runtime)
    assert tell(await ask(client, proven, inviteeEmail=EMAIL.upper(), emailCode=code)) == FINE
    assert tell(await ask(client, proven, ELEVEN, emailCode=code)) == INVALID

    clock.now += timedelta(minutes=1)
    await ask(client, proven, ELEVEN)
    code = await read_code(runtime)
    clock.now += timedelta(minutes=15)
    assert tell(await ask(client, proven, ELEVEN, emailCode=code)) == INVALID


async def test_five_wrong_tries_end_a_code(
    client: httpx2.AsyncClient, runtime: Runtime, proven: EventType, clock: MovingClock
) -> None:
    await ask(client, proven)
    right = await read_code(runtime)
    wrong = f"{(int(right) + 1) % 10**6:06}"
    for _ in range(4):
        assert tell(await ask(client, proven, emailCode=wrong)) == INVALID
    # The right one is not counted: what is refused for another reason may be tried again.
    await ask(client, proven, answers={"unknown": "x"}, emailCode=right)
    assert tell(await ask(client, proven, emailCode=wrong)) == INVALID
    assert tell(await ask(client, proven, emailCode=right)) == INVALID
    clock.now += timedelta(minutes=1)
    assert tell(await ask(client, proven)) == REQUIRED
    assert tell(await ask(client, proven, emailCode=await read_code(runtime))) == FINE


async def test_guessing_at_the_same_time_gains_nothing(
    client: httpx2.AsyncClient, runtime: Runtime, proven: EventType
) -> None:
    await ask(client, proven)
    right = await read_code(runtime)
    guesses = [f"{(int(right) + each) % 10**6:06}" for each in range(1, 21)]
    answers = await asyncio.gather(*(ask(client, proven, emailCode=each) for each in guesses))

    assert {tell(each) for each in answers} == {INVALID}
    assert await runtime.pool.fetchval("select wrong_tries from email_codes") == 5
    # Without the host's lock too.
    await runtime.pool.execute("update email_codes set wrong_tries = 0")
    assert set(await asyncio.gather(*(try_code(runtime, proven.id, EMAIL, each) for each in guesses))) == {None}
    assert await runtime.pool.fetchval("select wrong_tries from email_codes") == 5
    assert tell(await ask(client, proven, emailCode=right)) == INVALID


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


async def test_a_proof_is_good_for_its_own_address_and_once(runtime: Runtime, proven: EventType) -> None:
    invitee = Invitee(name="Jonas", email=EMAIL, zone="UTC")
    wanted = BookingWanted(which=ById(proven.id), starts_at=AT, invitee=invitee)
    refused = EmailVerificationRequired(proven.id, invitee, None)
    with pytest.raises(EmailVerificationRequired):
        await email_proofs.settle(runtime, refused, from_address="192.0.2.1")
    entered = EmailVerificationRequired(proven.id, invitee, await read_code(runtime))
    proof = await email_proofs.settle(runtime, entered, from_address="192.0.2.1")

    async def book(one: EmailProof, email: str = EMAIL) -> None:
        async with runtime.transaction(PUBLIC) as work:
            asked = replace(wanted, email_proof=one, invitee=replace(invitee, email=email))
            await bookings.create_booking(work, asked)

    other = "ana@x.example"
    for one, email, code in (
        (proof, other, "email_verification_required"),
        (EmailProof(EMAIL), other, "email_verification_required"),
        (EmailProof(other, proof.code_id), other, "email_code_invalid"),
    ):
        with pytest.raises(Refusal) as fault:
            await book(one, email)
        assert fault.value.code == code
    await book(proof)


async def test_few_codes_are_sent_and_nobody_is_told(
    client: httpx2.AsyncClient, runtime: Runtime, proven: EventType, user: User, clock: MovingClock
) -> None:
    other = await offer(runtime, user, "other", requires_email_verification=True)
    answers = []
    for number in range(6):
        clock.now += timedelta(minutes=2)
        # Another spelling of the same mailbox.
        email = EMAIL if number % 2 else "Jonas+x@okafor.example"
        answers.append(await ask(client, other if number % 3 else proven, inviteeEmail=email))
    fresh = await ask(client, proven, inviteeEmail="nobody@okafor.example")

    assert {tell(each) for each in answers} == {REQUIRED}
    assert {each.text for each in answers} == {fresh.text}
    assert await runtime.pool.fetchval("select count(*) from email_codes where email <> 'nobody@okafor.example'") == 3
    clock.now += timedelta(hours=1)
    await ask(client, proven)
    assert await count_codes(runtime) == 5


async def test_one_network_address_asks_for_few_codes(
    client: httpx2.AsyncClient, runtime: Runtime, proven: EventType
) -> None:
    answers = [await ask(client, proven, inviteeEmail=f"p{number}@okafor.example") for number in range(12)]
    assert [tell(each)[0] for each in answers] == [*[403] * 10, *[429] * 2]
    assert int(answers[-1].headers["retry-after"]) > 0
    assert await count_codes(runtime) == 10


async def test_no_code_is_sent_for_what_could_not_be_booked(
    client: httpx2.AsyncClient, runtime: Runtime, proven: EventType
) -> None:
    for changes in ({"startTime": "2026-03-15T10:00:00Z"}, {"answers": {"x": "y"}}, {"inviteeEmail": "nobody"}):
        assert tell(await ask(client, proven, **changes))[0] in {400, 409}
    assert await count_codes(runtime) == 0


async def test_the_limit_of_an_address_is_told_to_its_owner_alone(
    client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    once = await offer(runtime, user, "once", limits=Limits(per_invitee=1), requires_email_verification=True)
    await ask(client, once)
    assert tell(await ask(client, once, emailCode=await read_code(runtime))) == FINE
    assert tell(await ask(client, once, ELEVEN)) == REQUIRED


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


async def test_codes_are_removed_after_an_hour_and_with_their_event_type(
    client: httpx2.AsyncClient, runtime: Runtime, proven: EventType, clock: MovingClock
) -> None:
    await ask(client, proven)
    clock.now += timedelta(minutes=70)
    await run_job(runtime, ACCESS_JOBS[0])
    assert await count_codes(runtime) == 1
    clock.now += timedelta(minutes=10)
    await run_job(runtime, ACCESS_JOBS[0])
    assert await count_codes(runtime) == 0
    await ask(client, proven)
    await runtime.pool.execute("delete from event_types where id = $1", proven.id)
    assert await count_codes(runtime) == 0
    await work_off(runtime, clock)
    assert await messages(runtime, EMAIL) == []
