"""Plans: what searches and analytics take with one plan for all arguments, and with a plan for those they have."""

import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import uvloop

from benchmarks.stage import Stage, stage
from openslot.demo.large import make_large
from openslot.domains.accounts import store as accounts
from openslot.domains.analytics import store as analytics
from openslot.domains.bookings.agenda import store as agenda_store
from openslot.domains.bookings.models import AgendaFilter, AgendaView, Status
from openslot.domains.contacts import store
from openslot.domains.contacts.models import ContactSort
from openslot.domains.mail import store as mail
from openslot.domains.webhooks import store as webhooks
from openslot.doors.agents.audit import store as audit_store
from openslot.doors.agents.models import AuditFilter
from openslot.platform.core import query_plans
from openslot.platform.core.db import Db, Pool, open_pool
from openslot.platform.core.migrate import migrate
from openslot.platform.core.moments import Span
from openslot.platform.core.profiles import COMMANDS, JOBS

RUNS = 25
PAGE = {"limit": 20, "offset": 0}
CONFIRMED = Status.CONFIRMED
# One mail in a thousand goes to another address, one call in ten thousand fails: almost everything is alike.
FILL = (
    """insert into mail_messages (id, kind, recipient, subject, is_public, status, created_at, sent_at)
    select gen_random_uuid(), 'confirmation', case when n % 1000 = 0 then 'rare' || n else 'often' end || '@x.example',
        'Hello', true, 'sent', now() - n * interval '1 minute', now() from generate_series(1, $1::int) n""",
    """insert into agent_calls (id, no, at, agent, key_id, tool, status, latency_ms, cost_micros, request_id, signature)
    select gen_random_uuid(), n + 1000000, now() - n * interval '1 minute', 'support', gen_random_uuid(),
        case when n % 10000 = 1 then 'disable_user' else 'list_bookings' end,
        case when n % 10000 = 0 then 'tool_error' else 'ok' end, 1, 1, 'r', ''
    from generate_series(1, $1::int) n""",
    """insert into webhook_endpoints (id, owner_id, url, state, state_since, secret, created_at, updated_at)
    select gen_random_uuid(), u.id, 'https://x.example', 'active', now(), '', now(), now()
    from users u cross join generate_series(1, $1::int / 10000)""",
)

Read = Callable[[Db], Awaitable[object]]


def main() -> None:
    """Print what each read takes in either way, the round trips that choose the plans included."""
    with stage() as here:
        uvloop.run(_measure(here, int(sys.argv[1]) if len(sys.argv) > 1 else 200_000))


async def _measure(here: Stage, rows: int) -> None:
    await migrate(here.url)
    now = datetime.now(UTC)
    connection = await asyncpg.connect(here.url)
    (large,) = await make_large(connection, hosts=1, bookings=rows // 4, now=now, progress=lambda _: None)
    small, *_ = await make_large(connection, hosts=500, bookings=rows // 4, now=now, progress=lambda _: None)
    for statement in FILL:
        await connection.execute(statement, rows)
    await connection.execute("vacuum analyze")
    await connection.close()
    kept = await open_pool(here.url, max_=1, profile=JOBS)
    custom = await open_pool(here.url, max_=1, profile=COMMANDS)
    await custom.execute("set plan_cache_mode = force_custom_plan")
    print(f"{f'ms, best of {RUNS}':44}{'kept':>10}{'custom':>10}")
    for name, read in _list_reads(large.id, small.id, now).items():
        found = await _time_in_turns(read, {kept: "", custom: query_plans.USE})
        print(f"{name:44}{found[0]:10.2f}{found[1]:10.2f}")
    await kept.close()
    await custom.close()


async def _time_in_turns(read: Read, pools: dict[Pool, str]) -> list[float]:
    """Run a read on each of the pools, in the same number of round trips, and return the best of each."""
    taken: dict[Pool, list[float]] = {pool: [] for pool in pools}
    chosen = query_plans.USE
    for _ in range(RUNS):
        for pool, settings in pools.items():
            query_plans.USE = settings
            began = time.perf_counter()
            await read(pool)
            taken[pool].append((time.perf_counter() - began) * 1000)
    query_plans.USE = chosen
    return [min(each) for each in taken.values()]


@query_plans.custom_plans
async def _read_one(db: Db) -> object:
    return await db.fetchval("select $1::int", 1)


def _list_reads(large: UUID, small: UUID, now: datetime) -> dict[str, Read]:
    month, day = now - timedelta(days=30), Span(now, now + timedelta(days=1))
    past = AgendaView.PAST
    return {
        "select 1": _read_one,
        "select 1, without the choice": lambda db: db.fetchval("select $1::int", 1),
        "mail to one address": lambda db: mail.list_mail(db, recipient="rare7000@x.example", booking_id=None, **PAGE),
        "mail to all": lambda db: mail.list_mail(db, recipient=None, booking_id=None, **PAGE),
        "endpoints of one host of 501": lambda db: webhooks.list_endpoints(db, small),
        "agents' calls that failed": lambda db: _list_calls(db, status="tool_error"),
        "agents' calls that failed, one tool": lambda db: _list_calls(db, status="tool_error", tool="list_bookings"),
        "agents' calls of a rare tool that went well": lambda db: _list_calls(db, status="ok", tool="disable_user"),
        "what agents did, 30 days": lambda db: audit_store.list_activity(db, since=month, agent=None),
        "what one agent did, 30 days": lambda db: audit_store.list_activity(db, since=month, agent="support"),
        "all bookings": lambda db: agenda_store.list_booking_entries(db, None, status=None, span=Span(), **PAGE),
        "all bookings, one status": lambda db: agenda_store.list_booking_entries(
            db, None, status=CONFIRMED, span=Span(), **PAGE
        ),
        "all bookings, one day": lambda db: agenda_store.list_booking_entries(db, None, status=None, span=day, **PAGE),
        "all bookings, one day and status": lambda db: agenda_store.list_booking_entries(
            db, None, status=CONFIRMED, span=day, **PAGE
        ),
        "all bookings, ten years": lambda db: agenda_store.list_booking_entries(
            db, None, status=None, span=Span(now - timedelta(days=3650), now), **PAGE
        ),
        "all contacts": lambda db: store.list_all_contacts(db, search="", **PAGE),
        "all contacts, a search": lambda db: store.list_all_contacts(db, search="farid", **PAGE),
        "some of 50,000 bookings by name": lambda db: _list_agenda(db, large, now, search="Grace Ahmed"),
        "50,000 bookings of one event type": lambda db: _list_agenda(db, large, now, view=past, slug="30min"),
        "50,000 bookings by day": lambda db: _list_agenda(db, large, now, span=day),
        "100 bookings by name": lambda db: _list_agenda(db, small, now, view=past, search="Grace"),
        "contacts of one host, a search": lambda db: _list_contacts(db, large, now, search="grace"),
        "contacts of one host": lambda db: _list_contacts(db, large, now, search=""),
        "users": lambda db: accounts.list_users(db, now=now, search=None, plan=None, status=None, **PAGE),
        "users, a search": lambda db: accounts.list_users(db, now=now, search="host77", plan=None, status=None, **PAGE),
        "logs of the platform, 30 days": lambda db: analytics.list_logs(db, since=month, until=now),
        "logs of the platform, 1 day": lambda db: analytics.list_logs(db, since=now - timedelta(days=1), until=now),
    }


async def _list_calls(db: Db, **wanted: Any) -> object:
    return await audit_store.list_calls(db, AuditFilter(**wanted), **PAGE)


async def _list_agenda(db: Db, host_id: UUID, now: datetime, **wanted: Any) -> object:
    return await agenda_store.list_agenda_page(db, host_id, AgendaFilter(**wanted), now=now, **PAGE)


async def _list_contacts(db: Db, host_id: UUID, now: datetime, *, search: str) -> object:
    return await store.list_entries(db, host_id, search=search, sort=ContactSort.NEWEST, now=now, **PAGE)


if __name__ == "__main__":
    main()
