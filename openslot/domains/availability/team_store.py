"""All SQL of the time of a team's hosts, which one statement reads for all of them together."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from msgspec.structs import replace

from openslot.domains.availability import models
from openslot.domains.availability.free_hosts import NOBODY
from openslot.domains.schedules.models import DateOverride, HolidayCalendar, OutOfOffice, Schedule, WeeklyHours
from openslot.platform.core.db import Db, Row


# Everything of all hosts at once: hosts, from when to when, now, from when to when claims begin, whether limits count
# those of which event type, and claims that are left out. What takes a host's time is not told to their team, and not
# read.
def _write_hosts(of_claims: str = "", of_spans: str = "") -> str:
    """Write the statement with conditions on claims `c` and on spans of calendars `b`."""
    return f"""
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
{_write_claims(of_claims)}
{_write_busy(of_spans)}
cross join lateral (
    select array_agg(x.name) filter (where x.closes_at <= $4) as unread_sources,
           min(x.closes_at) filter (where x.closes_at > $4) as calendars_close_at
    from busy_sources x
    where x.host_no = u.no and x.closes_at is not null) unread
where u.no = any($1::bigint[])
order by u.no"""


def _write_claims(condition: str) -> str:
    return f"""cross join lateral (
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
            and c.active and ($7 or c.during && tstzrange($2, $3)){condition}
          offset 0) c) taken"""


def _write_busy(condition: str) -> str:
    return f"""cross join lateral (
    select array_agg(b.start_second) as busy_from, array_agg(b.end_second) as busy_until
    from (select b.start_second, b.end_second from busy_spans b
          where b.host_no = u.no{condition}
            and b.end_second > date_part('epoch', $2::timestamptz)::bigint
            and b.end_second <= date_part('epoch', $3::timestamptz)::bigint + 86400
            and b.start_second < date_part('epoch', $3::timestamptz)::bigint
          union all
          select b.start_second, b.end_second from busy_spans b
          where b.host_no = u.no{condition}
            and b.end_second > date_part('epoch', $3::timestamptz)::bigint + 86400
            and b.start_second < date_part('epoch', $3::timestamptz)::bigint
            and b.end_second - b.start_second > 86400) b) busy"""


HOSTS_WITHOUT = _write_hosts(
    " and c.id <> all($9::uuid[])", " and (b.of_claim is null or b.of_claim <> all($9::uuid[]))"
)
# Where nothing is left out, the spans of calendars are found in an index alone.
HOSTS = _write_hosts()
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

NEVER: WeeklyHours = ((), (), (), (), (), (), ())
# The starts of two meetings that touch are at most a day and both buffers apart; limits count whole weeks.
_REACH, _REACH_OF_LIMITS = timedelta(hours=40), timedelta(days=8)

_weekly = msgspec.json.Decoder(WeeklyHours)
_overrides = msgspec.json.Decoder(tuple[DateOverride, ...])
_holidays = msgspec.json.Decoder(HolidayCalendar)


class ReadHost(msgspec.Struct, frozen=True, kw_only=True):
    """A host as they were read."""

    host: models.HostInputs
    version: int | None
    """The version of the host's time: it differs after every change; None if not known."""

    changes_at: datetime | None
    """When the next hold expires, or a calendar closes because it was not read again."""


async def reread_hosts(
    db: Db,
    found: models.SlotContext,
    numbers: Collection[int],
    *,
    starts: Sequence[datetime],
    changing: Sequence[UUID] = (),
) -> models.SlotContext:
    """Read the time of some hosts once more, which others may have changed, for meetings at some starts in order."""
    if found.inputs.own_host is not None:
        return found
    inputs = replace(found.inputs, choice=replace(found.inputs.choice, changing=changing))
    read = await list_times(db, inputs, numbers, since=starts[0], until=starts[-1]) if numbers else []
    return replace(found, inputs=give_hosts(inputs, read))


def give_hosts(inputs: models.SlotInputs, read: Sequence[ReadHost]) -> models.SlotInputs:
    """Put hosts who were read in the place of those who were there."""
    hosts = {each.host.host_no: each.host for each in read}
    versions = {each.host.host_no: each.version for each in read}
    return replace(inputs, hosts=hosts, choice=replace(inputs.choice, versions=versions))


async def list_times(
    db: Db, inputs: models.SlotInputs, numbers: Collection[int], *, since: datetime, until: datetime
) -> list[ReadHost]:
    """Read what could touch meetings of some hosts of a team, each with the version of it: both are of one moment."""
    choice, event_type = inputs.choice, inputs.event_type
    rules, changing = choice.rules, [list(choice.changing)] if choice.changing else []
    has_limits = any((rules.host_per_day, rules.host_per_week, rules.host_total_per_day, rules.host_total_per_week))
    reach = _REACH_OF_LIMITS if has_limits else _REACH
    rows = await db.fetch(
        HOSTS_WITHOUT if changing else HOSTS,
        sorted(numbers),
        since - timedelta(minutes=event_type.buffer_before),
        until + inputs.duration + timedelta(minutes=event_type.buffer_after),
        inputs.now,
        since - reach,
        until + reach,
        has_limits,
        rules.event_type_id,
        *changing,
    )
    return [
        ReadHost(
            host=_mark_sessions(_to_host(row), inputs.sessions),
            version=row["version"],
            changes_at=min(filter(None, (row["claims_change_at"], row["calendars_close_at"])), default=None),
        )
        for row in rows
    ]


def _mark_sessions(host: models.HostInputs, sessions: Mapping[int, models.GroupSession]) -> models.HostInputs:
    """Let a host be free at the starts of sessions that are theirs already."""
    own = [start for start, session in sessions.items() if host.host_no in session.hosts]
    marks = [models.Claim(start, start, session_start=start) for start in own]
    return replace(host, taken=replace(host.taken, claims=[*host.taken.claims, *marks])) if marks else host


async def list_hours(db: Db, numbers: Collection[int]) -> list[tuple[Schedule, dict[int, int | None]]]:
    """Read when some hosts work, away or not: hours, and the versions of all who have them by their numbers."""
    return [(_to_hours(row), dict(pair_versions(row))) for row in await db.fetch(HOURS, sorted(numbers))]


async def tidy_changes(db: Db, *, max_: int = 8) -> int:
    """Replace the tokens of hosts who have more than so many, and return how many there were."""
    return int(await db.fetchval(TIDY_CHANGES, max_))


def pair_versions(row: Row) -> Iterable[tuple[int, int | None]]:
    return zip(row["host_nos"] or (), row["versions"] or (), strict=True)


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
