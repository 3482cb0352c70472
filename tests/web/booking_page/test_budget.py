"""The whole booking page stays small, and comes from one place."""

import gzip
import re

import httpx2

from openslot.accounts.models import User
from openslot.core.work import Runtime
from openslot.event_types.models import RollingWindow
from tests.bookings.conftest import offer
from tests.web.booking_page.conftest import QUESTIONS, VIDEO, starts_in

BUDGET = 30_000
LINKED = re.compile(r'(?:href|src)="(/static/[^"]+)"')


async def test_the_whole_page_is_at_most_30_kb(client: httpx2.AsyncClient, runtime: Runtime, host: User) -> None:
    await offer(
        runtime,
        host,
        "busy",
        slot_interval_minutes=15,
        location=VIDEO,
        questions=QUESTIONS,
        seats=8,
        booking_window=RollingWindow(90),
    )
    page = await client.get("/mara/busy", params={"month": "2026-04"})
    linked = set(LINKED.findall(page.text))
    sizes = {path: _packed((await client.get(path)).content) for path in linked}

    assert len(starts_in(page.text)) > 600
    assert {path.partition("?")[0] for path in linked} >= {
        "/static/openslot.css",
        "/static/booking/booking.css",
        "/static/booking/booking.js",
    }
    assert sum(sizes.values()) + _packed(page.content) <= BUDGET, sizes


async def test_every_module_that_a_page_needs_is_asked_for_at_once(
    client: httpx2.AsyncClient, runtime: Runtime, host: User
) -> None:
    await offer(runtime, host, "intro-call")
    page = (await client.get("/mara/intro-call")).text
    linked = {path.partition("?")[0] for path in LINKED.findall(page)}

    for path in [path for path in linked if path.endswith(".js")]:
        for name in re.findall(r'from "\./([a-z]+\.js)"', (await client.get(path)).text):
            assert f"/static/booking/{name}" in linked
    # The canonical address is named, not loaded.
    loaded = re.sub(r'<link rel="canonical"[^>]*>', "", page)
    assert re.findall(r'(?:href|src|action)="(?:https?:)?//', loaded) == []


def _packed(content: bytes) -> int:
    return len(gzip.compress(content, 6))
