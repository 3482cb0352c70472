"""Links for a number of bookings that cost something: whoever does not pay gives the use back."""

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types.links import operations as links
from openslot.domains.event_types.models import EventType, HostLink
from openslot.domains.payments import operations
from openslot.domains.payments.models import PaymentState
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.payments.support import book, find, money, reload, session_of, tick, told
from tests.support.clocks import MovingClock
from tests.support.fake_stripe import Books, FakeStripe
from tests.support.races import check_order

ELEVEN = "2026-03-20T11:00:00Z"


@pytest.fixture
async def link(runtime: Runtime, user: User, paid: EventType) -> HostLink:
    """A link for one booking."""
    async with runtime.transaction(OPERATOR) as work:
        return (await links.create_booking_link(work, user, paid.id))[1]


async def count_used(runtime: Runtime) -> int:
    return int(await runtime.pool.fetchval("select used from booking_links"))


async def test_a_booking_that_waits_for_its_payment_has_the_use_until_it_expires(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, link: HostLink, clock: MovingClock
) -> None:
    await book(client, paid, token=link.token)
    assert await count_used(runtime) == 1
    assert (await book(client, paid, ELEVEN, token=link.token)).status_code == 410

    clock.pass_time(minutes=40)
    await tick(runtime, clock)
    assert await count_used(runtime) == 0
    assert (await book(client, paid, ELEVEN, token=link.token)).status_code == 200
    await check_order(runtime)


async def test_whoever_gives_up_gives_the_use_back(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, link: HostLink
) -> None:
    payment = await find(runtime, await book(client, paid, token=link.token))
    await operations.give_payment_up(runtime, payment.booking_id)
    assert await count_used(runtime) == 0
    await check_order(runtime)


async def test_a_paid_booking_keeps_its_use(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, link: HostLink, books: Books
) -> None:
    payment = await find(runtime, await book(client, paid, token=link.token))
    books.pay(session_of(payment))
    await operations.read_anew(runtime, payment.id)
    assert (await told(runtime, payment)).status == "CONFIRMED"
    assert await count_used(runtime) == 1
    await check_order(runtime)


@pytest.mark.parametrize("is_taken", [False, True], ids=["free", "taken"])
async def test_late_money_takes_the_use_again_or_goes_back(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    paid: EventType,
    link: HostLink,
    books: Books,
    fake_stripe: FakeStripe,
    clock: MovingClock,
    is_taken: bool,
) -> None:
    payment = await find(runtime, await book(client, paid, token=link.token))
    books.pay(session_of(payment))
    fake_stripe.is_down = True
    clock.pass_time(hours=26)
    await tick(runtime, clock)
    assert (await reload(runtime, payment)).state is PaymentState.RELEASED
    assert await count_used(runtime) == 0
    fake_stripe.is_down = False
    if is_taken:
        assert (await book(client, paid, ELEVEN, token=link.token)).status_code == 200
    await operations.read_anew(runtime, payment.id)
    clock.pass_time(minutes=5)
    await tick(runtime, clock)

    assert (await told(runtime, payment)).status == ("PENDING_PAYMENT" if is_taken else "CONFIRMED")
    assert money(books) == (0 if is_taken else payment.price.amount)
    assert await count_used(runtime) == 1
    await check_order(runtime)
