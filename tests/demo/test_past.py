"""The demo's past is as the verbs would have left it, and nobody is told of it."""

from datetime import timedelta

import msgspec
import pytest

from openslot.demo.seed import seed
from openslot.domains.bookings.models import Booking
from openslot.domains.bookings.store import BOOKINGS
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.races import OVERLAPS

pytestmark = pytest.mark.rest("makes all demo data: one test in make test does")
LAST_FACTS = f"""
select {BOOKINGS.columns}, v.fact, v.type from bookings b
join lateral (select * from events where subject_id = b.id order by no desc limit 1) v on true"""


class Fact(msgspec.Struct):
    booking: Booking


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
        assert msgspec.json.decode(row["fact"], type=Fact).booking == BOOKINGS.read(row), row["type"]
    unordered = """select count(*) from events v join events w on w.subject_id = v.subject_id and w.no > v.no
        where w.at < v.at and v.subject_kind in ('booking', 'contact')"""
    assert await count(unordered) == 0
    early = "select count(*) from bookings where created_at >= starts_at or updated_at > $1 or created_at > updated_at"
    assert await count(early, now) == 0


async def test_past_bookings_were_paid_for_in_test_mode_and_no_provider_is_asked(runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await seed(work)
    found = await runtime.pool.fetch(
        """select b.payment ->> 'status' as told, p.*, b.status, (b.payment ->> 'refundedAmount')::int as back
        from bookings b join payments p on p.booking_id = b.id"""
    )
    assert {row["told"] for row in found} == {"paid", "partially_refunded", "refunded", "disputed"}
    assert all((row["told"] == "refunded") == (row["status"] == "CANCELLED") for row in found)
    assert all(row["back"] == row["refunded_amount"] for row in found)
    asked = [row for row in found if row["connection_id"] or row["next_read_at"] or row["mode"] != "test"]
    assert not asked
    sums = await runtime.pool.fetchrow("select sum(received), sum(refunded), sum(payments) from revenue")
    assert sums is not None
    paid, back = (sum(row[each] for row in found) for each in ("amount", "refunded_amount"))
    assert list(sums.values()) == [paid, back, len(found)]
    assert await runtime.pool.fetchval("select sum(amount) from refunds") == back


async def test_nobody_is_told_of_the_past(runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await seed(work)
        now = work.now
    about = """select count(*) from effects f left join events v on v.id = f.event_id
        left join bookings b on b.id = v.subject_id
        where f.state in ('waiting', 'queued', 'running') and ({})"""

    assert await runtime.pool.fetchval(about.format("b.ends_at > $1"), now) > 20
    assert await runtime.pool.fetchval(about.format("b.id is null or b.ends_at <= $1"), now) == 0
