"""Looking at a payment: the provider is asked for one reader within five seconds, in all processes together."""

import asyncio
from urllib.parse import urlsplit

import httpx2
from msgspec.structs import replace

from openslot.domains.event_types.models import EventType
from openslot.domains.payments import operations
from openslot.domains.payments.models import StoredPayment
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.domains.payments.support import book, find, reload, session_of
from tests.support.clocks import MovingClock
from tests.support.fake_stripe import Books, FakeStripe

READERS = 40


async def _look_from_two(settings: Settings, runtime: Runtime, clock: MovingClock, payment: StoredPayment) -> None:
    """Let many look at the same moment, in two runtimes that share nothing but the database."""
    async with open_runtime(settings, clock=clock) as other:
        looks = (operations.look_at_payment(each, payment) for _ in range(READERS) for each in (runtime, other))
        await asyncio.gather(*looks)


async def test_of_all_who_look_at_once_in_two_processes_one_asks_the_provider(
    client: httpx2.AsyncClient,
    settings: Settings,
    runtime: Runtime,
    clock: MovingClock,
    paid: EventType,
    fake_stripe: FakeStripe,
) -> None:
    payment = await find(runtime, await book(client, paid))
    before = len(fake_stripe.asked)

    await _look_from_two(settings, runtime, clock, payment)
    assert len(fake_stripe.asked) - before == 1

    clock.pass_time(seconds=4)
    await operations.look_at_payment(runtime, payment)
    assert len(fake_stripe.asked) - before == 1

    clock.pass_time(seconds=1.3)
    await _look_from_two(settings, runtime, clock, payment)
    assert len(fake_stripe.asked) - before == 2


async def test_with_a_larger_allowance_more_ask(
    client: httpx2.AsyncClient,
    settings: Settings,
    runtime: Runtime,
    clock: MovingClock,
    paid: EventType,
    fake_stripe: FakeStripe,
) -> None:
    """The test above can fail, and the setting is what decides."""
    payment = await find(runtime, await book(client, paid))
    before = len(fake_stripe.asked)
    runtime.settings = settings = replace(settings, allowance_provider_read=3)
    await _look_from_two(settings, runtime, clock, payment)
    assert len(fake_stripe.asked) - before == 3


async def test_giving_up_again_and_again_asks_once_while_the_money_is_on_its_way(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    paid: EventType,
    books: Books,
    fake_stripe: FakeStripe,
) -> None:
    answer = await book(client, paid)
    payment, token = await find(runtime, answer), answer.json()["manageUrl"].rpartition("/")[2]
    books.pay_later(session_of(payment))
    await operations.read_anew(runtime, payment.id)
    before = len(fake_stripe.asked)
    answers = [await client.post(f"/api/public/manage/{token}/cancel") for _ in range(5)]
    assert {each.headers["x-error-code"] for each in answers} == {"payment_processing"}
    assert len(fake_stripe.asked) - before == 1
    clock.pass_time(seconds=5.3)
    await operations.give_payment_up(runtime, payment.booking_id)
    assert len(fake_stripe.asked) - before == 2


async def test_reloading_the_page_asks_once_and_shows_what_is_stored(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    paid: EventType,
    books: Books,
    fake_stripe: FakeStripe,
) -> None:
    answer = await book(client, paid)
    payment, page = await find(runtime, answer), urlsplit(answer.json()["manageUrl"]).path
    before = len(fake_stripe.asked)
    shown = [await client.get(page) for _ in range(5)]
    assert {each.status_code for each in shown} == {200}
    assert all("Pay to confirm your booking" in each.text for each in shown)
    assert len(fake_stripe.asked) - before == 1

    books.pay(session_of(payment))
    clock.pass_time(seconds=5.3)
    landed = await client.get(page)
    assert (landed.status_code, (await reload(runtime, payment)).state) == (303, "paid")


async def test_a_notice_is_followed_however_often_somebody_looks(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    payment = await find(runtime, await book(client, paid))
    await operations.look_at_payment(runtime, payment)
    books.pay(session_of(payment))
    assert (await operations.read_anew(runtime, payment.id)).state == "paid"


async def test_after_the_clock_was_set_back_the_provider_is_asked_at_once(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, paid: EventType, fake_stripe: FakeStripe
) -> None:
    payment = await find(runtime, await book(client, paid))
    await operations.look_at_payment(runtime, payment)
    before = len(fake_stripe.asked)
    clock.pass_time(hours=-1)
    await operations.look_at_payment(runtime, payment)
    assert len(fake_stripe.asked) - before == 1


async def test_giving_up_what_is_over_asks_nobody(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, fake_stripe: FakeStripe
) -> None:
    payment = await find(runtime, await book(client, paid))
    await operations.give_payment_up(runtime, payment.booking_id)
    before = len(fake_stripe.asked)
    assert (await operations.give_payment_up(runtime, payment.booking_id)).state == "released"
    assert len(fake_stripe.asked) == before
