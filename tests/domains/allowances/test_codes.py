"""Codes and links that prove an address cost who asks for them, and the host on whose page they are asked for."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import httpx2
import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.domains.access import email_codes
from openslot.domains.access.resets import operations as resets
from openslot.domains.accounts import sign_ups
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.allowances.errors import AllowanceUsed
from openslot.domains.allowances.models import CauseKind, Cost, CostCause, RefusedCost
from openslot.domains.allowances.operations import CLIENT_ADDRESS, REFUSED, list_refusals
from openslot.domains.allowances.rules import allow
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import TEN, offer
from tests.domains.bookings.email_codes import FORM, INVITEE, PAGE
from tests.support.clocks import MovingClock
from tests.support.email_codes import count_codes
from tests.support.live import connect, serving

HERE, THERE = "93.184.216.34", "93.184.217.34"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Three codes for a network, five for a mail domain, and four for a host who has just signed up."""
    return replace(settings, allowance_code=1, sign_up="open", trusted_proxies=Networks.parse("127.0.0.0/8"))


@pytest.fixture
async def proven(runtime: Runtime, user: User) -> EventType:
    """What a new host offers to people who prove their address."""
    await runtime.pool.execute("update users set plan = 'FREE', signed_up = true where id = $1", user.id)
    return await offer(runtime, user, "proven", requires_email_verification=True)


@pytest.fixture
async def client(settings: Settings, clock: MovingClock) -> AsyncIterator[httpx2.AsyncClient]:
    """A client behind a proxy that says where it is."""
    async with serving(create_app(settings, clock=clock)) as url, connect(url) as opened:
        opened.headers["X-Forwarded-For"] = HERE
        yield opened


async def is_refused(runtime: Runtime, event_type: EventType, email: str, *, at: str) -> bool:
    CLIENT_ADDRESS.set(at)
    try:
        await email_codes.send_code(
            runtime, event_type.id, email, host_id=event_type.owner_id, locale=None, from_address=at
        )
    except AllowanceUsed:
        return True
    return False


async def test_a_network_asks_for_few_codes_from_all_its_addresses(runtime: Runtime, proven: EventType) -> None:
    asked = [await is_refused(runtime, proven, f"p{n}@victims{n}.example", at=f"93.184.216.{n}") for n in range(5)]

    assert asked == [False] * 3 + [True] * 2
    assert not await is_refused(runtime, proven, "p9@victims9.example", at=THERE)
    assert await count_codes(runtime) == 4


async def test_networks_send_few_codes_to_one_mail_domain_but_not_to_those_of_large_providers(
    runtime: Runtime, user: User, proven: EventType
) -> None:
    await trust(runtime, user)
    asked = [await is_refused(runtime, proven, f"p{n}@victims.example", at=f"93.184.{n // 3}.1") for n in range(9)]
    of_provider = [await is_refused(runtime, proven, f"p{n}@gmail.com", at=f"93.185.{n // 3}.1") for n in range(9)]

    # Five, and the first of each network.
    assert asked == [False] * 5 + [True, False, True, True]
    assert not any(of_provider)


async def test_nobody_locks_a_mail_domain_out_by_naming_it(runtime: Runtime, user: User, proven: EventType) -> None:
    await trust(runtime, user)
    for n in range(12):
        await is_refused(runtime, proven, f"p{n}@okafor.example", at=f"93.184.{n % 4}.1")

    assert not await is_refused(runtime, proven, "jonas@okafor.example", at="93.185.1.1")


async def trust(runtime: Runtime, user: User) -> None:
    await runtime.pool.execute("update users set signed_up = false where id = $1", user.id)


async def test_a_new_hosts_page_is_no_way_to_mail_codes_from_many_networks(
    runtime: Runtime, user: User, proven: EventType
) -> None:
    asked = [await is_refused(runtime, proven, f"p{n}@victims{n}.example", at=f"93.184.{n}.1") for n in range(12)]

    assert asked == [False] * 4 + [True] * 8
    await trust(runtime, user)
    assert not await is_refused(runtime, proven, "p13@victims13.example", at="93.184.13.1")


async def test_a_new_hosts_page_mails_no_more_codes_a_day_than_ten_times_its_own_mails(
    runtime: Runtime, user: User, proven: EventType, clock: MovingClock
) -> None:
    runtime.settings = replace(runtime.settings, allowance_mail=1)
    asked = []
    for hour in range(4):
        asked += [
            await is_refused(runtime, proven, f"p{hour}{n}@a{n}.example", at=f"93.{hour}.{n}.1") for n in range(4)
        ]
        clock.pass_time(hours=2)

    assert asked == [False] * 10 + [True] * 6
    assert [each.cost for each in await wait_for_refusals(runtime, user)] == [Cost.MAIL]
    clock.pass_time(hours=24)
    assert not await is_refused(runtime, proven, "jonas@okafor.example", at=HERE)


async def wait_for_refusals(runtime: Runtime, user: User) -> list[RefusedCost]:
    while True:
        async with runtime.transaction(PUBLIC) as work:
            if noted := await list_refusals(work, user.id):
                return noted
        await asyncio.sleep(0.01)


async def test_nothing_is_spent_where_no_code_is_sent(runtime: Runtime, proven: EventType) -> None:
    for _ in range(5):
        assert not await is_refused(runtime, proven, "jonas@okafor.example", at=HERE)

    assert await count_codes(runtime) == 1
    assert not await is_refused(runtime, proven, "ana@silva.example", at=HERE)


async def test_who_asks_is_told_why_and_the_host_sees_it(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, proven: EventType
) -> None:
    async def ask(email: str, **changes: Any) -> httpx2.Response:
        body = {"eventTypeId": str(proven.id), "startTime": TEN, **INVITEE, "inviteeEmail": email, **changes}
        return await client.post("/api/bookings", json=body)

    counted = REFUSED.labels(Cost.CODE, CauseKind.NETWORK)._value.get()
    for number in range(3):
        assert (await ask(f"p{number}@victims{number}.example")).status_code == 403
    refused = await ask("p4@victims4.example")
    on_page = await client.post(PAGE, data=FORM, headers={"Origin": str(client.base_url).rstrip("/")})

    assert refused.status_code == on_page.status_code == 429
    assert refused.headers["x-error-code"] == "allowance_used"
    assert int(refused.headers["retry-after"]) > 0
    told = "Used up: codes by email (3 within 60 minutes, for your network). Try again in"
    assert told in refused.text
    assert told in on_page.text
    assert "About prices" in on_page.text
    assert REFUSED.labels(Cost.CODE, CauseKind.NETWORK)._value.get() == counted + 2
    for _ in range(100):
        async with runtime.transaction(PUBLIC) as work:
            noted = await list_refusals(work, user.id)
        if noted and noted[0].refused == 2:
            break
    assert [(each.cost, each.cause, each.refused) for each in noted] == [("code", "network", 2)]


@pytest.mark.parametrize("way", ["sign up", "password"])
async def test_sign_ups_and_forgotten_passwords_are_mailed_to_few_by_one_network(
    runtime: Runtime, clock: MovingClock, way: str
) -> None:
    CLIENT_ADDRESS.set(HERE)

    async def ask(number: int) -> bool:
        email = f"p{number}@victims{number}.example"
        try:
            async with runtime.transaction(PUBLIC) as work:
                if way == "password":
                    await resets.request_reset(work, email)
                else:
                    wanted = UserWanted(email=email, name="Jonas", zone="UTC")
                    await sign_ups.request_sign_up(work, wanted, password_hash="x", browser="x")
        except AllowanceUsed:
            return True
        return False

    assert [await ask(number) for number in range(5)] == [False] * 3 + [True] * 2


def test_hosts_may_be_asked_for_more_codes_than_any_network() -> None:
    host = CostCause(kind=CauseKind.ACCOUNT, name=str(UUID(int=0)))
    network = CostCause(kind=CauseKind.NETWORK, name="93.184.216.0/24")

    assert allow(Cost.CODE, host, base=20).most > allow(Cost.CODE, network, base=20).most
