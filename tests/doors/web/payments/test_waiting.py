"""Paying for a time that the wait list has offered: whoever can't or does not pay waits on."""

from datetime import timedelta

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType, Money
from openslot.domains.payments.models import PaymentConnection
from openslot.domains.wait_list.operations import entry_token
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.times import iso
from openslot.platform.core.work import Runtime
from tests.doors.web.payments.conftest import SEEN
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.fake_stripe import FakeStripe
from tests.support.wait_list import (
    NINE,
    book_day,
    cancel_day,
    find_wait_list_faults,
    list_starts,
    offer_day,
    tell_offered,
    wait_for,
)

START = NINE - timedelta(hours=1)
"""Nine o'clock in Berlin."""
TYPED = {
    "start": iso(START),
    "name": "Li Wei",
    "email": "li@wei.example",
    "tz": "UTC",
    "price": SEEN,
    "notes": "Pricing",
}


@pytest.fixture
async def day(runtime: Runtime, user: User, connection: PaymentConnection) -> EventType:
    return await offer_day(runtime, user)


@pytest.fixture
async def path(runtime: Runtime, day: EventType) -> str:
    """The page of somebody who is offered a time that costs something."""
    booking = await book_day(runtime, day, START)
    (entry,) = await wait_for(runtime, day, "li@wei.example")
    async with runtime.transaction(OPERATOR) as work:
        await event_types.change_event_type(work, replace(day, price=Money(4900, "EUR")))
    await cancel_day(runtime, booking)
    return f"/wait-list/{entry_token(runtime, entry)}"


async def check_waits(client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, path: str) -> None:
    """Assert that somebody waits again, now and when all effects have happened, and is not offered the same time."""
    for _ in range(2):
        shown = await client.get(path)
        assert "You are on the wait list" in shown.text
        assert "Leave the wait list" in shown.text
        await work_off(runtime, clock)
    assert await runtime.pool.fetchval("select state from wait_list_entries") == "waiting"
    assert await tell_offered(runtime) == [("li", "accepted")]
    assert await find_wait_list_faults(runtime) == {}


@pytest.mark.rest("waits for seconds")
async def test_without_the_provider_nothing_is_booked_and_whoever_waited_waits_on(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, day: EventType, path: str, fake_stripe: FakeStripe
) -> None:
    fake_stripe.is_down = True
    refused = await client.post(path, data=TYPED)

    assert refused.status_code == 503
    assert "can&#39;t be reached" in refused.text
    assert "You are on the wait list" in refused.text
    # There is no form any more that could be sent again.
    assert "try again" not in refused.text
    await check_waits(client, runtime, clock, path)
    assert await list_starts(runtime, day) == [START]


async def test_whoever_gives_up_paying_waits_on(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, path: str
) -> None:
    sent = await client.post(path, data=TYPED)
    assert sent.status_code == 303
    unpaid = await client.get(path)
    manage = unpaid.headers["location"].partition("?")[0]
    assert "Pay to confirm your booking" in (await client.get(manage)).text
    assert (await client.post(f"{manage}/give-up")).status_code == 303
    await check_waits(client, runtime, clock, path)
