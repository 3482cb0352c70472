"""All SQL of a team's availability: one statement reads its groups, another the time of all hosts together."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from uuid import UUID

import msgspec
from msgspec.structs import replace

from openslot.availability import models
from openslot.availability.team_session_store import list_sessions
from openslot.availability.team_slots import NOBODY
from openslot.core.db import Db, Row
from openslot.schedules.models import DateOverride, HolidayCalendar, OutOfOffice, Schedule, TimeRange, WeeklyHours
from openslot.teams.ledger_store import UNSETTLED_COLUMNS, count_served
from openslot.teams.models import Candidate
from openslot.teams.store import GROUPS, RULES, write_members

_MEMBER = """g.id as group_id, u.no, u.id as user_id, coalesce(h.weight, k.weight) as weight,
    coalesce(h.priority, k.priority) as priority, coalesce(h.credit, 0) as credit, coalesce(h.last_no, 0) as last_no"""
# The claims of a booking or a hold that is about to change are left out together, whichever of them was named, or its
# seat if nobody else sits in the session. A booking with several hosts counts once for the limits of its event type.
TEAM = f"""
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
), members as materialized ({write_members(_MEMBER)}), about as materialized (
    select t.name as team_name, t.slug as team_slug, t.zone as team_zone, {RULES.columns},
           array(select claim_id from changing) as changing, (
        select array_agg(b.start) from (
            select distinct on (coalesce(s.id, h.booking_id, d.hold_id, c.id))
                   date_part('epoch', c.starts_at)::bigint as start
            from claims c
            left join claim_seats s on s.claim_id = c.id and s.active and (s.expires_at is null or s.expires_at > $2)
                and s.id is distinct from $3
            left join booking_hosts h on h.claim_id = c.id and c.seats = 1
            left join held_hosts d on d.claim_id = c.id and c.seats = 1
            where coalesce(e.limit_per_day, e.limit_per_week) is not null and c.event_type_id = e.id and c.active
              and (c.expires_at is null or c.expires_at > $2) and (c.seats = 1 or s.id is not null)
              and c.starts_at >= $4::timestamptz - interval '8 days'
              and c.starts_at < $5::timestamptz + interval '8 days'
              and c.id not in (select claim_id from changing)) b) as booked
    from event_types e join teams t on t.id = e.team_id join team_rules r on r.event_type_id = e.id
    where e.id = $1
), gathered as (
    select group_id, array_agg(no) as host_nos, array_agg(user_id) as user_ids, array_agg(weight) as weights,
           array_agg(priority) as priorities, array_agg(credit) as credits, array_agg(last_no) as last_nos,
           array_agg((select bit_xor(x.token) from host_changes x where x.host_no = m.no)) as versions
    from (select * from members order by group_id, no) m group by group_id
)
select about.*, {GROUPS.columns}, gathered.*
from about left join host_groups g on g.event_type_id = $1 left join gathered on gathered.group_id = g.id
order by g.position"""
# Before hosts are chosen, it is also asked whether the ledger is settled.
TEAM_AND_LEDGER = TEAM.replace("select about.*,", f"select about.*, {UNSETTLED_COLUMNS},", 1)
# Everything of all hosts at once: hosts, from when to when, now, from when to when claims count, whether limits count
# those of which event type, and claims that are left out. What takes a host's time is not told to their team, and not
# read.
HOSTS_WITHOUT = """
select u.no as host_no, u.name, u.left_at, u.id as user_id, s.id as schedule_id, s.name as schedule_name, s.zone,
       s.weekly_hours, s.overrides, s.holidays, away.*, taken.*, busy.*, unread.*,
       (select bit_xor(x.token) from host_changes x where x.host_no = u.no) as version
from users u
left join lateral (
    select s.* from schedules s where s.owner_id = u.id order by s.default_at desc nulls last, s.id limit 1) s on true
cross join lateral (
    select array_agg(o.starts_at) as away_from, array_agg(o.ends_at) as away_until, array_agg(o.reason) as away_reason
    from out_of_office o
    where o.owner_id = u.id and o.ends_at > $2::timestamptz and o.starts_at < $3::timestamptz) away
cross join lateral (
    select array_agg(date_part('epoch', lower(c.during))::bigint) filter (where c.counts) as claim_from,
           array_agg(date_part('epoch', upper(c.during))::bigint) filter (where c.counts) as claim_until,
           array_agg(date_part('epoch', c.starts_at)::bigint) filter (where c.counts and $7) as claim_start,
           array_agg(c.is_own) filter (where c.counts and $7) as claim_own,
           bool_or(not c.counts) as has_stale, min(c.ends) as claims_change_at
    from (select c.during, c.starts_at, c.event_type_id is not distinct from $8::uuid as is_own,
                 least(case when c.expires_at > $4 then c.expires_at end, case when c.kind = 'session' then (
                     select min(t.expires_at) from claim_seats t
                     where t.claim_id = c.id and t.active and t.expires_at > $4) end) as ends,
                 (c.expires_at is null or c.expires_at > $4) and (c.kind <> 'session' or exists (
                     select from claim_seats t
                     where t.claim_id = c.id and t.active and (t.expires_at is null or t.expires_at > $4))) as counts
          from claims c
          where c.host_no = u.no and c.starts_at > $5::timestamptz and c.starts_at < $6::timestamptz
            and c.active and c.id <> all($9::uuid[])
          offset 0) c) taken
cross join lateral (
    select array_agg(b.start_second) as busy_from, array_agg(b.end_second) as busy_until
    from busy_spans b
    where b.host_no = u.no and (b.of_claim is null or b.of_claim <> all($9::uuid[]))
      and b.end_second > date_part('epoch', $2::timestamptz)::bigint
      and b.start_second < date_part('epoch', $3::timestamptz)::bigint) busy
cross join lateral (
    select array_agg(x.name) filter (where x.closes_at <= $4) as unread_sources,
           min(x.closes_at) filter (where x.closes_at > $4) as calendars_close_at
    from busy_sources x
    where x.host_no = u.no and x.closes_at is not null) unread
where u.no = any($1::bigint[])
order by u.no"""
# Where nothing is left out, the spans of calendars are found in an index alone.
HOSTS = HOSTS_WITHOUT.replace(" and c.id <> all($9::uuid[])", "").replace(
    " and (b.of_claim is null or b.of_claim <> all($9::uuid[]))", ""
)
# The same hours are sent once, with all who have them.
HOURS = """
select s.zone, s.weekly_hours, s.overrides, s.holidays, array_agg(u.no) as host_nos,
       array_agg((select bit_xor(x.token) from host_changes x where x.host_no = u.no)) as versions
from users u cross join lateral (
    select s.* from schedules s where s.owner_id = u.id order by s.default_at desc nulls last, s.id limit 1) s
where u.no = any($1::bigint[])
group by s.zone, s.weekly_hours, s.overrides, s.holidays"""


# All tokens that are seen become a new one, so that another set of them is never taken for this one. Those of accounts
# that are gone are removed.
TIDY_CHANGES = """
with crowded as (
    select h.host_no, bool_and(u.no is null) as is_gone
    from host_changes h left join users u on u.no = h.host_no
    group by h.host_no having count(*) > $1 or bool_and(u.no is null)
), deleted as (
    delete from host_changes h using crowded c where h.host_no = c.host_no returning h.host_no, c.is_gone
), made as (
    insert into host_changes (host_no) select distinct host_no from deleted where not is_gone
)
select count(*) from deleted"""

_DAY = (TimeRange(0, 1440),)
ALWAYS: WeeklyHours = (_DAY, _DAY, _DAY, _DAY, _DAY, _DAY, _DAY)
NEVER: WeeklyHours = ((), (), (), (), (), (), ())
# The starts of two meetings that touch are at most a day and both buffers apart; limits count whole weeks.
_REACH, _REACH_OF_LIMITS = timedelta(hours=40), timedelta(days=8)
_LONGEST = timedelta(days=1, hours=8)

_weekly = msgspec.json.Decoder(WeeklyHours)
_overrides = msgspec.json.Decoder(tuple[DateOverride, ...])
_holidays = msgspec.json.Decoder(HolidayCalendar)


class ReadHost(msgspec.Struct, frozen=True, kw_only=True):
    """A host as they were read."""

    host: models.HostInputs
    version: int | None
    """Another one for each change of the host's time; None: it is not known."""

    changes_at: datetime | None
    """When the next hold expires, or a calendar closes because it was not read again."""


async def find_team(
    db: Db,
    found: models.SlotContext,
    *,
    asked_from: datetime,
    asked_until: datetime,
    without: UUID | None,
    is_listed: bool = False,
) -> models.SlotContext:
    """Read the hosts of a team's event type, and their time, instead of its owner's.

    What belongs to the booking or the hold of a claim that is about to change is left out. Where free times are listed,
    the time of hosts is read later.
    """
    event_type, now = found.inputs.event_type, found.inputs.now
    statement = TEAM if is_listed else TEAM_AND_LEDGER
    rows = await db.fetch(statement, event_type.id, now, without, asked_from, asked_until)
    if not rows:
        return found
    head = rows[0]
    rules = RULES.read(head)
    members = {row["id"]: _list_candidates(row) for row in rows if row["id"] is not None}
    candidates = await count_served(db, members, rules=rules, now=now)
    groups = tuple(
        models.GroupInputs(group=GROUPS.read(row), candidates=candidates[row["id"]])
        for row in rows
        if row["id"] is not None
    )
    sessions = []
    if event_type.seats > 1:
        about = {"seats": event_type.seats, "now": now, "without": without, "changing": head["changing"]}
        sessions = await list_sessions(db, event_type.id, since=asked_from, until=asked_until, **about)
    team = models.TeamInputs(
        rules=rules,
        groups=groups,
        hosts={},
        versions={no: version for row in rows for no, version in _pair_versions(row)},
        sessions={claim.session_start: each for claim, each in sessions if claim.session_start is not None},
        changing=head["changing"],
        is_unsettled=not is_listed and bool(head["holds"] or head["has_changed"]),
    )
    if not is_listed:
        hosts = await list_hosts(db, team, team.versions, since=asked_from, until=asked_until, now=now)
        team = replace(team, hosts=hosts)
    taken = models.Taken(claims=[claim for claim, _ in sessions], booked=head["booked"] or ())
    return _show_as_team(found, head, team, taken)


def _show_as_team(
    found: models.SlotContext, head: Row, team: models.TeamInputs, taken: models.Taken
) -> models.SlotContext:
    """Put the team in the owner's place: its hosts, its calendar and its name."""
    schedule = _to_calendar(found.inputs.schedule, head["team_zone"])
    return replace(
        found,
        inputs=replace(found.inputs, schedule=schedule, taken=taken, team=team),
        claim_ids=[],
        has_stale=False,
        host_name=head["team_name"],
        host_username=f"team/{head['team_slug']}",
        host_zone=head["team_zone"],
        host_photo=None,
    )


async def reread_hosts(
    db: Db,
    found: models.SlotContext,
    numbers: Collection[int],
    *,
    starts: Sequence[datetime],
    changing: Sequence[UUID] = (),
) -> models.SlotContext:
    """Read the time of some hosts once more, which others may have changed, for meetings at some starts in order."""
    team = found.inputs.team
    if team is None:
        return found
    team = replace(team, changing=changing)
    hosts = await list_hosts(db, team, numbers, since=starts[0], until=starts[-1], now=found.inputs.now)
    return replace(found, inputs=replace(found.inputs, team=replace(team, hosts=hosts)))


async def list_hosts(
    db: Db, team: models.TeamInputs, numbers: Collection[int], *, since: datetime, until: datetime, now: datetime
) -> dict[int, models.HostInputs]:
    """Read some hosts of a team by their numbers."""
    read = await list_times(db, team, numbers, since=since, until=until, now=now) if numbers else []
    return {each.host.host_no: each.host for each in read}


async def list_times(
    db: Db, team: models.TeamInputs, numbers: Collection[int], *, since: datetime, until: datetime, now: datetime
) -> list[ReadHost]:
    """Read some hosts of a team, each with the version of what was read: both are of the same moment."""
    rules, changing = team.rules, [list(team.changing)] if team.changing else []
    has_limits = any((rules.host_per_day, rules.host_per_week, rules.host_total_per_day, rules.host_total_per_week))
    reach = _REACH_OF_LIMITS if has_limits else _REACH
    rows = await db.fetch(
        HOSTS_WITHOUT if changing else HOSTS,
        sorted(numbers),
        since - _LONGEST,
        until + _LONGEST,
        now,
        since - reach,
        until + reach,
        has_limits,
        rules.event_type_id,
        *changing,
    )
    return [
        ReadHost(
            host=_mark_sessions(_to_host(row), team),
            version=row["version"],
            changes_at=min(filter(None, (row["claims_change_at"], row["calendars_close_at"])), default=None),
        )
        for row in rows
    ]


def _mark_sessions(host: models.HostInputs, team: models.TeamInputs) -> models.HostInputs:
    """Let a host be free at the starts of sessions that are theirs already."""
    own = [start for start, session in team.sessions.items() if host.host_no in session.hosts]
    marks = [models.Claim(start, start, session_start=start) for start in own]
    return replace(host, taken=replace(host.taken, claims=[*host.taken.claims, *marks])) if marks else host


async def list_hours(db: Db, numbers: Collection[int]) -> list[tuple[Schedule, dict[int, int | None]]]:
    """Read when some hosts work, away or not: hours, and the versions of all who have them by their numbers."""
    return [(_to_hours(row), dict(_pair_versions(row))) for row in await db.fetch(HOURS, sorted(numbers))]


async def tidy_changes(db: Db, *, max_: int = 8) -> int:
    """Replace the tokens of hosts who have more than so many, and return how many there were."""
    return int(await db.fetchval(TIDY_CHANGES, max_))


def _pair_versions(row: Row) -> Iterable[tuple[int, int | None]]:
    return zip(row["host_nos"] or (), row["versions"] or (), strict=True)


def _list_candidates(row: Row) -> list[Candidate]:
    columns = ("host_nos", "user_ids", "weights", "priorities", "credits", "last_nos")
    return [
        Candidate(host_no=no, user_id=user_id, weight=weight, priority=priority, credit=credit, last_no=last)
        for no, user_id, weight, priority, credit, last in zip(*(row[each] or () for each in columns), strict=True)
    ]


def _to_host(row: Row) -> models.HostInputs:
    starts, own = row["claim_start"] or (), row["claim_own"] or ()
    away = map(OutOfOffice, row["away_from"] or (), row["away_until"] or (), row["away_reason"] or ())
    taken = models.Taken(
        claims=list(map(models.Claim, row["claim_from"] or (), row["claim_until"] or ())),
        busy=[
            *map(models.Busy, row["busy_from"] or (), row["busy_until"] or ()),
            *map(models.Busy.always, row["unread_sources"] or ()),
        ],
        booked=[start for start, is_own in zip(starts, own, strict=True) if is_own],
    )
    return models.HostInputs(
        host_no=row["host_no"],
        name=row["name"],
        schedule=_to_schedule(row, tuple(away)),
        taken=taken,
        booked_in_all=starts,
        has_stale=bool(row["has_stale"]),
        left_at=row["left_at"],
    )


def _to_schedule(row: Row, away: tuple[OutOfOffice, ...]) -> Schedule:
    """Read the schedule from which new event types of a host start; without any they never work."""
    if row["schedule_id"] is None:
        return Schedule(
            id=row["user_id"], owner_id=row["user_id"], name="", zone="UTC", weekly_hours=NEVER, out_of_office=away
        )
    return replace(
        _to_hours(row),
        id=row["schedule_id"],
        owner_id=row["user_id"],
        name=row["schedule_name"],
        out_of_office=away,
    )


def _to_hours(row: Row) -> Schedule:
    """Read what a schedule says of hours, and nothing that differs from host to host."""
    return read_hours(row["zone"], row["weekly_hours"], row["overrides"], row["holidays"])


@lru_cache(maxsize=4096)
def read_hours(zone: str, weekly: str, overrides: str, holidays: str | None) -> Schedule:
    """Read hours that many hosts have alike, once."""
    return Schedule(
        id=NOBODY,
        owner_id=NOBODY,
        name="",
        zone=zone,
        weekly_hours=_weekly.decode(weekly),
        overrides=_overrides.decode(overrides),
        holidays=_holidays.decode(holidays) if holidays is not None else None,
    )


def _to_calendar(schedule: Schedule, zone: str) -> Schedule:
    """Make the calendar of a team, which counts its days and is never closed."""
    return Schedule(id=schedule.id, owner_id=schedule.owner_id, name="", zone=zone, weekly_hours=ALWAYS)
