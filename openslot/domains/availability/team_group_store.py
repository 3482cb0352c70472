"""All SQL of the event type of a team: one statement reads it with its groups, and who is in them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.availability import models
from openslot.domains.availability.claims.sessions.store import list_sessions
from openslot.domains.availability.team_store import give_hosts, list_times, pair_versions
from openslot.domains.event_types.models import EventType
from openslot.domains.schedules.models import Schedule, TimeRange, WeeklyHours
from openslot.domains.teams.ledger.store import count_served, write_unsettled
from openslot.domains.teams.models import Candidate
from openslot.domains.teams.store import GROUPS, RULES, write_members
from openslot.platform.core.db import Db, Row

_MEMBER = """g.id as group_id, u.no, u.id as user_id, coalesce(h.weight, k.weight) as weight,
    coalesce(h.priority, k.priority) as priority, coalesce(h.credit, 0) as credit, coalesce(h.last_no, 0) as last_no"""
TEAM_COLUMNS = f"t.name as team_name, t.slug as team_slug, t.zone as team_zone, {RULES.columns}"
TEAM_TABLES = "join teams t on t.id = e.team_id join team_rules r on r.event_type_id = e.id"
_VERSIONS = ", array_agg((select bit_xor(x.token) from host_changes x where x.host_no = m.no)) as versions"
# The claims of a booking or a hold that is about to change are left out together, whichever of them was named, or its
# seat if nobody else sits in the session. A booking with several hosts counts once for the limits of its event type.
CHANGING = """
with changing as materialized (
    select x.claim_id from booking_hosts x
    where x.booking_id in (select y.booking_id from booking_hosts y where y.claim_id = $3)
    union
    select x.claim_id from held_hosts x
    where x.hold_id in (select y.hold_id from held_hosts y where y.claim_id = $3)
    union
    select x.claim_id from bookings b join booking_hosts x on x.booking_id = b.id
    where b.seat_id = $3 and not exists (
        select from claim_seats o where o.claim_id = b.claim_id and o.id <> $3 and o.active
          and (o.expires_at is null or o.expires_at > $2))
    union
    select $3::uuid where $3 is not null
)
select array(select claim_id from changing) as changing, (
    select array_agg(b.start) from (
        select distinct on (coalesce(s.id, h.booking_id, d.hold_id, c.id))
               date_part('epoch', c.starts_at)::bigint as start
        from claims c
        left join claim_seats s on s.claim_id = c.id and s.active and (s.expires_at is null or s.expires_at > $2)
            and s.id is distinct from $3
        left join booking_hosts h on h.claim_id = c.id and c.seats = 1
        left join held_hosts d on d.claim_id = c.id and c.seats = 1
        where $6 and c.event_type_id = $1 and c.active
          and (c.expires_at is null or c.expires_at > $2) and (c.seats = 1 or s.id is not null)
          and c.starts_at >= $4::timestamptz - interval '8 days'
          and c.starts_at < $5::timestamptz + interval '8 days'
          and c.id not in (select claim_id from changing)) b) as booked"""

_DAY = (TimeRange(0, 1440),)
ALWAYS: WeeklyHours = (_DAY, _DAY, _DAY, _DAY, _DAY, _DAY, _DAY)


def _write_groups(about: str, event_type: str, now: str | None) -> str:
    """Write the SQL of an event type, and of its groups with who is in them.

    Where hosts are chosen, it is also asked whether the ledger is settled; where free times are listed, which versions
    hosts have.
    """
    ledger, versions = (f"{write_unsettled(event_type=event_type, now=now)},", "") if now else ("", _VERSIONS)
    return f"""
with about as materialized ({about}
), members as materialized ({write_members(_MEMBER, event_type=event_type)}
), gathered as (
    select group_id, array_agg(no) as host_nos, array_agg(user_id) as user_ids, array_agg(weight) as weights,
           array_agg(priority) as priorities, array_agg(credit) as credits, array_agg(last_no) as last_nos{versions}
    from (select * from members order by group_id, no) m group by group_id
)
select about.*, {ledger} {GROUPS.columns}, gathered.*
from about left join host_groups g on g.event_type_id = {event_type} left join gathered on gathered.group_id = g.id
order by g.position"""


async def list_groups(db: Db, about: str, *arguments: object, has_id: bool, now: datetime | None) -> list[Row]:
    """Read a team's event type and its groups, which are the rows; `now` is given if hosts are chosen afterwards.

    Groups are found by the first argument if that is the id of the event type.
    """
    event_type = "$1" if has_id else "(select id from about)"
    statement = _write_groups(about, event_type, None if now is None else f"${len(arguments) + 1}")
    return await db.fetch(statement, *arguments, *([] if now is None else [now]))


async def read_team(
    db: Db,
    found: models.SlotContext,
    rows: Sequence[Row],
    *,
    asked_from: datetime,
    asked_until: datetime,
    without: UUID | None,
) -> models.SlotContext:
    """Put the hosts of a team's event type, and their time, in the place of its owner.

    What belongs to the booking or the hold of a claim that is about to change is left out. Where free times are listed,
    the time of hosts is read later.
    """
    head, event_type, now = rows[0], found.inputs.event_type, found.inputs.now
    rules, is_listed = RULES.read(head), "holds" not in head
    members = {row["g_id"]: _list_candidates(row) for row in rows if row["g_id"] is not None}
    candidates = await count_served(db, members, rules=rules, now=now)
    changing, booked = await _find_changing(db, event_type, asked_from, asked_until, without=without, now=now)
    sessions: Mapping[int, models.GroupSession] = {}
    if event_type.seats > 1:
        sessions = await list_sessions(
            db,
            event_type.id,
            since=asked_from,
            until=asked_until,
            seats=event_type.seats,
            now=now,
            without=without,
            changing=changing,
        )
    inputs = replace(
        found.inputs,
        calendar=_to_calendar(found.inputs.calendar, head["team_zone"]),
        groups=_to_groups(rows, candidates),
        sessions=sessions,
        booked=booked,
        choice=models.ChoiceInputs(
            rules=rules,
            versions={no: version for row in rows for no, version in pair_versions(row)} if is_listed else {},
            changing=changing,
            is_unsettled=not is_listed and bool(head["holds"] or head["has_changed"]),
        ),
    )
    found = _show_as_team(found, head, inputs)
    numbers = set() if is_listed else {each.host_no for group in inputs.groups for each in group.candidates}
    if not numbers:
        return found
    read = await list_times(db, found.inputs, numbers, since=asked_from, until=asked_until)
    return replace(found, inputs=give_hosts(found.inputs, read))


async def _find_changing(
    db: Db,
    event_type: EventType,
    asked_from: datetime,
    asked_until: datetime,
    *,
    without: UUID | None,
    now: datetime,
) -> tuple[Sequence[UUID], Sequence[int]]:
    """Find the claims that change together with one, and the starts of bookings if the event type has limits."""
    has_limits = event_type.limits.per_day is not None or event_type.limits.per_week is not None
    if without is None and not has_limits:
        return (), ()
    row = await db.fetchrow(CHANGING, event_type.id, now, without, asked_from, asked_until, has_limits)
    return (row["changing"], row["booked"] or ()) if row else ((), ())


def _show_as_team(found: models.SlotContext, head: Row, inputs: models.SlotInputs) -> models.SlotContext:
    """Put the team in the owner's place: its hosts, its calendar and its name."""
    return replace(
        found,
        inputs=inputs,
        has_stale=False,
        host_name=head["team_name"],
        host_username=f"team/{head['team_slug']}",
        host_zone=head["team_zone"],
        host_photo=None,
    )


def _to_groups(rows: Sequence[Row], candidates: Mapping[UUID, tuple[Candidate, ...]]) -> tuple[models.GroupInputs, ...]:
    return tuple(
        models.GroupInputs(group=GROUPS.read(row), candidates=candidates[row["g_id"]])
        for row in rows
        if row["g_id"] is not None
    )


def _list_candidates(row: Row) -> list[Candidate]:
    columns = ("host_nos", "user_ids", "weights", "priorities", "credits", "last_nos")
    return [
        Candidate(host_no=no, user_id=user_id, weight=weight, priority=priority, credit=credit, last_no=last)
        for no, user_id, weight, priority, credit, last in zip(*(row[each] or () for each in columns), strict=True)
    ]


def _to_calendar(schedule: Schedule, zone: str) -> Schedule:
    """Make the calendar of a team, which counts its days and is never closed."""
    return Schedule(id=schedule.id, owner_id=schedule.owner_id, name="", zone=zone, weekly_hours=ALWAYS)
