"""A calendar is connected by a form, each fault stands at its field, and no password is ever shown."""

import asyncio

import httpx2

from openslot.domains.accounts.models import User
from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.work import Runtime
from tests.domains.calendars.conftest import open_starts
from tests.doors.web.calendars.support import EVENT
from tests.support.feeds import publishing
from tests.support.host import ZONE
from tests.support.page import read_page
from tests.support.radicale import PASSWORD, USER, Radicale

CONNECT = "/settings/calendars/connect"


def account(url: str, **changes: str) -> dict[str, str]:
    return {"server": "other", "address": url, "username": USER, "password": PASSWORD, **changes}


async def test_a_connected_account_closes_its_times(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, radicale: Radicale, work_calendar: str
) -> None:
    await radicale.put(f"{work_calendar}dentist.ics", EVENT.replace("\n", "\r\n"))

    answer = await member.post(CONNECT, data=account(work_calendar))

    assert (answer.status_code, answer.headers["location"]) == (303, "/settings/calendars?done=connected")
    page = (await member.get(answer.headers["location"])).text
    assert "The calendar is connected" in page
    assert f"{USER} at 127.0.0.1:{radicale.port}" in page
    assert PASSWORD not in page
    connection_id = await runtime.pool.fetchval("select id from calendar_connections")
    assert await sync_connection(runtime, connection_id) is None
    starts = await open_starts(runtime, user)
    assert "09:30" in starts
    assert "10:00" not in starts
    assert "10:30" not in starts
    page = (await member.get("/settings/calendars")).text
    assert "Last sync: today, 08:00 ·" in page
    assert user.zone == ZONE


async def test_a_wrong_password_is_told_at_its_field_and_nothing_is_kept(
    member: httpx2.AsyncClient, runtime: Runtime, work_calendar: str
) -> None:
    answer = await member.post(CONNECT, data=account(work_calendar, password="wrong-secret"))

    assert answer.status_code == 400
    assert read_page(answer).faults["password"].startswith("Was refused, or the user name is wrong.")
    assert read_page(answer).fields["address"].value == work_calendar
    assert "wrong-secret" not in answer.text
    assert await runtime.pool.fetchval("select count(*) from calendar_connections") == 0


FAULTS: list[tuple[dict[str, str], str, str]] = [
    ({"address": ""}, "address", "Enter the server address"),
    ({"username": ""}, "username", "Enter your user name"),
    ({"username": "a\nb"}, "username", ""),
    ({"password": ""}, "password", "Enter the password"),
    ({"server": "x"}, "server", "Must be one of"),
    ({"address": "http://127.0.0.1:9/"}, "address", "Can't be used"),
    ({"address": "ftp://dav.example/"}, "address", "Can't be used"),
    ({"address": "http://10.0.0.1/"}, "address", "Can't be used"),
    ({"address": "x" * 1001}, "address", "Must"),
    ({"address": "日本語\u202e.example"}, "address", "Can't be used"),
]


async def test_every_fault_stands_at_its_field(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    for changes, field, words in FAULTS:
        answer = await member.post(CONNECT, data=account("http://127.0.0.1:9/", **changes))

        assert answer.status_code == 400, (changes, field)
        assert read_page(answer).faults[field].startswith(words), (changes, field)
        assert await runtime.pool.fetchval("select count(*) from calendar_connections") == 0, (changes, field)


async def test_an_address_without_calendars_is_told_at_the_address(
    member: httpx2.AsyncClient, runtime: Runtime
) -> None:
    async with publishing("no calendar at all") as feed:
        answer = await member.post(f"{CONNECT}/feed", data={"url": feed.url})

    assert answer.status_code == 400
    assert read_page(answer).faults["url"].startswith("Does not lead to a calendar")
    assert f'value="{feed.url}"' in answer.text
    assert await runtime.pool.fetchval("select count(*) from calendar_connections") == 0


async def test_a_feed_is_connected_by_its_address_alone(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    async with publishing(EVENT) as feed:
        answer = await member.post(f"{CONNECT}/feed", data={"url": feed.url})

        assert answer.headers["location"] == "/settings/calendars?done=connected"
        page = (await member.get("/settings/calendars")).text
    assert "Calendar feed, read only" in page
    assert "secret-9f3a" not in page


async def test_the_21st_connection_is_refused_with_a_sentence(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    async with publishing(EVENT) as feed:
        for _ in range(20):
            assert (await member.post(f"{CONNECT}/feed", data={"url": feed.url})).status_code == 303
        answer = await member.post(f"{CONNECT}/feed", data={"url": feed.url})

    assert answer.status_code == 400
    assert "Disconnect one first" in read_page(answer).faults["url"]


async def test_no_connection_to_the_database_is_held_while_a_server_is_asked(
    member: httpx2.AsyncClient, runtime: Runtime
) -> None:
    async with publishing(EVENT) as feed:
        feed.is_open.clear()
        sending = asyncio.create_task(member.post(f"{CONNECT}/feed", data={"url": feed.url}))
        while not feed.requests:
            await asyncio.sleep(0.01)
        open_transactions = await runtime.pool.fetchval(
            """select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
            and state like 'idle in transaction%'"""
        )
        feed.is_open.set()
        assert (await sending).status_code == 303
    assert open_transactions == 0


async def test_tries_at_servers_are_limited_together(member: httpx2.AsyncClient) -> None:
    unknown = "/settings/calendars/018f0000-0000-7000-8000-000000000000"
    paths = (CONNECT, f"{CONNECT}/feed", f"{unknown}/test", f"{unknown}/password", "/welcome/calendar")
    answers = [(await member.post(paths[place % len(paths)])).status_code for place in range(35)]

    assert set(answers[:30]) == {400, 404}
    assert answers[30:] == [429] * 5
