"""Private links: made anew, ended and shown again."""

import httpx2
import msgspec
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.sealing import replace_lost_data_keys
from openslot.platform.core.secrets import Secrets
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.domains.bookings.conftest import offer, settings
from tests.support.clocks import clock
from tests.support.private_tokens import find_private_token, get_private_token

__all__ = ["clock", "settings"]


@pytest.fixture
async def hidden(runtime: Runtime, user: User) -> EventType:
    """An event type with a private link."""
    return await offer(runtime, user, "hidden", is_private=True)


async def token_of(runtime: Runtime, event_type: EventType) -> str | None:
    return await find_private_token(runtime.work(OPERATOR), event_type)


async def opens(client: httpx2.AsyncClient, token: str | None) -> bool:
    answer = await client.get("/api/public/mara/hidden", params={"token": token} if token else {})
    return answer.status_code == 200


async def is_listed(client: httpx2.AsyncClient) -> bool:
    return '"hidden"' in (await client.get("/api/public/mara")).text


async def test_a_private_event_type_is_opened_by_its_newest_link_alone(
    client: httpx2.AsyncClient, runtime: Runtime, hidden: EventType
) -> None:
    first = await get_private_token(runtime.work(OPERATOR), hidden)
    assert [await opens(client, token) for token in (first, None, "", first[:-1])] == [True, False, False, False]
    async with runtime.transaction(OPERATOR) as work:
        changed = await event_types.make_event_type_private(work, hidden)
    second = await token_of(runtime, changed)

    assert changed.is_private
    assert [await opens(client, token) for token in (first, second)] == [False, True]
    assert not await is_listed(client)


async def test_a_public_event_type_has_no_link(client: httpx2.AsyncClient, runtime: Runtime, hidden: EventType) -> None:
    async with runtime.transaction(OPERATOR) as work:
        public = await event_types.make_event_type_public(work, hidden)

    assert not public.is_private
    assert await opens(client, None)
    assert await is_listed(client)
    assert await token_of(runtime, public) is None


async def test_another_change_leaves_the_link_as_it_is(
    client: httpx2.AsyncClient, runtime: Runtime, hidden: EventType
) -> None:
    token = await token_of(runtime, hidden)
    async with runtime.transaction(OPERATOR) as work:
        await event_types.change_event_type(work, msgspec.structs.replace(hidden, name="Another name"))

    assert await token_of(runtime, hidden) == token
    assert await opens(client, token)
    assert not await opens(client, None)


async def test_a_link_outlives_a_lost_key_and_can_not_be_shown(
    client: httpx2.AsyncClient, runtime: Runtime, hidden: EventType, settings: Settings
) -> None:
    token = await token_of(runtime, hidden)
    assert await replace_lost_data_keys(runtime.pool, Secrets(("l" * 40,)), now=runtime.clock())

    async with open_runtime(msgspec.structs.replace(settings, secret_key="l" * 40)) as after:
        assert await token_of(after, hidden) is None
    assert await opens(client, token)
