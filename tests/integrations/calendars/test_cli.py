"""calendar …: every command speaks JSON, and a whole life of a connection can be led from the terminal."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from openslot.accounts.models import User
from openslot.core.errors import Invalid, Refusal
from openslot.core.outbound import OutboundRefused
from openslot.core.work import Runtime
from openslot.integrations.calendars.errors import CalendarSignInFailed, ConnectionNotFound
from tests.command_line import Cli
from tests.core.hostile_urls import SHAPES
from tests.core.test_outbound_peers import serve
from tests.integrations.calendars.feeds import publishing
from tests.integrations.calendars.radicale import PASSWORD, USER, Radicale
from tests.integrations.calendars.writing import calendar, event


@pytest.fixture
def cli(cli: Cli) -> Cli:
    """Run a command about calendars beside the test's event loop."""
    return partial(asyncio.to_thread, cli, "calendar")


def tomorrow() -> str:
    start = datetime.now(UTC) + timedelta(days=1)
    return calendar(event("soon", start=f"{start:%Y%m%d}T100000Z", end=f"{start:%Y%m%d}T110000Z"))


async def test_a_connections_life(
    runtime: Runtime, user: User, radicale: Radicale, work_calendar: str, cli: Cli
) -> None:
    await radicale.put(f"{work_calendar}soon.ics", tomorrow())
    account = ("--user", user.email, "--caldav", work_calendar, "--username", USER, "--password-stdin", "--json")
    made = await cli("connect", *account, typed=f"{PASSWORD}\n")
    assert (made["kind"], made["state"], made["whenUnreadable"]) == ("caldav", "ok", "trust:24")
    (shown,) = made["calendars"]
    assert (shown["name"], shown["busy"], shown["receivesBookings"], shown["writable"]) == ("Work", True, True, True)
    assert await runtime.pool.fetchval("select count(*) from busy_spans") == 1
    assert (await cli("list", "--json"))["connections"] == [made]
    assert PASSWORD not in json.dumps(made)

    changed = await cli("set", made["id"], "--none-busy", "--write-to", "", "--when-unreadable", "close", "--json")
    assert (changed["whenUnreadable"], changed["calendars"][0]["receivesBookings"]) == ("close", False)
    assert await runtime.pool.fetchval("select count(*) from busy_spans") == 0
    changed = await cli("set", made["id"], "--busy", "Work", "--write-to", "Work", "--json")
    assert (changed["calendars"][0]["busy"], changed["calendars"][0]["receivesBookings"]) == (True, True)
    (synced,) = (await cli("sync", "--user", user.email, "--json"))["connections"]
    # As texts they could not be compared: one that falls on a whole second has no fraction.
    assert datetime.fromisoformat(synced["syncedAt"]) > datetime.fromisoformat(made["syncedAt"])
    assert await runtime.pool.fetchval("select count(*) from busy_spans") == 1

    assert await cli("missing", "--user", user.email, "--json") == {"missing": []}
    assert await cli("decide", "restore", "--user", user.email, "--json") == {"decision": "restore", "bookings": 0}
    assert await cli("disconnect", made["id"], "--json") == {"disconnected": made["id"]}
    with pytest.raises(ConnectionNotFound):
        await cli("disconnect", made["id"])


async def test_a_feed_is_connected_and_a_link_is_made(user: User, cli: Cli) -> None:
    async with publishing(tomorrow()) as feed:
        made = await cli("connect", "--user", user.email, "--ics", feed.url, "--json")
        assert (made["kind"], made["state"]) == ("ics", "ok")
        assert "secret-9f3a" not in json.dumps(made)
    link = (await cli("feed", "--user", user.email, "--json"))["url"]
    assert "/feed/" in link
    assert await cli("feed", "--user", user.email, "--revoke", "--json") == {"url": None}


async def test_people_get_sentences(user: User, work_calendar: str, cli: Cli) -> None:
    assert "openslot calendar connect" in await cli("list")
    account = ("--user", user.email, "--caldav", work_calendar, "--username", USER, "--password-stdin")
    assert "Work" in await cli("connect", *account, typed=f"{PASSWORD}\n")
    assert f"{USER} at 127.0.0.1" in await cli("list", "--user", user.email)
    assert "No booking's event is missing" in await cli("missing", "--user", user.email)


async def test_what_can_not_be_is_refused(user: User, work_calendar: str, cli: Cli) -> None:
    account = ("--user", user.email, "--caldav", work_calendar, "--username", USER, "--password-stdin")
    with pytest.raises(CalendarSignInFailed):
        await cli("connect", *account, typed="wrong\n")
    with pytest.raises(Invalid):
        await cli("connect", *account, typed="\n")
    for wrong in (
        ("--user", user.email),
        ("--user", user.email, "--ics", "https://a.example/", "--caldav", "https://a.example/"),
        ("--user", user.email, "--caldav", "https://a.example/", "--username", "a"),
        ("--user", user.email, "--caldav", "https://a.example/", "--password-stdin"),
    ):
        with pytest.raises(Invalid):
            await cli("connect", *wrong)


async def test_no_hostile_url_is_connected_to(
    runtime: Runtime, user: User, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENSLOT_OUTBOUND_ALLOW")
    chosen = dict(SHAPES)
    async with serve() as canary:
        for shape in chosen.values():
            url = shape.replace("{port}", str(canary.port))
            with pytest.raises((Refusal, ValueError)):
                await cli("connect", "--user", user.email, "--ics", url)
        with pytest.raises(OutboundRefused):
            await cli("connect", "--user", user.email, "--ics", f"http://127.0.0.1:{canary.port}/")
        assert canary.connections == 0
    assert await runtime.pool.fetchval("select count(*) from calendar_connections") == 0
