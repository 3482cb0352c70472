"""All SQL of what a team's event type takes: a claim of each host, and who is kept with a hold."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from openslot.domains.access.door import network_of
from openslot.domains.availability.claims.store import KEPT_UNTIL, REFUSALS, Unconfirmed, span_of
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.availability.models import ClaimedHost, ClaimKind, SlotInputs
from openslot.domains.availability.store import PENDING, UNCONFIRMED, UNCONFIRMED_SEAT
from openslot.domains.teams.models import HostRole
from openslot.platform.core.db import Db
from openslot.platform.core.events import Change

# Locks and inserts in one round trip: what it does is written in `platform/migrations/0.2.0_12_availability.sql`.
CLAIM_HOSTS = "select claim_hosts($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"
INSERT_HELD = """
insert into held_hosts (claim_id, hold_id, user_id, group_id)
select w.claim_id, $1::uuid, w.user_id, w.group_id
from unnest($2::uuid[], $3::uuid[], $4::uuid[]) as w (claim_id, user_id, group_id)"""
# As for one host, each change repeats what it assumes. A claim that changes its host is the same one: what the old
# host's calendar has of it never closes the way back.
MOVE_CLAIMS = """
update claims c set host_no = w.host_no, starts_at = $3::timestamptz, ends_at = $4::timestamptz,
    during = tstzrange($5::timestamptz, $6::timestamptz)
from unnest($1::uuid[], $2::bigint[]) as w (id, host_no)
where c.id = w.id and c.active and c.kind = 'booking'"""
KEEP_CLAIMS = """
update claims set kind = 'booking', expires_at = null, holder = null, holder_network = null, ends_at = $2,
    during = tstzrange($3, $4)
where id = any($1::uuid[]) and active and kind = 'hold'"""
DROP_CLAIMS = """
update claims set active = false, expires_at = $2
where id in (select claim_id from held_hosts where hold_id = $1) and active and kind = 'hold' and expires_at > $2
returning id"""
HELD = """
select h.user_id, h.claim_id, h.group_id, u.no as host_no, u.name, c.event_type_id, c.starts_at, c.ends_at,
       case when h.claim_id = h.hold_id then 'organizer' else 'host' end as role
from held_hosts h join claims c on c.id = h.claim_id join users u on u.id = h.user_id
where h.hold_id = $1 and c.active and c.kind = 'hold' and c.expires_at > $2
  and not exists (select from held_hosts x join claims k on k.id = x.claim_id
                  where x.hold_id = $1 and not (k.active and k.kind = 'hold' and k.expires_at > $2))
order by h.claim_id <> h.hold_id, u.no"""
TAKEN_HOSTS = """
select u.id from users u where u.id = any($1::uuid[]) and exists (
    select from unnest($2::timestamptz[], $3::timestamptz[]) as w (before, after)
    join claims c on c.host_no = u.no and c.active and c.during && tstzrange(w.before, w.after))"""
LAST_HOLD = """
select max(expires_at) from (
    select expires_at from claims
    where holder = $1 and kind = 'hold' and event_type_id = $2 and starts_at < $4 and ends_at > $3
    union all
    select t.expires_at from claim_seats t join claims c on c.id = t.claim_id
    where t.holder = $1 and c.event_type_id = $2 and c.starts_at < $4 and c.ends_at > $3) held"""
# Of each meeting the claim of its organizer, which alone has a holder, and by which its booking is found.
LIST_UNCONFIRMED = f"""
select c.event_type_id, c.starts_at, coalesce(c.expires_at, {KEPT_UNTIL} b.claim_id = c.id)) as kept_until
from claims c
where c.event_type_id = $1 and c.starts_at >= $2 and c.starts_at < $3 and c.active and c.id <> $5
  and (c.kind = 'hold' and c.holder is not null and c.expires_at > $4
       or exists (select from bookings b where b.claim_id = c.id and b.seat_id is null and {PENDING}))
union all
select c.event_type_id, c.starts_at, coalesce(t.expires_at, {KEPT_UNTIL} b.seat_id = t.id))
from claims c join claim_seats t on t.claim_id = c.id
where c.event_type_id = $1 and c.starts_at >= $2 and c.starts_at < $3 and c.active and t.active and t.id <> $5
  and (t.expires_at is null or t.expires_at > $4) and {UNCONFIRMED_SEAT}"""
UNCONFIRMED_CLAIMS = f"""
select c.id from claims c
where c.host_no = any($1) and c.starts_at < $3 and c.ends_at > $2 and c.active and c.seats = 1
  and (c.expires_at is null or c.expires_at > $4) and {UNCONFIRMED}"""


class HeldTeam(Struct, frozen=True, kw_only=True):
    """A live hold of a team: the event type, the start, and whom it holds."""

    event_type_id: UUID
    starts_at: datetime
    ends_at: datetime
    hosts: tuple[ClaimedHost, ...]
    seat_id: UUID | None = None
    """Set if the hold is a seat of a session with these hosts."""


class ClaimsWanted(Struct, frozen=True, kw_only=True):
    """The claims to be inserted for one or more meetings of the same kind."""

    starts: Sequence[datetime]
    meetings: Sequence[Sequence[ClaimedHost]]
    """The hosts of the meeting at each start."""
    kind: ClaimKind
    expires_at: datetime | None
    holder: str | None


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
    rows = [
        (each.claim_id, each.host_no, start, *span_of(inputs, start))
        for start, hosts in zip(wanted.starts, wanted.meetings, strict=True)
        for each in hosts
    ]
    network = network_of(wanted.holder) if wanted.holder else None
    about = (wanted.kind, inputs.event_type.id, wanted.expires_at, wanted.holder, network, now)
    seen = sorted(locking), list(versions), list(versions.values())
    columns = map(list, zip(*rows, strict=True))
    return bool(await db.fetchval(CLAIM_HOSTS, *seen, *columns, *about, inputs.event_type.seats))


def insert_held(hosts: Sequence[ClaimedHost]) -> Change:
    """Keep who was chosen for a hold, which has the id of the first claim."""
    columns = ([getattr(each, name) for each in hosts] for name in ("claim_id", "user_id", "group_id"))
    return Change(INSERT_HELD, (hosts[0].claim_id, *columns))


def move_claims(inputs: SlotInputs, starts_at: datetime, hosts: Sequence[ClaimedHost]) -> Change:
    """Give the claims of a booking to these hosts, at this time; the constraint refuses what overlaps."""
    claim_ids, numbers = [each.claim_id for each in hosts], [each.host_no for each in hosts]
    spans = (starts_at, *span_of(inputs, starts_at))
    return Change(MOVE_CLAIMS, (claim_ids, numbers, *spans), REFUSALS, lost=SlotUnavailable)


def keep_claims(hosts: Sequence[ClaimedHost], inputs: SlotInputs, starts_at: datetime) -> tuple[Change, ...]:
    """Turn a hold into a booking's time; it was read under the locks of all of its hosts."""
    claim_ids = [each.claim_id for each in hosts]
    kept = Change(KEEP_CLAIMS, (claim_ids, *span_of(inputs, starts_at)), REFUSALS, lost=SlotUnavailable)
    return kept, Change("delete from held_hosts where claim_id = any($1::uuid[])", (claim_ids,))


async def find_hold(db: Db, hold_id: UUID, *, now: datetime) -> HeldTeam | None:
    """Find a live hold of a team; None if any of its claims is gone."""
    rows = await db.fetch(HELD, hold_id, now)
    if not rows:
        return None
    hosts = tuple(
        ClaimedHost(
            user_id=row["user_id"],
            host_no=row["host_no"],
            name=row["name"],
            claim_id=row["claim_id"],
            group_id=row["group_id"],
            role=HostRole(row["role"]),
        )
        for row in rows
    )
    first = rows[0]
    return HeldTeam(
        event_type_id=first["event_type_id"], starts_at=first["starts_at"], ends_at=first["ends_at"], hosts=hosts
    )


async def drop_hold(db: Db, hold_id: UUID, *, now: datetime) -> bool:
    """Free what a live hold holds; False if it is no longer live."""
    return bool(await db.fetch(DROP_CLAIMS, hold_id, now))


async def list_taken(db: Db, user_ids: Sequence[UUID], inputs: SlotInputs, starts: Sequence[datetime]) -> set[UUID]:
    """List those of some hosts whose time is taken at one of some starts, whatever the engine says."""
    _, before, after = zip(*(span_of(inputs, each) for each in starts), strict=True)
    return {row["id"] for row in await db.fetch(TAKEN_HOSTS, list(user_ids), list(before), list(after))}


async def find_last_hold(
    db: Db, holder: str, event_type_id: UUID, *, starts_at: datetime, ends_at: datetime
) -> datetime | None:
    """Return until when an address has held this time of an event type, with whichever hosts."""
    found: datetime | None = await db.fetchval(LAST_HOLD, holder, event_type_id, starts_at, ends_at)
    return found


async def list_unconfirmed(
    db: Db, event_type_id: UUID, *, since: datetime, until: datetime, now: datetime, without: UUID
) -> list[Unconfirmed]:
    """List what is taken of a team's event type and not confirmed, without one claim or seat."""
    return [Unconfirmed(**row) for row in await db.fetch(LIST_UNCONFIRMED, event_type_id, since, until, now, without)]


async def list_unconfirmed_claims(
    db: Db, numbers: Collection[int], *, since: datetime, until: datetime, now: datetime
) -> list[UUID]:
    """List what is taken of some hosts and not confirmed, whatever it is taken for; seats in sessions are not."""
    return [row["id"] for row in await db.fetch(UNCONFIRMED_CLAIMS, list(numbers), since, until, now)]
