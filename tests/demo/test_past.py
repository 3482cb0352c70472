"""The demo's past is as the verbs would have left it, and nobody is told of it."""

from datetime import timedelta

import msgspec

from openslot.bookings.events import BookingCreated
from openslot.bookings.store import BOOKINGS
from openslot.core.actor import OPERATOR
from openslot.core.work import Runtime
from openslot.demo.seed import seed
from tests.support.races import OVERLAPS

LAST_FACTS = f"""
select {BOOKINGS.columns}, v.fact, v.type from bookings b
join lateral (select * from events where subject_id = b.id order by no desc limit 1) v on true"""
# As often as each thing has happened, by what the bookings say.
KINDS = {
    "booking.created": "true",
    "booking.cancelled": "status = 'CANCELLED'",
    "booking.rescheduled": "reschedule_count > 0",
    "booking.no_show_marked": "no_show",
}


async def test_the_past_is_as_the_verbs_would_have_left_it(runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await seed(work)
        now = work.now
    count = runtime.pool.fetchval

    past = await runtime.pool.fetch("select status, no_show, reschedule_count from bookings where ends_at <= $1", now)
    assert 250 < len(past) < 500
    assert {row["status"] for row in past} == {"CONFIRMED", "CANCELLED"}
    assert any(row["no_show"] for row in past)
    assert await count("select min(starts_at) from bookings") < now - timedelta(days=110)

    assert await count(OVERLAPS) == 0
    freed = """select count(*) from bookings b join claims c on c.id = b.claim_id
        where c.active <> (b.status = 'CONFIRMED') or (c.starts_at, c.ends_at) <> (b.starts_at, b.ends_at)"""
    assert await count(freed) == 0
    counted = "select count(*), coalesce(sum(bookings), 0) from booking_counts"
    by_status = "select count(*), sum(n) from (select count(*) as n from bookings group by host_id, status) s"
    assert await runtime.pool.fetchrow(counted) == await runtime.pool.fetchrow(by_status)
    for kind, which in KINDS.items():
        told = await count("select count(distinct subject_id) from events where type = $1", kind)
        assert told == await count(f"select count(*) from bookings where {which}") > 0, kind

    facts = await runtime.pool.fetch(LAST_FACTS)
    for row in facts:
        assert msgspec.json.decode(row["fact"], type=BookingCreated).booking == BOOKINGS.read(row), row["type"]
    unordered = """select count(*) from events v join events w on w.subject_id = v.subject_id and w.no > v.no
        where w.at < v.at and v.subject_kind in ('booking', 'contact')"""
    assert await count(unordered) == 0
    early = "select count(*) from bookings where created_at >= starts_at or updated_at > $1 or created_at > updated_at"
    assert await count(early, now) == 0


async def test_nobody_is_told_of_the_past(runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await seed(work)
        now = work.now
    about = """select count(*) from effects f left join events v on v.id = f.event_id
        left join bookings b on b.id = v.subject_id
        where f.state in ('waiting', 'queued', 'running') and ({})"""

    assert await runtime.pool.fetchval(about.format("b.ends_at > $1"), now) > 20
    assert await runtime.pool.fetchval(about.format("b.id is null or b.ends_at <= $1"), now) == 0
