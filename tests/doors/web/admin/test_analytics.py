"""The figures of the platform: charts that say the same as their tables."""

import asyncio
import re

import httpx2

from openslot.domains.accounts.models import User
from openslot.domains.analytics.funnel import count_visit
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import TWELVE, Book, fail, listen


async def test_the_tables_tell_what_happened(
    admin: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await listen(runtime, user)
    await book()
    await book(TWELVE, email="hana@kim.example")
    await work_off(runtime, clock)
    await fail(runtime, clock)
    page = (await admin.get("/admin/analytics?days=7")).text

    assert page.count("data-columns") == 4
    bookings = page[page.index('id="bookings"') : page.index('id="mail"')]
    assert re.findall(r"<td>(\d+)</td>", bookings)[0] == "2"
    assert bookings.count("<tr>") == bookings.count("<li tabindex") + 1 == 8
    assert "style=" not in page
    for query in ("days=0", "days=x", "days=%00", "days=365"):
        assert (await admin.get(f"/admin/analytics?{query}")).status_code == 200


async def test_the_funnel_lists_every_step(admin: httpx2.AsyncClient, runtime: Runtime) -> None:
    count_visit(runtime, runtime.clock().date())
    async with asyncio.timeout(30):
        while "<b>1</b>" not in (page := (await admin.get("/admin/analytics")).text)[page.index('id="funnel"') :]:
            await asyncio.sleep(0.05)

    steps = re.findall(r"<li><b>(\d+)</b><span>([^<]+)</span>", page[page.index('id="funnel"') :])
    assert steps[0] == ("1", "Visited the sign-up page")
    assert [count for count, _ in steps] == ["1", "0", "0", "0", "0", "0"]


async def test_sources_are_listed_by_their_visits(admin: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    for source, views in (("direct", 3), ("<xss-probe>", 9)):
        await runtime.pool.execute(
            "insert into page_views (host_id, on_day, source, views) values ($1, $2, $3, $4)",
            user.id,
            runtime.clock().date(),
            source,
            views,
        )
    page = (await admin.get("/admin/analytics")).text

    assert page.index("&lt;xss-probe&gt;") < page.index("Direct, or from an email")
