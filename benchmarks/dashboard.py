"""Pages for hosts: how long the server takes for each of them, with much data and one request at a time."""

import asyncio
import statistics
import time

import asyncpg
import httpx2

from benchmarks.stage import Stage, service, stage
from openslot.core.ids import fingerprint, new_id, new_token
from openslot.core.migrate import migrate
from openslot.core.work import system_clock
from openslot.demo.large import make_large

HOSTS, BOOKINGS = 100, 100_000
REPEATS = 20
MAX_MS = 100
PATHS = (
    "/",
    "/bookings",
    "/bookings?view=past&q=a",
    "/bookings/week",
    "/bookings/month",
    "/bookings/export.csv",
    "/event-types",
    "/availability",
    "/contacts",
    "/conversations",
    "/calls",
    "/account",
    "/settings/profile",
    "/settings/notifications",
    "/settings/calendars",
    "/settings/webhooks",
    "/settings/security",
    "/settings/sessions",
    "/settings/data",
    "/admin/analytics",
    "/admin/users",
    "/admin/agents",
    "/admin/approvals",
    "/admin/audit",
    "/admin/jobs",
    "/admin/mailbox",
)


def main() -> None:
    """Write a platform with a busy host who is its administrator, measure, print."""
    with stage() as here:
        session = asyncio.run(_set_up(here))
        with service(here) as own:
            _measure(f"http://127.0.0.1:{own.port}", session)


async def _set_up(here: Stage) -> str:
    await migrate(here.url)
    connection = await asyncpg.connect(here.url)
    token, now = new_token(), system_clock()
    try:
        hosts = await make_large(connection, hosts=HOSTS, bookings=BOOKINGS, now=now, progress=lambda _: None)
        await connection.execute("update users set is_admin = true, plan = 'BUSINESS' where id = $1", hosts[0].id)
        await connection.execute(
            """insert into sessions (id, user_id, hash, created_at, expires_at, user_agent)
            values ($1, $2, $3, $4, $4::timestamptz + interval '1 day', 'benchmark')""",
            new_id(),
            hosts[0].id,
            fingerprint(token),
            now,
        )
        await connection.execute("vacuum analyze")
    finally:
        await connection.close()
    return token


def _measure(base_url: str, session: str) -> None:
    print(f"{'page':<36}{'median ms':>11}{'slowest ms':>12}{'aim ms':>8}")
    with httpx2.Client(base_url=base_url, headers={"cookie": f"openslot_session={session}"}, timeout=60) as client:
        for path in PATHS:
            client.get(path)
            times = [_time(client, path) for _ in range(REPEATS)]
            print(f"{path:<36}{statistics.median(times):>11.1f}{max(times):>12.1f}{MAX_MS:>8}", flush=True)


def _time(client: httpx2.Client, path: str) -> float:
    began = time.perf_counter()
    answer = client.get(path)
    took = (time.perf_counter() - began) * 1000
    if answer.status_code != 200:
        raise SystemExit(f"{path} answered {answer.status_code}")
    return took


if __name__ == "__main__":
    main()
