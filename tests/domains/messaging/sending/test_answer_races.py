"""C against every other writer of the booking: one of them wins, the other sees it, and everyone is told once."""

import asyncio
from collections.abc import Awaitable, Callable

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.bookings.errors import BookingAlreadyCancelled
from openslot.domains.bookings.links import manage_token
from openslot.domains.bookings.models import Booking, BookingRef
from openslot.domains.bookings.operations import get_booking_for_change
from openslot.domains.messaging.connections import operations as connecting
from openslot.domains.messaging.connections.models import MessagingConnection
from openslot.platform.core.actor import OPERATOR, EffectAttempt
from openslot.platform.core.work import Runtime
from tests.domains.messaging.sending.carrier import Carrier
from tests.domains.messaging.sending.support import status_of, tell
from tests.support.clocks import MovingClock
from tests.support.effects import run_attempt, work_off
from tests.support.host import TWELVE, cancel, move
from tests.support.races import find_disorder

pytestmark = pytest.mark.rest("lets several write at once, as the pairs of writers do")

ROUNDS = 8
EVENTS = """
select type from events where subject_id = $1 and type in ('booking.cancelled', 'booking.rescheduled') order by no"""


async def answer_all(runtime: Runtime) -> None:
    """Let each message that wants something be answered by a worker of its own, all at once."""
    rows = await runtime.pool.fetch(
        "select id, round from effects where reaction = 'messaging.answer' and state = 'queued'"
    )
    await asyncio.gather(*(run_attempt(runtime, EffectAttempt(row["id"], row["round"])) for row in rows))


async def by_host(runtime: Runtime, _: httpx2.AsyncClient, booking: Booking) -> None:
    await cancel(runtime, booking, actor=OPERATOR)


async def by_link(runtime: Runtime, client: httpx2.AsyncClient, booking: Booking) -> None:
    answer = await client.post(f"/api/public/manage/{manage_token(runtime, booking.id)}/cancel", json={})
    assert answer.status_code == 200, answer.text


async def by_rescheduling(runtime: Runtime, _: httpx2.AsyncClient, booking: Booking) -> None:
    try:
        await move(runtime, booking, TWELVE, actor=OPERATOR)
    except BookingAlreadyCancelled:
        return


async def by_link_that_reschedules(runtime: Runtime, client: httpx2.AsyncClient, booking: Booking) -> None:
    path = f"/api/public/manage/{manage_token(runtime, booking.id)}/reschedule"
    answer = await client.post(path, json={"newStartTime": "2026-03-16T12:00:00Z"})
    assert answer.status_code in {200, 409}, answer.text


async def by_second_message(runtime: Runtime, _: httpx2.AsyncClient, booking: Booking) -> None:
    """Another C is answered beside the first one."""


Act = Callable[[Runtime, httpx2.AsyncClient, Booking], Awaitable[None]]
OTHERS: list[Act] = [by_host, by_link, by_rescheduling, by_link_that_reschedules, by_second_message]


@pytest.mark.parametrize("other", OTHERS, ids=[each.__name__ for each in OTHERS])
async def test_c_and_another_writer_at_once(
    runtime: Runtime,
    client: httpx2.AsyncClient,
    clock: MovingClock,
    carrier: Carrier,
    number: MessagingConnection,
    booking: Booking,
    other: Act,
) -> None:
    await tell(runtime, number, "C", id_="SMin1")
    if other is by_second_message:
        await tell(runtime, number, "C", id_="SMin2")
    await asyncio.gather(answer_all(runtime), other(runtime, client, booking))

    happened = [row["type"] for row in await runtime.pool.fetch(EVENTS, booking.id)]
    assert happened in (["booking.cancelled"], ["booking.rescheduled"])
    is_cancelled = happened == ["booking.cancelled"]
    assert ((await status_of(runtime, booking))[0] == "CANCELLED") is is_cancelled
    assert await find_disorder(runtime.pool) == {}
    await work_off(runtime, clock)
    expected = 2 if other is by_second_message else 1
    assert len(carrier.sent) == expected
    said = [str(body) for body in carrier.bodies]
    by_c = (await status_of(runtime, booking))[2] == "bookings.replied"
    assert sum("is now cancelled" in body for body in said) == int(by_c)
    assert all("is now cancelled" in body or "/manage/" in body for body in said)


@pytest.mark.parametrize("other", OTHERS[:4], ids=[each.__name__ for each in OTHERS[:4]])
async def test_c_waits_for_a_writer_who_has_the_booking_and_then_sees_what_became_of_it(
    runtime: Runtime,
    client: httpx2.AsyncClient,
    clock: MovingClock,
    carrier: Carrier,
    number: MessagingConnection,
    booking: Booking,
    other: Act,
) -> None:
    await tell(runtime, number, "C")
    async with runtime.transaction(OPERATOR) as work:
        await get_booking_for_change(work, BookingRef(booking.id, None))
        acting = asyncio.ensure_future(other(runtime, client, booking))
        await asyncio.sleep(0.2)
        answering = asyncio.create_task(answer_all(runtime))
        await asyncio.sleep(0.2)
        assert not answering.done()
    await asyncio.gather(acting, answering)
    await work_off(runtime, clock)

    assert [row["type"] for row in await runtime.pool.fetch(EVENTS, booking.id)] != []
    assert len(carrier.sent) == 1
    assert await find_disorder(runtime.pool) == {}


async def test_whoever_reschedules_first_makes_c_get_a_link(
    runtime: Runtime, clock: MovingClock, carrier: Carrier, number: MessagingConnection, booking: Booking
) -> None:
    await tell(runtime, number, "C")
    await move(runtime, booking, TWELVE, actor=OPERATOR)
    await work_off(runtime, clock)

    assert (await status_of(runtime, booking))[0] == "CONFIRMED"
    assert "To cancel or reschedule" in str(carrier.bodies)


async def test_the_switch_counts_as_it_is_when_the_message_is_worked_on(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, number: MessagingConnection, booking: Booking
) -> None:
    await tell(runtime, number, "C")
    async with runtime.transaction(OPERATOR) as work:
        await connecting.allow_cancelling_by_message(work, user, number.id, can_cancel=False)
    await work_off(runtime, clock)

    assert (await status_of(runtime, booking))[0] == "CONFIRMED"


async def test_a_worker_that_dies_before_the_commit_leads_to_one_cancellation_and_one_answer(
    runtime: Runtime, clock: MovingClock, carrier: Carrier, number: MessagingConnection, booking: Booking
) -> None:
    await tell(runtime, number, "C")
    row = await runtime.pool.fetchrow("select id, round from effects where reaction = 'messaging.answer'")
    assert row is not None
    await asyncio.gather(*(run_attempt(runtime, EffectAttempt(row["id"], row["round"])) for _ in range(3)))
    await work_off(runtime, clock)

    assert (await status_of(runtime, booking))[0] == "CANCELLED"
    assert len(carrier.sent) == 1
