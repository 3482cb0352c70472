"""Facts about a platform, written with the times that a test wants, and what a hand counts of them."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.availability.claims import operations as claims
from openslot.domains.bookings import operations as bookings
from openslot.domains.event_types.models import EventType
from openslot.domains.people import operations as people
from openslot.domains.people import store
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.support.clocks import MovingClock

BOOKING = """
insert into bookings (id, host_id, event_type_id, claim_id, status, starts_at, ends_at, invitee_name, invitee_email,
    invitee_zone, location, answers, cancelled_at, created_at, updated_at, source, no_show)
values ($1, $2, $3, $4, $5::text, $6::timestamptz, $6 + interval '30 minutes', 'Jonas', 'jonas@okafor.example', 'UTC',
    '{}', '[]', case when $5 = 'CANCELLED' then $8::timestamptz end, $7, $7, $9, $10)"""
CLAIM = """
insert into claims (id, host_no, kind, event_type_id, starts_at, ends_at, during, active, created_at)
values ($1, $2, 'booking', $3, $4::timestamptz, $4 + interval '1 hour', tstzrange($4, $4 + interval '1 hour'), false,
    $4)"""
REVENUE = """
insert into revenue as o (host_id, day, currency, mode, received, refunded, payments)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict (host_id, day, currency, mode) do update set received = o.received + excluded.received,
    refunded = o.refunded + excluded.refunded, payments = o.payments + excluded.payments"""
VIEWS = """
insert into page_views as p (host_id, event_type_id, on_day, source, views) values ($1, $2, $3, $4, $5)
on conflict (page_id, on_day, source) do update set views = p.views + excluded.views"""

# Written by hand, apart from the product's statements: what each figure is on each day.
BY_HAND = {
    "bookings": """select (created_at at time zone 'UTC')::date as day, coalesce(source, '') as key, count(*) as amount
        from bookings where status in ('CONFIRMED', 'CANCELLED') group by 1, 2""",
    "cancellations": """select (cancelled_at at time zone 'UTC')::date as day, '' as key, count(*) as amount
        from bookings where status = 'CANCELLED' group by 1""",
    "meetings": """select (starts_at at time zone 'UTC')::date as day, '' as key, count(*) as amount
        from bookings where status = 'CONFIRMED' group by 1""",
    "no_shows": """select (starts_at at time zone 'UTC')::date as day, '' as key, count(*) as amount
        from bookings where status = 'CONFIRMED' and no_show group by 1""",
    "sign_ups": """select (created_at at time zone 'UTC')::date as day, '' as key, count(*) as amount
        from users group by 1""",
    "visits": "select on_day as day, source as key, sum(views)::bigint as amount from page_views group by 1, 2",
    **{
        name: f"""select day, currency || ' ' || mode as key, sum({name})::bigint as amount from revenue
        group by 1, 2 having sum({name}) <> 0"""
        for name in ("received", "refunded", "payments")
    },
}


class Host(Struct, frozen=True, kw_only=True):
    user: User
    event_type: EventType
    claim_id: UUID


async def add_host(runtime: Runtime, clock: MovingClock, name: str, *, at: datetime) -> Host:
    """Open an account at a time, with one event type."""
    now, clock.now = clock.now, at
    async with runtime.transaction(OPERATOR) as work:
        user = await people.welcome_user(work, UserWanted(email=f"{name}@example.org", name=name.title()))
    event_type = await offer(runtime, user, f"of-{name}")
    clock.now = now
    claim_id = new_id()
    await runtime.pool.execute(CLAIM, claim_id, user.no, event_type.id, at)
    return Host(user=user, event_type=event_type, claim_id=claim_id)


async def add_booking(
    runtime: Runtime,
    host: Host,
    *,
    made_at: datetime,
    starts_at: datetime,
    status: str = "CONFIRMED",
    cancelled_at: datetime | None = None,
    source: str | None = None,
    no_show: bool = False,
) -> UUID:
    booking_id = new_id()
    ids = booking_id, host.user.id, host.event_type.id, host.claim_id
    await runtime.pool.execute(BOOKING, *ids, status, starts_at, made_at, cancelled_at, source, no_show)
    return booking_id


async def add_revenue(
    runtime: Runtime,
    host: Host,
    on: date,
    currency: str = "EUR",
    mode: str = "live",
    *,
    received: int = 0,
    refunded: int = 0,
) -> None:
    amounts = received, refunded, int(received > 0)
    await runtime.pool.execute(REVENUE, host.user.id, on, currency, mode, *amounts)


async def add_views(runtime: Runtime, host: Host, on: date, source: str, views: int, *, of_type: bool = False) -> None:
    event_type_id = host.event_type.id if of_type else None
    await runtime.pool.execute(VIEWS, host.user.id, event_type_id, on, source, views)


async def erase(runtime: Runtime, host: Host) -> None:
    """Erase an account as its deletion does in the end."""
    async with runtime.transaction(SYSTEM) as work:
        while await bookings.erase_some_bookings(work, host.user, 3):
            pass
        while await claims.erase_some_claims(work, host.user, 100):
            pass
        await store.finish_deletion(work.db, host.user.id, now=work.now)


async def count_by_hand(runtime: Runtime, first: date, last: date) -> Mapping[tuple[date, str, str], int]:
    counted = {}
    for name, statement in BY_HAND.items():
        for row in await runtime.pool.fetch(f"select * from ({statement}) c where day between $1 and $2", first, last):
            counted[row["day"], name, row["key"]] = row["amount"]
    return counted


async def list_active_by_hand(runtime: Runtime, first: date, last: date) -> set[tuple[date, UUID]]:
    rows = await runtime.pool.fetch(
        """select distinct (created_at at time zone 'UTC')::date as day, host_id from bookings
        where status <> 'PENDING_PAYMENT'"""
    )
    return {(row["day"], row["host_id"]) for row in rows if first <= row["day"] <= last}


def list_days(first: date, last: date) -> list[date]:
    return [first + timedelta(days=number) for number in range((last - first).days + 1)]
