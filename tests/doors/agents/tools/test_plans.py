"""Lists over all users are found by indexes, however many bookings and contacts there are."""

import pytest

from openslot.domains.bookings.agenda import store as bookings
from openslot.domains.contacts import store as contacts
from openslot.platform.core.db import open_pool
from openslot.platform.core.profiles import JOBS

STATEMENTS = {
    "all bookings": (
        bookings._write_list((False, False, False), of_host=False),
        "20, 0",
        {"bookings_by_start", "booking_counts"},
    ),
    "bookings of a status": (
        bookings._write_list((True, False, False), of_host=False),
        "'CANCELLED', 20, 0",
        {"bookings_by_start", "booking_counts"},
    ),
    "bookings of a day": (
        bookings._write_list((False, True, True), of_host=False),
        "'2026-03-16', '2026-03-17', 20, 0",
        {"bookings_by_start"},
    ),
    "bookings of a status since a day": (
        bookings._write_list((True, True, False), of_host=False),
        "'CANCELLED', '2026-03-16', 20, 0",
        {"bookings_by_start"},
    ),
    "all contacts": (contacts.LIST_EVERYWHERE, "20, 0", {"contacts_pkey", "contact_counts"}),
    "contacts by a search": (contacts.SEARCH_EVERYWHERE, "20, 0, 'okafor', '{oka,for}'", {"contacts_search_all"}),
}


@pytest.mark.own_database
async def test_a_list_over_all_users_reads_no_whole_table(database_url: str) -> None:
    plans = {}
    pool = await open_pool(database_url, max_=1, profile=JOBS)
    async with pool.acquire() as connection:
        for name, (sql, arguments, _) in STATEMENTS.items():
            await connection.execute(f"prepare listed as {sql}")
            rows = await connection.fetch(f"explain (costs off) execute listed ({arguments})")
            await connection.execute("deallocate listed")
            plans[name] = "\n".join(row[0] for row in rows)
    await pool.close()

    for name, plan in plans.items():
        assert all(each in plan for each in STATEMENTS[name][2]), (name, plan)
        assert "Seq Scan on bookings" not in plan, (name, plan)
        assert "Seq Scan on contacts" not in plan, (name, plan)
        # Only the page itself is put in order, what a search has found, and the hosts of each booking of a team.
        assert plan.replace("Sort Key: ((h.role", "").count("Sort Key") <= (2 if "search" in name else 1), (name, plan)
