"""Pages: how many a second beside the ceiling, and how soon a visitor on a slow phone sees the booking page."""

import asyncio
import itertools
import random
from collections.abc import Iterator

import asyncpg
import uvloop
from playwright.async_api import ViewportSize, async_playwright

from benchmarks.data import make_ceiling
from benchmarks.load import get
from benchmarks.operations import Operation
from benchmarks.processor import HEAD, Measured, measure_cost
from benchmarks.rows import Row, measure_rows
from benchmarks.stage import Stage, ceiling, service, stage
from openslot.demo.large import make_large
from openslot.platform.core.migrate import migrate
from openslot.platform.core.work import system_clock
from tests.support.browsers import find_executable

HOSTS, BOOKINGS, VISITORS = 1_000, 100_000, 10_000
# A phone of the middle class on a fair mobile network.
PHONE: ViewportSize = {"width": 390, "height": 844}
NETWORK = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 90_000}
SLOWER = 4
VISITS = 5
MAX_SECONDS = 1.0
LARGEST = """
new Promise(tell => new PerformanceObserver(list => tell(list.getEntries().at(-1).startTime))
    .observe({type: "largest-contentful-paint", buffered: true}))"""


def main() -> None:
    """Write hosts with bookings, measure, print."""
    with stage() as here:
        names = asyncio.run(_set_up(here))
        with ceiling(here) as top, service(here) as own:
            uvloop.run(measure_rows((top.port, own.port), rows(names)))
            servers = Measured(top, here.url, is_service=False), Measured(own, here.url, is_service=True)
            uvloop.run(_print_costs(rows(names), *servers))
            asyncio.run(_print_largest_paint(f"http://127.0.0.1:{own.port}/{names[0]}/30min"))


def rows(names: list[str]) -> list[Row]:
    """List what is measured."""
    return [
        Row(
            name="booking page, first month in it",
            requests=visit([f"/{name}/30min" for name in names]),
            count=600,
            at_least="0.10",
            beyond="0.20",
        ),
        Row(name="host's page", requests=visit([f"/{name}" for name in names]), count=1_500),
    ]


def visit(paths: list[str]) -> Iterator[bytes]:
    """Open pages from many addresses: each has a limit, and a log whose row would be fought over."""
    visitors = itertools.cycle(f"10.0.{n // 250}.{n % 250}" for n in range(VISITORS))
    return (get(path, address=next(visitors)) for path in itertools.cycle(paths))


async def _print_costs(rows: list[Row], top: Measured, own: Measured) -> None:
    """Print the processor time of each, which is steadier than requests a second on a shared machine."""
    print(f"\nµs of processor time a request\n{HEAD}")
    for row in rows:
        await measure_cost(Operation(name=row.name, requests=row.requests, count=row.count * 3), top, own)


async def _set_up(here: Stage) -> list[str]:
    await migrate(here.url)
    connection = await asyncpg.connect(here.url)
    try:
        await make_ceiling(connection)
        await make_large(connection, hosts=HOSTS, bookings=BOOKINGS, now=system_clock(), progress=lambda _: None)
        await connection.execute("vacuum analyze")
        names = [row["username"] for row in await connection.fetch("select username from users order by no")]
    finally:
        await connection.close()
    return random.Random(7).sample(names, len(names))


async def _print_largest_paint(url: str) -> None:
    """Open the page some times as a slow phone does, each time with nothing kept."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_executable(), args=["--no-sandbox"])
        seconds = []
        for _ in range(VISITS):
            context = await browser.new_context(viewport=PHONE, device_scale_factor=3, is_mobile=True)
            page = await context.new_page()
            devtools = await context.new_cdp_session(page)
            await devtools.send("Network.enable")
            await devtools.send("Network.emulateNetworkConditions", NETWORK)
            await devtools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
            await page.goto(url, wait_until="networkidle")
            seconds.append(await page.evaluate(LARGEST) / 1000)
            await context.close()
        await browser.close()
    middle = sorted(seconds)[VISITS // 2]
    print(f"\nbooking page on a slow phone: largest paint after {middle:.2f} s (aim: {MAX_SECONDS:.1f} s)", flush=True)


if __name__ == "__main__":
    main()
