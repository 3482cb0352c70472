"""The log of deliveries as it grows, sending one again, and replaying days."""

import re
from datetime import timedelta

import httpx2
import pytest

from openslot.platform.core.work import Runtime
from tests.domains.webhooks.conftest import Happen
from tests.doors.web.webhooks.conftest import Create, last_delivery, results
from tests.support.clocks import MONDAY, MovingClock
from tests.support.effects import work_off
from tests.support.page import read_page
from tests.support.receiver import Receiver


async def test_a_long_log_has_pages(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, create: Create, happen: Happen
) -> None:
    path, _ = await create()
    for _ in range(26):
        await happen()
    await work_off(runtime, clock)
    first = await member.get(f"{path}?result=delivered")
    assert len(results(first)) == 25
    following = re.search(r'rel="next" href="([^"#]+)', first.text)
    assert following is not None
    second = await member.get(following[1].replace("&amp;", "&"))
    assert len(results(second)) == 1
    assert 'rel="next"' not in second.text


async def test_only_the_latest_try_says_when_the_next_one_is(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, logged: str
) -> None:
    clock.now += timedelta(minutes=1)
    await work_off(runtime, clock)
    page = await member.get(f"{logged}?result=failed")

    assert results(page) == ["Failed, 500", "Failed, 500"]
    assert page.text.count("retry in ") == 1
    assert "retry in 5 min" in read_page(page).text


async def test_one_delivery_is_sent_again_with_the_same_bytes(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, logged: str, receiver: Receiver
) -> None:
    receiver.answer(204)
    failed = receiver.got[-1]
    answer = await member.post(f"{logged}/deliveries/{await last_delivery(runtime)}/resend")
    assert answer.headers["location"] == f"{logged}?done=resent#log"
    await work_off(runtime, clock)
    assert (receiver.got[-1].id, receiver.got[-1].body) == (failed.id, failed.body)
    assert results(await member.get(logged))[0] == "Delivered, 204"


async def test_a_paused_endpoint_is_sent_nothing_again(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, logged: str, receiver: Receiver
) -> None:
    await member.post(f"{logged}/pause")
    before = len(receiver.got)
    answer = await member.post(f"{logged}/deliveries/{await last_delivery(runtime)}/resend")
    shown = await member.get(answer.headers["location"])
    assert read_page(shown).notices == ["This webhook endpoint is not active. Resume it first."]
    days = {"from": "2026-03-16", "to": "2026-03-17", "which": "all"}
    refused = await member.post(f"{logged}/replay", data=days)
    assert refused.status_code == 400
    assert "This endpoint is not active" in read_page(refused).notices[0]
    await work_off(runtime, clock)
    assert len(receiver.got) == before


async def give_up(runtime: Runtime, clock: MovingClock) -> None:
    """Let every failing delivery have had its last try."""
    await runtime.pool.execute(
        "update effects set state = 'dead', finished_at = $1 where state = 'queued' and reaction = 'webhooks.send'",
        clock.now,
    )


RANGES = [
    ("2026-03-16", "2026-03-17", "missed", 1),
    ("2026-03-16", "2026-03-17", "all", 2),
    ("2026-03-16", "2026-03-16", "all", 1),
    ("2026-03-16", "2026-03-16", "missed", 0),
    ("2026-03-17", "2026-03-17", "missed", 1),
    ("2026-03-18", "2026-03-19", "all", 0),
    ("2026-03-14", "2026-03-15", "all", 0),
]


@pytest.mark.parametrize(("first", "last", "which", "count"), RANGES)
async def test_a_range_is_counted_before_it_is_sent_and_the_count_is_what_is_sent(
    member: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    logged: str,
    receiver: Receiver,
    first: str,
    last: str,
    which: str,
    count: int,
) -> None:
    await give_up(runtime, clock)
    before = len(receiver.got)
    days = {"from": first, "to": last, "which": which}
    shown = await member.get(f"{logged}/replay", params=days)
    words = {0: "There is nothing to send", 1: "1 event will be sent", 2: "2 events will be sent"}[count]
    assert words in read_page(shown).headings
    assert ("Send them now" in shown.text) == (count > 0)
    await work_off(runtime, clock)
    assert len(receiver.got) == before

    receiver.answer(200)
    answer = await member.post(f"{logged}/replay", data=days)
    assert answer.headers["location"] == f"{logged}?done=replayed&count={count}#log"
    await work_off(runtime, clock)
    assert len(receiver.got) - before == count


async def test_days_of_a_range_are_days_in_the_hosts_zone(
    member: httpx2.AsyncClient, clock: MovingClock, create: Create, happen: Happen, runtime: Runtime
) -> None:
    path, _ = await create()
    # In Berlin it is half past midnight on the 18th.
    clock.now = MONDAY.replace(day=17, hour=23, minute=30)
    await happen()
    await work_off(runtime, clock)
    counted = {
        day: "1 event will be sent" in (await member.get(f"{path}/replay?from={day}&to={day}&which=all")).text
        for day in ("2026-03-17", "2026-03-18", "2026-03-19")
    }
    assert counted == {"2026-03-17": False, "2026-03-18": True, "2026-03-19": False}


WRONG_DAYS: list[tuple[dict[str, str], str]] = [
    ({"from": "", "to": "2026-03-16"}, "Choose the first day"),
    ({"from": "2026-03-16", "to": ""}, "Choose the last day"),
    ({"from": "2026-03-17", "to": "2026-03-16"}, "Must not be before the first day"),
    ({"from": "soon", "to": "2026-03-16"}, "Must be a date"),
    ({"from": "0001-01-01", "to": "9999-12-31"}, "Must be a date"),
]


async def test_a_range_needs_two_days(member: httpx2.AsyncClient, logged: str, receiver: Receiver) -> None:
    before = len(receiver.got)
    for days, fault in WRONG_DAYS:
        for answer in (
            await member.get(f"{logged}/replay", params=days),
            await member.post(f"{logged}/replay", data={**days, "which": "all"}),
        ):
            assert answer.status_code == 400, (days, fault)
            assert fault in read_page(answer).text, (days, fault)
        assert len(receiver.got) == before, (days, fault)
