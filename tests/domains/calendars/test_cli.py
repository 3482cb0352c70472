"""calendar …: every command speaks JSON, and a whole life of a connection can be led from the terminal."""

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from openslot.cli import calendars as commands
from openslot.domains.accounts.models import User
from openslot.domains.calendars import rules, store
from openslot.domains.calendars.errors import CalendarSignInFailed, ConnectionNotFound
from openslot.domains.calendars.models import CalendarConnection
from openslot.domains.calendars.ports import Changes, Scope
from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Invalid, Refusal
from openslot.platform.core.ids import new_id
from openslot.platform.core.outbound import OutboundRefused
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.support.command_line import Cli, Run
from tests.support.fake_calendars import FakeServer
from tests.support.feeds import publishing
from tests.support.hostile_urls import SHAPES
from tests.support.ical import calendar, event
from tests.support.peers import serve
from tests.support.radicale import PASSWORD, USER, Radicale

pytestmark = pytest.mark.rest("runs commands, each with a connection of its own; their verbs are in make test")


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


class Worker:
    """A worker that takes a connection as soon as it is there, and reads it until it may end."""

    def __init__(self, runtime: Runtime, place: str, *, fails: bool) -> None:
        self.began, self.may_end = asyncio.Event(), asyncio.Event()
        self._runtime, self._place, self._fails = runtime, place, fails
        self._loop = asyncio.get_running_loop()
        self._reading: asyncio.Task[str | None] | None = None

    async def take(self, connection: CalendarConnection) -> None:
        """Begin to read, on behalf of a command in another thread."""
        begun = asyncio.run_coroutine_threadsafe(self._begin(connection), self._loop)
        await asyncio.wrap_future(begun)

    async def end(self) -> str | None:
        """End the reading, and return its fault."""
        self.may_end.set()
        assert self._reading is not None
        return await self._reading

    async def _begin(self, connection: CalendarConnection) -> None:
        worker = self

        class Slow(FakeServer):
            async def list_changes(
                self, calendar: str, *, cursor: str | None, known: Mapping[str, str], scope: Scope
            ) -> Changes:
                worker.began.set()
                await worker.may_end.wait()
                self.fault = CalendarSignInFailed() if worker._fails else None
                return await super().list_changes(calendar, cursor=cursor, known=known, scope=scope)

        server = Slow()
        server.add_calendar("Work", self._place)
        server.edit(self._place, "soon", tomorrow())
        reading = sync_connection(self._runtime, connection.id, open_server=lambda *_: server)
        self._reading = asyncio.create_task(reading)
        await self.began.wait()


@pytest.mark.rest("waits for seconds")
@pytest.mark.parametrize("command", ["connect", "sync"])
@pytest.mark.parametrize("fails", [False, True])
async def test_a_command_waits_for_the_worker_that_reads_the_calendar(
    runtime: Runtime,
    settings: Settings,
    user: User,
    work_calendar: str,
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    *,
    fails: bool,
) -> None:
    account = ("--user", user.email, "--caldav", work_calendar, "--username", USER, "--password-stdin", "--json")
    if command == "sync":
        await cli("connect", *account, typed=f"{PASSWORD}\n")
        await runtime.pool.execute("update calendars set state = null")
    looks, has_looked, loop = 0, asyncio.Event(), asyncio.get_running_loop()
    verb = "connect_calendar" if command == "connect" else "make_connections_due"
    do, was_read = getattr(commands, verb), store.was_read

    async def look(*given: Any, **more: Any) -> bool:
        nonlocal looks
        looks += 1
        if looks == 4:
            loop.call_soon_threadsafe(has_looked.set)
        return await was_read(*given, **more)

    # Commands go by the time of the day, and not by the test's.
    async with open_runtime(settings) as today:
        worker = Worker(today, work_calendar, fails=fails)

        async def be_overtaken(*given: Any) -> Any:
            done = await do(*given)
            await worker.take(done if command == "connect" else done[0])
            return done

        monkeypatch.setattr(commands, verb, be_overtaken)
        monkeypatch.setattr(store, "was_read", look)
        line = ("connect", *account) if command == "connect" else ("sync", "--json")
        running = asyncio.create_task(cli(*line, typed=f"{PASSWORD}\n"))
        looking = asyncio.create_task(has_looked.wait())
        await asyncio.wait({running, looking}, return_when=asyncio.FIRST_COMPLETED)
        assert not running.done(), running.result()
        fault = await worker.end()
        answer = await running

        shown = answer if command == "connect" else answer["connections"][0]
        assert (shown["state"], shown["lastError"]) == ("failing" if fails else "ok", fault)
        # The worker's reading counts: it was not done again.
        assert await runtime.pool.fetchval("select count(*) from busy_spans") == (0 if fails else 1)
        await looking


@pytest.mark.parametrize("command", ["connect", "sync"])
async def test_a_reading_that_does_not_end_is_told_with_an_exit_code(
    runtime: Runtime,
    user: User,
    work_calendar: str,
    command_line: Run,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    account = ("--user", user.email, "--caldav", work_calendar, "--username", USER, "--password-stdin", "--json")
    run = partial(asyncio.to_thread, command_line, "calendar")
    if command == "sync":
        assert (await run("connect", *account, typed=f"{PASSWORD}\n")).exit_code == 0
    verb = "connect_calendar" if command == "connect" else "make_connections_due"
    do = getattr(commands, verb)

    async def lose_the_lease(work: Any, *given: Any) -> Any:
        done = await do(work, *given)
        connection = done if command == "connect" else done[0]
        until = work.now + rules.LEASE
        assert await store.find_lease(work.db, connection.id, new_id(), now=work.now, until=until)
        return done

    monkeypatch.setattr(commands, verb, lose_the_lease)
    monkeypatch.setattr(commands, "PATIENCE", timedelta(milliseconds=300))
    line = ("connect", *account) if command == "connect" else ("sync", "--json")
    result = await run(*line, typed=f"{PASSWORD}\n")

    assert (result.exit_code, "Traceback" in result.output) == (1, False)
    assert f"{USER} at 127.0.0.1" in result.stderr
    assert "is still being read. `openslot calendar list` shows when it was read." in result.stderr
    answer = json.loads(result.stdout)
    (connection_id,) = [row["id"] for row in await runtime.pool.fetch("select id from calendar_connections")]
    assert (answer if command == "connect" else answer["connections"][0])["id"] == str(connection_id)
