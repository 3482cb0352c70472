"""System tests use each part for real, say plainly what is wrong, end in time, and leave nothing behind."""

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars.errors import CalendarSignInFailed
from openslot.domains.calendars.models import CalDavWanted, ConnectionRef
from openslot.domains.doctor import database, system_tests
from openslot.domains.doctor.system_tests import PartResult, SystemPart, run_system_tests
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.db import Db
from openslot.platform.core.migrate import read_clock
from openslot.platform.core.smtp import SmtpUrl
from openslot.platform.core.work import Runtime
from tests.support.clocks import clock
from tests.support.effects import working
from tests.support.loopback import settings
from tests.support.radicale import PASSWORD, USER, Radicale, radicale_in
from tests.support.smtp_server import smtp_server

__all__ = ["clock", "settings"]


async def run(runtime: Runtime, part: SystemPart) -> PartResult:
    before = await look(runtime)
    [tested] = await run_system_tests(runtime, [part])
    assert await look(runtime) == before
    assert tested.name == part
    return tested


async def look(runtime: Runtime) -> list[tuple[object, ...]]:
    """Count what a test could leave behind."""
    tables = ("effects", "events", "lanes", "mail_messages", "agent_calls", "calendar_connections", "held_effects")
    return [(table, await runtime.pool.fetchval(f"select count(*) from {table}")) for table in tables]


async def beat(runtime: Runtime) -> None:
    """Let a worker that does nothing report."""
    await runtime.pool.execute(
        """insert into worker_beats (worker_id, host, pid, started_at, beat_at)
        values (gen_random_uuid(), 'here', 1, now(), now())"""
    )


async def test_a_row_is_written_read_and_rolled_back(runtime: Runtime) -> None:
    tested = await run(runtime, SystemPart.DATABASE)

    assert (tested.ok, tested.message) == (True, "A row was written, read and rolled back.")


@pytest.mark.parametrize(
    ("found", "message"), [([None, None], "could not be read"), (["queued"] * 2, "is still there")]
)
async def test_a_database_that_loses_or_keeps_what_it_should_not_fails(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, found: list[str | None], message: str
) -> None:
    answers = iter(found)

    async def find(db: Db, reaction: str, key: str) -> str | None:
        return next(answers)

    monkeypatch.setattr(system_tests, "find_planned", find)
    tested = await run(runtime, SystemPart.DATABASE)

    assert not tested.ok
    assert message in tested.message


async def test_a_table_that_is_locked_fails_the_test_in_time(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_tests, "WITHIN", 0.3)
    async with runtime.pool.acquire() as other, other.transaction():
        await other.execute("lock table effects in access exclusive mode")
        [tested] = await run_system_tests(runtime, [SystemPart.DATABASE])

    assert not tested.ok
    assert tested.duration_ms < 5_000


async def test_a_worker_takes_what_the_test_plans(runtime: Runtime) -> None:
    async with working(runtime):
        await wait_for_worker(runtime)
        tested = await run(runtime, SystemPart.QUEUE)

    assert (tested.ok, tested.message) == (True, "A worker has taken an effect and finished it.")
    assert tested.duration_ms < 5_000


async def wait_for_worker(runtime: Runtime) -> None:
    async with asyncio.timeout(10):
        while not await runtime.pool.fetchval("select count(*) from worker_beats"):
            await asyncio.sleep(0.02)


async def test_without_a_worker_the_queue_fails_at_once(runtime: Runtime) -> None:
    tested = await run(runtime, SystemPart.QUEUE)

    assert not tested.ok
    assert "Start one: openslot worker" in tested.message
    assert tested.duration_ms < 2_000


async def test_a_worker_that_does_nothing_is_noticed(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_tests, "WORKED_WITHIN", 0.2)
    await beat(runtime)
    tested = await run(runtime, SystemPart.QUEUE)

    assert not tested.ok
    assert tested.message.startswith("No worker finished an effect within")


async def test_a_test_that_is_cancelled_removes_its_effect(runtime: Runtime) -> None:
    await beat(runtime)
    task = asyncio.create_task(run_system_tests(runtime, [SystemPart.QUEUE]))
    async with asyncio.timeout(10):
        while not await runtime.pool.fetchval("select count(*) from effects"):
            await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert await runtime.pool.fetchval("select count(*) from effects") == 0


async def test_the_embedded_mailbox_is_named(runtime: Runtime) -> None:
    tested = await run(runtime, SystemPart.MAIL)

    assert tested.ok
    assert "embedded mailbox" in tested.message


async def test_the_mail_server_is_greeted_and_nothing_is_sent(runtime: Runtime) -> None:
    async with smtp_server() as server:
        url = SmtpUrl.parse(f"smtp://127.0.0.1:{server.port}?starttls=never")
        runtime.settings = replace(runtime.settings, smtp_url=url)
        tested = await run(runtime, SystemPart.MAIL)
        assert (tested.ok, server.connections, server.received) == (True, 1, [])

    gone = await run(runtime, SystemPart.MAIL)
    assert not gone.ok
    assert "retried for about 24 hours" in gone.message


@pytest.mark.parametrize(("seconds", "ok"), [(0, True), (3, False), (-40, False)])
async def test_clocks_that_differ_fail(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, seconds: int, ok: bool
) -> None:
    async def read_wrong(connection: Db) -> datetime:
        return await read_clock(connection) + timedelta(seconds=seconds)

    monkeypatch.setattr(database, "read_clock", read_wrong)
    tested = await run(runtime, SystemPart.CLOCK)

    assert tested.ok is ok
    assert f"{abs(seconds)}.0 s apart" in tested.message


@pytest.fixture(scope="module")
def radicale(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Radicale]:
    folder: Path = tmp_path_factory.mktemp("radicale")
    with radicale_in(folder) as server:
        yield server


async def test_calendars_are_signed_in_to(runtime: Runtime, user: User, radicale: Radicale) -> None:
    assert (await run(runtime, SystemPart.CALENDARS)).message == "No calendar is connected."
    radicale.empty()
    wanted = CalDavWanted(address=await radicale.add_calendar("Private plans"), username=USER, password=PASSWORD)
    connection = await calendars.connect_calendar(runtime.work(OPERATOR), user, wanted)
    tested = await run(runtime, SystemPart.CALENDARS)
    assert (tested.ok, tested.message) == (True, "1 of 1 calendar connections respond.")

    radicale.empty()
    gone = await run(runtime, SystemPart.CALENDARS)

    assert (gone.ok, gone.message) == (False, "0 of 1 calendar connections respond. The others: 1 unreachable.")
    assert "Private" not in gone.message
    row = await calendars.get_calendar_connection(runtime.work(OPERATOR), ConnectionRef(connection.id))
    assert (row.failures, row.last_error) == (0, None)


async def test_ten_calendars_are_asked_at_most_and_slow_ones_are_not_waited_for(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, user: User
) -> None:
    await runtime.pool.execute(
        """insert into calendar_connections (id, owner_id, kind, server, label, addresses, next_sync_at, created_at,
            secret, failures)
        select gen_random_uuid(), $1, 'ics', 'x', 'x', '{}', now() + n * interval '1 minute', now(), '', 0
        from generate_series(1, 12) n""",
        user.id,
    )
    asked: list[ConnectionRef] = []

    async def check(work: object, ref: ConnectionRef) -> int:
        asked.append(ref)
        if len(asked) == 1:
            await asyncio.sleep(60)
        if len(asked) == 2:
            raise CalendarSignInFailed
        return 1

    monkeypatch.setattr(system_tests, "check_calendar_connection", check)
    monkeypatch.setattr(system_tests, "ANSWERED_WITHIN", 0.1)
    tested = await run(runtime, SystemPart.CALENDARS)

    assert len(asked) == 10
    assert not tested.ok
    assert tested.message == (
        "8 of 10 calendar connections respond. The others: 1 refuse the sign-in, 1 without a response for 0 seconds."
    )


async def test_one_test_that_hangs_or_breaks_does_not_keep_the_others(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(runtime: Runtime) -> None:
        await asyncio.sleep(60)

    async def fail(runtime: Runtime) -> object:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(system_tests, "WITHIN", 0.2)
    monkeypatch.setitem(system_tests.TESTS, SystemPart.MAIL, hang)
    monkeypatch.setitem(system_tests.TESTS, SystemPart.CLOCK, fail)
    tested = {each.name: each for each in await run_system_tests(runtime)}

    assert list(tested) == list(SystemPart)
    assert tested[SystemPart.DATABASE].ok
    assert tested[SystemPart.MAIL].message == "It did not end within 0 seconds."
    assert tested[SystemPart.CLOCK].message == "It failed: division by zero."
