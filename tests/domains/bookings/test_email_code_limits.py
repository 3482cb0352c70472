"""Codes are few, short-lived and good for one thing: who guesses, repeats or floods gains nothing."""

import asyncio
from datetime import timedelta

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.access.email_codes import try_code
from openslot.domains.access.jobs import ACCESS_JOBS
from openslot.domains.accounts.models import User
from openslot.domains.availability.models import ById
from openslot.domains.bookings import email_proofs
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.errors import EmailVerificationRequired
from openslot.domains.bookings.models import BookingWanted, EmailProof, Invitee
from openslot.domains.event_types.models import EventType, Limits
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.errors import Refusal
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.periodic import run_job
from tests.domains.bookings.conftest import ELEVEN, offer
from tests.domains.bookings.email_codes import BOOKED, EMAIL, FINE, INVALID, REQUIRED, ask, proven, tell
from tests.domains.bookings.support import AT
from tests.domains.mail.conftest import messages
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.email_codes import count_codes, read_code

__all__ = ["proven"]


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
    tries = [try_code(runtime, proven.id, EMAIL, each, from_address="127.0.0.1") for each in guesses]
    assert set(await asyncio.gather(*tries)) == {None}
    assert await runtime.pool.fetchval("select wrong_tries from email_codes") == 5
    assert tell(await ask(client, proven, emailCode=right)) == INVALID


async def test_a_proof_is_good_for_its_own_address_and_once(runtime: Runtime, proven: EventType) -> None:
    invitee = Invitee(name="Jonas", email=EMAIL, zone="UTC")
    wanted = BookingWanted(which=ById(proven.id), starts_at=AT, invitee=invitee)
    refused = EmailVerificationRequired(proven.id, invitee, None, host_id=proven.owner_id)
    with pytest.raises(EmailVerificationRequired):
        await email_proofs.settle(runtime, refused, from_address="192.0.2.1")
    entered = EmailVerificationRequired(proven.id, invitee, await read_code(runtime), host_id=proven.owner_id)
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
