"""What is read around a start: everything that could touch it, and nothing of another host."""

from datetime import UTC, datetime, timedelta

import asyncpg

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import Busy, BySlug, SlotContext
from openslot.domains.availability.slots import judge
from openslot.domains.availability.store import find_setting
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime

START = datetime(2026, 3, 18, 12, tzinfo=UTC)
HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)
BUSY = "insert into busy_spans (host_no, source, uid, during) values ($1, $2, $2, $3)"
CLAIM = """
insert into claims (id, host_no, kind, starts_at, ends_at, during, created_at)
values ($1, $2, 'booking', $3, $4, tstzrange($5, $6), $3)"""


async def read(runtime: Runtime, user: User) -> SlotContext:
    which, until = BySlug(user.id, "30min"), START + SECOND
    found = await find_setting(runtime.pool, which, asked_from=START, asked_until=until, now=START - 24 * HOUR)
    assert found is not None
    return found


async def test_a_busy_span_is_read_however_long_ago_it_began(runtime: Runtime, user: User, admin: User) -> None:
    spans = {
        "Year": (START - 5000 * HOUR, START + SECOND),
        "Over": (START - HOUR, START),
        "Last second": (START + HOUR / 2, START + HOUR),
        "Later": (START + HOUR, START + 2 * HOUR),
    }
    for source, span in spans.items():
        await runtime.pool.execute(BUSY, user.no, source, asyncpg.Range(*span))
    await runtime.pool.execute(BUSY, admin.no, "Another's", asyncpg.Range(START, START + HOUR))
    seconds = int(START.timestamp())

    busy = (await read(runtime, user)).inputs.hosts[user.no].taken.busy

    assert set(busy) == {
        Busy(seconds - 5000 * 3600, seconds + 1, "Year"),
        Busy(seconds + 1800, seconds + 3600, "Last second"),
    }


async def test_the_farthest_claims_that_a_meeting_can_touch_are_read(runtime: Runtime, user: User) -> None:
    await runtime.pool.execute(
        "update event_types set duration_minutes = 1440, buffer_before = 480, buffer_after = 480 where owner_id = $1",
        user.id,
    )
    before, after = START - 40 * HOUR + SECOND, START + 40 * HOUR
    for starts_at in (before, after, START - 41 * HOUR - 40 * HOUR):
        ends_at = starts_at + 24 * HOUR
        span = (starts_at - 8 * HOUR, ends_at + 8 * HOUR)
        await runtime.pool.execute(CLAIM, new_id(), user.no, starts_at, ends_at, *span)

    found = await read(runtime, user)

    starts = {claim.start for claim in found.inputs.hosts[user.no].taken.claims}
    assert starts == {int((before - 8 * HOUR).timestamp()), int((after - 8 * HOUR).timestamp())}
    assert judge(found.inputs, START) != "open"
