"""All SQL of leavers: departures that are counted or wait, accounts that are deleted, and what a deletion would do."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from openslot.domains.accounts.members.store import MEMBERSHIPS
from openslot.domains.accounts.models import Member, Membership
from openslot.domains.accounts.store import lock_leavers
from openslot.domains.bookings.hosts.store import IS_ON
from openslot.domains.people.models import AccountDeletion, DeletionState, HeldDeparture, LeaverCounts, UpcomingMeeting
from openslot.platform.core.db import Db, Row
from openslot.platform.core.rows import Rows


# What would end if somebody left, and what others of their teams would take over. What somebody owns and others host is
# neither: it gets another owner.
def _write_released(users: str) -> str:
    return f"""
select x.user_id,
       count(*) filter (where x.is_booked and not x.is_handed_over) as cancelled,
       count(*) filter (where x.is_booked and x.is_handed_over) as handed_over,
       count(*) filter (where not x.is_booked and not x.is_handed_over) as declined,
       count(*) filter (where not x.is_booked and x.is_handed_over) as requests_handed_over
from (
    select b.host_id as user_id, b.status = 'CONFIRMED' as is_booked, false as is_handed_over from bookings b
    where b.host_id = any({users}) and {IS_ON} and b.ends_at > $2
      and not exists (select from booking_hosts h where h.booking_id = b.id)
    union all
    select h.user_id, b.status = 'CONFIRMED', coalesce(r.replaces_leavers, false) from booking_hosts h
    join bookings b on b.id = h.booking_id left join team_rules r on r.event_type_id = b.event_type_id
    where h.user_id = any({users}) and {IS_ON} and b.ends_at > $2
) x group by x.user_id"""


# What is cancelled if somebody leaves: their own bookings, and those of teams that do not replace leavers.
CANCELLED = """
from (
    select o.id from bookings o
    where o.host_id = $1 and o.status = 'CONFIRMED' and o.ends_at > $2
      and not exists (select from booking_hosts h where h.booking_id = o.id)
    union all
    select h.booking_id from booking_hosts h join bookings o on o.id = h.booking_id
    left join team_rules r on r.event_type_id = o.event_type_id
    where h.user_id = $1 and o.status = 'CONFIRMED' and o.ends_at > $2 and not coalesce(r.replaces_leavers, false)
) c join bookings b on b.id = c.id"""
# Of each kind, what a host would miss, and what others of their teams take over.
COUNTS = f"""
with released as ({_write_released("array[$1::uuid]")})
select coalesce((select cancelled from released), 0) as upcoming,
       coalesce((select handed_over from released), 0) as handed_over,
       coalesce((select declined from released), 0) as declined,
       coalesce((select requests_handed_over from released), 0) as requests_handed_over,
       (select count(*) from event_types where owner_id = $1 and team_id is not null) as team_event_types,
       (select coalesce(sum(bookings), 0) from booking_counts where host_id = $1)::bigint as bookings,
       (select count(*) from event_types where owner_id = $1 and team_id is null) as event_types,
       (select count(*) from contacts where owner_id = $1) as contacts,
       (select count(*) from conversations where owner_id = $1) as conversations,
       (select count(*) from api_keys where user_id = $1 and revoked_at is null) as keys,
       (select count(*) from webhook_endpoints where owner_id = $1) as webhooks,
       (select count(*) from calendar_connections where owner_id = $1) as calendars"""


async def list_upcoming(db: Db, user_id: UUID, *, now: datetime, limit: int) -> list[UpcomingMeeting]:
    """List the bookings that would be cancelled if somebody left, soonest first."""
    statement = f"""select b.id, b.invitee_name, b.starts_at, b.ends_at,
        (select e.name from event_types e where e.id = b.event_type_id) as event_type_name
        {CANCELLED} order by b.starts_at, b.id limit $3"""
    return [UpcomingMeeting(**row) for row in await db.fetch(statement, user_id, now, limit)]


async def count_belongings(db: Db, user_id: UUID, *, now: datetime) -> dict[str, int]:
    row = await db.fetchrow(COUNTS, user_id, now)
    return dict(row) if row else {}


HELD = Rows(
    HeldDeparture,
    "held_departures w",
    computed={"email": "u.email", "name": "u.name"},
    given=["counts"],
)
HELD_COLUMNS = f"{HELD.columns}, x.cancelled, x.handed_over, x.declined, x.requests_handed_over"
HELD_SOURCE = f"""held_departures w join users u on u.id = w.user_id
left join lateral ({_write_released("array[w.user_id]")}) x on true"""
DELETIONS = Rows(AccountDeletion, "account_deletions d")


async def insert_departure(db: Db, organization_id: UUID, *, now: datetime) -> None:
    await db.execute("insert into departures (organization_id, at) values ($1, $2)", organization_id, now)


async def count_departures(db: Db, organization_id: UUID, *, since: datetime) -> tuple[int, int]:
    statement = """select (select count(*) from departures where organization_id = $1 and at > $2) as departed,
                  (select count(*) from memberships where organization_id = $1 and active) as active"""
    row = await db.fetchrow(statement, organization_id, since)
    assert row is not None  # noqa: S101 - a select of aggregates
    return row["departed"], row["active"] + row["departed"]


async def count_removed(db: Db, team_id: UUID, *, since: datetime) -> int:
    """Count who was removed from a team since a time."""
    statement = """select count(*) from events where subject_kind = 'team' and subject_id = $1
        and type = 'team.member_removed' and at > $2"""
    return int(await db.fetchval(statement, team_id, since))


async def lock_held_hosts(db: Db, organization_id: UUID, *, user_id: UUID | None = None) -> set[UUID]:
    """Wait for the locks of the hosts whose departures wait, always in the same order, and name them."""
    statement = """select user_id from held_departures where organization_id = $1
        and ($2::uuid is null or user_id = $2)"""
    held = [row["user_id"] for row in await db.fetch(statement, organization_id, user_id)]
    await lock_leavers(db, held)
    return set(held)


async def lock_all_of(db: Db, organization_id: UUID) -> None:
    """Wait for the locks of an organization's teams, and of all hosts of these and whose departures wait."""
    teams = await db.fetch("select id from teams where organization_id = $1", organization_id)
    held = await db.fetch("select user_id from held_departures where organization_id = $1", organization_id)
    await lock_leavers(db, [row["user_id"] for row in held], team_ids=[row["id"] for row in teams])


async def insert_held(db: Db, member: Member, *, removed: bool, now: datetime) -> None:
    """Write that a departure waits for a decision, and the member's state before it."""
    statement = """insert into held_departures (organization_id, user_id, held_at, removed, member_id, role, profile)
        values ($1, $2, $3, $4, $5, $6, $7)"""
    await db.execute(
        statement,
        member.organization_id,
        member.user.id,
        now,
        removed,
        member.id,
        member.role,
        None if member.profile is None else msgspec.json.encode(member.profile).decode(),
    )


async def update_held(db: Db, member: Member, *, removed: bool) -> bool:
    """Write whether the member of a departure that waits is removed by now; False if it does not wait.

    The role may have been changed since. Who was removed and is created again gets the one from before if the
    departure is rejected.
    """
    statement = """update held_departures
        set removed = $3, role = case when member_id = $4 then $5 else role end
        where organization_id = $1 and user_id = $2 returning user_id"""
    held = await db.fetchval(statement, member.organization_id, member.user.id, removed, member.id, member.role)
    return held is not None


async def list_held(db: Db, organization_id: UUID, *, now: datetime) -> list[HeldDeparture]:
    statement = f"select {HELD_COLUMNS} from {HELD_SOURCE} where w.organization_id = $1 order by w.held_at, w.user_id"
    return [_to_held(row) for row in await db.fetch(statement, organization_id, now)]


async def find_held(db: Db, organization_id: UUID, user_id: UUID, *, now: datetime) -> HeldDeparture | None:
    statement = f"select {HELD_COLUMNS} from {HELD_SOURCE} where w.organization_id = $1 and w.user_id = $3"
    row = await db.fetchrow(statement, organization_id, now, user_id)
    return _to_held(row) if row else None


def _to_held(row: Row) -> HeldDeparture:
    return HELD.read(row, counts=_to_counts(row))


async def delete_held(db: Db, organization_id: UUID, user_id: UUID) -> bool:
    statement = "delete from held_departures where organization_id = $1 and user_id = $2 returning user_id"
    return await db.fetchval(statement, organization_id, user_id) is not None


async def count_released(db: Db, user_ids: Sequence[UUID], *, now: datetime) -> dict[UUID, LeaverCounts]:
    """Count by user what would end if they left, and what others would take over."""
    rows = await db.fetch(_write_released("$1"), user_ids, now)
    return {row["user_id"]: _to_counts(row) for row in rows}


async def count_released_of_team(db: Db, team_id: UUID, *, user_id: UUID | None = None, now: datetime) -> LeaverCounts:
    """Count what would end of a team, or of one of its hosts who leaves it, and what others would take over."""
    statement = f"""select
            count(*) filter (where b.status = 'CONFIRMED' and not r.replaces_leavers) as cancelled,
            count(*) filter (where b.status = 'CONFIRMED' and r.replaces_leavers) as handed_over,
            count(*) filter (where b.status <> 'CONFIRMED' and not r.replaces_leavers) as declined,
            count(*) filter (where b.status <> 'CONFIRMED' and r.replaces_leavers) as requests_handed_over
        from event_types e join team_rules r on r.event_type_id = e.id join bookings b on b.event_type_id = e.id
        where e.team_id = $1 and {IS_ON} and b.ends_at > $2
          and ($3::uuid is null or exists (select from booking_hosts h where h.booking_id = b.id and h.user_id = $3))"""
    row = await db.fetchrow(statement, team_id, now, user_id)
    return _to_counts(row) if row else LeaverCounts()


def _to_counts(row: Row) -> LeaverCounts:
    return LeaverCounts(**{name: row[name] or 0 for name in LeaverCounts.__struct_fields__})


async def insert_deletion(db: Db, deletion: AccountDeletion) -> None:
    await db.execute(DELETIONS.insert(), *DELETIONS.values(deletion))


async def list_under_way(db: Db, *, limit: int) -> list[AccountDeletion]:
    rows = await db.fetch(
        f"select {DELETIONS.columns} from account_deletions d where d.state <> 'done' order by d.requested_at limit $1",
        limit,
    )
    return [DELETIONS.read(row) for row in rows]


async def lock_deletion(db: Db, user_id: UUID) -> AccountDeletion | None:
    """Read a deletion that is not done and keep others from going on with it; None if another does."""
    statement = f"""select {DELETIONS.columns} from account_deletions d where d.user_id = $1 and d.state <> 'done'
        for update skip locked"""
    row = await db.fetchrow(statement, user_id)
    return DELETIONS.read(row) if row else None


async def update_state(db: Db, user_id: UUID, state: DeletionState, *, cancelled: int = 0) -> None:
    statement = (
        "update account_deletions set state = $2, cancelled_bookings = cancelled_bookings + $3 where user_id = $1"
    )
    await db.execute(statement, user_id, state, cancelled)


async def finish_deletion(db: Db, user_id: UUID, *, now: datetime) -> None:
    """Delete the user's row with all that belongs to it, and keep only that it happened."""
    await db.execute("delete from users where id = $1", user_id)
    statement = """update account_deletions set state = 'done', requested_by = null, message = null, finished_at = $2
        where user_id = $1"""
    await db.execute(statement, user_id, now)


async def list_memberships(db: Db, user_id: UUID) -> list[tuple[str, Membership]]:
    statement = f"""select o.name as organization, {MEMBERSHIPS.columns}
        from memberships m join organizations o on o.id = m.organization_id where m.user_id = $1 order by m.id"""
    return [(row["organization"], MEMBERSHIPS.read(row)) for row in await db.fetch(statement, user_id)]
