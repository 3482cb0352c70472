"""All SQL of subscribers, of the prices of plans, and of how far the provider's events were read."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.payments.models import Mode
from openslot.domains.plans.models import StoredPrice, Subscriber
from openslot.platform.core.db import Db
from openslot.platform.core.ids import new_id
from openslot.platform.core.rows import Rows

SUBSCRIBERS = Rows(Subscriber, "subscribers s")
CHANGED = SUBSCRIBERS.stored.without("id", "user_id", "organization_id", "mode", "version", "created_at")
PRICES = Rows(StoredPrice, "plan_prices")
# Whose subscription has to end: nobody's, or an account's that is disabled or being deleted.
IS_ORPHAN = """((s.user_id is null and s.organization_id is null)
    or exists (select from users u where u.id = s.user_id
        and (u.deleting_since is not null or u.disabled_at is not null)))"""

# The rows have lost their owner by the time that an organization's deletion is recorded.
HAS_SUBSCRIBER = """exists (select from subscribers s where s.user_id = v.subject_id
    or (s.user_id is null and s.organization_id is null))"""


async def find(db: Db, subscriber_id: UUID) -> Subscriber | None:
    row = await db.fetchrow(f"select {SUBSCRIBERS.columns} from subscribers s where s.id = $1", subscriber_id)
    return SUBSCRIBERS.read(row) if row else None


async def find_of_owner(db: Db, owner_id: UUID, mode: Mode) -> Subscriber | None:
    statement = f"""select {SUBSCRIBERS.columns} from subscribers s
        where (s.user_id = $1 or s.organization_id = $1) and s.mode = $2"""
    row = await db.fetchrow(statement, owner_id, mode)
    return SUBSCRIBERS.read(row) if row else None


async def lock_of_owner(
    db: Db, *, user_id: UUID | None, organization_id: UUID | None, mode: Mode, now: datetime
) -> Subscriber:
    """Return the row of an owner, which is made if there is none, and keep others from changing it until the commit."""
    insert = """insert into subscribers (id, user_id, organization_id, mode, created_at, updated_at)
        values ($1, $2, $3, $4, $5, $5) on conflict do nothing"""
    await db.execute(insert, new_id(), user_id, organization_id, mode, now)
    statement = f"""select {SUBSCRIBERS.columns} from subscribers s
        where (s.user_id = $1 or s.organization_id = $2) and s.mode = $3 for update"""
    row = await db.fetchrow(statement, user_id, organization_id, mode)
    assert row is not None  # noqa: S101 - it was inserted, or was there
    return SUBSCRIBERS.read(row)


async def update(db: Db, subscriber: Subscriber, *, now: datetime) -> bool:
    """Write a subscriber; False if somebody has changed it since it was read."""
    statement = f"""update subscribers set version = version + 1, {CHANGED.assign(first=3)}
        where id = $1 and version = $2 returning id"""
    values = CHANGED.values(replace(subscriber, updated_at=now))
    return await db.fetchval(statement, subscriber.id, subscriber.version, *values) is not None


async def delete(db: Db, subscriber_id: UUID) -> None:
    await db.execute("delete from subscribers where id = $1", subscriber_id)


async def list_due(db: Db, mode: Mode, *, now: datetime, limit: int) -> list[UUID]:
    statement = f"""select s.id from subscribers s where s.next_read_at <= $1 and s.mode = $2 and not {IS_ORPHAN}
        order by s.next_read_at limit $3"""
    return [row["id"] for row in await db.fetch(statement, now, mode, limit)]


async def list_orphans(db: Db, mode: Mode, *, limit: int) -> list[Subscriber]:
    statement = f"""select {SUBSCRIBERS.columns} from subscribers s where {IS_ORPHAN} and s.mode = $1
        and (s.user_id is null or s.session_id is not null or s.status not in ('canceled', 'incomplete_expired'))
        order by s.id limit $2"""
    return [SUBSCRIBERS.read(row) for row in await db.fetch(statement, mode, limit)]


async def read_soon(db: Db, ids: Sequence[str], *, now: datetime) -> None:
    """Plan the reading of every subscriber that one of these ids names: ours, a subscription's or a customer's."""
    statement = """update subscribers set next_read_at = least(next_read_at, $2)
        where id::text = any($1) or subscription_id = any($1) or customer_id = any($1)"""
    await db.execute(statement, ids, now)


async def read_later(db: Db, subscriber_id: UUID, at: datetime) -> None:
    await db.execute("update subscribers set next_read_at = $2 where id = $1", subscriber_id, at)


async def find_feed(db: Db, mode: Mode) -> tuple[datetime, list[str]] | None:
    row = await db.fetchrow("select read_until, seen from subscription_feed where mode = $1", mode)
    return (row["read_until"], row["seen"]) if row else None


async def upsert_feed(db: Db, mode: Mode, *, read_until: datetime, seen: Sequence[str]) -> None:
    statement = """insert into subscription_feed (mode, read_until, seen) values ($1, $2, $3)
        on conflict (mode) do update set read_until = excluded.read_until, seen = excluded.seen"""
    await db.execute(statement, mode, read_until, seen)


async def list_prices(db: Db) -> dict[str, StoredPrice]:
    rows = await db.fetch(f"select {PRICES.columns} from plan_prices")
    return {row["id"]: PRICES.read(row) for row in rows}


async def upsert_price(db: Db, price: StoredPrice) -> None:
    statement = f"""{PRICES.insert()} on conflict (id) do update set amount = excluded.amount,
        currency = excluded.currency, period = excluded.period, period_count = excluded.period_count,
        read_at = excluded.read_at"""
    await db.execute(statement, *PRICES.values(price))
