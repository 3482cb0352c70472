"""Passwords that are used and changed at the same moment in two web processes."""

import asyncio

import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.doors.web.conftest import carry_csrf_token
from tests.support.live import connect
from tests.support.parts import how_many
from tests.support.passwords import PASSWORD
from tests.support.races import WebPair

NEW = "a fresh long password"
ROUNDS = how_many(8)
WAITING = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"


@pytest.fixture
def settings(web_pair: WebPair) -> Settings:
    """Settings of the two web processes."""
    return web_pair.settings


@pytest.mark.rest("starts and stops services: one test in make test does")
async def test_over_two_web_processes_no_session_of_the_old_password_is_left(web_pair: WebPair, user: User) -> None:
    survivors, begun = [], 0
    for turn in range(ROUNDS):
        old, new = (PASSWORD, NEW) if turn % 2 == 0 else (NEW, PASSWORD)
        here, there = web_pair.urls if turn % 3 else reversed(web_pair.urls)
        async with connect(here, timeout=60) as owner:
            await owner.post("/login", data={"email": user.email, "password": old})
            await carry_csrf_token(owner)
            changing = asyncio.create_task(owner.post("/account/password", data={"current": old, "password": new}))
            tokens = await asyncio.gather(*(_try_late(there, user, old, pause=0.04 * n) for n in range(4)))
            assert (await changing).status_code == 303
            assert (await owner.get("/account")).status_code == 200
        begun += len(list(filter(None, tokens)))
        survivors += [token for token in tokens if token and await _is_in(there, token)]

    assert begun > 0
    assert survivors == []


async def _try_late(url: str, user: User, password: str, *, pause: float) -> str | None:
    await asyncio.sleep(pause)
    async with connect(url, timeout=60) as client:
        answer = await client.post("/login", data={"email": user.email, "password": password})
        return answer.cookies.get("openslot_session")


async def _is_in(url: str, token: str) -> bool:
    async with connect(url, timeout=60) as client:
        return (await client.get("/account", headers={"cookie": f"openslot_session={token}"})).status_code == 200


@pytest.mark.rest("starts and stops services: one test in make test does")
async def test_of_two_changes_at_once_one_is_refused_and_says_why(
    web_pair: WebPair, runtime: Runtime, user: User
) -> None:
    clients = [connect(url, timeout=60) for url in web_pair.urls]
    for client in clients:
        await client.post("/login", data={"email": user.email, "password": PASSWORD})
        await carry_csrf_token(client)
    wanted = [f"{NEW} {n}" for n in range(2)]
    forms = [{"current": PASSWORD, "password": new} for new in wanted]
    both = zip(clients, forms, strict=True)
    async with runtime.transaction(OPERATOR) as work:
        # Both have checked the password when they wait for the account.
        await work.db.execute("select from users where id = $1 for update", user.id)
        changing = [asyncio.create_task(client.post("/account/password", data=form)) for client, form in both]
        async with asyncio.timeout(60):
            while await runtime.pool.fetchval(WAITING) < len(changing):
                await asyncio.sleep(0.01)
    answers = await asyncio.gather(*changing)
    codes = [answer.status_code for answer in answers]
    won = codes.index(303)
    shown = [(await client.get("/account")).status_code for client in clients]
    async with connect(web_pair.urls[0], timeout=60) as anew:
        lost_one, won_one = [
            (await anew.post("/login", data={"email": user.email, "password": wanted[n]})).status_code
            for n in (1 - won, won)
        ]
    for client in clients:
        await client.aclose()

    assert sorted(codes) == [303, 409]
    assert "Was changed a moment ago on another device; sign in with the new one" in answers[1 - won].text
    assert (shown[won], shown[1 - won]) == (200, 303)
    assert (lost_one, won_one) == (401, 303)
