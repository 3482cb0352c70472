"""All SQL of who hosts a booking of a team's event type."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from openslot.availability.models import ClaimedHost
from openslot.core.db import Db, count_of
from openslot.core.events import Change
from openslot.teams.models import HostRole
from openslot.teams.store import IS_MANAGED

INSERT = """
insert into booking_hosts (booking_id, user_id, group_id, claim_id, role)
select $1::uuid, w.user_id, w.group_id, w.claim_id, w.role
from unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::text[]) as w (user_id, group_id, claim_id, role)"""
# The organizer first, as everywhere.
LIST = """
select h.user_id, u.no as host_no, u.name, h.claim_id, h.group_id, h.role
from booking_hosts h join users u on u.id = h.user_id where h.booking_id = any($1) order by h.role = 'host', u.no"""
REPLACE = """
update booking_hosts h set user_id = w.new_id from unnest($2::uuid[], $3::uuid[]) as w (old_id, new_id)
where h.booking_id = $1 and h.user_id = w.old_id"""
UPCOMING = """
select b.id from booking_hosts h join bookings b on b.id = h.booking_id
where h.user_id = $1 and b.status = 'CONFIRMED' and b.ends_at > $2
  and ($3::uuid[] is null or b.event_type_id in (select e.id from event_types e where e.team_id = any($3)))
order by b.id"""
OF_EVENT_TYPE = """
select id, invitee_name, invitee_email from bookings
where event_type_id = $1 and status = 'CONFIRMED' and ends_at > $2 order by id"""
GIVE_TO_OWNER = """
with given as (
    update bookings b set host_id = $1, contact_id = w.contact_id
    from unnest($2::uuid[], $3::uuid[]) as w (id, contact_id) where b.id = w.id)
update message_consents set host_id = $1 where booking_id = any($2)"""
# A booking that somebody else owns keeps a claim, which takes nobody's time, when its organizer is erased.
KEEP_CLAIMS = """
with left_over as (
    select b.id as booking_id, b.host_id, c.event_type_id, c.starts_at, c.ends_at, c.during, c.created_at,
           gen_random_uuid() as new_id
    from booking_hosts h join bookings b on b.id = h.booking_id and b.claim_id = h.claim_id
    join claims c on c.id = h.claim_id
    where h.user_id = $1 and b.host_id <> $1 limit $2
), kept as (
    insert into claims (id, host_no, kind, event_type_id, starts_at, ends_at, during, seats, active, created_at)
    select l.new_id, u.no, 'booking', l.event_type_id, l.starts_at, l.ends_at, l.during, 1, false, l.created_at
    from left_over l join users u on u.id = l.host_id
), unhosted as (
    delete from booking_hosts h using left_over l where h.booking_id = l.booking_id and h.user_id = $1)
update bookings b set claim_id = l.new_id from left_over l where b.id = l.booking_id"""


def insert_hosts(booking_id: UUID, hosts: Sequence[ClaimedHost]) -> Change:
    columns = ([getattr(each, name) for each in hosts] for name in ("user_id", "group_id", "claim_id", "role"))
    return Change(INSERT, (booking_id, *columns))


def replace_hosts(booking_id: UUID, replaced: Mapping[UUID, UUID]) -> Change:
    """Let others host a booking, each with the claim and the role of the one whose place they take."""
    return Change(REPLACE, (booking_id, list(replaced), list(replaced.values())))


async def list_hosts(db: Db, *booking_ids: UUID) -> tuple[ClaimedHost, ...]:
    rows = await db.fetch(LIST, booking_ids)
    return tuple(ClaimedHost(**{**row, "role": HostRole(row["role"])}) for row in rows)


async def list_upcoming(db: Db, user_id: UUID, *, now: datetime, team_ids: Sequence[UUID] | None = None) -> list[UUID]:
    """List the bookings that somebody hosts for some teams, or for all, and that are not over."""
    return [row["id"] for row in await db.fetch(UPCOMING, user_id, now, team_ids)]


async def list_of_event_type(db: Db, event_type_id: UUID, *, now: datetime) -> list[tuple[UUID, str, str]]:
    """List the bookings of an event type that are not over, with the names and addresses of their invitees."""
    rows = await db.fetch(OF_EVENT_TYPE, event_type_id, now)
    return [(row["id"], row["invitee_name"], row["invitee_email"]) for row in rows]


async def give_to_owner(db: Db, owner_id: UUID, contacts: Mapping[UUID, UUID]) -> None:
    """Make somebody the owner of bookings, each with a contact of theirs."""
    await db.execute(GIVE_TO_OWNER, owner_id, list(contacts), list(contacts.values()))


async def is_manager(db: Db, event_type_id: UUID, user_id: UUID) -> bool:
    """Answer whether somebody manages the team of an event type, and is an active member of the organization."""
    statement = f"select exists (select from event_types e where e.id = $1 and {IS_MANAGED.format(user_id='$2')})"
    return bool(await db.fetchval(statement, event_type_id, user_id))


async def keep_claims(db: Db, user_id: UUID, limit: int) -> int:
    """Let some bookings of other owners have claims of their own instead of those of a host who is erased."""
    return count_of(await db.execute(KEEP_CLAIMS, user_id, limit))
