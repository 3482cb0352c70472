"""What a page costs: no more than five statements, and six on the first screen, however much there is."""

from contextlib import nullcontext

import pytest

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.support.bookings import copy_booking
from tests.support.clocks import MovingClock
from tests.support.host import Book, fail, listen, open_session
from tests.support.live import connect, serving
from tests.support.statements import MAX_STATEMENTS, CountingPool, count_statements

# The session is one of them.
COSTS = {
    "/": 6,
    "/bookings": 4,
    "/bookings?view=past": 3,
    "/bookings?q=jonas&type=30min&from=2026-03-01&page=2": 4,
    "/bookings/export.csv": 2,
    "/bookings/new?type=30min": 3,
    "/bookings/day?date=2026-03-16": 3,
    "/bookings/week?date=2026-03-16": 3,
    "/bookings/week?date=2026-03-16&booking={booking}": 5,
    "/bookings/month?date=2026-03-16": 3,
    "/bookings/{booking}": 5,
    "/bookings/{booking}/cancel": 2,
    "/bookings/{booking}/reschedule": 3,
    "/analytics?days=365": 3,
    "/analytics/export.csv": 3,
    "/help": 1,
    "/help/palette": 1,
    "/search?q=jonas": 2,
    "/search/options?q=jonas": 2,
}


@pytest.mark.rest("fills lists, and counts the statements of every page")
async def test_no_page_needs_more_statements_where_there_is_more(
    settings: Settings, runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await listen(runtime, user)
    booking = await book()
    await fail(runtime, clock)
    await copy_booking(runtime, str(booking.id), 300)
    for number in range(12):
        await offer(runtime, user, f"offer-{number}")
    session = await open_session(runtime, user)
    pool = CountingPool(runtime.pool)
    runtime.pool = pool
    app = create_app(settings)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url, connect(url, headers=session) as client:
        for path, cost in COSTS.items():
            answer = await count_statements(client, pool, path.replace("{booking}", str(booking.id)))

            assert answer == (200, cost), (path, pool.asked)
            assert cost <= MAX_STATEMENTS + (path == "/")
