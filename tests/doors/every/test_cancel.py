"""The same cancellation through every door: written once, so that it can't differ."""

from typing import Any

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import TEN, Book
from tests.domains.calendars.conftest import Connect
from tests.doors.every.checks import check_cancelled, connect_webhook
from tests.doors.every.ways import WAYS, Cancel, Installation
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.radicale import Radicale


@pytest.mark.parametrize(("cancel", "by"), WAYS.items(), ids=[way.__name__ for way in WAYS])
async def test_a_cancelled_booking_gives_its_time_back_and_is_told_once(
    cancel: Cancel, by: str, installation: Installation, booking: dict[str, Any]
) -> None:
    await cancel(installation, booking["id"])

    await check_cancelled(installation.client, installation.bearer, installation.runtime, booking, by=by)


async def test_so_it_does_if_the_host_deletes_its_event_from_the_calendar(
    client: httpx2.AsyncClient,
    bearer: dict[str, str],
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    radicale: Radicale,
    work_calendar: str,
    connect: Connect,
    book: Book,
) -> None:
    connection = await connect(work_calendar)
    booking_id = (await book()).json()["bookingId"]
    await work_off(runtime, clock)
    await sync_connection(runtime, connection.id)
    await connect_webhook(runtime, user)

    await radicale.send("DELETE", f"{work_calendar}{booking_id}.ics")
    await sync_connection(runtime, connection.id)

    await check_cancelled(client, bearer, runtime, {"id": booking_id, "startTime": TEN}, by="host")
