"""A host in Berlin, signed in, a real receiver of webhooks, and what happens that it is told of."""

from collections.abc import Awaitable, Callable
from uuid import UUID

import httpx2
import pytest

from openslot.core.work import Runtime
from tests.support.host import book, clock, member, settings, stranger, user
from tests.support.receiver import Receiver
from tests.webhooks.conftest import add, happen, receiver

__all__ = ["add", "book", "clock", "happen", "member", "receiver", "settings", "stranger", "user"]

HERE = "/settings/webhooks"
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


async def last_delivery(runtime: Runtime) -> UUID:
    """Return the id of the newest try."""
    found = await runtime.pool.fetchval("select id from webhook_deliveries order by at desc, id desc limit 1")
    assert isinstance(found, UUID)
    return found
