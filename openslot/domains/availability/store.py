"""All SQL of availability: one statement reads everything that decides about a span of time."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from msgspec.structs import replace

from openslot.domains.accounts.models import PLAIN_PAGE
from openslot.domains.accounts.profiles.store import BRAND, PAGE_BRAND, to_page_brand
from openslot.domains.availability import models
from openslot.domains.availability.grid import Interval
from openslot.domains.availability.team_group_store import TEAM_COLUMNS, TEAM_TABLES, list_groups, read_team
from openslot.domains.event_types.links.store import LINKS
from openslot.domains.event_types.rules import LONGEST_MINUTES
from openslot.domains.event_types.store import EVENT_TYPES, to_record
from openslot.domains.schedules.models import OutOfOffice
from openslot.domains.schedules.store import SCHEDULES
from openslot.platform.core.db import Db, Row
from openslot.platform.core.ids import fingerprint
from openslot.platform.core.times import ceil_second, floor_second

MAX_OFFERS = 100
"""How many event types of a host are looked at for the share of a day, the one that is asked for first."""

# What is taken and not confirmed: holds, unpaid bookings, requests, and offers of a wait list. The claims of a team's
# request, and seats, are like those of a booking: only that says what it waits for.
PENDING = "b.status in ('PENDING_PAYMENT', 'PENDING_CONFIRMATION')"
UNCONFIRMED = f"""(c.kind in ('hold', 'payment', 'request', 'offer') or c.kind = 'booking' and exists (
    select from booking_hosts h join bookings b on b.id = h.booking_id where h.claim_id = c.id and {PENDING}))"""
UNCONFIRMED_SEAT = f"""(t.holder is not null or exists (
    select from bookings b where b.seat_id = t.id and {PENDING}))"""

_HOST = """u.no as host_no, u.name as host_name, u.username as host_username, u.zone as host_zone,
       u.left_at as host_left_at"""


class _Time(NamedTuple):
    """What is read about the time of those who host, beside their event type."""

    columns: str
    tables: str


# The starts of two meetings that touch are at most a day apart, the longest duration, plus 8 hours of buffer for each.
# The limits count whole weeks of the host's calendar, whatever its zone: a week and a day on both sides. Seconds are
# written out as bigint: PostgreSQL would take their sum with an integer for one that ends in 2038. `offset 0` keeps a
# session's seats from being counted again for each column that depends on them. Few claims are sessions: what
# only sessions have is not read for the others. The time of a team's owner does not matter.
def _write_time(*, claims: str = "c.active", seats: str = "t.active") -> _Time:
    """Write what takes an owner's time, of the claims `c` and the seats `t` that count."""
    tables = f"""cross join lateral (
    select array_agg(starts_at) as away_from, array_agg(ends_at) as away_until, array_agg(reason) as away_reason
    from out_of_office o
    where e.team_id is null and o.owner_id = e.owner_id and o.ends_at > to_timestamp($1::bigint)
      and o.starts_at < to_timestamp($2::bigint + e.duration_minutes * 60)) away
cross join lateral (
    select array_agg(date_part('epoch', lower(c.during))::bigint) filter (where c.lasts and c.sitting is null)
               as claim_from,
           array_agg(date_part('epoch', upper(c.during))::bigint) filter (where c.lasts and c.sitting is null)
               as claim_until,
           array_agg(c.kind) filter (where c.lasts and c.sitting is null) as claim_kind,
           json_agg(json_build_array(
               date_part('epoch', lower(c.during))::bigint, date_part('epoch', upper(c.during))::bigint, c.kind,
               case when c.event_type_id = e.id then date_part('epoch', c.starts_at)::bigint end,
               greatest(e.seats - c.sitting, 0), date_part('epoch', c.ends_at)::bigint, c.id
           )) filter (where c.lasts and c.sitting > 0) as sessions,
           coalesce(bool_or(not c.lasts or c.sitting = 0), false) as has_stale
    from (select c.during, c.kind, c.event_type_id, c.starts_at, c.ends_at, c.id,
                 c.expires_at is null or c.expires_at > $3 as lasts,
                 case when c.kind = 'session' then (
                     select count(*) from claim_seats t
                     where t.claim_id = c.id and {seats} and (t.expires_at is null or t.expires_at > $3)
                       and t.id is distinct from $4) end as sitting
          from claims c
          where e.team_id is null and c.host_no = u.no and c.starts_at > to_timestamp($1::bigint) - interval '40 hours'
            and c.starts_at < to_timestamp($2::bigint) + interval '40 hours' and {claims}
            and c.id is distinct from $4
          offset 0) c) taken
cross join lateral (
    select array_agg(b.start_second) as busy_from, array_agg(b.end_second) as busy_until,
           array_agg(b.source) as busy_source
    from busy_spans b
    where e.team_id is null and b.host_no = u.no and (b.of_claim is null or b.of_claim is distinct from $4)
      and b.end_second > $1::bigint - e.buffer_before * 60
      and b.start_second < $2::bigint + (e.duration_minutes + e.buffer_after) * 60) busy
cross join lateral (
    select array_agg(x.name) as unread_sources from busy_sources x
    where e.team_id is null and x.host_no = u.no and x.closes_at <= $3) unread
cross join lateral (
    select array_agg(date_part('epoch', c.starts_at)::bigint) as counted_starts
    from claims c
    left join claim_seats t on t.claim_id = c.id and {seats} and (t.expires_at is null or t.expires_at > $3)
    where coalesce(e.limit_per_day, e.limit_per_week) is not null and c.event_type_id = e.id and {claims}
      and ($4::uuid is null or c.id <> $4 and t.id is distinct from $4)
      and (c.expires_at is null or c.expires_at > $3) and (c.kind <> 'session' or t.id is not null)
      and c.starts_at >= to_timestamp($1::bigint) - interval '8 days'
      and c.starts_at < to_timestamp($2::bigint) + interval '8 days') counted"""
    return _Time("away.*, taken.*, busy.*, unread.*, counted.*", tables)


OF_OWNER = _write_time()
OF_OWNER_CONFIRMED = _write_time(claims=f"c.active and not {UNCONFIRMED}", seats=f"t.active and not {UNCONFIRMED_SEAT}")
OF_TEAM = _Time(TEAM_COLUMNS, TEAM_TABLES)
# Whether a number is connected on a channel by which the event type reminds people or follows up.
SENDS_MESSAGES = """
exists (
    select from messaging_connections k
    where k.disconnected_at is null and (k.user_id = u.id or k.organization_id in (
        select m.organization_id from memberships m where m.user_id = u.id and m.active))
      and k.channel in (
        select x ->> 'channel' from jsonb_array_elements((
            select r.entries from reminder_settings r
            where r.host_id = u.id and (r.event_type_id = e.id or r.event_type_id is null)
            order by r.event_type_id nulls last limit 1)) x))"""
# How the host of a page looks, and whether it asks if messages are wanted.
_OF_PAGE = (
    f"u.photo as host_photo, b.color as host_color, {PAGE_BRAND}, {SENDS_MESSAGES} as sends_messages",
    f"left join lateral ({BRAND}) b on true",
)


def _write_setting(time: _Time, *, draft: str | None = None, is_page: bool = False, token: str | None = None) -> str:
    """Write the SQL of an event type with its owner and its schedule; which one it is follows.

    A draft is read as if it were the only row of its table. Of a page, and of a link's token, more is read.
    """
    source = "event_types e" if draft is None else f"jsonb_populate_record(null::event_types, {draft}::text::jsonb) e"
    added = [_OF_PAGE] if is_page else []
    if token is not None:
        link = f"left join booking_links l on l.event_type_id = e.id and l.token_hash = {token}"
        added = [*added, (LINKS.columns, link)]
    columns = "".join(f", {each}" for each, _ in reversed(added))
    joins = "".join(f"{each} " for _, each in added)
    return f"""
select {EVENT_TYPES.columns}, {SCHEDULES.columns}, {_HOST}{columns}, {time.columns}
from {source}
join users u on u.id = e.owner_id
{joins}join schedules s on s.id = e.schedule_id
{time.tables}
where u.disabled_at is null and """


def _write_offers(time: _Time) -> str:
    condition = "e.owner_id = $5 and e.active and e.team_id is null"
    return f"{_write_setting(time)}{condition} order by e.id <> $6, e.id limit {MAX_OFFERS}"


# For all that a host offers, as it is, and as if nothing were taken that is not confirmed.
OF_HOST = _write_offers(OF_OWNER)
OF_HOST_CONFIRMED = _write_offers(OF_OWNER_CONFIRMED)
_Session = tuple[int, int, str, int | None, int, int, UUID]
_sessions = msgspec.json.Decoder(list[_Session])


async def find_setting(
    db: Db,
    which: models.EventTypeRef | models.Drafted,
    *,
    asked_from: datetime,
    asked_until: datetime,
    now: datetime,
    without: UUID | None = None,
    is_listed: bool = False,
    is_team: bool = False,
) -> models.SlotContext | None:
    """Read what decides about the starts of a span, without a claim or seat that is about to change and its event.

    Where free times are listed, the time of a team's hosts is read later (`team_listing`). Of what is known to be a
    team's, the time of its owner is not asked for.
    """
    if not is_team and not isinstance(which, models.ByTeamPage):
        statement, arguments = _write_statement(which, OF_OWNER, first=5)
        # The statement knows the default duration alone: for another one it reads so much further.
        asked = floor_second(asked_from), ceil_second(asked_until) + (which.minutes or 0) * 60
        row = await db.fetchrow(statement, *asked, now, without, *arguments)
        if row is None or row["team_id"] is None:
            return _to_context(row, now, minutes=which.minutes) if row else None
    about, arguments = _write_statement(which, OF_TEAM, first=1)
    has_id = isinstance(which, models.ById | models.ByBooking)
    rows = await list_groups(db, about, *arguments, has_id=has_id, now=None if is_listed else now)
    if not rows:
        return None
    found = _to_context(rows[0], now, minutes=which.minutes)
    return await read_team(db, found, rows, asked_from=asked_from, asked_until=asked_until, without=without)


async def list_settings(
    db: Db,
    owner_id: UUID,
    *,
    first: UUID,
    asked_from: datetime,
    asked_until: datetime,
    now: datetime,
    is_confirmed: bool,
) -> list[models.SlotInputs]:
    """Read what decides about a span for all that a host offers, one event type first, in each duration.

    It is read as it is, or as if nothing were taken that is not confirmed.
    """
    statement = OF_HOST_CONFIRMED if is_confirmed else OF_HOST
    asked = floor_second(asked_from), ceil_second(asked_until) + LONGEST_MINUTES * 60
    rows = await db.fetch(statement, *asked, now, None, owner_id, first)
    found = (_to_context(row, now).inputs for row in rows)
    return [replace(each, minutes=minutes) for each in found for minutes in each.event_type.all_durations]


def _write_statement(
    which: models.EventTypeRef | models.Drafted, time: _Time, *, first: int
) -> tuple[str, tuple[Any, ...]]:
    """Write which event type is read, with the arguments from the first free number on."""
    if isinstance(which, models.Drafted):
        setting = _write_setting(time, draft=f"${first}")
        return f"{setting}s.owner_id = e.owner_id", (to_record(which.event_type),)
    condition, arguments = condition_of(which, first=first)
    has_token = isinstance(which, models.ByPage | models.ByTeamPage | models.ById) and which.token is not None
    setting = _write_setting(
        time,
        is_page=isinstance(which, models.ByPage | models.ByTeamPage),
        # The token is the last argument.
        token=f"${first - 1 + len(arguments)}" if has_token else None,
    )
    return setting + condition, arguments


def condition_of(which: models.EventTypeRef, *, first: int) -> tuple[str, tuple[Any, ...]]:
    """Write which event type is meant, and with which arguments from the first free number on."""
    a, b, c = f"${first}", f"${first + 1}", f"${first + 2}"
    match which:
        case models.BySlug(owner_id, slug):
            return f"e.owner_id = {a} and e.slug = {b} and e.active", (owner_id, slug)
        case models.ById(event_type_id, token):
            return f"e.id = {a} and e.active and {_visible(b)}", (event_type_id, _hash(token))
        case models.ByBooking(event_type_id):
            return f"e.id = {a}", (event_type_id,)
        case models.ByPage(username, slug, token):
            page = f"lower(u.username) = lower({a}) and e.slug = {b} and e.active and {_visible(c)}"
            # What a team offers is on the team's page.
            return f"{page} and e.team_id is null", (username, slug, _hash(token))
        case models.ByTeamPage(team_slug, slug, token):
            team = f"select t.id from teams t where lower(t.slug) = lower({a})"
            page = f"e.team_id = ({team}) and e.slug = {b} and e.active and {_visible(c)}"
            return page, (team_slug, slug, _hash(token))


def _hash(token: str | None) -> bytes | None:
    return None if token is None else fingerprint(token)


def _visible(token: str) -> str:
    return f"""(e.private_hash is null or e.private_hash = {token}
        or exists (select from booking_links k where k.event_type_id = e.id and k.token_hash = {token}))"""


def _to_context(row: Row, now: datetime, *, minutes: int | None = None) -> models.SlotContext:
    """Read an event type, and what takes its owner's time; of a team's that was not asked for."""
    of_team = row["team_id"] is not None
    inputs = _of_team(row, now, minutes) if of_team else _of_owner(row, now, minutes)
    return models.SlotContext(
        inputs=inputs,
        has_stale=not of_team and row["has_stale"],
        host_no=row["host_no"],
        host_name=row["host_name"],
        host_username=row["host_username"],
        host_zone=row["host_zone"],
        host_left_at=row["host_left_at"],
        host_photo=row.get("host_photo"),
        host_color=row.get("host_color"),
        host_brand=to_page_brand(row) if "brand_images" in row else PLAIN_PAGE,
        sends_messages=row.get("sends_messages") or False,
        link=LINKS.read(row) if row.get("l_id") else None,
    )


def _of_team(row: Row, now: datetime, minutes: int | None) -> models.SlotInputs:
    return models.SlotInputs(
        event_type=EVENT_TYPES.read(row),
        calendar=SCHEDULES.read(row, out_of_office=()),
        now=now,
        minutes=minutes,
        groups=(),
        hosts={},
    )


def _of_owner(row: Row, now: datetime, minutes: int | None) -> models.SlotInputs:
    """Read when the owner is away, and what else takes their time, with the sessions of the event type."""
    away = map(OutOfOffice, row["away_from"] or (), row["away_until"] or (), row["away_reason"] or ())
    sessions = _sessions.decode(row["sessions"]) if row["sessions"] else []
    taken = models.Taken(
        claims=[
            *map(models.Claim, row["claim_from"] or (), row["claim_until"] or (), row["claim_kind"] or ()),
            *(models.Claim(*session[:4]) for session in sessions),
        ],
        busy=[
            *map(models.Busy, row["busy_from"] or (), row["busy_until"] or (), row["busy_source"] or ()),
            *map(models.Busy.always, row["unread_sources"] or ()),
        ],
    )
    host = models.HostInputs(
        host_no=row["host_no"],
        name=row["host_name"],
        schedule=SCHEDULES.read(row, out_of_office=tuple(away)),
        taken=taken,
        has_stale=row["has_stale"],
        left_at=row["host_left_at"],
    )
    return models.SlotInputs.of_host(
        host,
        EVENT_TYPES.read(row),
        now=now,
        minutes=minutes,
        sessions=_read_sessions(sessions, host.host_no) if sessions else {},
        booked=row["counted_starts"] or (),
    )


def _read_sessions(sessions: Sequence[_Session], host_no: int) -> dict[int, models.GroupSession]:
    """Read the sessions of the event type itself: those of others only take time."""
    hosts = frozenset((host_no,))
    return {
        start: models.GroupSession(
            id=id_, hosts=hosts, taken_from=taken_from, taken_until=taken_until, end=end, seats_left=left
        )
        for taken_from, taken_until, _, start, left, end, id_ in sessions
        if start is not None
    }


UPSERT_SOURCE = """
insert into busy_sources (id, host_no, name) select $1, u.no, $3 from users u where u.id = $2
on conflict (id) do update set name = excluded.name where busy_sources.name <> excluded.name"""
RENAME_SPANS = "update busy_spans set source = $2 where source_id = $1 and source <> $2"
# Unchanged spans are not written: most changes of an event do not affect its times.
REPLACE_SPANS = """
with wanted as (
    select * from unnest($3::text[], $4::bigint[], $5::bigint[], $6::uuid[])
        as w (uid, start_second, end_second, of_claim)
), deleted as (
    delete from busy_spans b where b.source_id = $1 and b.uid = any($2::text[])
      and not exists (select from wanted w
                      where (w.uid, w.start_second, w.end_second) = (b.uid, b.start_second, b.end_second)
                        and w.of_claim is not distinct from b.of_claim)
)
insert into busy_spans (host_no, source_id, source, uid, during, of_claim)
select s.host_no, s.id, s.name, w.uid, tstzrange(to_timestamp(w.start_second), to_timestamp(w.end_second)), w.of_claim
from wanted w join busy_sources s on s.id = $1
where not exists (select from busy_spans b where b.source_id = $1 and b.uid = w.uid
                  and (b.start_second, b.end_second) = (w.start_second, w.end_second)
                  and b.of_claim is not distinct from w.of_claim)"""


async def upsert_source(db: Db, source_id: UUID, *, host_id: UUID, name: str) -> None:
    await db.execute(UPSERT_SOURCE, source_id, host_id, name)
    await db.execute(RENAME_SPANS, source_id, name)


async def delete_sources(db: Db, source_ids: Sequence[UUID]) -> None:
    await db.execute("delete from busy_sources where id = any($1::uuid[])", source_ids)


async def update_closing(db: Db, source_ids: Sequence[UUID], at: datetime | None) -> None:
    await db.execute("update busy_sources set closes_at = $2 where id = any($1::uuid[])", source_ids, at)


async def replace_spans(
    db: Db, source_id: UUID, spans: Mapping[str, Iterable[Interval]], of_claims: Mapping[str, UUID]
) -> None:
    rows = [(uid, start, end, of_claims.get(uid)) for uid, each in spans.items() for start, end in dict.fromkeys(each)]
    columns = ([row[index] for row in rows] for index in range(4))
    await db.execute(REPLACE_SPANS, source_id, list(spans), *columns)


async def delete_past(db: Db, source_id: UUID, *, before: datetime) -> None:
    await db.execute("delete from busy_spans where source_id = $1 and end_second < $2", source_id, floor_second(before))
