"""No page shows another host's endpoint, and none needs many statements."""

from collections.abc import Iterator
from contextlib import nullcontext
from uuid import UUID

import httpx2
import pytest

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from openslot.platform.routing import collect, find_declaration
from tests.domains.webhooks.conftest import Add, Happen
from tests.doors.web.webhooks.conftest import HERE, Create, last_delivery
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.forms import NOBODY
from tests.support.host import open_session
from tests.support.live import connect, serving
from tests.support.receiver import Receiver
from tests.support.statements import CountingPool, count_statements

SENT = {"url": "https://evil.example/", "which": "all", "from": "2026-03-16", "to": "2026-03-16"}
# The session is one of them.
COSTS = {
    "": 2,
    "/new": 1,
    "/{endpoint_id}": 3,
    "/{endpoint_id}?result=failed&event=contact.created&from=2026-03-01&page=3": 3,
    "/{endpoint_id}/edit": 2,
    "/{endpoint_id}/rotate": 2,
    "/{endpoint_id}/delete": 2,
    "/{endpoint_id}/deliveries/{delivery_id}": 2,
    "/{endpoint_id}/replay": 2,
    "/{endpoint_id}/replay?from=2026-03-01&to=2026-03-31&which=all": 4,
}


def paths(method: str, *, endpoint: object = NOBODY, delivery: object = NOBODY) -> Iterator[str]:
    for handler in collect("openslot.doors.web.dashboard.webhooks"):
        declaration = find_declaration(handler)
        assert declaration is not None
        if declaration.method == method:
            yield declaration.path.replace("{endpoint_id}", str(endpoint)).replace("{delivery_id}", str(delivery))


async def test_another_hosts_endpoint_is_the_same_404_as_none(
    member: httpx2.AsyncClient,
    runtime: Runtime,
    stranger: User,
    clock: MovingClock,
    add: Add,
    happen: Happen,
    receiver: Receiver,
) -> None:
    theirs, _ = await add(receiver.url, owner=stranger)
    await happen(stranger)
    await work_off(runtime, clock)
    delivery = await last_delivery(runtime)
    before = await runtime.pool.fetch("select * from webhook_endpoints")
    for method in ("GET", "POST"):
        known, unknown = paths(method, endpoint=theirs.id, delivery=delivery), paths(method)
        for path, nothing in zip(known, unknown, strict=True):
            if path == nothing:
                continue
            answer = await member.request(method, path, data=SENT if method == "POST" else None)
            other = await member.request(method, nothing, data=SENT if method == "POST" else None)

            assert answer.status_code == 404, path
            assert answer.text == other.text
    await work_off(runtime, clock)
    assert await runtime.pool.fetch("select * from webhook_endpoints") == before
    assert len(receiver.got) == 1
    assert str(theirs.id) not in (await member.get(HERE)).text


async def test_a_delivery_of_ones_other_endpoint_is_not_found(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, create: Create, happen: Happen
) -> None:
    path, _ = await create()
    await happen()
    await work_off(runtime, clock)
    other, _ = await create()
    delivery = await last_delivery(runtime)

    assert (await member.get(f"{path}/deliveries/{delivery}")).status_code == 200
    assert (await member.get(f"{other}/deliveries/{delivery}")).status_code == 404
    assert (await member.post(f"{other}/deliveries/{delivery}/resend")).status_code == 404


@pytest.mark.rest("fills lists, and counts the statements of every page")
async def test_no_page_needs_more_statements_where_there_is_more(
    settings: Settings,
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    create: Create,
    add: Add,
    happen: Happen,
    receiver: Receiver,
) -> None:
    mine, _ = await create()
    for _ in range(3):
        await add(receiver.url)
    for _ in range(5):
        await happen()
    await work_off(runtime, clock)
    delivery = await runtime.pool.fetchval(
        "select id from webhook_deliveries where endpoint_id = $1 limit 1", UUID(mine.rpartition("/")[2])
    )
    session = await open_session(runtime, user)
    pool = CountingPool(runtime.pool)
    runtime.pool = pool
    app = create_app(settings)
    app._open_runtime = lambda: nullcontext(runtime)
    endpoint = mine.rpartition("/")[2]
    async with serving(app) as url, connect(url, headers=session) as client:
        for path, cost in COSTS.items():
            place = path.replace("{endpoint_id}", endpoint).replace("{delivery_id}", str(delivery))
            answer = await count_statements(client, pool, HERE + place)

            assert answer == (200, cost), (path, pool.asked)
            assert cost <= 5
