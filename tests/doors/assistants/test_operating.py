"""What the operator sees and ends, and what is forgotten by itself."""

import httpx2

from openslot.doors.oauth import operations
from openslot.doors.oauth.clients import list_clients
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.work import Runtime
from tests.doors.assistants.support import call, connect, refresh, register
from tests.support.clocks import MovingClock


async def test_a_program_that_is_removed_is_disconnected_from_everyone(
    member: httpx2.AsyncClient, runtime: Runtime
) -> None:
    client_id, tokens = await connect(member)
    assert [each.connections for each in await list_clients(runtime.work(OPERATOR))] == [1]
    async with runtime.transaction(OPERATOR) as work:
        assert await operations.remove_client(work, client_id) == 1

    assert (await call(member, tokens.access_token)).status_code == 401
    refused = await refresh(member, client_id, tokens.refresh_token)
    assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")
    assert await list_clients(runtime.work(OPERATOR)) == []


async def test_programs_that_nobody_has_connected_are_forgotten_after_a_day(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock
) -> None:
    unused = await register(member)
    client_id, tokens = await connect(member)
    clock.pass_time(days=1, minutes=2)
    await operations.tidy_assistants(runtime.work(SYSTEM))
    left = [each.client.id for each in await list_clients(runtime.work(OPERATOR))]
    assert left == [client_id] != [unused]
    assert (await refresh(member, client_id, tokens.refresh_token)).status_code == 200
    assert await runtime.pool.fetchval("select count(*) from assistant_codes") == 0

    clock.pass_time(days=91)
    await operations.tidy_assistants(runtime.work(SYSTEM))
    assert await list_clients(runtime.work(OPERATOR)) == []
    for table in ("assistant_grants", "assistant_refresh_tokens"):
        assert await runtime.pool.fetchval(f"select count(*) from {table}") == 0
