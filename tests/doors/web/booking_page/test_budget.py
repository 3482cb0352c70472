"""The whole booking page stays small, and comes from one place."""

import re

import httpx2

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import RollingWindow
from openslot.domains.reminders import operations as reminders
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.doors.web.booking_page.conftest import QUESTIONS, VIDEO, starts_in
from tests.support.messaging import insert_number
from tests.support.weights import weigh

LINKED = re.compile(r'(?:href|src)="(/static/[^"]+)"')


async def test_the_whole_page_is_at_most_25_kb_on_the_wire(
    client: httpx2.AsyncClient, runtime: Runtime, host: User
) -> None:
    await offer(runtime, host, "intro-call")
    await offer(
        runtime,
        host,
        "busy",
        slot_interval_minutes=15,
        location=VIDEO,
        questions=QUESTIONS[:-1],
        seats=8,
        booking_window=RollingWindow(90),
    )
    await insert_number(runtime, user_id=host.id)
    async with runtime.transaction(OPERATOR) as work:
        await reminders.set_reminders(work, host, None, (60,), channels=["email", "sms"])
    usual, busy = await weigh(client, "/mara/intro-call"), await weigh(client, "/mara/busy?month=2026-04")

    page = (await client.get("/mara/busy?month=2026-04")).text
    assert 'name="messages"' in page
    assert len(starts_in(page)) > 600
    assert usual.on_the_wire < busy.on_the_wire <= 25_000, (usual, busy)
    assert usual.unpacked <= 64_000, usual


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
