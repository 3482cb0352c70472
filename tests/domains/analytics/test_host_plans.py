"""What a host's pages count is found by the host, however many bookings others have."""

import asyncpg
import pytest

from openslot.demo.large import make_large
from openslot.domains.analytics.host_store import ALL_FIGURES, OVERVIEW
from openslot.platform.core.work import system_clock

STATEMENTS = {
    "overview": (OVERVIEW, "'2026-03-10', '2026-03-16', '2026-03-09', 1, 2"),
    "figures": (ALL_FIGURES, "'UTC', '2024-03-16', '2025-03-16', '2026-03-16'"),
}


@pytest.mark.rest("fills the database with much")
@pytest.mark.own_database
async def test_no_plan_reads_the_bookings_of_all_hosts_by_their_day(database_url: str) -> None:
    plans = {}
    connection = await asyncpg.connect(database_url)
    host, *_ = await make_large(connection, hosts=20, bookings=4_000, now=system_clock(), progress=lambda _: None)
    await connection.execute("analyze")
    # A plan for any host and day, as it is kept after some calls.
    await connection.execute("set plan_cache_mode = force_generic_plan")
    for name, (sql, arguments) in STATEMENTS.items():
        await connection.execute(f"prepare asked as {sql}")
        rows = await connection.fetch(f"explain (costs off) execute asked ('{host.id}', {arguments})")
        await connection.execute("deallocate asked")
        plans[name] = "\n".join(row[0] for row in rows)
    await connection.close()

    for name, plan in plans.items():
        assert "bookings_host" in plan, (name, plan)
        assert "bookings_made" not in plan, (name, plan)
