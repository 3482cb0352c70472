"""Figures about the platform with 1,000,000 bookings: what each tool takes, and the dashboard beside the ceiling."""

import asyncio
import itertools
import time
from collections.abc import Iterator

import asyncpg
import httpx2
import msgspec
import uvloop

from benchmarks.agents import make_keys
from benchmarks.data import make_ceiling
from benchmarks.effects import open_runtime_at
from benchmarks.history import BOOKINGS, CLAIMS, LATER, QUICKLY, without_indexes
from benchmarks.load import send
from benchmarks.rows import Row, measure_rows
from benchmarks.stage import Server, Stage, ceiling, service, stage
from openslot.demo.large import make_large
from openslot.domains.analytics.platform import keep_days
from openslot.doors.agents.door import PATH
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.migrate import migrate
from openslot.platform.core.work import system_clock

HOSTS, BOOKINGS_MADE = 1_000, 1_000_000
REPEATS, KEPT_REPEATS = 20, 3
AIM = 50
# At any time of the last year. A tenth is cancelled, and some did not come.
SPREAD = """
update bookings b set created_at = r.made, source = 'direct', starts_at = r.made + interval '10 days',
    ends_at = r.made + interval '10 days 30 minutes', no_show = r.chance > 0.97,
    status = case when r.chance < 0.1 then 'CANCELLED' else 'CONFIRMED' end,
    cancelled_at = case when r.chance < 0.1 then least(now(), r.made + interval '2 days') end
from (select id, now() - random() * interval '365 days' as made, random() as chance from bookings offset 0) r
where r.id = b.id"""
USERS = "update users set created_at = now() - random() * interval '365 days'"
VISITS = """
insert into page_views (host_id, event_type_id, on_day, source, views)
select e.owner_id, e.id, current_date - day, source, 1 + day % 7 from event_types e, generate_series(0, 364) day,
    unnest(array['direct', 'example.com']) source"""
REVENUE = """
insert into revenue (host_id, day, currency, mode, received, refunded, payments)
select id, current_date - day, 'EUR', 'live', 5000, 100, 2 from users, generate_series(0, 364, 7) day"""
CALLS: dict[str, dict[str, object]] = {
    "get_kpi_dashboard": {},
    "get_kpi_dashboard, 90 days": {"period": "90d"},
    "get_booking_metrics, a year by week": {"granularity": "week"},
    "get_revenue, a year by month": {"granularity": "month"},
    "get_traffic, a year by month": {"granularity": "month"},
    "get_retention, a year by month": {"cohort": "month"},
    "get_top_event_types, 30 days": {},
    "get_plan_distribution": {},
}


def main() -> None:
    """Write a year of a large platform, let its days be counted, measure, print."""
    with stage() as here:
        key = asyncio.run(_set_up(here))
        with service(here) as own:
            _measure_calls(own, key)
        with ceiling(here) as top, service(here) as own:
            row = Row(name="tools/call get_kpi_dashboard", requests=_calls(key), count=300, at_least="0.03")
            uvloop.run(measure_rows((top.port, own.port), [row]))


async def _set_up(here: Stage) -> str:
    await migrate(here.url)
    connection = await asyncpg.connect(here.url)
    now = system_clock()
    try:
        await make_ceiling(connection)
        await make_large(connection, hosts=HOSTS, bookings=0, now=now, progress=lambda _: None)
        await connection.execute(QUICKLY)
        async with without_indexes(connection, "claims"):
            await connection.execute(LATER)
            await connection.execute(CLAIMS, BOOKINGS_MADE // HOSTS, now)
            await connection.execute(LATER)
        async with without_indexes(connection, "bookings"):
            await connection.execute(BOOKINGS, now)
            for statement in (SPREAD, USERS, VISITS, REVENUE):
                await connection.execute(statement)
        # In the order in which they would have been written.
        await connection.execute("cluster bookings using bookings_made")
        await connection.execute("cluster page_views using page_views_age")
        await connection.execute("set session_replication_role = origin")
        [key] = (await make_keys(connection))["orchestrator"][:1]
        await connection.execute("vacuum analyze")
    finally:
        await connection.close()
    async with open_runtime_at(here) as runtime:
        began = time.perf_counter()
        counted = await keep_days(runtime.work(SYSTEM))
        print(f"{BOOKINGS_MADE:,} bookings of {HOSTS:,} hosts: {counted} in {time.perf_counter() - began:.1f} s")
    return key


def _measure_calls(own: Server, key: str) -> None:
    print(f"{'ms of a call, one at a time':<40}{'took':>8}{'aim':>6}")
    year: dict[str, object] = {"from": str(system_clock().date().replace(year=system_clock().year - 1))}
    headers = {"authorization": f"Bearer {key}"}
    with httpx2.Client(base_url=f"http://localhost:{own.port}", headers=headers, timeout=60) as client:
        for name, given in CALLS.items():
            tool, _, of = name.partition(",")
            params: dict[str, object] = {"name": tool, "arguments": given | (year if "a year" in of else {})}
            took = sorted(_take(client, params) for _ in range(REPEATS))
            # In the others another process had the processor.
            aim = AIM if tool == "get_kpi_dashboard" else ""
            print(f"{name:<40}{sum(took[:KEPT_REPEATS]) / KEPT_REPEATS:>8.1f}{aim:>6}", flush=True)


def _take(client: httpx2.Client, params: dict[str, object]) -> float:
    began = time.perf_counter()
    answer = client.post(PATH, json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    took = (time.perf_counter() - began) * 1000
    if answer.json()["result"]["isError"]:
        raise SystemExit(f"{params} answered {answer.text[:500]}")
    return took


def _calls(key: str) -> Iterator[bytes]:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_kpi_dashboard"}}
    request = send("POST", PATH, key, msgspec.Raw(msgspec.json.encode(asked)))
    # The door refuses requests to names that are not the installation's own.
    return itertools.repeat(request.replace(b"Host: bench", b"Host: localhost", 1))


if __name__ == "__main__":
    main()
