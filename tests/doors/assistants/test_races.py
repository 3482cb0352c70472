"""Two requests at the same moment: a code and a refresh token are good for exactly one of them."""

import asyncio

import httpx2
import pytest

from openslot.platform.core.work import Runtime
from tests.doors.assistants.support import call, connect, get_code, redeem, refresh, register

pytestmark = pytest.mark.rest("lets several write at once, as the pairs of writers do")

ROUNDS = 10
AT_ONCE = 8


async def count_running(runtime: Runtime) -> int:
    return int(await runtime.pool.fetchval("select count(*) from assistant_grants where revoked_at is null"))


async def test_of_many_redemptions_of_one_code_exactly_one_counts(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    client_id = await register(member)
    for _ in range(ROUNDS):
        await runtime.pool.execute("delete from rate_log")
        code = await get_code(member, client_id)
        answers = await asyncio.gather(*(redeem(member, client_id, code) for _ in range(AT_ONCE)))

        assert sorted(answer.status_code for answer in answers) == [200] + [400] * (AT_ONCE - 1)
        # The others are a second use: whoever was first may have stolen it.
        (first,) = [answer.json() for answer in answers if answer.status_code == 200]
        assert (await call(member, first["access_token"])).status_code == 401
    assert await runtime.pool.fetchval("select count(*) from assistant_grants") == ROUNDS
    assert await count_running(runtime) == 0


async def test_of_many_refreshes_of_one_token_exactly_one_counts(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    client_id = await register(member)
    for _ in range(ROUNDS):
        await runtime.pool.execute("delete from rate_log")
        _, tokens = await connect(member, client_id)
        answers = await asyncio.gather(*(refresh(member, client_id, tokens.refresh_token) for _ in range(AT_ONCE)))

        assert sorted(answer.status_code for answer in answers) == [200] + [400] * (AT_ONCE - 1)
        assert await count_running(runtime) == 0


async def test_a_connection_that_is_ended_while_it_is_refreshed_stays_ended(
    member: httpx2.AsyncClient, runtime: Runtime
) -> None:
    client_id = await register(member)
    for _ in range(ROUNDS):
        await runtime.pool.execute("delete from rate_log")
        _, tokens = await connect(member, client_id)
        sent = {"token": tokens.access_token, "client_id": client_id}
        refreshed, _ = await asyncio.gather(
            refresh(member, client_id, tokens.refresh_token), member.post("/oauth/revoke", data=sent)
        )
        if refreshed.status_code == 200:
            await member.post("/oauth/revoke", data={**sent, "token": refreshed.json()["access_token"]})

        assert await count_running(runtime) == 0
