"""A new account can't mail strangers through its assistants: all of them are one cause, and it is told."""

import asyncio
from datetime import timedelta

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.times import iso
from openslot.platform.core.work import Runtime
from tests.doors.assistants.support import ConnectedAssistant, connect
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import TEN

TO_STRANGERS = "select count(*) from mail_messages where role in ('invitee', 'guest') and status = 'sent'"


@pytest.fixture
async def newcomer(runtime: Runtime, user: User) -> User:
    """The host, as an account that was opened with the form to sign up a moment ago."""
    await runtime.pool.execute("update users set plan = 'FREE', signed_up = true where id = $1", user.id)
    return user


def party(number: int) -> dict[str, object]:
    """Write a booking with ten guests whom nobody knows."""
    return {
        "eventType": "30min",
        "startTime": iso(TEN + timedelta(minutes=30) * number),
        "inviteeName": "Win a prize",
        "inviteeEmail": f"victim{number}@victims.example",
        "inviteeTimezone": "UTC",
        "guests": [f"guest{number}x{n}@victims.example" for n in range(10)],
    }


async def test_three_connections_of_a_new_account_mail_no_more_strangers_than_one(
    member: httpx2.AsyncClient, newcomer: User, runtime: Runtime, clock: MovingClock
) -> None:
    helpers = [ConnectedAssistant(member, (await connect(member))[1].access_token) for _ in range(3)]

    answers = await asyncio.gather(
        *(helper.call("create_booking", **party(3 * n + i)) for i, helper in enumerate(helpers) for n in range(2))
    )
    await work_off(runtime, clock)

    refused = [each["result"]["structuredContent"]["error"] for each in answers if each["result"]["isError"]]
    assert len(answers) - len(refused) == 1
    assert {each["code"] for each in refused} == {"allowance_used"}
    assert refused[0]["message"].startswith(
        "Used up: emails to people who have never booked, confirmed or answered (20 within 24 hours, for this account)"
    )
    assert await runtime.pool.fetchval(TO_STRANGERS) == 11
    assert await runtime.pool.fetchval("select count(*) from bookings") == 1


async def test_the_host_is_told_on_the_first_screen(member: httpx2.AsyncClient, newcomer: User) -> None:
    helper = ConnectedAssistant(member, (await connect(member))[1].access_token)
    await helper.result("create_booking", **party(0))
    assert (await helper.refusal("create_booking", **party(1)))["code"] == "allowance_used"

    for _ in range(100):
        shown = (await member.get("/")).text
        if "1 request was refused" in shown:
            break
        await asyncio.sleep(0.02)
    assert "Used up: emails to people who have never booked, confirmed or answered" in shown
