"""All SQL that takes time: a claim of each host, written only under the locks of all of them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from msgspec import Struct

from openslot.domains.access.door import network_of
from openslot.domains.accounts.store import LOCK_TIME
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.availability.models import ClaimedHost, ClaimKind, EventTypeRef, SlotInputs
from openslot.domains.availability.store import condition_of
from openslot.platform.core.db import Db, count_of
from openslot.platform.core.errors import Refusal
from openslot.platform.core.events import Change

REFUSALS: dict[str, type[Refusal]] = {"claims_never_overlap": SlotUnavailable}

# Each change repeats in its own `where` what it assumes: the host's lock is a convention, and whoever forgets it must
# not take a booked time away.
INSERT_CLAIM = """
insert into claims (id, host_no, kind, event_type_id, starts_at, ends_at, during, seats, expires_at, holder,
    holder_network, created_at)
values ($1, $2, $3, $4, $5, $6, tstzrange($7, $8), $9, $10, $11, $12, $13)"""
INSERT_CLAIMS = """
insert into claims (id, host_no, kind, event_type_id, starts_at, ends_at, during, seats, created_at)
select w.id, $1::bigint, 'booking', $2::uuid, w.starts_at, w.ends_at, tstzrange(w.before, w.after), 1, $3::timestamptz
from unnest($4::uuid[], $5::timestamptz[], $6::timestamptz[], $7::timestamptz[], $8::timestamptz[])
    as w (id, starts_at, ends_at, before, after)"""
# Locks and inserts in one round trip: what it does is written in `platform/migrations/0.2.0_12_availability.sql`.
CLAIM_HOSTS = "select claim_hosts($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"
# A claim that changes its host is the same one: what the old host's calendar has of it never closes the way back.
MOVE_CLAIMS = """
update claims c set host_no = w.host_no, starts_at = $3::timestamptz, ends_at = $4::timestamptz,
    during = tstzrange($5::timestamptz, $6::timestamptz)
from unnest($1::uuid[], $2::bigint[]) as w (id, host_no)
where c.id = w.id and c.active and c.kind not in ('hold', 'offer')"""
KEEP_CLAIMS = """
update claims set kind = $2, expires_at = null, holder = null, holder_network = null, ends_at = $3,
    during = tstzrange($4, $5)
where id = any($1::uuid[]) and active and kind in ('hold', 'offer')"""
CONFIRM_CLAIM = "update claims set kind = 'booking' where id = $1 and active and kind in ('payment', 'request')"
FREE_CLAIMS = """
update claims set active = false where id = any($1::uuid[]) and active and kind not in ('hold', 'offer')"""
FREE_OFFER = "update claims set active = false where id = $1 and active and kind = 'offer'"
TAKEN_HOSTS = """
select u.id from users u where u.id = any($1::uuid[]) and exists (
    select from unnest($2::timestamptz[], $3::timestamptz[]) as w (before, after)
    join claims c on c.host_no = u.no and c.active and c.during && tstzrange(w.before, w.after))"""


class Locked(NamedTuple):
    """An event type whose host is locked; one of a team is locked itself, and its hosts are not."""

    event_type_id: UUID
    is_team: bool


class ClaimsWanted(Struct, frozen=True, kw_only=True):
    """The claims to be inserted for one or more meetings of the same kind."""

    starts: Sequence[datetime]
    meetings: Sequence[Sequence[ClaimedHost]]
    """The hosts of the meeting at each start."""
    kind: ClaimKind
    expires_at: datetime | None = None
    holder: str | None = None


async def lock_time_of(db: Db, which: EventTypeRef) -> Locked | None:
    """Take the lock of an event type's host, or of a team's event type; None where there is no such event type."""
    condition, arguments = condition_of(which, first=1)
    statement = f"""select e.id, e.team_id is not null as is_team, {LOCK_TIME}
        from event_types e join users u on u.id = e.owner_id where u.disabled_at is null and {condition}"""
    found = await db.fetchrow(statement, *arguments)
    return Locked(found["id"], found["is_team"]) if found else None


def insert_claims(inputs: SlotInputs, wanted: ClaimsWanted, *, now: datetime) -> Change:
    """Take the time of the one host of some meetings, who is locked; the constraint refuses what overlaps."""
    event_type, rows = inputs.event_type, _list_rows(inputs, wanted)
    if len(rows) == 1:
        ((claim_id, host_no, *span),) = rows
        about = (claim_id, host_no, wanted.kind, event_type.id, *span, event_type.seats)
        held = (wanted.expires_at, wanted.holder, network_of(wanted.holder) if wanted.holder else None)
        return Change(INSERT_CLAIM, (*about, *held, now), REFUSALS)
    claim_ids, (host_no, *_), *spans = map(list, zip(*rows, strict=True))
    return Change(INSERT_CLAIMS, (host_no, event_type.id, now, claim_ids, *spans), REFUSALS)


async def claim_hosts(
    db: Db,
    inputs: SlotInputs,
    wanted: ClaimsWanted,
    *,
    now: datetime,
    locking: Collection[int] = (),
    versions: Mapping[int, int | None] = {},
) -> bool:
    """Lock the hosts in `locking`, then insert the claims; return False, and insert none, if a host has changed.

    A host has changed if the version differs from the one in `versions`, if the host has left, or if the constraint
    refuses a claim.
    """
    network = network_of(wanted.holder) if wanted.holder else None
    about = (wanted.kind, inputs.event_type.id, wanted.expires_at, wanted.holder, network, now)
    seen = sorted(locking), list(versions), list(versions.values())
    columns = map(list, zip(*_list_rows(inputs, wanted), strict=True))
    return bool(await db.fetchval(CLAIM_HOSTS, *seen, *columns, *about, inputs.event_type.seats))


_Row = tuple[UUID, int, datetime, datetime, datetime, datetime]


def _list_rows(inputs: SlotInputs, wanted: ClaimsWanted) -> list[_Row]:
    return [
        (each.claim_id, each.host_no, start, *span_of(inputs, start))
        for start, hosts in zip(wanted.starts, wanted.meetings, strict=True)
        for each in hosts
    ]


def move_claims(inputs: SlotInputs, starts_at: datetime, hosts: Sequence[ClaimedHost]) -> Change:
    """Give the claims of a booking to these hosts, at this time; the constraint refuses what overlaps."""
    numbers = [each.host_no for each in hosts]
    spans = (starts_at, *span_of(inputs, starts_at))
    return Change(MOVE_CLAIMS, (_ids_of(hosts), numbers, *spans), REFUSALS, lost=SlotUnavailable)


def keep_claims(
    inputs: SlotInputs, starts_at: datetime, hosts: Sequence[ClaimedHost], *, kind: ClaimKind
) -> tuple[Change, ...]:
    """Turn a hold into what it was held for, as long as that is to be; it was read under the locks of its hosts."""
    claim_ids = _ids_of(hosts)
    kept = Change(KEEP_CLAIMS, (claim_ids, kind, *span_of(inputs, starts_at)), REFUSALS, lost=SlotUnavailable)
    if not hosts[0].was_chosen:
        return (kept,)
    return kept, Change("delete from held_hosts where claim_id = any($1::uuid[])", (claim_ids,))


def confirm_claim(claim_id: UUID) -> Change:
    return Change(CONFIRM_CLAIM, (claim_id,), lost=SlotUnavailable)


def free_claims(hosts: Sequence[ClaimedHost]) -> Change:
    return Change(FREE_CLAIMS, (_ids_of(hosts),))


def free_offered(claim_id: UUID) -> Change:
    return Change(FREE_OFFER, (claim_id,))


def _ids_of(hosts: Sequence[ClaimedHost]) -> list[UUID]:
    return [each.claim_id for each in hosts]


async def list_taken(db: Db, user_ids: Sequence[UUID], inputs: SlotInputs, starts: Sequence[datetime]) -> set[UUID]:
    """List those of some hosts whose time is taken at one of some starts, whatever the engine says."""
    _, before, after = zip(*(span_of(inputs, each) for each in starts), strict=True)
    return {row["id"] for row in await db.fetch(TAKEN_HOSTS, list(user_ids), list(before), list(after))}


def span_of(inputs: SlotInputs, starts_at: datetime) -> tuple[datetime, datetime, datetime]:
    """Return a meeting's end, and from when to when it blocks its host."""
    event_type, ends_at = inputs.event_type, starts_at + inputs.duration
    before = starts_at - timedelta(minutes=event_type.buffer_before)
    return ends_at, before, ends_at + timedelta(minutes=event_type.buffer_after)


async def delete_freed(db: Db, claim_ids: Sequence[UUID], seat_ids: Sequence[UUID]) -> None:
    """Remove seats and times that are free, and that no booking has."""
    seats = """delete from claim_seats t where t.id = any($1) and not t.active
        and not exists (select from bookings b where b.seat_id = t.id)"""
    claims = """delete from claims k where k.id = any($1) and not k.active
        and not exists (select from bookings b where b.claim_id = k.id)
        and not exists (select from booking_hosts h where h.claim_id = k.id)"""
    await db.execute(seats, seat_ids)
    await db.execute(claims, claim_ids)


async def delete_claims_of_host(db: Db, host_no: int, limit: int) -> int:
    # A plain comparison of the number would read the whole table: the index is on the range.
    own = "int8range(host_no, host_no, '[]') = int8range($1, $1, '[]')"
    removed = 0
    for table in ("claims", "busy_spans"):
        statement = f"delete from {table} where id = any(array(select id from {table} where {own} limit $2))"
        removed += count_of(await db.execute(statement, host_no, limit))
    return removed
