"""Microsoft 365 in the dashboard: what is asked for is said before, and what is refused is said after."""

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.work import Runtime
from tests.doors.web.calendars.support import COUNT, path_of
from tests.support.clocks import MovingClock
from tests.support.fake_microsoft import FakeMicrosoft, Mailbox
from tests.support.microsoft_host import EMAIL, mailbox, microsoft, settings
from tests.support.page import read_page

__all__ = ["mailbox", "microsoft", "settings"]


async def begin(member: httpx2.AsyncClient, **fields: str) -> str:
    """Press the button, and return the address of Microsoft's page."""
    answer = await member.post("/connect/microsoft", data=fields)
    assert answer.status_code == 200, answer.text
    assert "See and edit the events of your calendars" in answer.text
    assert "ask one of them to allow Openslot first" in answer.text
    return read_page(answer).links["Continue to Microsoft"]


async def test_an_account_is_connected_and_shows_its_calendars(
    member: httpx2.AsyncClient, runtime: Runtime, microsoft: FakeMicrosoft, mailbox: Mailbox
) -> None:
    mailbox.add_calendar("Family")
    page = (await member.get("/settings/calendars/connect")).text
    assert ('action="/connect/microsoft"' in page, 'action="/connect/google"' in page) == (True, False)

    answer = await member.get(path_of(microsoft.login.decide(await begin(member), EMAIL)))

    assert (answer.status_code, answer.headers["location"]) == (303, "/settings/calendars?done=connected")
    assert EMAIL in (await member.get(answer.headers["location"])).text
    connection_id = await runtime.pool.fetchval("select id from calendar_connections")
    page = (await member.get(f"/settings/calendars/{connection_id}")).text
    assert ("Microsoft 365" in page, "Family" in page, "Connect again" in page) == (True, True, False)


async def test_a_new_user_connects_it_among_the_first_steps(
    member: httpx2.AsyncClient, runtime: Runtime, microsoft: FakeMicrosoft
) -> None:
    await runtime.pool.execute("update users set welcome_step = 3")
    assert 'action="/connect/microsoft"' in (await member.get("/welcome/calendar")).text

    answer = await member.get(path_of(microsoft.login.decide(await begin(member), EMAIL)))

    assert (answer.status_code, answer.headers["location"]) == (303, "/welcome/calendar")


async def test_whoever_cancels_there_is_told_that_nothing_was_connected(
    member: httpx2.AsyncClient, runtime: Runtime, microsoft: FakeMicrosoft
) -> None:
    answer = await member.get(path_of(microsoft.login.decide(await begin(member), EMAIL, declines=True)))

    assert (answer.status_code, "Microsoft was not connected" in answer.text) == (403, True)
    assert "administrators" not in answer.text
    assert await runtime.pool.fetchval(COUNT) == 0


@pytest.mark.parametrize("code", [65001, 90094])
async def test_what_only_an_administrator_can_allow_is_said_plainly(
    member: httpx2.AsyncClient, runtime: Runtime, microsoft: FakeMicrosoft, code: int
) -> None:
    microsoft.login.people[EMAIL] = replace(microsoft.login.people[EMAIL], admin_needed=code)

    answer = await member.get(path_of(microsoft.login.decide(await begin(member), EMAIL)))

    assert answer.status_code == 403
    assert "Ask one of them to allow Openslot, then connect again." in answer.text
    assert await runtime.pool.fetchval(COUNT) == 0


async def test_a_revoked_account_is_connected_again_from_its_page(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, microsoft: FakeMicrosoft
) -> None:
    await member.get(path_of(microsoft.login.decide(await begin(member), EMAIL)))
    connection_id = await runtime.pool.fetchval("select id from calendar_connections")
    microsoft.login.revoke(EMAIL)
    clock.pass_time(hours=2)
    await sync_connection(runtime, connection_id)
    page = (await member.get(f"/settings/calendars/{connection_id}")).text
    assert ("was revoked or has expired" in page, 'action="/connect/microsoft"' in page) == (True, True)

    link = await begin(member, renews=str(connection_id))
    answer = await member.get(path_of(microsoft.login.decide(link, EMAIL)))

    assert answer.headers["location"] == f"/settings/calendars/{connection_id}?done=renewed"
    assert await sync_connection(runtime, connection_id) is None
