"""All SQL of the ledger: every choice of hosts, every change of a credit, and what the credits are."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from msgspec import Struct

from openslot.domains.teams.choice import HostHistory, count_from_level
from openslot.domains.teams.models import (
    AssignmentReason,
    Balance,
    Candidate,
    ChoiceAsked,
    CreditReason,
    HostChoice,
    HostGroup,
    LastChoice,
    MemberShare,
    Replacement,
    StoredChoice,
    TeamRules,
)
from openslot.domains.teams.store import HOSTS_OF_GROUPS, IS_IN_GROUP, is_managed, write_members
from openslot.platform.core.db import Db
from openslot.platform.core.events import Change
from openslot.platform.core.ids import new_id
from openslot.platform.core.rows import Rows

INSERT_ASSIGNMENT = """
insert into assignments (id, group_id, booking_id, hold_id, reason, at, asked, chosen, price)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)"""
INSERT_ENTRIES = """
insert into credit_entries (group_id, user_id, assignment_id, delta, served, reason, at)
select $1::uuid, w.user_id, $2::uuid, w.delta, w.served, $3::text, $4::timestamptz
from unnest($5::uuid[], $6::bigint[], $7::smallint[]) as w (user_id, delta, served)"""
# The first argument names the group: what is staged for it must be written before more is.
ADD_CREDITS = """
update host_group_members h set credit = h.credit + w.delta, last_no = case when w.served = 0 then h.last_no
    else (select max(o.last_no) + 1 from host_group_members o where o.group_id = $1) end
from unnest($2::uuid[], $3::bigint[], $4::smallint[]) as w (user_id, delta, served)
where h.group_id = $1 and h.user_id = w.user_id"""
KEEP_HOLD = "update assignments set booking_id = $2, hold_id = null where hold_id = $1"
HOLD_AGAIN = "update assignments set booking_id = null, hold_id = booking_id where booking_id = $1"

# What some choices have changed so far is changed back, to the last millionth.
GIVE_BACK = """
with made as (
    insert into credit_entries (group_id, user_id, assignment_id, delta, served, reason, at)
    select e.group_id, e.user_id, e.assignment_id, -sum(e.delta), -sum(e.served), $2, $3
    from assignments a join credit_entries e on e.assignment_id = a.id
    where {condition}
    group by e.group_id, e.user_id, e.assignment_id having sum(e.delta) <> 0 or sum(e.served) <> 0
    returning group_id, user_id, delta
)
update host_group_members h set credit = h.credit + w.delta
from (select group_id, user_id, sum(delta) as delta from made group by group_id, user_id) w
where h.group_id = w.group_id and h.user_id = w.user_id
returning (select g.event_type_id from host_groups g where g.id = h.group_id)"""
OF_BOOKING = "a.booking_id = $1"
REVERSE = GIVE_BACK.format(condition=OF_BOOKING)
RESTORE = GIVE_BACK.format(condition=f"{OF_BOOKING} and e.reason in ('no_show', 'came')")
EXPIRE = GIVE_BACK.format(condition="a.hold_id = any($1)")
FORGET_HOLDS = "update assignments set hold_id = null where hold_id = any($1)"

# What some hosts have paid for a booking is paid by others, as one choice of their group. If the booking does not count
# at this moment, nothing is.
MOVE = """
with moved as (
    select w.old_id, w.new_id, coalesce((
        select sum(e.served) from assignments o join credit_entries e on e.assignment_id = o.id
        where o.booking_id = $1 and o.group_id = $2 and e.user_id = w.old_id), 0) as served
    from unnest($3::uuid[], $4::uuid[]) as w (old_id, new_id)
), paid as (
    select a.price from assignments a where a.booking_id = $1 and a.group_id = $2 order by a.no desc limit 1
), made as (
    insert into assignments (id, group_id, booking_id, reason, at, asked, chosen, price)
    select $5, $2, $1, $6, $7, $8, $4, price from paid
), entries as (
    insert into credit_entries (group_id, user_id, assignment_id, delta, served, reason, at)
    select $2, w.user_id, $5, -w.served * paid.price, w.served, $6, $7
    from paid, moved m cross join lateral (values (m.old_id, -m.served), (m.new_id, m.served)) as w (user_id, served)
    returning user_id, delta
)
insert into host_group_members as h (group_id, user_id, listed, credit, last_no)
select $2, user_id, false, delta, case when user_id = any($4) then (
    select max(o.last_no) + 1 from host_group_members o where o.group_id = $2) else 0 end
from entries
on conflict (group_id, user_id) do update
set credit = h.credit + excluded.credit, last_no = greatest(h.last_no, excluded.last_no)
returning (select g.event_type_id from host_groups g where g.id = h.group_id)"""

MEMBERS = write_members("g.id as group_id, u.id as user_id, u.no as host_no, coalesce(h.weight, k.weight) as weight")
# `offset 0`: the members of these groups are found by their group, however many others there are.
STANDINGS_OF_GROUPS = """host_groups g
    cross join lateral (select * from host_group_members x where x.group_id = g.id offset 0) h"""


def write_unsettled(*, event_type: str = "$1", now: str = "$2") -> str:
    """Write the SQL of holds that nobody has booked, and whether credits are not those of the `members` of now."""
    return f"""array(
        select a.hold_id from host_groups g join assignments a on a.group_id = g.id
        where g.event_type_id = {event_type} and a.hold_id is not null and not exists (
            select from claims c
            where c.id = a.hold_id and c.active and c.kind = 'hold' and c.expires_at > {now})) as holds,
    exists (
        select from (select h.* from {STANDINGS_OF_GROUPS} where g.event_type_id = {event_type}) h
        full join members m on m.group_id = h.group_id and m.user_id = h.user_id
        group by coalesce(h.group_id, m.group_id)
        having sum(h.credit) <> 0 or bool_or(
            (h.credit <> 0 and m.user_id is null) or (h.joined_at is not null) <> coalesce(m.weight > 0, false))
    ) as has_changed"""


UNSETTLED = f"with members as materialized ({MEMBERS}) select {write_unsettled()}"
STANDINGS = f"""
with members as materialized ({MEMBERS})
select coalesce(h.group_id, m.group_id) as group_id, coalesce(h.user_id, m.user_id) as user_id, m.host_no, m.weight,
       coalesce(h.credit, 0) as credit, h.joined_at
from (select * from host_group_members where group_id in (select id from host_groups where event_type_id = $1)) h
full join members m on m.group_id = h.group_id and m.user_id = h.user_id
order by group_id, m.host_no"""
JOIN = """
insert into host_group_members as h (group_id, user_id, listed, joined_at)
select $1::uuid, w.user_id, false, w.joined_at from unnest($2::uuid[], $3::timestamptz[]) as w (user_id, joined_at)
on conflict (group_id, user_id) do update set joined_at = excluded.joined_at"""
# How many bookings each had since a time, by how many had joined before, and how many had joined before they did.
SERVED = """
with joins as (
    select g.id as group_id, array(
        select distinct h.joined_at from host_group_members h
        where h.group_id = g.id and h.joined_at > $2 order by 1) as times
    from host_groups g where g.event_type_id = $1
), served as (
    select a.group_id, e.user_id, width_bucket(a.at, j.times) as place, sum(e.served) as count
    from joins j join assignments a on a.group_id = j.group_id and a.at > $2
    join credit_entries e on e.assignment_id = a.id and e.served <> 0
    group by 1, 2, 3
)
select h.group_id, h.user_id, width_bucket(h.joined_at, j.times) as joined, s.place, s.count
from joins j join host_group_members h on h.group_id = j.group_id and h.joined_at is not null
left join served s on s.group_id = h.group_id and s.user_id = h.user_id"""


class MemberStanding(Struct, frozen=True, kw_only=True):
    """What the ledger has of somebody who is in a group, or was."""

    group_id: UUID
    user_id: UUID
    host_no: int | None
    weight: int | None
    """None if they are no longer in the group."""

    credit: int
    joined_at: datetime | None


class LedgerEntry(Struct, frozen=True, kw_only=True):
    """A change of a credit."""

    no: int
    group_id: UUID
    user_id: UUID
    assignment_id: UUID | None
    booking_id: UUID | None
    delta: int
    served: int
    reason: CreditReason
    at: datetime


class StoredCredit(Struct, frozen=True, kw_only=True):
    group_id: UUID
    user_id: UUID
    credit: int


SHARES = Rows(
    MemberShare,
    "host_groups g",
    computed={
        "balance": "r.balance",
        "user_id": "u.id",
        "name": "u.name",
        "email": "u.email",
        "weight": "coalesce(h.weight, k.weight)",
        "credit": "coalesce(h.credit, 0)",
        "had": """(select coalesce(sum(c.served), 0) from credit_entries c
            where c.group_id = g.id and c.user_id = u.id)::int""",
    },
)
CHOICES = Rows(StoredChoice, "assignments a")
ENTRIES = Rows(LedgerEntry, "credit_entries c", computed={"booking_id": "a.booking_id"})
CREDITS = Rows(StoredCredit, "host_group_members h")
STANDING_ROWS = Rows(MemberStanding, "host_group_members h")


def insert_assignment(
    group: HostGroup,
    choice: HostChoice,
    asked: ChoiceAsked,
    reason: AssignmentReason,
    *,
    booking_id: UUID | None,
    hold_id: UUID | None,
    now: datetime,
) -> list[Change]:
    assignment_id = new_id()
    deltas = {**dict.fromkeys(choice.chosen, 0), **choice.deltas}
    changes = (
        list(deltas),
        list(deltas.values()),
        [int(user_id in choice.chosen) for user_id in deltas],
    )
    of_choice = (assignment_id, group.id, booking_id, hold_id, reason, now, _json(asked), choice.chosen, choice.price)
    return [
        Change(INSERT_ASSIGNMENT, of_choice),
        Change(INSERT_ENTRIES, (group.id, assignment_id, reason, now, *changes)),
        Change(ADD_CREDITS, (group.id, *changes)),
    ]


def keep_hold(hold_id: UUID, booking_id: UUID) -> Change:
    return Change(KEEP_HOLD, (hold_id, booking_id))


async def hold_again(db: Db, session_id: UUID) -> None:
    await db.execute(HOLD_AGAIN, session_id)


async def reverse(db: Db, booking_id: UUID, reason: CreditReason, *, now: datetime) -> UUID | None:
    """Take back what a booking has counted, and return its event type; None if it has counted nothing."""
    event_type_id: UUID | None = await db.fetchval(REVERSE, booking_id, reason, now)
    return event_type_id


async def restore(db: Db, booking_id: UUID, *, now: datetime) -> UUID | None:
    """Count again what a no-show has taken back, and return the event type; None if that was nothing."""
    event_type_id: UUID | None = await db.fetchval(RESTORE, booking_id, CreditReason.CAME, now)
    return event_type_id


async def expire(db: Db, hold_ids: Sequence[UUID], *, now: datetime) -> None:
    await db.execute(EXPIRE, hold_ids, CreditReason.EXPIRED, now)
    await db.execute(FORGET_HOLDS, hold_ids)


async def move(
    db: Db, booking_id: UUID, places: Replacement, *, reason: AssignmentReason, asked: ChoiceAsked, now: datetime
) -> UUID | None:
    """Let other hosts pay for a booking, and return its event type; None if nobody was chosen for it."""
    hosts = (list(places.hosts), list(places.hosts.values()))
    arguments = (booking_id, places.group_id, *hosts, new_id(), reason, now, _json(asked))
    event_type_id: UUID | None = await db.fetchval(MOVE, *arguments)
    return event_type_id


async def list_event_types_of(db: Db, team_id: UUID, user_id: UUID) -> list[UUID]:
    """List the event types of a team with a group from which somebody was chosen, or in which they have a credit."""
    statement = """select distinct g.event_type_id from event_types e join host_groups g on g.event_type_id = e.id
        join host_group_members h on h.group_id = g.id
        where e.team_id = $1 and h.user_id = $2 and (h.credit <> 0 or h.joined_at is not null)"""
    return [row["event_type_id"] for row in await db.fetch(statement, team_id, user_id)]


async def find_unsettled(db: Db, event_type_id: UUID, *, now: datetime) -> tuple[list[UUID], bool]:
    """Find holds that were not booked, and whether members or their credits have changed."""
    row = await db.fetchrow(UNSETTLED, event_type_id, now)
    return (row["holds"], row["has_changed"]) if row else ([], False)


async def list_standings(db: Db, event_type_id: UUID) -> list[MemberStanding]:
    """List who is in the groups of an event type, and who has been, with what the ledger has of them."""
    return [STANDING_ROWS.read(row) for row in await db.fetch(STANDINGS, event_type_id)]


async def count_served(
    db: Db, candidates: Mapping[UUID, Sequence[Candidate]], *, rules: TeamRules, now: datetime
) -> dict[UUID, tuple[Candidate, ...]]:
    """Complete the candidates of each group by how many bookings they had, which the balance `total` asks for."""
    if rules.balance is not Balance.TOTAL:
        return {group_id: tuple(each) for group_id, each in candidates.items()}
    histories: dict[tuple[UUID, UUID], HostHistory] = {}
    for row in await db.fetch(SERVED, rules.event_type_id, now - timedelta(days=rules.window_days)):
        history = histories.setdefault((row["group_id"], row["user_id"]), HostHistory(row["joined"], {}))
        if row["place"] is not None:
            history.served[row["place"]] = int(row["count"])
    return {
        group_id: count_from_level(members, {each.user_id: histories.get((group_id, each.user_id)) for each in members})
        for group_id, members in candidates.items()
    }


async def join(db: Db, group_id: UUID, joined: Mapping[UUID, datetime | None]) -> None:
    """Write since when members are chosen from; None if they are not now."""
    await db.execute(JOIN, group_id, list(joined), list(joined.values()))


async def add_credits(
    db: Db, group_id: UUID, deltas: Mapping[UUID, int], reason: CreditReason, *, now: datetime
) -> None:
    """Change credits for no booking."""
    changes = (list(deltas), list(deltas.values()), [0] * len(deltas))
    await db.execute(INSERT_ENTRIES, group_id, None, reason, now, *changes)
    await db.execute(ADD_CREDITS, group_id, *changes)


async def list_choices(db: Db, team_id: UUID, *, since: datetime | None = None) -> list[StoredChoice]:
    statement = f"""select {CHOICES.columns} from event_types e join host_groups g on g.event_type_id = e.id
        join assignments a on a.group_id = g.id
        where e.team_id = $1 and ($2::timestamptz is null or a.at >= $2) order by a.no"""
    return [CHOICES.read(row) for row in await db.fetch(statement, team_id, since)]


async def list_choices_made(
    db: Db, event_type_id: UUID, *, reader_id: UUID, now: datetime, limit: int
) -> list[LastChoice]:
    # A session is known by its claim, and is as those of its bookings that take place.
    statement = f"""select {CHOICES.columns}, b.id as of_booking, b.starts_at, b.status = 'CANCELLED' as is_cancelled,
            b.status = 'CONFIRMED' and b.ends_at > $3
                and (b.host_id = $2 or {is_managed("$2")}) as can_hand_over,
            b.state = 'waiting' and b.lapses_at > $3 as is_waiting,
            b.status = 'PENDING_CONFIRMATION' and b.state <> 'waiting' as is_unconfirmed
        from event_types e join host_groups g on g.event_type_id = e.id join assignments a on a.group_id = g.id
        left join lateral (
            select b.id, b.host_id, b.status, b.starts_at, b.ends_at, r.state, r.lapses_at
            from bookings b left join booking_requests r on r.booking_id = b.id
            where b.id = a.booking_id or b.claim_id = a.booking_id
            order by b.status = 'CONFIRMED' desc, r.state = 'waiting' desc nulls last, b.id limit 1) b on true
        where e.id = $1 order by a.no desc limit $4"""
    return [
        LastChoice(
            choice=CHOICES.read(row),
            booking_id=row["of_booking"],
            starts_at=row["starts_at"],
            is_cancelled=bool(row["is_cancelled"]),
            can_hand_over=bool(row["can_hand_over"]),
            is_waiting=bool(row["is_waiting"]),
            is_unconfirmed=bool(row["is_unconfirmed"]),
        )
        for row in await db.fetch(statement, event_type_id, reader_id, now, limit)
    ]


async def list_member_shares(db: Db, event_type_id: UUID) -> list[MemberShare]:
    """List who can host an event type at this moment, by group and name."""
    statement = f"""select {SHARES.columns} from {HOSTS_OF_GROUPS} join team_rules r on r.event_type_id = e.id
        where g.event_type_id = $1 and {IS_IN_GROUP} order by g.position, lower(u.name), u.no"""
    return [SHARES.read(row) for row in await db.fetch(statement, event_type_id)]


async def list_entries(db: Db, team_id: UUID, *, newest: int | None = None) -> list[LedgerEntry]:
    """List the entries of a team in their order, or so many of the newest, these first."""
    order = "order by c.no" if newest is None else f"order by c.no desc limit {newest}"
    statement = f"""select {ENTRIES.columns} from event_types e join host_groups g on g.event_type_id = e.id
        join credit_entries c on c.group_id = g.id left join assignments a on a.id = c.assignment_id
        where e.team_id = $1 {order}"""
    return [ENTRIES.read(row) for row in await db.fetch(statement, team_id)]


async def count_bookings_had(db: Db, team_id: UUID) -> dict[tuple[UUID, UUID], int]:
    """Count the bookings that count for each member of each group of a team."""
    statement = """select c.group_id, c.user_id, sum(c.served) as had
        from event_types e join host_groups g on g.event_type_id = e.id join credit_entries c on c.group_id = g.id
        where e.team_id = $1 group by c.group_id, c.user_id"""
    return {(row["group_id"], row["user_id"]): int(row["had"]) for row in await db.fetch(statement, team_id)}


async def list_credits(db: Db, team_id: UUID) -> list[StoredCredit]:
    statement = f"""select {CREDITS.columns} from event_types e join host_groups g on g.event_type_id = e.id
        join host_group_members h on h.group_id = g.id where e.team_id = $1 order by h.group_id, h.user_id"""
    return [CREDITS.read(row) for row in await db.fetch(statement, team_id)]


async def count_wrong_credits(db: Db) -> int:
    """Count the credits that are not the sum of their entries, and the groups whose credits do not sum up to 0."""
    statement = """select (
            select count(*) from host_group_members h where h.credit <> (
                select coalesce(sum(c.delta), 0) from credit_entries c
                where c.group_id = h.group_id and c.user_id = h.user_id))
        + (select count(*) from (
            select from host_group_members group by group_id having sum(credit) <> 0) g)"""
    return int(await db.fetchval(statement))


def _json(asked: ChoiceAsked) -> str:
    return msgspec.json.encode(asked).decode()
