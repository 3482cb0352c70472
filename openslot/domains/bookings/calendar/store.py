"""SQL that reads what a host's calendar shows: meetings, hours, time away, and what connected calendars say."""

from datetime import datetime
from uuid import UUID

from openslot.domains.bookings.agenda.store import MINE, OWN_OR_HOSTED
from openslot.domains.bookings.models import CalendarMeeting, HostTime, NamedSpan, SessionSeat
from openslot.domains.schedules.store import SCHEDULES
from openslot.platform.core.db import Db
from openslot.platform.core.rows import Rows
from openslot.platform.core.times import ceil_second, floor_second

MEETINGS = Rows(
    CalendarMeeting,
    "bookings b",
    computed={
        "event_type_name": "e.name",
        "event_type_slug": "e.slug",
        "team_name": "(select t.name from teams t where t.id = e.team_id)",
        # What the owner has written for themselves.
        "private_notes": "case when b.host_id = $1 then left(b.private_notes, 300) end",
        "colleagues": f"""case when {MINE} then array[]::text[] else array(
            select u.name from booking_hosts h join users u on u.id = h.user_id
            where h.booking_id = b.id order by h.role = 'host', u.no) end""",
    },
)
# A meeting lasts a day at most, so the index on starts finds those that reach into the span. The bookings of a group
# session share its claim.
BETWEEN = f"""
select {MEETINGS.columns} from (
    select b.*, count(*) over (partition by b.claim_id) as people,
           row_number() over (partition by b.claim_id order by b.created_at, b.id) as place
    from {OWN_OR_HOSTED}
    where b.status = 'CONFIRMED' and b.ends_at > $2 and b.starts_at < $3
      and b.starts_at > $2::timestamptz - interval '1 day' and ($4 or {MINE})) b
join event_types e on e.id = b.event_type_id
where b.place = 1 order by b.starts_at, b.id"""
# A host without an offer has no hours, but may be away or busy.
HOST_TIME = f"""
select {SCHEDULES.columns}, away.*, busy.*, unread.*, exists (
    select from event_types e where e.owner_id = u.id and e.team_id is not null) as owns_teams from users u
cross join lateral (
    select array_agg(date_part('epoch', o.starts_at)::bigint) as away_from,
           array_agg(date_part('epoch', o.ends_at)::bigint) as away_until, array_agg(o.reason) as away_reason
    from out_of_office o
    where o.owner_id = u.id and o.ends_at > to_timestamp($2::bigint) and o.starts_at < to_timestamp($3::bigint)) away
cross join lateral (
    select array_agg(b.start_second) as busy_from, array_agg(b.end_second) as busy_until,
           array_agg(b.source) as busy_source
    from busy_spans b where b.host_no = u.no and b.end_second > $2 and b.start_second < $3) busy
cross join lateral (
    select array_agg(x.name order by x.name) as unread_sources
    from busy_sources x where x.host_no = u.no and x.closes_at <= $4) unread
left join schedules s on s.owner_id = u.id
    and exists (select from event_types e where e.schedule_id = s.id and e.active)
where u.id = $1"""

SESSION = """
select b.id, b.invitee_name as name, b.invitee_email as email from bookings b
where b.claim_id = $2 and b.status = 'CONFIRMED' and (b.host_id = $1 or exists (
    select from booking_hosts h where h.booking_id = b.id and h.user_id = $1))
order by b.created_at, b.id limit 200"""


async def list_meetings(
    db: Db, host_id: UUID, *, since: datetime, until: datetime, of_teams: bool
) -> list[CalendarMeeting]:
    return [MEETINGS.read(row) for row in await db.fetch(BETWEEN, host_id, since, until, of_teams)]


async def find_host_time(db: Db, host_id: UUID, *, since: datetime, until: datetime, now: datetime) -> HostTime:
    rows = await db.fetch(HOST_TIME, host_id, floor_second(since), ceil_second(until), now)
    row = rows[0]
    return HostTime(
        schedules=[SCHEDULES.read(each, out_of_office=()) for each in rows if each["s_id"] is not None],
        away=list(map(NamedSpan, row["away_from"] or (), row["away_until"] or (), row["away_reason"] or ())),
        busy=list(map(NamedSpan, row["busy_from"] or (), row["busy_until"] or (), row["busy_source"] or ())),
        unread=row["unread_sources"] or [],
        owns_teams=row["owns_teams"],
    )


async def list_session_seats(db: Db, host_id: UUID, claim_id: UUID) -> list[SessionSeat]:
    return [SessionSeat(**row) for row in await db.fetch(SESSION, host_id, claim_id)]
