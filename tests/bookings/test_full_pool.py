"""A full pool: who has waited long enough is told to come again, and nobody else is hurt."""

import asyncio

import asyncpg
from msgspec.structs import replace

from openslot.accounts.host_lock import LOCK_HOST
from openslot.accounts.models import User
from openslot.app import create_app
from openslot.core.config import Settings
from openslot.core.work import Runtime
from openslot.event_types.models import EventType
from tests.bookings.conftest import ELEVEN, TEN, MovingClock
from tests.live import connect, serving

WAITING = "select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'advisory'"
GUEST = {"inviteeName": "Gus", "inviteeEmail": "gus@guest.example", "inviteeTimezone": "UTC"}


async def test_a_full_pool_is_answered_503_until_a_connection_is_free(
    settings: Settings, clock: MovingClock, runtime: Runtime, user: User, bearer: dict[str, str], meeting: EventType
) -> None:
    narrow = replace(settings, database_connections=2, database_wait_seconds=1, limit_key=10_000)
    operator = await asyncpg.connect(settings.database_url)
    async with (
        serving(create_app(narrow, clock=clock)) as url,
        connect(url, timeout=60, headers=bearer) as client,
    ):
        held = operator.transaction()
        await held.start()
        await operator.fetch(f"select {LOCK_HOST} from users u where u.id = $1", user.id)
        wishes = [{**GUEST, "eventTypeSlug": meeting.slug, "startTime": start} for start in (TEN, ELEVEN)]
        booking = [asyncio.create_task(client.post("/api/v1/bookings", json=wish)) for wish in wishes]
        async with asyncio.timeout(30):
            while await runtime.pool.fetchval(WAITING) < 2:
                await asyncio.sleep(0.01)
        refused = await asyncio.gather(
            *(client.get("/api/v1/me") for _ in range(20)),
            *(client.post("/api/v1/bookings", json=wishes[0]) for _ in range(20)),
            client.get("/readyz"),
        )
        alive = await client.get("/healthz")
        still_waiting = [task.done() for task in booking]
        await held.rollback()
        booked = await asyncio.gather(*booking)
        after = await asyncio.gather(*(client.get("/api/v1/bookings") for _ in range(20)))
    await operator.close()

    assert alive.status_code == 200
    assert still_waiting == [False, False]
    assert {(answer.status_code, answer.headers["retry-after"]) for answer in refused} == {(503, "2")}
    assert {answer.text for answer in refused} == {'{"error":"The service is not available right now"}'}
    assert [answer.status_code for answer in booked] == [200, 200]
    assert {(answer.status_code, answer.json()["pagination"]["total"]) for answer in after} == {(200, 2)}
