"""The event in a host's calendar gets a booking's link when it is there."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.event_types import operations as event_types
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.domains.calendars.conftest import Book, Connect, work_off
from tests.domains.calendars.support import cancel, move, shown
from tests.support.clocks import MovingClock
from tests.support.fake_conferences import BY_SLOW, SlowConference, install
from tests.support.radicale import Radicale


@pytest.fixture
async def runtime(settings: Settings, clock: MovingClock) -> AsyncIterator[Runtime]:
    async with open_runtime(settings, clock=clock, fakes=install(SlowConference())) as opened:
        yield opened


async def test_a_link_that_follows_is_written_once_and_goes_with_the_booking(
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    radicale: Radicale,
    work_calendar: str,
    connect: Connect,
    book: Book,
) -> None:
    await connect(work_calendar)
    async with runtime.transaction(OPERATOR) as work:
        for found in (await event_types.list_event_types(work, user))[0]:
            await event_types.change_event_type(work, replace(found, location=BY_SLOW))
    booking = await book()
    await work_off(runtime, clock)
    assert "LOCATION" not in await shown(radicale, work_calendar, booking)

    clock.now += timedelta(seconds=10)
    await work_off(runtime, clock)
    link = f"https://slow.example/{booking.claim_id}"
    assert (await shown(radicale, work_calendar, booking))["LOCATION"] == link
    await move(runtime, booking, 1)
    await work_off(runtime, clock)
    assert (await shown(radicale, work_calendar, booking))["LOCATION"] == link
    assert await radicale.names(work_calendar) == [f"{booking.id}.ics"]

    await cancel(runtime, booking)
    await work_off(runtime, clock)
    assert await radicale.names(work_calendar) == []
