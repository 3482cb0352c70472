"""All SQL of event types."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from openslot.accounts.profile_store import BRAND
from openslot.core.db import Db, Row
from openslot.event_types.models import BookingWindow, EventType, Limits, Location, Money, Question, SealedToken

EVENT_TYPE_COLUMNS = """
e.id, e.owner_id, e.schedule_id, e.name, e.slug, e.description, e.colour, e.duration_minutes, e.buffer_before,
e.buffer_after, e.location, e.min_notice_minutes, e.booking_window, e.slot_interval_minutes, e.limit_per_day,
e.limit_per_week, e.seats, e.questions, e.price, e.position, e.active, e.private_token is not null as is_private,
e.created_at, e.updated_at"""

# Stored in place of a private token. Processes of the previous release compare it with the requested token, which has
# no line break, so that for them the event type stays private.
NOT_IN_CLEAR = "kept as a hash only\n"

_location = msgspec.json.Decoder(Location)
_window: msgspec.json.Decoder[BookingWindow] = msgspec.json.Decoder(BookingWindow)
_questions = msgspec.json.Decoder(tuple[Question, ...])
_price = msgspec.json.Decoder(Money)


def to_event_type(row: Row) -> EventType:
    """Make an event type of a row that has `EVENT_TYPE_COLUMNS`."""
    return EventType(
        id=row["id"],
        owner_id=row["owner_id"],
        schedule_id=row["schedule_id"],
        name=row["name"],
        slug=row["slug"],
        description=row["description"],
        colour=row["colour"],
        duration_minutes=row["duration_minutes"],
        buffer_before=row["buffer_before"],
        buffer_after=row["buffer_after"],
        location=_location.decode(row["location"]),
        min_notice_minutes=row["min_notice_minutes"],
        booking_window=_window.decode(row["booking_window"]),
        slot_interval_minutes=row["slot_interval_minutes"],
        limits=Limits(row["limit_per_day"], row["limit_per_week"]),
        seats=row["seats"],
        questions=_questions.decode(row["questions"]),
        price=_price.decode(row["price"]) if row["price"] else None,
        position=row["position"],
        active=row["active"],
        is_private=row["is_private"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


async def find_event_type(db: Db, owner_id: UUID, event_type_id: UUID) -> EventType | None:
    """Look an owner's event type up."""
    row = await db.fetchrow(
        f"select {EVENT_TYPE_COLUMNS} from event_types e where e.owner_id = $1 and e.id = $2", owner_id, event_type_id
    )
    return to_event_type(row) if row else None


async def list_event_types(
    db: Db, owner_id: UUID, *, only_active: bool, limit: int, offset: int
) -> tuple[list[EventType], int]:
    """List an owner's event types by position, with how many there are in all."""
    statement = f"""with found as (select * from event_types where owner_id = $1 and (active or not $2))
        select {EVENT_TYPE_COLUMNS}, t.total
        from (select count(*) as total from found) t
        left join (select * from found order by position, id limit $3 offset $4) e on true
        order by e.position, e.id"""
    rows = await db.fetch(statement, owner_id, only_active, limit, offset)
    return [to_event_type(row) for row in rows if row["id"] is not None], rows[0]["total"]


async def find_host_page(db: Db, username: str) -> list[Row]:
    """Look a host's page up: the host beside every public event type, or one row without any."""
    statement = f"""
        select u.id as host_id, u.name as host_name, u.username as host_username, u.zone as host_zone, u.welcome,
            u.photo, b.colour as brand_colour, {EVENT_TYPE_COLUMNS}
        from users u left join lateral ({BRAND}) b on true
        left join event_types e on e.owner_id = u.id and e.active and e.private_token is null
        where lower(u.username) = lower($1) and u.disabled_at is null order by e.position, e.id limit 200"""
    return await db.fetch(statement, username)


async def insert_event_type(db: Db, event_type: EventType) -> None:
    """Write a new event type at the position after the last one."""
    statement = """insert into event_types (
            id, owner_id, schedule_id, name, slug, description, colour, duration_minutes, buffer_before, buffer_after,
            location, min_notice_minutes, booking_window, slot_interval_minutes, limit_per_day, limit_per_week, seats,
            questions, price, active, updated_at, created_at, position)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
            (select coalesce(max(position) + 1, 0) from event_types where owner_id = $2))"""
    await db.execute(statement, *_columns(event_type), event_type.created_at)


async def update_event_type(db: Db, event_type: EventType, *, read_at: datetime) -> bool:
    """Write what may change of an event type; False where it is not the one that was read."""
    statement = """update event_types set schedule_id = $3, name = $4, slug = $5, description = $6, colour = $7,
            duration_minutes = $8, buffer_before = $9, buffer_after = $10, location = $11, min_notice_minutes = $12,
            booking_window = $13, slot_interval_minutes = $14, limit_per_day = $15, limit_per_week = $16, seats = $17,
            questions = $18, price = $19, active = $20, updated_at = $21
        where id = $1 and owner_id = $2 and updated_at = $22 returning id"""
    changed = await db.fetchval(statement, *_columns(event_type), read_at)
    return changed is not None


async def set_private_token(db: Db, event_type: EventType, token: SealedToken | None) -> None:
    """Write the token of an event type that is not listed; None lists it."""
    statement = """update event_types set private_token = $3, private_hash = $4, private_sealed = $5
        where id = $1 and owner_id = $2"""
    await db.execute(
        statement,
        event_type.id,
        event_type.owner_id,
        None if token is None else NOT_IN_CLEAR,
        None if token is None else token.hash,
        None if token is None else token.sealed,
    )


async def list_tokens_in_clear(db: Db, *, limit: int) -> list[tuple[UUID, str]]:
    """List event types whose token an earlier release has stored in the clear, and the token."""
    rows = await db.fetch(
        "select id, private_token from event_types where private_token <> $1 order by id limit $2", NOT_IN_CLEAR, limit
    )
    return [(row["id"], row["private_token"]) for row in rows]


async def seal_token_in_clear(db: Db, event_type_id: UUID, token: str, sealed: SealedToken) -> None:
    """Replace a token that was stored in the clear by a sealed one, unless it has changed meanwhile."""
    statement = """update event_types set private_token = $3, private_hash = $4, private_sealed = $5
        where id = $1 and private_token = $2"""
    await db.execute(statement, event_type_id, token, NOT_IN_CLEAR, sealed.hash, sealed.sealed)


async def list_ids(db: Db, owner_id: UUID) -> list[UUID]:
    """List an owner's event types in their order."""
    rows = await db.fetch("select id from event_types where owner_id = $1 order by position, id", owner_id)
    return [row["id"] for row in rows]


async def list_slugs(db: Db, owner_id: UUID, *, beginning: str) -> set[str]:
    """List an owner's slugs that begin with a text."""
    rows = await db.fetch(
        "select slug from event_types where owner_id = $1 and starts_with(slug, $2)", owner_id, beginning
    )
    return {row["slug"] for row in rows}


async def update_positions(db: Db, owner_id: UUID, order: list[UUID], *, now: datetime) -> None:
    """Put an owner's event types into this order; those that keep their place are not written."""
    statement = """update event_types e set position = o.place, updated_at = $3
        from unnest($2::uuid[]) with ordinality o(id, place)
        where e.id = o.id and e.owner_id = $1 and e.position <> o.place"""
    await db.execute(statement, owner_id, order, now)


async def delete_event_type(db: Db, owner_id: UUID, event_type_id: UUID) -> bool:
    """Delete an owner's event type; False where there is none."""
    gone = await db.fetchval(
        "delete from event_types where owner_id = $1 and id = $2 returning id", owner_id, event_type_id
    )
    return gone is not None


def to_record(event_type: EventType) -> str:
    """Write an event type as a row of its table, in JSON, as PostgreSQL can read it."""
    fields = msgspec.structs.asdict(event_type)
    limits = fields.pop("limits")
    del fields["is_private"]
    return _json({**fields, "limit_per_day": limits.per_day, "limit_per_week": limits.per_week})


def _columns(event_type: EventType) -> tuple[Any, ...]:
    return (
        event_type.id,
        event_type.owner_id,
        event_type.schedule_id,
        event_type.name,
        event_type.slug,
        event_type.description,
        event_type.colour,
        event_type.duration_minutes,
        event_type.buffer_before,
        event_type.buffer_after,
        _json(event_type.location),
        event_type.min_notice_minutes,
        _json(event_type.booking_window),
        event_type.slot_interval_minutes,
        event_type.limits.per_day,
        event_type.limits.per_week,
        event_type.seats,
        _json(event_type.questions),
        _json(event_type.price) if event_type.price else None,
        event_type.active,
        event_type.updated_at,
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


# A meeting lasts a day at most, so the index on starts finds those that are not over.
UPCOMING = """
select b.event_type_id, count(*) as upcoming from bookings b
where b.host_id = $1 and b.status = 'CONFIRMED' and b.ends_at > $2 and b.starts_at > $2 - interval '1 day'
group by b.event_type_id"""
COLUMNS = f"{EVENT_TYPE_COLUMNS}, e.private_token, e.private_hash, e.private_sealed"
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
    """Look an owner's event type up."""
    return await db.fetchrow(ONE, owner_id, now, event_type_id)
