"""All SQL of holds: whose time they have, who is chosen for them, and how many one address has."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.store import LOCK_TIME
from openslot.domains.availability.claims.sessions.store import to_claimed_host
from openslot.domains.availability.models import WAIT_LIST, ClaimedHost
from openslot.platform.core.db import Db, Row
from openslot.platform.core.events import Change

# The first of the two numbers of an advisory lock, beside that of hosts.
ADDRESSES = 2

INSERT_HELD = """
insert into held_hosts (claim_id, hold_id, user_id, group_id)
select w.claim_id, $1::uuid, w.user_id, w.group_id
from unnest($2::uuid[], $3::uuid[], $4::uuid[]) as w (claim_id, user_id, group_id)"""
# Of a host's own event type: the time itself, or a seat of a session.
HOLD = """
select u.id as user_id, u.no as host_no, u.name, h.*, null::uuid as group_id, 'organizer' as role from (
    select c.id as claim_id, null::uuid as seat_id, c.host_no as no, c.event_type_id, c.starts_at, c.ends_at
    from claims c
    where c.id = $1 and c.active and c.kind in ('hold', 'offer') and c.expires_at > $2
    union all
    select c.id, t.id, c.host_no, c.event_type_id, c.starts_at, c.ends_at
    from claim_seats t join claims c on c.id = t.claim_id
    where t.id = $1 and t.active and t.holder is not null and t.expires_at > $2 and c.active) h
join users u on u.no = h.no"""
# Of hosts who were chosen: all of their time.
HELD = """
select h.user_id, h.claim_id, h.group_id, u.no as host_no, u.name, null::uuid as seat_id,
       c.event_type_id, c.starts_at, c.ends_at,
       case when h.claim_id = h.hold_id then 'organizer' else 'host' end as role
from held_hosts h join claims c on c.id = h.claim_id join users u on u.id = h.user_id
where h.hold_id = $1 and c.active and c.kind = 'hold' and c.expires_at > $2
  and not exists (select from held_hosts x join claims k on k.id = x.claim_id
                  where x.hold_id = $1 and not (k.active and k.kind = 'hold' and k.expires_at > $2))
order by h.claim_id <> h.hold_id, u.no"""

# Of a team's hold the event type is locked, and the hosts are not.
LOCK_HOLD = f"""
select e.team_id is not null as is_team, {LOCK_TIME} from (
    select c.host_no, c.event_type_id from claims c where c.id = $1
    union all
    select c.host_no, c.event_type_id from claim_seats t join claims c on c.id = t.claim_id where t.id = $1) held
join users u on u.no = held.host_no join event_types e on e.id = held.event_type_id"""

# A dropped hold has expired: nobody asks which of the two it was.
DROP_HOLD = f"""
with held as (
    update claims set active = false, expires_at = $2
    where id = $1 and active and kind = 'hold' and expires_at > $2
    returning id
), seat as (
    update claim_seats set active = false, expires_at = $2
    where id = $1 and active and holder is not null and holder <> '{WAIT_LIST}' and expires_at > $2
    returning claim_id
), session as (
    update claims c set active = false from seat where c.id = seat.claim_id and c.active
      and not exists (select from claim_seats t where t.claim_id = c.id and t.active and t.id <> $1)
)
select (select count(*) from held) + (select count(*) from seat)"""
DROP_CLAIMS = """
update claims set active = false, expires_at = $2
where id in (select claim_id from held_hosts where hold_id = $1) and active and kind = 'hold' and expires_at > $2
returning id"""

COUNT_HOLDS = """
select count(*) filter (where holder = $1) as of_address, count(*) as of_network from (
    select holder from claims
    where (holder = $1 or holder_network = $2) and holder is not null and active and expires_at > $3
    union all
    select holder from claim_seats
    where (holder = $1 or holder_network = $2) and holder is not null and active and expires_at > $3) held"""


def _write_last_hold(of: str) -> str:
    return f"""
select max(expires_at) from (
    select c.expires_at from claims c
    where c.holder = $1 and c.kind = 'hold' and {of} = $2 and c.starts_at < $4 and c.ends_at > $3
    union all
    select t.expires_at from claim_seats t join claims c on c.id = t.claim_id
    where t.holder = $1 and {of} = $2 and c.starts_at < $4 and c.ends_at > $3) held"""


LAST_HOLD_OF_HOST, LAST_HOLD_OF_EVENT_TYPE = map(_write_last_hold, ("c.host_no", "c.event_type_id"))


class Held(Struct, frozen=True, kw_only=True):
    """A live hold: which time it holds, of whom, and the seat in it."""

    event_type_id: UUID
    starts_at: datetime
    ends_at: datetime
    hosts: tuple[ClaimedHost, ...]
    seat_id: UUID | None = None
    """Set if the hold is a seat of a session with these hosts."""

    @property
    def claim_id(self) -> UUID:
        return self.hosts[0].claim_id


async def lock_hold(db: Db, hold_id: UUID) -> bool:
    """Take the lock of a hold's host, or of the team's event type that it holds; return whether it is a team's."""
    return bool(await db.fetchval(LOCK_HOLD, hold_id))


async def lock_network(db: Db, network: str) -> None:
    """Make holds from one address, or one IPv6 network, wait for each other."""
    await db.execute("select take_turn($1::int, hashtext($2))", ADDRESSES, network)


def insert_held(hosts: Sequence[ClaimedHost]) -> Change:
    """Keep who was chosen for a hold, which has the id of the first claim."""
    columns = ([getattr(each, name) for each in hosts] for name in ("claim_id", "user_id", "group_id"))
    return Change(INSERT_HELD, (hosts[0].claim_id, *columns))


async def find_hold(db: Db, hold_id: UUID, *, now: datetime) -> Held | None:
    """Find a live hold of a host's own event type, or a held seat, with the owner of the time or of the session."""
    return _to_held(await db.fetch(HOLD, hold_id, now))


async def find_hold_of_chosen(db: Db, hold_id: UUID, *, now: datetime) -> Held | None:
    """Find a live hold of chosen hosts that is no seat; None if any of its claims is gone."""
    return _to_held(await db.fetch(HELD, hold_id, now))


def _to_held(rows: Sequence[Row]) -> Held | None:
    if not rows:
        return None
    first = rows[0]
    return Held(
        event_type_id=first["event_type_id"],
        starts_at=first["starts_at"],
        ends_at=first["ends_at"],
        hosts=tuple(map(to_claimed_host, rows)),
        seat_id=first["seat_id"],
    )


async def drop_hold(db: Db, hold_id: UUID, *, now: datetime) -> bool:
    """Free what a live hold holds; False if the hold is no longer live."""
    return bool(await db.fetchval(DROP_HOLD, hold_id, now))


async def drop_hold_of_chosen(db: Db, hold_id: UUID, *, now: datetime) -> bool:
    """Free what a live hold holds; False if it is no longer live."""
    return bool(await db.fetch(DROP_CLAIMS, hold_id, now))


async def count_holds(db: Db, holder: str, network: str, *, now: datetime) -> tuple[int, int]:
    """Count what an address holds, and what all of its network hold."""
    row = await db.fetchrow(COUNT_HOLDS, holder, network, now)
    return (row["of_address"], row["of_network"]) if row else (0, 0)


async def find_last_hold(
    db: Db, holder: str, of: int | UUID, *, starts_at: datetime, ends_at: datetime
) -> datetime | None:
    """Return until when an address has held any of this time, of a host by number or of an event type by id.

    None if it never did or has booked it.
    """
    statement = LAST_HOLD_OF_HOST if isinstance(of, int) else LAST_HOLD_OF_EVENT_TYPE
    found: datetime | None = await db.fetchval(statement, holder, of, starts_at, ends_at)
    return found
