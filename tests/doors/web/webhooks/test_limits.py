"""Tests of endpoints, and single events that are sent again, have a limit of their own."""

import httpx2

from openslot.domains.accounts.models import User
from openslot.doors.web.dashboard.webhooks.deliveries import SENDS
from openslot.platform.core.work import Runtime
from tests.doors.web.webhooks.conftest import Create, last_delivery
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import open_session
from tests.support.page import read_page


async def count_tests(runtime: Runtime) -> int:
    return int(await runtime.pool.fetchval("select count(*) from events where type = 'webhook.test'"))


async def use_up(runtime: Runtime, user: User, *, left: int) -> None:
    """Fill the user's log of the last minute, so that only so many places are free."""
    await runtime.pool.execute(
        """insert into rate_log (bucket, stamps, taken)
        values ($1, array_fill((extract(epoch from clock_timestamp()) * 1000000)::bigint, array[$2::int]), 1)""",
        f"{SENDS.name}:{user.id}",
        SENDS.max_ - left,
    )


async def test_too_many_tests_are_refused_beside_the_button(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, create: Create
) -> None:
    path, _ = await create()
    await use_up(runtime, user, left=1)
    last, refused = [await member.post(f"{path}/test") for _ in range(2)]

    assert last.status_code == 303
    assert refused.status_code == 429
    words = refused.text.partition('id="test"')[2].partition('id="log"')[0]
    assert "Too many requests. Wait " in words
    assert f'action="{path}/test"' in words
    assert await count_tests(runtime) == 1


async def test_sending_again_counts_as_well(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, user: User, create: Create
) -> None:
    path, _ = await create()
    await member.post(f"{path}/test")
    await work_off(runtime, clock)
    delivery = f"{path}/deliveries/{await last_delivery(runtime)}"
    await runtime.pool.execute("delete from rate_log")
    await use_up(runtime, user, left=1)
    last, refused = [await member.post(f"{delivery}/resend") for _ in range(2)]

    assert last.headers["location"] == f"{path}?done=resent#log"
    assert refused.headers["location"] == f"{delivery}?done=limited"
    assert read_page(await member.get(f"{delivery}?done=limited")).notices == [
        "Too many requests. Wait a minute, then try again."
    ]
    assert await count_tests(runtime) == 2


async def test_another_host_is_not_concerned(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, stranger: User, create: Create
) -> None:
    await use_up(runtime, user, left=0)
    member.headers.update(await open_session(runtime, stranger))
    path, _ = await create()

    assert (await member.post(f"{path}/test")).status_code == 303
