"""Two-way calendars and feeds can be switched off."""

import httpx2

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.domains.calendars.booking_events import renew_feed
from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from openslot.platform.flags.models import FlagKey
from tests.domains.calendars.conftest import HOUR, NINE, Book, Connect, read, work_off
from tests.domains.calendars.support import move_in_calendar
from tests.support.clocks import MovingClock
from tests.support.flags import SWITCHED, switch
from tests.support.live import connect as open_client
from tests.support.live import serving
from tests.support.radicale import Radicale


@SWITCHED
async def test_a_move_in_the_calendar_is_followed_only_if_two_way_is_on(
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    radicale: Radicale,
    work_calendar: str,
    connect: Connect,
    book: Book,
    everyone: bool,
    own: bool | None,
    works: bool,
) -> None:
    await switch(runtime, FlagKey.CALENDAR_TWO_WAY, user, everyone=everyone, own=own)
    connection = await connect(work_calendar)
    booking = await book()
    await work_off(runtime, clock)
    assert await radicale.names(work_calendar) == [f"{booking.id}.ics"]
    await move_in_calendar(radicale, work_calendar, booking, start="130000", end="133000")

    await sync_connection(runtime, connection.id)

    assert (await read(runtime, booking)).starts_at == (NINE + 4 * HOUR if works else NINE + HOUR)


@SWITCHED
async def test_the_feed_is_there_only_if_feeds_are_on(
    runtime: Runtime, settings: Settings, user: User, everyone: bool, own: bool | None, works: bool
) -> None:
    await switch(runtime, FlagKey.CALENDAR_FEEDS, user, everyone=everyone, own=own)
    async with runtime.transaction(OPERATOR) as work:
        link = httpx2.URL(await renew_feed(work, user))

    async with serving(create_app(settings)) as base_url, open_client(base_url) as client:
        answer = await client.get(link.path)

    assert answer.status_code == (200 if works else 404)
    assert ("BEGIN:VCALENDAR" in answer.text) is works
