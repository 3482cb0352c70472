"""All SQL of who hosts a booking of a team's event type."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from openslot.domains.availability.models import ClaimedHost
from openslot.domains.bookings.models import BookingDetails, Status
from openslot.domains.bookings.store import DETAIL_COLUMNS, DETAIL_TABLES, SHOWN, to_details
from openslot.domains.teams.models import HostRole
from openslot.domains.teams.store import is_colleague, is_managed
from openslot.platform.core.db import Db, Row, count_of
from openslot.platform.core.events import Change

INSERT = """
insert into booking_hosts (booking_id, user_id, group_id, claim_id, role)
select $1::uuid, w.user_id, w.group_id, w.claim_id, w.role
from unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::text[]) as w (user_id, group_id, claim_id, role)"""
# The organizer first, as everywhere.
LIST_REPLACEABLE = f"""
select h.user_id, u.no as host_no, u.name, h.claim_id, h.group_id, h.role,
       {is_managed("$2")} as is_manager, {is_colleague("$2")} as is_colleague
from booking_hosts h join users u on u.id = h.user_id
join bookings b on b.id = h.booking_id join event_types e on e.id = b.event_type_id
where h.booking_id = $1 order by h.role = 'host', u.no"""
IS_HOST = "exists (select from booking_hosts h where h.booking_id = b.id and h.user_id = $2)"
FIND_HOSTED = f"""
select {DETAIL_COLUMNS}, {is_colleague("$2")} as is_colleague
from {DETAIL_TABLES} where b.id = $1 and {SHOWN} and {IS_HOST}"""
IS_HOST_STILL = f"""
select exists (select from bookings b join event_types e on e.id = b.event_type_id
    where b.id = $1 and {IS_HOST} and {is_colleague("$2")})"""
REPLACE = """
update booking_hosts h set user_id = w.new_id from unnest($2::uuid[], $3::uuid[]) as w (old_id, new_id)
where h.booking_id = any($1::uuid[]) and h.user_id = w.old_id"""
CHANGE = f"""{INSERT}
on conflict (booking_id, user_id) do update
set group_id = excluded.group_id, claim_id = excluded.claim_id, role = excluded.role"""
LEAVE = "delete from booking_hosts where booking_id = $1 and user_id <> all($2::uuid[])"
# What people meet for, or will if it is confirmed.
IS_ON = """
(b.status = 'CONFIRMED' or b.status = 'PENDING_CONFIRMATION' and exists (
    select from booking_requests r where r.booking_id = b.id and r.state = 'waiting'))"""
UPCOMING = f"""
select b.id from booking_hosts h join bookings b on b.id = h.booking_id
where h.user_id = $1 and {IS_ON} and b.ends_at > $2
  and ($3::uuid[] is null or b.event_type_id in (select e.id from event_types e where e.team_id = any($3)))
order by b.id"""
OF_EVENT_TYPE = f"""
select b.id, b.status, b.invitee_name, b.invitee_email from bookings b
where b.event_type_id = $1 and {IS_ON} and b.ends_at > $2 order by b.id"""
# What the old owner has noted about a person is for nobody else.
GIVE_TO_OWNER = """
with given as (
    update bookings b set host_id = $1, contact_id = w.contact_id,
        private_notes = case when b.host_id = $1 then b.private_notes end
    from unnest($2::uuid[], $3::uuid[]) as w (id, contact_id) where b.id = w.id
), asked as (
    update booking_requests set host_id = $1 where booking_id = any($2))
update message_consents set host_id = $1 where booking_id = any($2)"""
# Why somebody else's booking or request was ended may name whoever was not there any more, in either composition.
REASONS = """
select b.id, b.cancel_reason, r.reason as request_reason from booking_hosts h join bookings b on b.id = h.booking_id
left join booking_requests r on r.booking_id = b.id
where h.user_id = $1 and b.host_id <> $1 and exists (
    select from unnest($2::text[]) n
    where position(n in b.cancel_reason) > 0 or position(n in r.reason) > 0)"""
FORGET_REASONS = """
with asked as (update booking_requests set reason = null where booking_id = any($2))
update bookings set cancel_reason = null where id = any($1)"""
# Bookings that somebody else owns keep a claim, which takes nobody's time, when their organizer is erased: those of a
# session the same one, with their seats.
KEEP_CLAIMS = """
with left_over as (
    select c.id, min(b.host_id::text)::uuid as host_id, c.event_type_id, c.starts_at, c.ends_at, c.during, c.seats,
           c.created_at, gen_random_uuid() as new_id
    from booking_hosts h join bookings b on b.id = h.booking_id and b.claim_id = h.claim_id
    join users u on u.id = h.user_id join claims c on c.id = h.claim_id and c.host_no = u.no
    where h.user_id = $1 and b.host_id <> $1 group by c.id limit $2
), kept as (
    insert into claims (id, host_no, kind, event_type_id, starts_at, ends_at, during, seats, active, created_at)
    select l.new_id, u.no, 'booking', l.event_type_id, l.starts_at, l.ends_at, l.during, l.seats, false, l.created_at
    from left_over l join users u on u.id = l.host_id
), seated as (
    update claim_seats t set claim_id = l.new_id from left_over l where t.claim_id = l.id
), unhosted as (
    delete from booking_hosts h using left_over l where h.claim_id = l.id and h.user_id = $1)
update bookings b set claim_id = l.new_id from left_over l where b.claim_id = l.id and b.host_id <> $1"""


def insert_hosts(booking_id: UUID, hosts: Sequence[ClaimedHost]) -> Change:
    """Keep who was chosen for a booking: who hosts an event type of their own is its host anyway."""
    columns = ([getattr(each, name) for each in hosts] for name in ("user_id", "group_id", "claim_id", "role"))
    return Change(INSERT, (booking_id, *columns))


def replace_hosts(booking_ids: Sequence[UUID], replaced: Mapping[UUID, UUID]) -> Change:
    """Let others host bookings, each with the claim and the role of the one whose place they take."""
    return Change(REPLACE, (booking_ids, list(replaced), list(replaced.values())))


def replace_all_hosts(booking_id: UUID, hosts: Sequence[ClaimedHost]) -> tuple[Change, Change]:
    """Let the hosts of another session host a booking, with their claims."""
    added = insert_hosts(booking_id, hosts)
    return Change(CHANGE, added.args), Change(LEAVE, (booking_id, [each.user_id for each in hosts]))


async def list_replaceable_hosts(db: Db, booking_id: UUID, user_id: UUID) -> tuple[list[ClaimedHost], bool, bool]:
    """List who hosts a booking, the organizer first, and tell whether somebody manages the team, or is a colleague."""
    rows = await db.fetch(LIST_REPLACEABLE, booking_id, user_id)
    is_manager, is_colleague = (any(row[name] for row in rows) for name in ("is_manager", "is_colleague"))
    return [_to_host(row) for row in rows], is_manager, is_colleague


async def find_hosted(db: Db, booking_id: UUID, user_id: UUID) -> tuple[BookingDetails, bool] | None:
    """Look up a booking that somebody hosts for a team, and answer whether they still belong to its organization."""
    row = await db.fetchrow(FIND_HOSTED, booking_id, user_id)
    return (to_details(row), row["is_colleague"]) if row else None


async def is_host_of_booking(db: Db, booking_id: UUID, user_id: UUID) -> bool:
    """Answer whether somebody hosts a booking for a team, and still belongs to its organization."""
    return bool(await db.fetchval(IS_HOST_STILL, booking_id, user_id))


def _to_host(row: Row) -> ClaimedHost:
    fields = {name: row[name] for name in ClaimedHost.__struct_fields__}
    return ClaimedHost(**{**fields, "role": HostRole(row["role"])})


async def lock_session(db: Db, claim_id: UUID) -> list[BookingDetails]:
    """Read who has booked a session of a team, or asks for it, and keep others from changing it.

    Its event type is locked.
    """
    statement = f"""select {DETAIL_COLUMNS} from {DETAIL_TABLES}
        where b.claim_id = $1 and {IS_ON} order by b.id for no key update of b"""
    return [to_details(row) for row in await db.fetch(statement, claim_id)]


async def list_upcoming_of_host(
    db: Db, user_id: UUID, *, now: datetime, team_ids: Sequence[UUID] | None = None
) -> list[UUID]:
    """List the bookings and requests that somebody hosts for some teams, or for all, and that are not over."""
    return [row["id"] for row in await db.fetch(UPCOMING, user_id, now, team_ids)]


class UpcomingBooking(Struct, frozen=True, kw_only=True):
    """A booking that is not over, or a request for one, with its invitee."""

    id: UUID
    status: Status
    invitee_name: str
    invitee_email: str


async def list_upcoming_of_event_type(db: Db, event_type_id: UUID, *, now: datetime) -> list[UpcomingBooking]:
    """List the bookings and requests of an event type that are not over."""
    rows = await db.fetch(OF_EVENT_TYPE, event_type_id, now)
    return [UpcomingBooking(**{**row, "status": Status(row["status"])}) for row in rows]


async def give_bookings_to_owner(db: Db, owner_id: UUID, contacts: Mapping[UUID, UUID | None]) -> None:
    """Make somebody the owner of bookings, each with a contact of theirs; those that wait have none yet."""
    await db.execute(GIVE_TO_OWNER, owner_id, list(contacts), list(contacts.values()))


async def has_anyone_come(db: Db, session_id: UUID, *, without: UUID) -> bool:
    """Answer whether somebody else of a session is not known to have missed it."""
    statement = """select exists (select from bookings
        where claim_id = $1 and id <> $2 and status = 'CONFIRMED' and not no_show)"""
    return bool(await db.fetchval(statement, session_id, without))


async def is_manager_of_event_type(db: Db, event_type_id: UUID, user_id: UUID) -> bool:
    """Answer whether somebody manages the team of an event type, and is an active member of the organization."""
    statement = f"select exists (select from event_types e where e.id = $1 and {is_managed('$2')})"
    return bool(await db.fetchval(statement, event_type_id, user_id))


class EndedBooking(Struct, frozen=True, kw_only=True):
    """Why a booking, and the request for it, ended."""

    id: UUID
    cancel_reason: str | None
    request_reason: str | None


async def list_end_reasons(db: Db, user_id: UUID, texts: Sequence[str]) -> list[EndedBooking]:
    """List why bookings of other owners that somebody hosts have ended, where one of the texts is in it."""
    return [EndedBooking(**row) for row in await db.fetch(REASONS, user_id, texts)]


async def forget_end_reasons(db: Db, *, booking_ids: Sequence[UUID], request_ids: Sequence[UUID]) -> None:
    """Remove why bookings, and why requests for some, have ended."""
    await db.execute(FORGET_REASONS, booking_ids, request_ids)


async def keep_claims_of_others(db: Db, user_id: UUID, limit: int) -> int:
    """Let some bookings of other owners have claims of their own instead of those of a host who is erased."""
    return count_of(await db.execute(KEEP_CLAIMS, user_id, limit))
