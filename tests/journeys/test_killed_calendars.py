"""Workers are killed while they write bookings into a real calendar: each booking stands there once, as it is."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from typing import Any

import icalendar
import pytest
from msgspec.structs import replace

from openslot.accounts.models import User
from openslot.availability import operations as availability
from openslot.availability.models import BySlug
from openslot.bookings import operations as bookings
from openslot.bookings.models import Booking, BookingRef, BookingWanted, Invitee
from openslot.core.actor import OPERATOR
from openslot.core.config import Networks, Settings
from openslot.core.work import Runtime
from openslot.integrations.calendars import operations as calendars
from openslot.integrations.calendars.models import CalDavWanted
from openslot.runtime import open_runtime
from tests.bookings.conftest import offer
from tests.integrations.calendars.radicale import PASSWORD, USER, Radicale, radicale_in

# The next reading of the calendar is always planned.
LEFT = "select count(*) from effects where state in ('waiting', 'queued', 'running') and event_id is not null"
BOOKINGS, KILLS = 24, 6
if os.environ.get("OPENSLOT_LONG"):
    BOOKINGS, KILLS = 1000, 60


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Give the settings of an operator who allows loopback."""
    return replace(settings, outbound_allow=Networks((ip_network("127.0.0.0/8"),)))


@pytest.fixture
async def runtime(settings: Settings) -> AsyncIterator[Runtime]:
    """Open a runtime with what these settings allow."""
    async with open_runtime(settings) as opened:
        yield opened


def start_worker(settings: Settings) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "DATABASE_URL": settings.database_url or "",
        "OPENSLOT_DATA_DIR": str(settings.data_dir),
        "OPENSLOT_OUTBOUND_ALLOW": "127.0.0.0/8",
        "OPENSLOT_LOG_LEVEL": "error",
    }
    return subprocess.Popen([sys.executable, "-m", "openslot", "worker"], env=environment, cwd=settings.data_dir)


async def list_starts(runtime: Runtime, user: User) -> list[datetime]:
    """List enough starts that are open, two for each booking."""
    starts: list[datetime] = []
    first = datetime.now(UTC).date() + timedelta(days=1)
    while len(starts) < 2 * BOOKINGS:
        _, slots, _ = await availability.list_open(
            runtime.work(OPERATOR),
            BySlug(user.id, "short"),
            timezone="UTC",
            first=first,
            last=first + timedelta(days=6),
        )
        starts += [datetime.fromtimestamp(start, UTC) for start in slots.starts]
        first += timedelta(days=7)
    return starts[: 2 * BOOKINGS]


async def live(runtime: Runtime, user: User) -> dict[str, Booking]:
    """Book; move every third and cancel every fifth booking soon after; give what is confirmed in the end."""
    starts = await list_starts(runtime, user)
    confirmed: dict[str, Booking] = {}
    for number in range(BOOKINGS):
        invitee = Invitee(name=f"Guest {number}", email=f"guest{number}@okafor.example", zone="UTC")
        wanted = BookingWanted(which=BySlug(user.id, "short"), starts_at=starts[2 * number], invitee=invitee)
        async with runtime.transaction(OPERATOR) as work:
            booking = await bookings.create_booking(work, wanted)
        ref = BookingRef(booking.id, None)
        await asyncio.sleep(random.uniform(0, 0.3))
        if number % 3 == 0:
            async with runtime.transaction(OPERATOR) as work:
                booking = await bookings.reschedule_booking(work, ref, starts[2 * number + 1])
        if number % 5 == 0:
            async with runtime.transaction(OPERATOR) as work:
                await bookings.cancel_booking(work, ref)
            continue
        confirmed[f"{booking.id}.ics"] = booking
    return confirmed


async def kill_now_and_then(workers: list[subprocess.Popen[bytes]], settings: Settings) -> None:
    for _ in range(KILLS):
        await asyncio.sleep(random.uniform(1.0, 3.0))
        victim = random.choice(workers)
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        workers[workers.index(victim)] = start_worker(settings)


async def test_each_booking_stands_in_the_calendar_once(
    runtime: Runtime, settings: Settings, user: User, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with radicale_in(tmp_path_factory.mktemp("killed")) as radicale:
        place = await radicale.add_calendar()
        await offer(runtime, user, "short", duration_minutes=10)
        await calendars.connect(
            runtime.work(OPERATOR), user, CalDavWanted(address=place, username=USER, password=PASSWORD)
        )
        workers = [start_worker(settings), start_worker(settings)]
        try:
            killing = asyncio.create_task(kill_now_and_then(workers, settings))
            confirmed = await live(runtime, user)
            await killing
            async with asyncio.timeout(120 + BOOKINGS):
                while await runtime.pool.fetchval(LEFT):
                    await asyncio.sleep(0.5)
        finally:
            for worker in workers:
                worker.terminate()
                worker.wait(30)
        shown = await read_all(radicale, place)

    assert sorted(shown) == sorted(confirmed)
    for name, booking in confirmed.items():
        event = shown[name]
        assert (event["UID"], event["SEQUENCE"]) == (booking.uid, booking.sequence)
        assert event["DTSTART"].dt == booking.starts_at
    assert await runtime.pool.fetchval("select count(*) from effects where state = 'dead'") == 0
    assert await runtime.pool.fetchval("select count(*) from events where actor ->> 'agent' = 'calendar'") == 0


async def read_all(radicale: Radicale, place: str) -> dict[str, Any]:
    """Read every event of the calendar as another client, by the name of its file."""
    found = {}
    for name in await radicale.names(place):
        text = (await radicale.send("GET", f"{place}{name}")).text
        (found[name],) = icalendar.Calendar.from_ical(text).walk("VEVENT")
    return found
