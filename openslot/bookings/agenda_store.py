"""The SQL of a host's agenda: pages of bookings by view, filter and search, and what happened to one of them."""

from datetime import datetime
from uuid import UUID

import msgspec

from openslot.bookings.models import AgendaEntry, AgendaFilter, AgendaPage, AgendaView, BookingChange, Status
from openslot.contacts.folding import fold
from openslot.core.actor import Actor
from openslot.core.db import Db, Row
from openslot.event_types.models import Location

# A meeting lasts a day at most, so the index on starts finds those that are not over.
VIEWS = {
    AgendaView.UPCOMING: "b.status = 'CONFIRMED' and b.ends_at > $2 and b.starts_at > $2 - interval '1 day'",
    AgendaView.PAST: "b.status = 'CONFIRMED' and b.ends_at <= $2 and b.starts_at < $2",
    AgendaView.CANCELLED: "b.status = 'CANCELLED' and $2::timestamptz is not null",
}
ORDERS = {
    AgendaView.UPCOMING: "b.starts_at, b.id",
    AgendaView.PAST: "b.starts_at desc, b.id desc",
    AgendaView.CANCELLED: "b.starts_at desc, b.id desc",
}
COLUMNS = """
b.id, b.status, b.starts_at, b.ends_at, b.invitee_name, b.invitee_email, b.invitee_zone, b.notes, b.location, b.guests,
b.previous_starts_at, b.cancel_reason, b.cancelled_by, e.name as event_type_name"""
BELONGING = "join lateral (select name from event_types where id = b.event_type_id offset 0) e on true"
COUNT_UPCOMING = f"(select count(*) from bookings b where b.host_id = $1 and {VIEWS[AgendaView.UPCOMING]})"
KEPT_COUNT = """
(select coalesce(sum(n.bookings), 0)::bigint from booking_counts n where n.host_id = $1 and n.status = '{status}')"""
# Without a filter nothing is counted that the database has counted already.
COUNTS = {
    AgendaView.UPCOMING: "{upcoming}",
    AgendaView.PAST: KEPT_COUNT.format(status="CONFIRMED") + " - {upcoming}",
    AgendaView.CANCELLED: KEPT_COUNT.format(status="CANCELLED"),
}
PAGE = f"""
select u.upcoming, t.total, p.* from (select {COUNT_UPCOMING} as upcoming) u
cross join lateral (select {{count}} as total) t
left join lateral (
    select {COLUMNS}
    from (select b.* from bookings b where b.host_id = $1 and {{matching}} order by {{order}} limit $3 offset $4) b
    {BELONGING} order by {{order}}
) p on true"""
# A contact's search text is folded, so that it is found in any letter case; a booking keeps what was typed.
SEARCH = """
(strpos(lower(b.invitee_name), lower({typed})) > 0 or strpos(lower(b.invitee_email), lower({typed})) > 0
 or b.contact_id in (select c.id from contacts c where c.owner_id = $1 and strpos(c.search_text, {folded}) > 0))"""
BETWEEN = f"""
select {COLUMNS} from (
    select b.* from bookings b
    where b.host_id = $1 and b.status = 'CONFIRMED' and b.starts_at >= $2 and b.starts_at < $3
    order by b.starts_at, b.id limit $4) b
{BELONGING} order by b.starts_at, b.id"""
CHANGES = """
select no, type, at, actor, null::uuid as event_id, null::timestamptz as starts_at,
       null::timestamptz as previous_starts_at, null as reason
from booking_history where booking_id = $1
union all
select no, type, at, actor, id, (fact -> 'booking' ->> 'starts_at')::timestamptz,
       (fact ->> 'previous_starts_at')::timestamptz,
       coalesce(fact ->> 'reason', fact -> 'booking' ->> 'cancel_reason')
from events where subject_id = $1 and subject_kind = 'booking' and tenant_id = $2
order by no"""

_location = msgspec.json.Decoder(Location)
_actor = msgspec.json.Decoder(Actor)


async def list_page(
    db: Db, host_id: UUID, wanted: AgendaFilter, *, now: datetime, limit: int, offset: int
) -> AgendaPage:
    """Read one page of a host's bookings, with how many there are."""
    conditions, arguments = _write_conditions(wanted, first=5)
    view = wanted.view
    matching = " and ".join([VIEWS[view], *conditions])
    count = f"(select count(*) from bookings b where b.host_id = $1 and {matching})" if conditions else COUNTS[view]
    statement = PAGE.format(count=count.format(upcoming="u.upcoming"), matching=matching, order=ORDERS[view])
    rows = await db.fetch(statement, host_id, now, limit, offset, *arguments)
    entries = [_to_entry(row) for row in rows if row["id"] is not None]
    return AgendaPage(entries=entries, total=rows[0]["total"], upcoming=rows[0]["upcoming"])


async def list_between(db: Db, host_id: UUID, *, since: datetime, until: datetime, limit: int) -> list[AgendaEntry]:
    """Read a host's confirmed bookings that start within a span, earliest first."""
    return [_to_entry(row) for row in await db.fetch(BETWEEN, host_id, since, until, limit)]


async def count_between(db: Db, host_id: UUID, *, since: datetime, until: datetime) -> int:
    """Count a host's confirmed bookings that touch a span."""
    count: int = await db.fetchval(
        """select count(*) from bookings b where b.host_id = $1 and b.status = 'CONFIRMED' and b.ends_at > $2
          and b.starts_at > $2 - interval '1 day' and b.starts_at < $3""",
        host_id,
        since,
        until,
    )
    return count


async def list_changes(db: Db, host_id: UUID, booking_id: UUID) -> list[BookingChange]:
    """Read what happened to a booking of this host, oldest first."""
    return [
        BookingChange(
            type=row["type"],
            at=row["at"],
            actor=_actor.decode(row["actor"]),
            event_id=row["event_id"],
            starts_at=row["starts_at"],
            previous_starts_at=row["previous_starts_at"],
            reason=row["reason"],
        )
        for row in await db.fetch(CHANGES, booking_id, host_id)
    ]


def _write_conditions(wanted: AgendaFilter, *, first: int) -> tuple[list[str], list[object]]:
    conditions: list[str] = []
    arguments: list[object] = []

    def place(value: object) -> str:
        arguments.append(value)
        return f"${first + len(arguments) - 1}"

    if wanted.slug:
        slug = place(wanted.slug)
        conditions.append(
            f"b.event_type_id = (select x.id from event_types x where x.owner_id = $1 and x.slug = {slug})"
        )
    if wanted.span.starts_at is not None:
        conditions.append(f"b.starts_at >= {place(wanted.span.starts_at)}")
    if wanted.span.ends_before is not None:
        conditions.append(f"b.starts_at < {place(wanted.span.ends_before)}")
    if wanted.search:
        conditions.append(SEARCH.format(typed=place(wanted.search), folded=place(fold(wanted.search))))
    return conditions, arguments


def _to_entry(row: Row) -> AgendaEntry:
    return AgendaEntry(
        id=row["id"],
        status=Status(row["status"]),
        starts_at=row["starts_at"],
        ends_at=row["ends_at"],
        invitee_name=row["invitee_name"],
        invitee_email=row["invitee_email"],
        invitee_zone=row["invitee_zone"],
        notes=row["notes"],
        location=_location.decode(row["location"]),
        guests=tuple(row["guests"]),
        previous_starts_at=row["previous_starts_at"],
        cancel_reason=row["cancel_reason"],
        cancelled_by=row["cancelled_by"],
        event_type_name=row["event_type_name"],
    )
