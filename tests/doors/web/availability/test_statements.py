"""What the pages about availability and the first steps cost: no more statements where there is more."""

from contextlib import nullcontext

import pytest

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.doors.web.availability.support import fill
from tests.support.bookings import copy_booking
from tests.support.host import Book, open_session
from tests.support.live import connect, serving
from tests.support.statements import MAX_STATEMENTS, CountingPool, count_statements

# The session is one of them.
COSTS = {
    "/availability": 2,
    "/availability/{schedule}": 2,
    "/availability/{schedule}?from=2026-03-16&to=2026-03-20": 3,
    "/availability/{schedule}/delete": 2,
    "/availability/{schedule}/holidays": 2,
    "/availability/{schedule}/days/new": 2,
    "/availability/{schedule}/days/2026-03-20": 2,
    "/availability/{schedule}/days/2026-03-20/remove": 2,
    "/availability/away": 2,
    "/availability/away/{away}/remove": 2,
    "/availability/why?day=2026-03-17&time=11:00": 3,
    "/welcome/zone": 1,
    "/welcome/hours": 2,
    "/welcome/calendar": 3,
    "/welcome/link": 2,
    "/welcome/try": 3,
}


@pytest.mark.rest("fills lists, and counts the statements of every page")
async def test_no_page_needs_more_statements_where_there_is_more(
    settings: Settings, runtime: Runtime, user: User, book: Book
) -> None:
    booking = await book()
    await copy_booking(runtime, str(booking.id), 100)
    schedule, away = await fill(runtime, user)
    for number in range(5):
        await offer(runtime, user, f"offer-{number}")
    await runtime.pool.execute(
        """insert into out_of_office (id, owner_id, starts_at, ends_at, reason, created_at)
        select gen_random_uuid(), owner_id, starts_at, ends_at, reason, created_at
        from out_of_office, generate_series(1, 50)"""
    )
    session = await open_session(runtime, user)
    pool = CountingPool(runtime.pool)
    runtime.pool = pool
    app = create_app(settings)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url, connect(url, headers=session) as client:
        for path, cost in COSTS.items():
            address = path.replace("{schedule}", str(schedule.id)).replace("{away}", away)
            answer = await count_statements(client, pool, address)

            assert answer == (200, cost), (path, pool.asked)
            assert cost <= MAX_STATEMENTS
