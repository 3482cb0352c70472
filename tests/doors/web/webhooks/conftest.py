"""A host in Berlin, signed in, a real receiver of webhooks, and what happens that it is told of."""

import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import UUID

import httpx2
import pytest

from openslot.platform.core.work import Runtime
from tests.domains.webhooks.conftest import Happen, add, happen, receiver
from tests.support.clocks import MONDAY, MovingClock
from tests.support.effects import work_off
from tests.support.host import book, clock, member, settings, stranger, user
from tests.support.receiver import Receiver

__all__ = ["add", "book", "clock", "happen", "member", "receiver", "settings", "stranger", "user"]

HERE = "/settings/webhooks"
BADGE = re.compile(r"</svg>((?:Delivered|Failed)[^<]*)</span>")
Create = Callable[..., Awaitable[tuple[str, str]]]


@pytest.fixture
def create(member: httpx2.AsyncClient, runtime: Runtime, receiver: Receiver) -> Create:
    """Add an endpoint by its form; return its page's path and its secret."""

    async def create_one(url: str = "", **fields: object) -> tuple[str, str]:
        answer = await member.post(HERE, data={"url": url or receiver.url, "which": "all", **fields})
        assert answer.status_code == 200, answer.text
        secret = answer.text.partition('id="secret"')[2].partition(">")[2].partition("<")[0]
        endpoint_id = await runtime.pool.fetchval("select id from webhook_endpoints order by created_at desc, id desc")
        return f"{HERE}/{endpoint_id}", secret

    return create_one


@pytest.fixture
async def logged(runtime: Runtime, clock: MovingClock, create: Create, receiver: Receiver, happen: Happen) -> str:
    """Deliver one event on Monday, fail one on Tuesday, and test on Wednesday; return the endpoint's path."""
    path, _ = await create()
    await happen()
    await work_off(runtime, clock)
    clock.now = MONDAY + timedelta(days=1)
    receiver.answer(500, body=b"out of order")
    await happen()
    await work_off(runtime, clock)
    return path


def results(page: httpx2.Response) -> list[str]:
    """Read the results in the log, newest first."""
    return BADGE.findall(page.text.partition('id="log"')[2])


async def last_delivery(runtime: Runtime) -> UUID:
    """Return the id of the newest try."""
    found = await runtime.pool.fetchval("select id from webhook_deliveries order by at desc, id desc limit 1")
    assert isinstance(found, UUID)
    return found
