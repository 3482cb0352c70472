"""What the pages of the settings cost: no more than five statements, however much there is."""

from contextlib import nullcontext

import pytest

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.domains.calendars import booking_events
from openslot.domains.exports import operations as exports
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.support.bookings import copy_booking
from tests.support.host import Book, open_session
from tests.support.live import connect, serving
from tests.support.statements import MAX_STATEMENTS, CountingPool, count_statements

# The session is one of them.
COSTS = {
    "/settings/calendars": 5,
    "/settings/calendars/connect": 1,
    "/settings/calendars/missing": 2,
    "/settings/calendars/feed/end": 2,
    "/settings/calendars/{connection}": 3,
    "/settings/calendars/{connection}/disconnect": 3,
    "/settings/data": 2,
    "/settings/data/delete": 4,
}


@pytest.mark.rest("fills lists, and counts the statements of every page")
async def test_no_page_needs_more_statements_where_there_is_more(
    settings: Settings, runtime: Runtime, user: User, book: Book
) -> None:
    booking = await book()
    await copy_booking(runtime, str(booking.id), 300)
    async with runtime.transaction(OPERATOR) as work:
        await booking_events.renew_feed(work, user)
        await exports.request_data_export(work, user)
    await runtime.pool.execute(
        """insert into calendar_connections (id, owner_id, kind, server, label, secret, next_sync_at, created_at)
        select gen_random_uuid(), $1, 'caldav', '', 'x', '', now(), now() from generate_series(1, 20)""",
        user.id,
    )
    await runtime.pool.execute(
        """insert into calendars (id, connection_id, owner_id, url, name, can_write, is_busy, receives)
        select gen_random_uuid(), c.id, $1, n::text, n::text, true, true, false
        from calendar_connections c, generate_series(1, 20) n""",
        user.id,
    )
    await runtime.pool.execute(
        """insert into calendar_events
        (booking_id, calendar_id, href, etag, sequence, starts_at, ends_at, missing_since)
        select b.id, (select id from calendars limit 1), b.id::text, 'x', 0, now(), now(), now() from bookings b"""
    )
    connection_id = await runtime.pool.fetchval("select id from calendar_connections limit 1")
    session = await open_session(runtime, user)
    pool = CountingPool(runtime.pool)
    runtime.pool = pool
    app = create_app(settings)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url, connect(url, headers=session) as client:
        for path, cost in COSTS.items():
            answer = await count_statements(client, pool, path.replace("{connection}", str(connection_id)))

            assert answer == (200, cost), (path, pool.asked)
            assert cost <= MAX_STATEMENTS
