"""What years leave behind, written in bulk: bookings, events, effects and everything that is tidied away in time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import NamedTuple

import asyncpg

from openslot.demo.large import make_large

EFFECTS_AN_EVENT = 5
ENDPOINTS = EFFECTS_AN_EVENT - 1
KEPT_DAYS = 90


class Size(NamedTuple):
    """How much has gathered."""

    hosts: int
    bookings: int

    @property
    def effects(self) -> int:
        """Each booking was told to four endpoints."""
        return self.bookings * EFFECTS_AN_EVENT


# Each host's meetings one behind the other, half of them over.
CLAIMS = """
insert into claims (id, host_no, kind, event_type_id, starts_at, ends_at, during, created_at)
select uuidv7(), h.no, 'booking', e.id, s.at, s.at + interval '30 minutes',
       tstzrange(s.at, s.at + interval '30 minutes'), $2
from users h join event_types e on e.owner_id = h.id
cross join generate_series(0, $1::int - 1) n
cross join lateral (select date_trunc('hour', $2::timestamptz) + (n - $1 / 2) * interval '30 minutes' as at) s"""
BOOKINGS = """
insert into bookings (id, host_id, event_type_id, contact_id, claim_id, status, starts_at, ends_at, invitee_name,
    invitee_email, invitee_zone, location, answers, created_at, updated_at)
select uuidv7(), h.id, c.event_type_id, (select id from contacts where owner_id = h.id limit 1), c.id, 'CONFIRMED',
       c.starts_at, c.ends_at, 'Ana Berg', 'ana@large.example', 'Europe/Berlin', '{"kind": "phone", "value": ""}', '{}',
       $1, $1
from claims c join users h on h.no = c.host_no"""
ENDPOINT_ROWS = """
insert into webhook_endpoints (id, owner_id, url, state, state_since, secret, created_at, updated_at)
select uuidv7(), h.id, 'https://hooks.example.org/', 'active', $1, '', $1, $1
from users h cross join generate_series(1, $2::int)"""
# About as large as a real fact, and spread evenly over the time that events are kept for.
EVENTS = """
insert into events (id, type, at, actor, tenant_id, subject_kind, subject_id, fact, public)
select uuidv7(), 'booking.created', $1::timestamptz - $2::interval * (1 - row_number() over () / $3::float8),
       '{"kind": "public"}', host_id, 'booking', id, f.fact::jsonb, f.fact::json
from bookings, (select json_build_object('booking', repeat('x', 700), 'eventType', repeat('y', 300))::text as fact) f"""
FEED = """
insert into event_feed (tenant_id, no, event_id, type)
select tenant_id, row_number() over (partition by tenant_id order by no), id, type from events"""
FEEDS = "insert into event_feeds (tenant_id, last_no) select tenant_id, max(no) from event_feed group by tenant_id"
FANNED_OUT = """
insert into effects (id, event_id, reaction, lane, state, attempts, next_try_at, created_at, finished_at)
select uuidv7(), v.id, 'webhooks.dispatch', 'webhooks:booking:' || v.subject_id, 'done', 1, v.at, v.at, v.at
from events v"""
# Of the newest, some are planned, some wait, and some are dead.
DELIVERED = """
insert into effects (id, event_id, reaction, target, lane, state, attempts, next_try_at, hold_until, created_at,
    finished_at)
select uuidv7(), v.id, 'webhooks.send', w.id, 'webhooks:booking:' || v.subject_id || '@' || w.id, s.state, 1,
       case when s.state = 'queued' then $1::timestamptz + (v.no % 100 - 50) * interval '1 minute' else v.at end,
       $1 + interval '1 day', v.at, case when s.state = 'done' then v.at end
from events v join webhook_endpoints w on w.owner_id = v.tenant_id
cross join lateral (select case when v.no <= (select max(no) from events) - $2::int then 'done'
    else (array['done', 'done', 'queued', 'waiting', 'dead'])[v.no % 5 + 1] end as state) s
order by v.no"""
LANES = """
insert into lanes (lane, unfinished)
select lane, count(*) from effects where state in ('waiting', 'queued') group by lane
union all select 'left:' || n, 0 from generate_series(1, $1::int) n"""
# A third of the deliveries is younger than thirty days.
DELIVERIES = """
insert into webhook_deliveries (id, endpoint_id, event_id, effect_id, attempt, at, url, request_headers, status, answer,
    duration_ms)
select uuidv7(), f.target::uuid, f.event_id, f.id, 1, f.created_at, 'https://hooks.example.org/',
       '{"content-type": "application/json", "webhook-id": "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7ea1"}', 200, 'ok', 40
from effects f where f.reaction = 'webhooks.send' and f.created_at > $1::timestamptz - interval '30 days'"""
MESSAGES = """
insert into webhook_messages (event_id, sealed, kept_since)
select id, public::text::bytea, at from events where at > $1::timestamptz - interval '30 days'"""

# What gathers in five minutes of ten times as many bookings as there were on average, among much that must stay.
SMALL = {
    "sessions": """
insert into sessions (id, user_id, hash, created_at, expires_at, user_agent)
select uuidv7(), h.id, decode(md5(h.no || ':' || n), 'hex'), $1,
       $1::timestamptz + case when h.no % 10 = 0 and n = 1 then interval '-1 minute' else n * interval '1 day' end, ''
from users h cross join generate_series(1, 20) n""",
    "idempotency": """
insert into idempotency (scope, key, request_hash, sealed, created_at)
select decode(md5(h.no::text), 'hex'), n::text, '', convert_to(repeat('x', 500), 'UTF8'),
       $1::timestamptz - case when h.no % 10 = 0 and n = 47 then interval '25 hours' else n * interval '30 minutes' end
from users h cross join generate_series(0, 47) n""",
    "rate_log": """
insert into rate_log (bucket, stamps, taken)
select 'key:' || k.id, array[(date_part('epoch', $1::timestamptz) - row_number() over () % 400)::bigint * 1000000], 1
from api_keys k""",
    "claims": """
insert into claims (id, host_no, kind, event_type_id, starts_at, ends_at, during, active, expires_at, created_at)
select uuidv7(), h.no, 'hold', null, $1, $1::timestamptz + interval '1 hour',
       tstzrange($1, $1::timestamptz + interval '1 hour'), false,
       $1::timestamptz - interval '1 day' + n * interval '1 minute', $1
from users h cross join generate_series(0, 99) n where (h.no + n) % 10 < 4""",
}
# What can be built at once is built at once: keys alone are written row by row.
INDEXES = """
select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
from pg_index i where i.indrelid = $1::text::regclass
  and not exists (select from pg_constraint c where c.conindid = i.indexrelid and c.contype in ('p', 'u', 'x'))"""
# Not one of a million times overlaps another, and to make sure took minutes: the index is filled when the table is
# rewritten.
LATER = "update pg_index set indisready = not indisready where indexrelid = 'claims_never_overlap'::regclass"

# The trigger that numbers events, and checks of keys that are right, would take longer than the rest.
QUICKLY = "set session_replication_role = replica; set synchronous_commit = off; set maintenance_work_mem = '256MB'"


async def make_history(connection: asyncpg.Connection, size: Size, now: datetime) -> None:
    """Write all of it, and count what triggers would have counted."""
    hosts, few = size.hosts, min(10_000, size.bookings // 10)
    await make_large(connection, hosts=hosts, bookings=0, now=now, progress=lambda _: None)
    await connection.execute(QUICKLY)
    async with without_indexes(connection, "claims"):
        await connection.execute(LATER)
        await connection.execute(CLAIMS, size.bookings // hosts, now)
        await connection.execute(LATER)
        await connection.execute("vacuum full claims")
    async with without_indexes(connection, "bookings"):
        await connection.execute(BOOKINGS, now)
    await connection.execute("insert into booking_counts select host_id, status, count(*) from bookings group by 1, 2")
    await connection.execute(ENDPOINT_ROWS, now, ENDPOINTS)
    async with without_indexes(connection, "events"):
        await connection.execute(EVENTS, now - timedelta(hours=1), timedelta(days=KEPT_DAYS, minutes=5), size.bookings)
    await connection.execute(FEED)
    await connection.execute(FEEDS)
    async with without_indexes(connection, "effects"):
        await connection.execute(FANNED_OUT)
        await connection.execute(DELIVERED, now, few)
    await connection.execute(LANES, few // 5)
    async with without_indexes(connection, "webhook_deliveries"):
        await connection.execute(DELIVERIES, now)
    await connection.execute(MESSAGES, now)
    for statement in SMALL.values():
        await connection.execute(statement, now)
    await connection.execute("set session_replication_role = origin")
    await connection.execute("vacuum analyze")


@asynccontextmanager
async def without_indexes(connection: asyncpg.Connection, table: str) -> AsyncIterator[None]:
    """Fill a table and build its indexes afterwards."""
    indexes = await connection.fetch(INDEXES, table)
    for index in indexes:
        await connection.execute(f"drop index {index['name']}")
    yield
    for index in indexes:
        await connection.execute(index["definition"])


async def let_time_pass(connection: asyncpg.Connection) -> None:
    """Let all that is held back have waited long enough."""
    await connection.execute("update effects set hold_until = now() where state = 'waiting'")


async def age_events(connection: asyncpg.Connection, events: int) -> None:
    """Let the oldest events be older than they are kept, with nothing left in the log, as after a change of mind."""
    await connection.execute(
        "update events set at = at - interval '1 year' where no <= (select min(no) from events) + $1", events
    )
