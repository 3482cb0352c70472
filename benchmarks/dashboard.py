"""Pages for hosts: what each takes with much data, one request at a time: time, processor time, statements."""

import asyncio
import time
from contextlib import nullcontext
from statistics import mean
from typing import NamedTuple

import asyncpg
import httpx2
from msgspec.structs import replace

from benchmarks.effects import open_runtime_at
from benchmarks.processor import BACKENDS, used_by
from benchmarks.stage import Server, Stage, service, stage
from openslot.app import create_app
from openslot.demo.large import LargeHost, make_large
from openslot.platform.core.ids import fingerprint, new_id, new_token
from openslot.platform.core.log import set_up_logging
from openslot.platform.core.migrate import migrate
from openslot.platform.core.work import system_clock
from tests.support.live import connect, serving
from tests.support.statements import CountingPool, count_statements

HOSTS, BOOKINGS = 100, 100_000
REPEATS, KEPT_REPEATS = 40, 4
# The most that the web process and PostgreSQL may take, in ms.
OWN_PAGE, OTHER = 15, 100
PATHS = {
    "/": OWN_PAGE,
    "/bookings": OWN_PAGE,
    "/bookings?view=past&q=a": OWN_PAGE,
    "/bookings/day": OWN_PAGE,
    "/bookings/week": OWN_PAGE,
    "/bookings/month": OWN_PAGE,
    "/analytics": OWN_PAGE,
    "/analytics?days=365": OWN_PAGE,
    "/event-types": OWN_PAGE,
    "/availability": OWN_PAGE,
    "/contacts": OWN_PAGE,
    "/conversations": OWN_PAGE,
    "/calls": OWN_PAGE,
    "/account": OWN_PAGE,
    "/settings/profile": OWN_PAGE,
    "/settings/notifications": OWN_PAGE,
    "/settings/calendars": OWN_PAGE,
    "/settings/webhooks": OWN_PAGE,
    "/settings/security": OWN_PAGE,
    "/settings/sessions": OWN_PAGE,
    "/settings/data": OWN_PAGE,
    "/bookings/export.csv": OTHER,
    "/admin/analytics": OTHER,
    "/admin/users": OTHER,
    "/admin/agents": OTHER,
    "/admin/approvals": OTHER,
    "/admin/audit": OTHER,
    "/admin/jobs": OTHER,
    "/admin/mailbox": OTHER,
}
# Of a year, from five sources; bookings are made up to four weeks before they begin, and some are cancelled.
MAKE_VISITS = """
insert into page_views (host_id, event_type_id, on_day, source, views)
select $1, $2, current_date - day, source, 1 + day % 7 from generate_series(0, 364) day,
    unnest(array['direct', 'internal', 'example.com', 'example.org', 'example.net']) source"""
SPREAD_BOOKINGS = """
update bookings b set created_at = least(now(), starts_at) - random() * interval '28 days', source = 'direct',
    no_show = n.place % 20 = 0 and starts_at < now()
from (select id, row_number() over () as place from bookings where host_id = $1) n where n.id = b.id"""


class Cost(NamedTuple):
    """What a request took, and what processor time it took the web process and PostgreSQL; ms."""

    took: float
    web: float
    database: float


def main() -> None:
    """Write a platform with a busy host who is its administrator, measure, print."""
    with stage() as here:
        session = asyncio.run(_set_up(here))
        counts = asyncio.run(_count_statements(here, session))
        with service(here) as own:
            asyncio.run(_measure(here, own, session, counts))


async def _set_up(here: Stage) -> str:
    await migrate(here.url)
    connection = await asyncpg.connect(here.url)
    now = system_clock()
    try:
        hosts = await make_large(connection, hosts=HOSTS, bookings=BOOKINGS, now=now, progress=lambda _: None)
        session = await _make_busy(connection, hosts[0])
        await connection.execute("vacuum analyze")
    finally:
        await connection.close()
    return session


async def _make_busy(connection: asyncpg.Connection, host: LargeHost) -> str:
    """Give a host visits and bookings of many days, and the administration; sign them in."""
    token = new_token()
    await connection.execute("update users set is_admin = true, plan = 'BUSINESS' where id = $1", host.id)
    await connection.execute(MAKE_VISITS, host.id, host.event_type_id)
    await connection.execute(SPREAD_BOOKINGS, host.id)
    await connection.execute(
        """insert into sessions (id, user_id, hash, created_at, expires_at, user_agent)
        values ($1, $2, $3, now(), now() + interval '1 day', 'benchmark')""",
        new_id(),
        host.id,
        fingerprint(token),
    )
    return f"openslot_session={token}"


async def _count_statements(here: Stage, session: str) -> dict[str, int]:
    """Count what each page asks the database, in a process that can be looked into."""
    async with open_runtime_at(here) as runtime:
        set_up_logging(replace(runtime.settings, log_level="error"))
        pool = runtime.pool = CountingPool(runtime.pool)
        app = create_app(runtime.settings)
        app._open_runtime = lambda: nullcontext(runtime)  # noqa: SLF001 - as tests do
        async with serving(app) as url, connect(url, headers={"cookie": session}) as client:
            return {path: (await count_statements(client, pool, path))[1] for path in PATHS}


async def _measure(here: Stage, own: Server, session: str, counts: dict[str, int]) -> None:
    connection = await asyncpg.connect(here.url)
    print(f"{'ms of a page':<28}{'took':>8}{'web':>7}{'database':>10}{'aim':>6}{'statements':>12}")
    base_url, headers = f"http://127.0.0.1:{own.port}", {"cookie": session}
    with httpx2.Client(base_url=base_url, headers=headers, timeout=60) as client:
        for path, aim in PATHS.items():
            client.get(path)
            pids = own.pid, *[row["pid"] for row in await connection.fetch(BACKENDS, True)]
            costs = [_take(client, path, pids) for _ in range(REPEATS)]
            # In the others another process had the processor or its caches.
            took, web, database = (mean(sorted(each)[:KEPT_REPEATS]) for each in zip(*costs, strict=True))
            print(f"{path:<28}{took:>8.1f}{web:>7.1f}{database:>10.1f}{aim:>6}{counts[path]:>12}", flush=True)
    await connection.close()


def _take(client: httpx2.Client, path: str, pids: tuple[int, ...]) -> Cost:
    before, began = [used_by(pid) for pid in pids], time.perf_counter()
    answer = client.get(path)
    took = time.perf_counter() - began
    if answer.status_code != 200:
        raise SystemExit(f"{path} answered {answer.status_code}")
    web, *database = (used_by(pid) - used for pid, used in zip(pids, before, strict=True))
    return Cost(took * 1000, web / 1000, sum(database) / 1000)


if __name__ == "__main__":
    main()
