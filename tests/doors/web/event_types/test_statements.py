"""What a page of event types costs: no more than five statements, however much there is."""

from contextlib import nullcontext

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.domains.event_types.links import operations as links
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.doors.web.event_types.conftest import offer, read_fields
from tests.support.bookings import copy_booking
from tests.support.host import Book, open_session
from tests.support.live import connect, serving
from tests.support.statements import CountingPool, count_statements

MOST = 5
# The session is one of them.
COSTS = {
    "/event-types": 2,
    "/event-types?view=archived": 2,
    "/event-types/new": 2,
    "/event-types/new?start=group": 4,
    "/event-types/new?from={id}": 4,
    "/event-types/new/preview?start=group": 5,
    "/event-types/{id}": 4,
    "/event-types/{id}/questions": 2,
    "/event-types/{id}/preview": 5,
    "/event-types/{id}/reminders": 3,
    "/event-types/{id}/links": 3,
    "/event-types/{id}/links/{link}/revoke": 3,
    "/event-types/{id}/embed": 2,
    "/event-types/{id}/embed/try": 2,
    "/event-types/{id}/delete": 2,
    "/event-types/{id}/private": 2,
    "/event-types/{id}/public": 2,
}


async def test_no_page_needs_more_statements_where_there_is_more(
    settings: Settings, runtime: Runtime, user: User, intro: EventType, book: Book
) -> None:
    booking = await book()
    await copy_booking(runtime, str(booking.id), 300)
    for number in range(12):
        await offer(runtime, user, f"offer-{number}", is_private=number % 2 == 0, active=number % 3 > 0)
    hidden = await offer(runtime, user, "hidden", is_private=True)
    async with runtime.transaction(OPERATOR) as work:
        made = [await links.create_booking_link(work, user, hidden.id) for _ in range(30)]
    session = await open_session(runtime, user)
    pool = CountingPool(runtime.pool)
    runtime.pool = pool
    app = create_app(settings)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url, connect(url, headers=session) as client:
        for path, cost in COSTS.items():
            answer = await count_statements(client, pool, path.format(id=hidden.id, link=made[0][1].link.id))

            assert answer == (200, cost), (path, pool.asked)
            assert cost <= MOST


async def test_a_preview_of_the_form_costs_no_more_than_a_page(
    settings: Settings, runtime: Runtime, user: User, intro: EventType
) -> None:
    session = await open_session(runtime, user)
    pool = CountingPool(runtime.pool)
    runtime.pool = pool
    app = create_app(settings)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url, connect(url, headers=session) as client:
        fields = read_fields((await client.get(f"/event-types/{intro.id}")).text)
        await client.post(f"/event-types/{intro.id}/preview", data=fields)
        pool.asked.clear()
        answer = await client.post(f"/event-types/{intro.id}/preview", data={**fields, "seats": "3"})

    assert (answer.status_code, len(pool.asked)) == (200, 5), pool.asked
    written = [each for each in pool.asked[1:] if not each.lstrip().startswith(("select", "with"))]
    assert ["rate_log" in each for each in written] == [True]
