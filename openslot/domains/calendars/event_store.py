"""The SQL of what was read of calendars, and of bookings that were written into them."""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from openslot.domains.availability.grid import merge
from openslot.domains.calendars.events import CalendarRestoreWanted
from openslot.domains.calendars.models import (
    ConnectionKind,
    KeptObject,
    MissingEvent,
    OwnTime,
    WriteTarget,
    WrittenEvent,
)
from openslot.domains.calendars.ports import KeptSeries
from openslot.platform.core.db import Db, count_of
from openslot.platform.core.events import Change
from openslot.platform.core.rows import Rows

# The reactions that find the calendars of a booking, and write it into one.
PLAN, WRITE = "calendars.plan", "calendars.write"

WRITTEN = Rows(WrittenEvent, "calendar_events w")
WRITE_TARGETS = Rows(
    WriteTarget,
    "calendars k",
    computed={
        "connection_id": "c.id",
        "owner_id": "c.owner_id",
        "kind": "c.kind",
        "secret": "c.secret",
        "host_name": "u.name",
        "host_email": "u.email",
        "is_shared": "i.booking_id is not null",
        "invites": "i.booking_id is not null and i.left_at is null",
    },
    given=("calendar_id", "written"),
)
OBJECTS = Rows(KeptObject, "calendar_objects")
UPSERT_OBJECTS = f"""
insert into calendar_objects (calendar_id, {OBJECTS.stored.columns})
select $1, * from unnest($2::text[], $3::text[], $4::text[], $5::boolean[], $6::boolean[], $7::text[])
on conflict (calendar_id, href) do update set etag = excluded.etag, uid = excluded.uid, repeats = excluded.repeats,
    is_unread = excluded.is_unread, text = excluded.text"""
KEEP_READ = """
update calendars set state = $2, unread_events = o.unread, expanded_at = coalesce($3, expanded_at)
from (select count(*) as all_events, count(*) filter (where is_unread) as unread,
          coalesce(sum(octet_length(text)), 0) as all_bytes
      from calendar_objects where calendar_id = $1) o
where id = $1 returning o.all_events, o.all_bytes"""
KEEP_WRITTEN = f"""
insert into calendar_events ({WRITTEN.stored.columns}) values ({WRITTEN.stored.parameters()})
on conflict (booking_id, calendar_id) do update set href = excluded.href, etag = excluded.etag,
    sequence = excluded.sequence, starts_at = excluded.starts_at, ends_at = excluded.ends_at, missing_since = null,
    refused_start = null"""
# A cancelled booking has no time. Until our own change has reached the calendar, its event shows what we last wrote.
# The hosts of a team's booking have a claim each, and its owner has none unless they host it.
# While an event is written or removed, and if it was since a reading has begun, it may be seen where it was before.
OWN_TIMES = f"""
select b.id, coalesce(b.seat_id, h.claim_id, b.claim_id) as claim,
    (select coalesce(json_agg(json_build_array(floor(date_part('epoch', t.starts))::bigint,
                                               floor(date_part('epoch', t.ends))::bigint)), '[]')
     from (select b.starts_at as starts, b.ends_at as ends where b.status <> 'CANCELLED' or s.is_moving
           union all select b.previous_starts_at, b.previous_starts_at + (b.ends_at - b.starts_at)
           where b.previous_starts_at is not null and s.is_moving
           union all select w.starts_at, w.ends_at from calendar_events w
           where w.booking_id = b.id and w.calendar_id = $3) t)::text as spans
from bookings b left join booking_hosts h on h.booking_id = b.id and h.user_id = $2
cross join lateral (
    select exists (
        select from events v join effects e on e.event_id = v.id
        where v.subject_kind = 'booking' and v.subject_id = b.id and e.reaction = '{WRITE}'
          and e.target = concat($3::uuid, '/', b.id)
          and (e.state in ('waiting', 'queued', 'running') or e.finished_at > $4)) as is_moving
) s
where b.id = any($1::uuid[]) and (b.host_id = $2 or h.user_id is not null)"""
# Without any calendar of its tenant, or of one of a team's hosts, there is none that contains a booking or should
# contain it. `offset 0` keeps the planner from reading all calendars in order to look one up among them.
HAS_CALENDARS = """
(exists (select from calendars k where k.owner_id = v.tenant_id offset 0)
 or exists (select from jsonb_array_elements(coalesce(v.fact -> 'hosts' || (v.fact -> 'previous_hosts'),
                                                          v.fact -> 'hosts')) h
            join lateral (select from calendars k where k.owner_id = (h ->> 'userId')::uuid offset 0) k on true))"""
# The calendars that already contain the booking, are being written to or are to invite to it; for a host who has none
# of these, the calendar that receives the host's bookings. A write under way has seen the booking as it was, so a later
# change or cancellation has to follow it.
TARGETS = f"""
with here as (
    select w.calendar_id from calendar_events w where w.booking_id = $1
    union
    select split_part(e.target, '/', 1)::uuid from events v join effects e on e.event_id = v.id
    where v.subject_kind = 'booking' and v.subject_id = $1 and e.reaction = '{WRITE}'
      and e.state in ('waiting', 'queued', 'running')
    union
    select i.calendar_id from calendar_invitations i
    where i.booking_id = $1 and i.calendar_id is not null and i.left_at is null
)
select calendar_id from here
union
select k.id from calendars k where k.owner_id = any($2::uuid[]) and k.receives and $3 and not exists (
    select from here join calendars o on o.id = here.calendar_id where o.owner_id = k.owner_id)"""
TARGET = f"""
select {WRITE_TARGETS.columns}, {WRITTEN.columns}
from calendars k join calendar_connections c on c.id = k.connection_id join users u on u.id = c.owner_id
left join calendar_events w on w.calendar_id = k.id and w.booking_id = $2
left join calendar_invitations i on i.calendar_id = k.id and i.booking_id = $2
where k.id = $1"""
MISSING = """
select w.booking_id, k.name as calendar_name, b.starts_at, b.invitee_name, w.missing_since
from calendar_events w join calendars k on k.id = w.calendar_id join bookings b on b.id = w.booking_id
where k.owner_id = $1 and w.missing_since is not null and b.status = 'CONFIRMED' and b.ends_at > $2
order by b.starts_at, b.id"""


# Decided when a booking is made: what its host chooses later holds for later bookings.
BEGIN_INVITATION = """
insert into calendar_invitations (booking_id, calendar_id, due_at)
select $1, k.id, $3 from calendars k join calendar_connections c on c.id = k.connection_id
where k.owner_id = $2 and k.receives and c.invites
on conflict do nothing"""
RENEW_INVITATION = """
update calendar_invitations set due_at = case when calendar_id is null then $2::timestamptz else $3 end
where booking_id = $1 and left_at is null"""
# A change that has come meanwhile is written by another effect.
SETTLE_INVITATION = """
update calendar_invitations i set due_at = null from bookings b
where i.booking_id = $1 and b.id = i.booking_id and b.sequence = $2"""
# The server of another account has not invited anybody.
FOLLOW_INVITATION = """
update calendar_invitations i set calendar_id = (
    select n.id from calendar_events w join calendars n on n.id = w.calendar_id
    join calendars o on o.id = $2 and o.connection_id = n.connection_id where w.booking_id = $1)
where i.booking_id = $1 and i.calendar_id = $2"""
# What is locked can't be started by a worker; what can't be locked is being started or finished.
IS_BEING_WRITTEN = f"""
with unfinished as (
    select e.id, e.state, e.attempts from events v join effects e on e.event_id = v.id
    where v.subject_kind = 'booking' and v.subject_id = $1 and e.reaction in ('{PLAN}', '{WRITE}')
      and e.state in ('waiting', 'queued', 'running')
), locked as (
    select id from effects where id in (select id from unfinished) for update skip locked
)
select count(*) > (select count(*) from locked)
    or coalesce(bool_or(state = 'running' or (state = 'queued' and attempts = 0)), false) from unfinished"""


async def read_known(db: Db, calendar_id: UUID) -> dict[str, str]:
    """Read the ETag of every event that is known of a calendar, by its place."""
    rows = await db.fetch("select href, etag from calendar_objects where calendar_id = $1", calendar_id)
    return {row["href"]: row["etag"] for row in rows}


async def list_series(db: Db, calendar_id: UUID) -> list[KeptSeries]:
    rows = await db.fetch(
        "select href, text from calendar_objects where calendar_id = $1 and repeats and text is not null", calendar_id
    )
    return [KeptSeries(row["href"], row["text"]) for row in rows]


async def keep_objects(db: Db, calendar_id: UUID, objects: Sequence[KeptObject]) -> None:
    await db.execute(UPSERT_OBJECTS, calendar_id, *map(list, zip(*map(OBJECTS.values, objects), strict=True)))


async def delete_objects(db: Db, calendar_id: UUID, hrefs: Sequence[str]) -> None:
    await db.execute(
        "delete from calendar_objects where calendar_id = $1 and href = any($2::text[])", calendar_id, hrefs
    )


async def reread_object(db: Db, calendar_id: UUID, href: str) -> None:
    """Let the next reading bring an event, also if it will be the same again as when it was last read."""
    await db.execute("update calendar_objects set etag = '' where calendar_id = $1 and href = $2", calendar_id, href)


async def reread_calendar(db: Db, calendar_id: UUID, href: str, uid: str) -> None:
    """Let the next reading compare a whole calendar, and bring this event of it, or that it is not there."""
    statement = """insert into calendar_objects (calendar_id, href, etag, uid, repeats, is_unread)
        values ($1, $2, '', $3, false, false) on conflict (calendar_id, href) do update set etag = ''"""
    await db.execute(statement, calendar_id, href, uid)
    await db.execute("update calendars set state = null where id = $1", calendar_id)


async def delete_all_objects(db: Db, calendar_id: UUID) -> None:
    await db.execute("delete from calendar_objects where calendar_id = $1", calendar_id)


async def keep_read(db: Db, calendar_id: UUID, *, state: str, expanded_at: datetime | None) -> tuple[int, int]:
    """Write how far a calendar was read, and how many of its events were not understood; count all, and their bytes."""
    row = await db.fetchrow(KEEP_READ, calendar_id, state, expanded_at)
    return (row["all_events"], row["all_bytes"]) if row else (0, 0)


async def find_own(
    db: Db, owner_id: UUID, calendar_id: UUID, booking_ids: Collection[UUID], *, since: datetime
) -> dict[UUID, OwnTime]:
    """Return which of these are bookings of the owner, each with the times that its event has stood for since then."""
    rows = await db.fetch(OWN_TIMES, list(booking_ids), owner_id, calendar_id, since)
    return {row["id"]: OwnTime(row["claim"], tuple(merge(msgspec.json.decode(row["spans"])))) for row in rows}


async def list_targets(db: Db, booking_id: UUID, host_ids: Sequence[UUID], *, is_confirmed: bool) -> list[UUID]:
    return [row["calendar_id"] for row in await db.fetch(TARGETS, booking_id, host_ids, is_confirmed)]


async def receives_at(db: Db, host_id: UUID, kind: ConnectionKind) -> bool:
    """Return whether the calendar that a host's bookings are written to is one of this kind."""
    statement = """select exists (select from calendars k join calendar_connections c on c.id = k.connection_id
        where k.owner_id = $1 and k.receives and c.kind = $2)"""
    return bool(await db.fetchval(statement, host_id, kind))


async def find_target(db: Db, calendar_id: UUID, booking_id: UUID) -> WriteTarget | None:
    row = await db.fetchrow(TARGET, calendar_id, booking_id)
    if row is None:
        return None
    written = WRITTEN.read(row) if row["booking_id"] else None
    return WRITE_TARGETS.read(row, calendar_id=calendar_id, written=written)


async def find_place(db: Db, calendar_id: UUID, uid: str) -> tuple[str, str] | None:
    """Find the place and ETag of a calendar's event by its UID, no matter who has written it."""
    row = await db.fetchrow(
        "select href, etag from calendar_objects where calendar_id = $1 and uid = $2 limit 1", calendar_id, uid
    )
    return (row["href"], row["etag"]) if row else None


async def keep_written(db: Db, written: WrittenEvent) -> None:
    await db.execute(KEEP_WRITTEN, *WRITTEN.values(written))


async def forget_written(db: Db, booking_id: UUID, calendar_id: UUID) -> None:
    await db.execute("delete from calendar_events where booking_id = $1 and calendar_id = $2", booking_id, calendar_id)


async def list_written(db: Db, calendar_id: UUID, hrefs: Collection[str]) -> list[WrittenEvent]:
    statement = f"select {WRITTEN.columns} from calendar_events w where w.calendar_id = $1 and w.href = any($2::text[])"
    rows = await db.fetch(statement, calendar_id, list(hrefs))
    return [WRITTEN.read(row) for row in rows]


async def read_written(db: Db, calendar_id: UUID, *, now: datetime) -> dict[UUID, WrittenEvent]:
    """Read how each booking that is not over was last written into a calendar."""
    statement = f"""select {WRITTEN.columns} from calendar_events w join bookings b on b.id = w.booking_id
        where w.calendar_id = $1 and b.ends_at > $2"""
    return {each.booking_id: each for each in map(WRITTEN.read, await db.fetch(statement, calendar_id, now))}


async def lock_written(db: Db, booking_id: UUID, calendar_id: UUID) -> WrittenEvent | None:
    statement = (
        f"select {WRITTEN.columns} from calendar_events w where w.booking_id = $1 and w.calendar_id = $2 for update"
    )
    row = await db.fetchrow(statement, booking_id, calendar_id)
    return WRITTEN.read(row) if row else None


async def update_written(
    db: Db, booking_id: UUID, calendar_id: UUID, *, etag: str, refused_start: datetime | None
) -> None:
    """Write the ETag that a booking's event has now, and a start of it that was refused."""
    statement = """update calendar_events set etag = $3, refused_start = $4, missing_since = null
        where booking_id = $1 and calendar_id = $2"""
    await db.execute(statement, booking_id, calendar_id, etag, refused_start)


async def adopt_written(db: Db, booking_id: UUID, calendar_id: UUID, uid: str) -> bool:
    """Follow a booking's event to another calendar of its owner that it was moved to; False if there is none."""
    statement = """update calendar_events w set calendar_id = o.calendar_id, href = o.href, etag = o.etag
        from (select o.calendar_id, o.href, o.etag from calendar_objects o join calendars k on k.id = o.calendar_id
              where o.uid = $3 and o.calendar_id <> $2
                and k.owner_id = (select owner_id from calendars where id = $2) limit 1) o
        where w.booking_id = $1 and w.calendar_id = $2"""
    if count_of(await db.execute(statement, booking_id, calendar_id, uid)) == 0:
        return False
    await db.execute(FOLLOW_INVITATION, booking_id, calendar_id)
    return True


async def mark_missing(db: Db, calendar_id: UUID, booking_ids: Collection[UUID], *, now: datetime) -> None:
    statement = """update calendar_events set missing_since = $3 where calendar_id = $1 and booking_id = any($2::uuid[])
        and missing_since is null"""
    await db.execute(statement, calendar_id, list(booking_ids), now)


async def list_restorable(db: Db, owner_id: UUID, booking_id: UUID) -> list[CalendarRestoreWanted]:
    """Say of each event of a booking that has disappeared that it is to be restored."""
    statement = """select w.booking_id, w.calendar_id, k.connection_id, c.owner_id, c.label
        from calendar_events w join calendars k on k.id = w.calendar_id
        join calendar_connections c on c.id = k.connection_id
        where k.owner_id = $1 and w.booking_id = $2 and w.missing_since is not null"""
    return [CalendarRestoreWanted(**row) for row in await db.fetch(statement, owner_id, booking_id)]


async def list_missing(db: Db, owner_id: UUID, *, now: datetime) -> list[MissingEvent]:
    return [MissingEvent(**row) for row in await db.fetch(MISSING, owner_id, now)]


async def is_on_its_way(db: Db, lanes: Sequence[str]) -> bool:
    return bool(
        await db.fetchval("select exists (select from lanes where lane = any($1::text[]) and unfinished > 0)", lanes)
    )


def begin_invitation(booking_id: UUID, host_id: UUID, *, due_at: datetime) -> Change:
    """Let the calendar that receives a new booking invite to it, if its host has chosen so."""
    return Change(BEGIN_INVITATION, (booking_id, host_id, due_at))


def renew_invitation(booking_id: UUID, *, now: datetime, due_at: datetime) -> Change:
    """Let the calendar that has invited tell of a new time, by when; at once if it is gone."""
    return Change(RENEW_INVITATION, (booking_id, now, due_at))


async def settle_invitation(db: Db, booking_id: UUID, sequence: int) -> None:
    """Write that a calendar has invited to this version of a booking."""
    await db.execute(SETTLE_INVITATION, booking_id, sequence)


async def list_due_invitations(db: Db, *, now: datetime, limit: int) -> list[UUID]:
    """Name the bookings to which a calendar has not invited in time."""
    statement = "select booking_id from calendar_invitations where due_at <= $1 order by due_at limit $2"
    return [row["booking_id"] for row in await db.fetch(statement, now, limit)]


async def end_invitation(db: Db, booking_id: UUID, *, left_at: datetime | None, now: datetime) -> bool:
    """Let nobody wait for a calendar any more; False if it has invited in time, or has got more time.

    With `left_at`, changes of the booking after that time are told by mail alone.
    """
    statement = "update calendar_invitations set due_at = null, left_at = $2 where booking_id = $1 and due_at <= $3"
    return count_of(await db.execute(statement, booking_id, left_at, now)) == 1


async def is_being_written(db: Db, booking_id: UUID) -> bool:
    """Return whether a write of a booking is under way or not tried yet; if neither, none begins until the commit."""
    return bool(await db.fetchval(IS_BEING_WRITTEN, booking_id))
