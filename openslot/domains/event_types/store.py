"""All SQL of event types."""

from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from openslot.domains.accounts.profiles.store import BRAND, PAGE_BRAND
from openslot.domains.accounts.store import LOCK_TEAM_EVENT_TYPE, lock_host
from openslot.domains.event_types.models import EventType, SealedToken
from openslot.platform.core.db import Db, Row
from openslot.platform.core.query_plans import custom_plans
from openslot.platform.core.rows import Rows

# About an account `o` of a payment provider and an owner: it is theirs, or that of an organization of theirs.
MAY_BE_PAID_TO = """(o.disconnected_at is null and (o.user_id = {owner} or o.organization_id in (
    select m.organization_id from memberships m where m.user_id = {owner} and m.active)))"""
# Looked up for event types with a price alone.
ACCEPTS_PAYMENTS = f"""(e.price is not null and exists (select from payment_connections o
    where o.id = e.payment_connection_id and {MAY_BE_PAID_TO.format(owner="e.owner_id")}))"""
COMPUTED = {"is_private": "e.private_hash is not null", "accepts_payments": ACCEPTS_PAYMENTS}
EVENT_TYPES = Rows(EventType, "event_types e", computed=COMPUTED, spread={"limits": "limit_"})
NEW = EVENT_TYPES.stored.without("position")
CHANGEABLE = EVENT_TYPES.stored.without("id", "owner_id", "position", "created_at")


async def find_event_type(db: Db, owner_id: UUID, event_type_id: UUID) -> EventType | None:
    row = await db.fetchrow(
        f"select {EVENT_TYPES.columns} from event_types e where e.owner_id = $1 and e.id = $2", owner_id, event_type_id
    )
    return EVENT_TYPES.read(row) if row else None


async def find_by_slug(db: Db, owner_id: UUID, slug: str) -> EventType | None:
    row = await db.fetchrow(
        f"select {EVENT_TYPES.columns} from event_types e where e.owner_id = $1 and e.slug = $2", owner_id, slug
    )
    return EVENT_TYPES.read(row) if row else None


async def list_event_types(
    db: Db, owner_id: UUID, *, only_active: bool, limit: int, offset: int
) -> tuple[list[EventType], int]:
    statement = f"""with found as (select * from event_types where owner_id = $1 and (active or not $2))
        select {EVENT_TYPES.columns}, t.total
        from (select count(*) as total from found) t
        left join (select * from found order by position, id limit $3 offset $4) e on true
        order by e.position, e.id"""
    rows = await db.fetch(statement, owner_id, only_active, limit, offset)
    return [EVENT_TYPES.read(row) for row in rows if row["id"] is not None], rows[0]["total"]


async def find_host_page(db: Db, username: str) -> list[Row]:
    """Look a host's page up: the host beside every public event type that no team has, or one row without any."""
    statement = f"""
        select u.id as host_id, u.name as host_name, u.username as host_username, u.zone as host_zone, u.welcome,
            u.photo, b.color as brand_color, {PAGE_BRAND}, {EVENT_TYPES.columns}
        from users u left join lateral ({BRAND}) b on true
        left join event_types e on e.owner_id = u.id and e.active and e.private_hash is null and e.team_id is null
        where lower(u.username) = lower($1) and u.disabled_at is null order by e.position, e.id limit 200"""
    return await db.fetch(statement, username)


async def insert_event_type(db: Db, event_type: EventType) -> UUID | None:
    """Write a new event type at the position after the last one; return the account that invitees pay to."""
    statement = f"""insert into event_types ({NEW.columns}, position) values ({NEW.parameters()},
            (select coalesce(max(position) + 1, 0) from event_types where owner_id = $2))
        returning payment_connection_id"""
    account: UUID | None = await db.fetchval(statement, *NEW.values(event_type))
    return account


class UpdatedAccount(Struct, frozen=True):
    """Which account an event type named before it was written, and which one it names now."""

    was: UUID | None
    now: UUID | None


async def update_event_type(db: Db, event_type: EventType, *, read_at: datetime) -> UpdatedAccount | None:
    """Write what may change of an event type; None where it is not the one that was read."""
    statement = f"""update event_types e set {CHANGEABLE.assign(first=4)}
        from (select id, payment_connection_id from event_types where id = $1) w
        where e.id = w.id and e.owner_id = $2 and e.updated_at = $3
        returning w.payment_connection_id as was, e.payment_connection_id as now"""
    row = await db.fetchrow(statement, event_type.id, event_type.owner_id, read_at, *CHANGEABLE.values(event_type))
    return UpdatedAccount(row["was"], row["now"]) if row else None


async def lock_event_type(db: Db, owner_id: UUID, event_type_id: UUID) -> None:
    """Wait for other changes of an event type: for its own lock if it is a team's, and then for its owner's."""
    await db.execute(f"select {LOCK_TEAM_EVENT_TYPE} from team_rules r where r.event_type_id = $1", event_type_id)
    await lock_host(db, owner_id)


async def find_slug_for(db: Db, event_type: EventType, owner_id: UUID) -> str:
    """Find the slug that a team's event type can have with another owner: its own, or else one with a number."""
    statement = """with wanted(slug, no) as (
            select $3::text, 1 union all select left($3, 90) || '-' || n, n from generate_series(2, 1000) n)
        select w.slug from wanted w where not exists (
            select from event_types e where e.slug = w.slug and e.id <> $1 and (e.owner_id = $4 or e.team_id = $2))
        order by w.no limit 1"""
    slug: str = await db.fetchval(statement, event_type.id, event_type.team_id, event_type.slug, owner_id)
    return slug


async def update_owner(db: Db, event_type: EventType, *, left_by: UUID) -> bool:
    """Write who owns an event type from now on, after those that they have already; False if it is not there."""
    statement = """with moved as (
            update event_types set owner_id = $3, schedule_id = $4, slug = $5, updated_at = $6,
                position = (select coalesce(max(position) + 1, 0) from event_types where owner_id = $3)
            where id = $1 and owner_id = $2 returning id),
        links as (update booking_links l set owner_id = $3 from moved where l.event_type_id = moved.id)
        select id from moved"""
    moved = await db.fetchval(
        statement,
        event_type.id,
        left_by,
        event_type.owner_id,
        event_type.schedule_id,
        event_type.slug,
        event_type.updated_at,
    )
    return moved is not None


async def set_private_token(db: Db, event_type: EventType, token: SealedToken | None) -> None:
    """Write the token of an event type that is not listed; None lists it."""
    statement = "update event_types set private_hash = $3, private_sealed = $4 where id = $1 and owner_id = $2"
    kept = (None, None) if token is None else (token.hash, token.sealed)
    await db.execute(statement, event_type.id, event_type.owner_id, *kept)


async def list_ids(db: Db, owner_id: UUID) -> list[UUID]:
    rows = await db.fetch("select id from event_types where owner_id = $1 order by position, id", owner_id)
    return [row["id"] for row in rows]


async def list_slugs(db: Db, owner_id: UUID, *, beginning: str) -> set[str]:
    rows = await db.fetch(
        "select slug from event_types where owner_id = $1 and starts_with(slug, $2)", owner_id, beginning
    )
    return {row["slug"] for row in rows}


async def update_positions(db: Db, owner_id: UUID, order: list[UUID], *, now: datetime) -> None:
    """Put an owner's event types into this order; those that keep their position are not written."""
    statement = """update event_types e set position = o.no, updated_at = $3
        from unnest($2::uuid[]) with ordinality o(id, no)
        where e.id = o.id and e.owner_id = $1 and e.position <> o.no"""
    await db.execute(statement, owner_id, order, now)


async def delete_event_type(db: Db, owner_id: UUID, event_type_id: UUID) -> bool:
    gone = await db.fetchval(
        "delete from event_types where owner_id = $1 and id = $2 returning id", owner_id, event_type_id
    )
    return gone is not None


def to_record(event_type: EventType) -> str:
    """Write an event type as a row of its table, in JSON, as PostgreSQL can read it."""
    fields = msgspec.structs.asdict(event_type)
    limits = fields.pop("limits")
    for computed in COMPUTED:
        del fields[computed]
    columns = {f"limit_{name}": limit for name, limit in msgspec.structs.asdict(limits).items()}
    return msgspec.json.encode({**fields, **columns}).decode()


# A meeting lasts a day at most, so the index on starts finds those that are not over.
UPCOMING = """
select b.event_type_id, count(*) as upcoming from bookings b
where b.host_id = $1 and b.status = 'CONFIRMED' and b.ends_at > $2 and b.starts_at > $2 - interval '1 day'
group by b.event_type_id"""
# Below which page a team's event type can be booked.
TEAM_PAGE = "(select 'team/' || t.slug from teams t where t.id = e.team_id)"
COLUMNS = f"{EVENT_TYPES.columns}, e.private_sealed, {TEAM_PAGE} as team_page"
LIST = f"""
with upcoming as materialized ({UPCOMING})
select {COLUMNS}, coalesce(n.upcoming, 0) as upcoming,
       exists (select from bookings b where b.event_type_id = e.id) as was_booked, t.offered, t.archived
from (select count(*) filter (where active) as offered, count(*) filter (where not active) as archived
      from event_types where owner_id = $1) t
left join (select * from event_types where owner_id = $1 and active = $3
           order by position, id limit $4 offset $5) e on true
left join upcoming n on n.event_type_id = e.id
order by e.position, e.id"""
ONE = f"""
select {COLUMNS},
       (select count(*) from bookings b where b.host_id = $1 and b.status = 'CONFIRMED' and b.event_type_id = e.id
        and b.ends_at > $2 and b.starts_at > $2 - interval '1 day') as upcoming,
       exists (select from bookings b where b.event_type_id = e.id) as was_booked
from event_types e where e.owner_id = $1 and e.id = $3"""


async def list_rows(db: Db, owner_id: UUID, *, active: bool, now: datetime, limit: int, offset: int) -> list[Row]:
    """List an owner's event types that are offered, or those that are not; one row without any has the counts."""
    return await db.fetch(LIST, owner_id, now, active, limit, offset)


async def find_row(db: Db, owner_id: UUID, event_type_id: UUID, *, now: datetime) -> Row | None:
    return await db.fetchrow(ONE, owner_id, now, event_type_id)


def _write_list(order: str, order_of_page: str) -> str:
    return f"""
with found as (
    select * from event_types where ($1::uuid is null or owner_id = $1) and ($2::boolean is null or active = $2))
select {EVENT_TYPES.columns}, t.total
from (select count(*) as total from found) t
left join (select * from found order by {order} limit $3 offset $4) e on true
order by {order_of_page}"""


# A host's in the order of the booking page, all hosts' by when they were added: ids are in that order.
LIST_OWN = _write_list("position, id", "e.position, e.id")
LIST_ALL = _write_list("id desc", "e.id desc")


@custom_plans
async def list_all_event_types(
    db: Db, *, owner_id: UUID | None, active: bool | None, limit: int, offset: int
) -> tuple[list[EventType], int]:
    sql = LIST_ALL if owner_id is None else LIST_OWN
    rows = await db.fetch(sql, owner_id, active, limit, offset)
    return [EVENT_TYPES.read(row) for row in rows if row["id"] is not None], rows[0]["total"]


async def find_team_page(db: Db, event_type_id: UUID) -> str | None:
    page: str | None = await db.fetchval(f"select {TEAM_PAGE} from event_types e where e.id = $1", event_type_id)
    return page


async def list_of_team(db: Db, team_id: UUID) -> list[EventType]:
    statement = f"select {EVENT_TYPES.columns} from event_types e where e.team_id = $1 order by e.slug, e.id"
    return [EVENT_TYPES.read(row) for row in await db.fetch(statement, team_id)]


async def find_any_event_type(db: Db, event_type_id: UUID) -> EventType | None:
    row = await db.fetchrow(f"select {EVENT_TYPES.columns} from event_types e where e.id = $1", event_type_id)
    return EVENT_TYPES.read(row) if row else None
