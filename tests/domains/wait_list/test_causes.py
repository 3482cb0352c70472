"""Nobody fills or silences a wait list alone: not from one network, not with the addresses of one domain."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.allowances.errors import AllowanceUsed
from openslot.domains.allowances.operations import CLIENT_ADDRESS
from openslot.domains.event_types.models import EventType
from openslot.domains.wait_list import rules
from openslot.platform.core.errors import Refusal
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.wait_list import ask_to_wait, book_day, cancel_day, hand_out, tell_offered, wait_for

ELSEWHERE = "198.41.0.4"


@contextmanager
def coming_from(address: str) -> Iterator[None]:
    token = CLIENT_ADDRESS.set(address)
    try:
        yield
    finally:
        CLIENT_ADDRESS.reset(token)


async def join(runtime: Runtime, event_type: EventType, email: str) -> str:
    """Join and confirm it, and return how it went."""
    try:
        await wait_for(runtime, event_type, email)
    except Refusal as refusal:
        return refusal.code
    return "waits"


async def test_a_network_joins_so_many_lists_of_a_host_and_others_still_can(runtime: Runtime, day: EventType) -> None:
    await book_day(runtime, day)
    with coming_from("93.184.216.34"):
        answers = Counter([await join(runtime, day, f"n{number}@mail{number}.example") for number in range(52)])
    with coming_from("93.184.216.77"), pytest.raises(AllowanceUsed):
        await ask_to_wait(runtime, day, "late@late.example")
    assert answers == {"waits": 20, "allowance_used": 32}
    with coming_from(ELSEWHERE):
        assert await join(runtime, day, "li@wei.example") == "waits"


async def test_who_joins_again_is_counted_too(runtime: Runtime, day: EventType) -> None:
    """The answer must not tell who waits already."""
    runtime.settings = replace(runtime.settings, allowance_wait_list=2)
    await book_day(runtime, day)
    with coming_from("93.184.216.34"):
        for _ in range(2):
            await ask_to_wait(runtime, day, "li@wei.example")
        with pytest.raises(AllowanceUsed):
            await ask_to_wait(runtime, day, "li@wei.example")


async def test_addresses_of_one_domain_do_not_own_the_list(
    runtime: Runtime, clock: MovingClock, day: EventType
) -> None:
    runtime.settings = replace(runtime.settings, allowance_wait_list=1000)
    booking = await book_day(runtime, day)
    crowd = Counter([await join(runtime, day, f"n{number}@part{number}.crowd.example") for number in range(50)])
    assert crowd == {"waits": rules.MAX_OF_DOMAIN, "wait_list_full": 50 - rules.MAX_OF_DOMAIN}
    people = [f"n{number}@gmail.com" for number in range(rules.MAX_OF_DAY - rules.MAX_OF_DOMAIN + 1)]
    assert [await join(runtime, day, each) for each in people] == ["waits"] * (len(people) - 1) + ["wait_list_full"]
    await cancel_day(runtime, booking)
    assert len(await tell_offered(runtime)) == 1


async def test_a_domain_joins_so_many_lists_of_a_host(runtime: Runtime, day: EventType) -> None:
    runtime.settings = replace(runtime.settings, allowance_wait_list=1)
    await book_day(runtime, day)
    answers = [await join(runtime, day, f"n{number}@crowd.example") for number in range(3)]
    assert answers == ["waits", "waits", "allowance_used"]


async def test_offers_are_not_kept_from_people_because_others_have_named_their_domain(
    runtime: Runtime, clock: MovingClock, day: EventType
) -> None:
    runtime.settings = replace(runtime.settings, allowance_time=1)
    booking = await book_day(runtime, day)
    await wait_for(runtime, day, *(f"n{number}@crowd.example" for number in range(3)), "li@wei.example")
    await cancel_day(runtime, booking)
    for _ in range(3):
        clock.pass_time(hours=2)
        await work_off(runtime, clock)
        await hand_out(runtime)
    assert [name for name, _ in await tell_offered(runtime)] == ["n0", "n1", "n2", "li"]


async def test_a_network_that_joins_lists_of_many_hosts_mails_no_more_than_one_may(
    runtime: Runtime, user: User, day: EventType
) -> None:
    """Each list mails somebody who may never have heard of it."""
    runtime.settings = replace(runtime.settings, allowance_mail=1)
    await book_day(runtime, day)
    with coming_from("93.184.216.34"):
        answers = Counter([await join(runtime, day, f"n{number}@mail{number}.example") for number in range(12)])
    assert answers == {"waits": 10, "allowance_used": 2}
    assert await spent_over_all_hosts(runtime) == 10


async def spent_over_all_hosts(runtime: Runtime) -> int:
    found: int = await runtime.pool.fetchval(
        "select sum(s)::int from allowances, unnest(spent) s where bucket = 'mail network 93.184.216.0/24'"
    )
    return found


@pytest.mark.rest("fills the database with much")
async def test_who_joins_is_asked_although_others_have_used_up_the_emails_of_the_list(
    runtime: Runtime, user: User, clock: MovingClock, day: EventType
) -> None:
    runtime.settings = replace(runtime.settings, limit_mail_host=20)
    await book_day(runtime, day)
    for network in range(3):
        with coming_from(f"93.184.{network}.34"):
            for number in range(18):
                await ask_to_wait(runtime, day, f"n{network}-{number}@gmail.com")
    with coming_from(ELSEWHERE):
        await ask_to_wait(runtime, day, "li@wei.example")
    await work_off(runtime, clock)
    status = await runtime.pool.fetchval("select status from mail_messages where recipient = 'li@wei.example'")
    assert status == "sent"
