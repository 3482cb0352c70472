"""The limit of failed authentications: five wrong tries from one address in any minute, at every process together."""

import asyncio
from collections import Counter

import httpx2
import msgspec
import pytest

from openslot.app import create_app
from openslot.domains.access.models import CredentialKind, new_key
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.work import Runtime
from tests.domains.access.conftest import Age
from tests.support.live import connect, serving

ME = "/api/v1/me"
Pair = tuple[httpx2.AsyncClient, httpx2.AsyncClient]


def wrong() -> dict[str, str]:
    """Make a key that looks right and is nobody's."""
    return {"Authorization": f"Bearer {new_key(CredentialKind.API_KEY)}"}


async def test_five_wrong_keys_are_401_and_the_sixth_is_429(client: httpx2.AsyncClient) -> None:
    answers = [await client.get(ME, headers=wrong()) for _ in range(6)]

    assert [answer.status_code for answer in answers] == [401] * 5 + [429]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
    assert answers[-1].json() == {"error": "Too many failed authentications from this address"}
    assert answers[-1].headers["x-error-code"] == "too_many_failed_authentications"


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer x", "Basic YTpi", "Bearer svc_live_short"])
async def test_what_is_no_key_is_charged_too(client: httpx2.AsyncClient, authorization: str) -> None:
    answers = [await client.get(ME, headers={"Authorization": authorization}) for _ in range(6)]

    assert [answer.status_code for answer in answers] == [401] * 5 + [429]


async def test_a_good_key_waits_with_its_address_and_is_not_charged(
    client: httpx2.AsyncClient, runtime: Runtime, bearer: dict[str, str], age: Age
) -> None:
    for _ in range(5):
        await client.get(ME, headers=wrong())
    blocked = await client.get(ME, headers=bearer)
    counted = await runtime.pool.fetchval("select count(*) from rate_log where bucket like 'key:%'")
    await age(int(blocked.headers["retry-after"]))
    free = await client.get(ME, headers=bearer)

    assert (blocked.status_code, counted, free.status_code) == (429, 0, 200)
    assert free.headers["ratelimit-remaining"] == "59"


async def test_blocked_tries_do_not_lengthen_the_block(client: httpx2.AsyncClient, age: Age) -> None:
    for _ in range(20):
        await client.get(ME, headers=wrong())
    await age(61)

    assert (await client.get(ME, headers=wrong())).status_code == 401


async def test_a_clock_that_is_set_back_does_not_keep_an_address_blocked(
    client: httpx2.AsyncClient, bearer: dict[str, str], age: Age
) -> None:
    for _ in range(6):
        await client.get(ME, headers=wrong())
    await age(-86_400)
    answers = [await client.get(ME, headers=headers) for headers in (bearer, wrong(), bearer)]

    assert [answer.status_code for answer in answers] == [200, 401, 200]


async def test_of_a_hundred_wrong_keys_at_once_exactly_five_are_401(pair: Pair) -> None:
    answers = await asyncio.gather(*(pair[n % 2].get(ME, headers=wrong()) for n in range(100)))

    assert Counter(answer.status_code for answer in answers) == {401: 5, 429: 95}
    assert all("retry-after" in answer.headers for answer in answers if answer.status_code == 429)


async def test_of_a_hundred_requests_without_a_key_exactly_five_are_401(pair: Pair) -> None:
    answers = await asyncio.gather(*(pair[n % 2].get(ME) for n in range(100)))

    assert Counter(answer.status_code for answer in answers) == {401: 5, 429: 95}


async def test_good_keys_are_never_charged_to_their_address(pair: Pair, bearer: dict[str, str]) -> None:
    answers = await asyncio.gather(*(pair[n % 2].get(ME, headers=bearer) for n in range(60)))

    assert Counter(answer.status_code for answer in answers) == {200: 60}
    assert (await pair[0].get(ME, headers=wrong())).status_code == 401


async def test_a_forged_header_gains_no_more_tries(client: httpx2.AsyncClient) -> None:
    answers = [await client.get(ME, headers={**wrong(), "X-Forwarded-For": f"198.51.100.{n}"}) for n in range(7)]

    assert [answer.status_code for answer in answers] == [401] * 5 + [429] * 2


async def test_behind_a_trusted_proxy_each_client_has_its_own_limit_and_an_ipv6_network_one(
    settings: Settings, runtime: Runtime
) -> None:
    trusting = msgspec.structs.replace(settings, trusted_proxies=Networks.parse("127.0.0.0/8"))
    async with serving(create_app(trusting)) as url, connect(url) as client:

        async def tries(*forwarded: str) -> list[int]:
            headers = [{**wrong(), "X-Forwarded-For": line} for line in forwarded]
            return [(await client.get(ME, headers=each)).status_code for each in headers]

        assert await tries(*(f"198.51.100.{n}, 203.0.113.7" for n in range(6))) == [401] * 5 + [429]
        assert await tries("203.0.113.8") == [401]
        assert await tries(*(f"2001:db8:1:2::{n}" for n in range(6))) == [401] * 5 + [429]
        assert await tries("2001:db8:1:3::1") == [401]
    assert await runtime.pool.fetchval("select count(*) from rate_log where bucket = 'auth:2001:db8:1:2::/64'") == 1
