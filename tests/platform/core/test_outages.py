"""The log of a database that can't be reached: few lines, no tracebacks, and all that is not about it as before."""

import asyncio
import logging
import socket
import sys
from collections.abc import Iterator
from io import StringIO

import asyncpg
import msgspec
import pytest
import structlog

from openslot.doors.http.errors import translate
from openslot.platform.core import log as logs
from openslot.platform.core import outages
from openslot.platform.core.db import PoolClosedError, PoolTimeoutError
from openslot.platform.core.environment import load_settings
from openslot.platform.core.errors import Internal, Unavailable
from openslot.platform.core.outages import EVERY, Outage, is_lost
from openslot.platform.core.turns import TurnTimeoutError
from tests.support.ports import held_port

GONE = asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation")


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[StringIO]:
    """Log into a text, with nothing said so far."""
    text = StringIO()
    monkeypatch.setattr(sys, "stderr", text)
    monkeypatch.setattr(logs, "OUTAGE", Outage())
    monkeypatch.setattr(outages, "log", structlog.get_logger())
    handlers, level = logging.root.handlers[:], logging.root.level
    logs.set_up_logging(load_settings({"log_format": "json", "log_level": "info"}, environ={}))
    yield text
    structlog.reset_defaults()
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


def events(told: StringIO) -> list[str]:
    return [msgspec.json.decode(line)["event"] for line in told.getvalue().splitlines()]


def test_an_outage_is_told_at_once_then_once_a_minute_and_when_it_is_over(told: StringIO) -> None:
    clock = Clock()
    outage = Outage(clock=clock)
    for _ in range(130):
        outage.begin("connection refused")
        outage.mention(GONE)
        clock.now += 1
    outage.end()
    outage.end()
    lost = "The database can't be reached; trying again"
    assert events(told) == [lost, lost, lost, "The database can be reached again"]
    outage.begin("connection refused")
    assert events(told)[-1] == lost


def test_a_lost_connection_is_told_once_a_minute(told: StringIO) -> None:
    clock = Clock()
    outage = Outage(clock=clock)
    for _ in range(3):
        outage.mention(GONE)
        clock.now += EVERY / 2
    outage.end()
    assert events(told) == ["A connection to the database was lost"] * 2


def test_what_the_database_refuses_is_told_once_a_minute(told: StringIO) -> None:
    clock = Clock()
    outage = Outage(clock=clock)
    for _ in range(130):
        outage.mention(asyncpg.LockNotAvailableError("canceling statement due to lock timeout"))
        clock.now += 1
    outage.mention(GONE)
    assert events(told) == [*["database unavailable"] * 3, "A connection to the database was lost"]


async def refused() -> Exception:
    with held_port() as port, pytest.raises(ConnectionRefusedError) as found:
        await asyncpg.connect(f"postgresql://127.0.0.1:{port}/nowhere", timeout=60)
    return found.value


async def test_what_is_lost_is_told_from_other_exceptions() -> None:
    assert is_lost(await refused())
    assert is_lost(GONE)
    assert is_lost(asyncpg.InterfaceError("connection is closed"))
    with held_port() as port, pytest.raises(ConnectionRefusedError) as other:
        await asyncio.open_connection("127.0.0.1", port)
    assert not is_lost(other.value)
    assert not is_lost(asyncpg.InterfaceError("the server expects 2 arguments for this query, 1 was passed"))
    assert not is_lost(asyncpg.UniqueViolationError("twice"))
    assert not is_lost(None)


async def test_only_the_databases_own_errors_mean_that_it_is_unavailable() -> None:
    own = (
        *(await refused(), GONE, PoolTimeoutError("none was free"), TurnTimeoutError("others had their turn")),
        *(PoolClosedError("the connections are being closed"), asyncpg.QueryCanceledError("statement timeout")),
        *(asyncpg.ReadOnlySQLTransactionError("standby"), asyncpg.DiskFullError("no space left")),
    )
    others = (
        *(OSError("File name too long"), TimeoutError(), ConnectionResetError(), FileNotFoundError("x")),
        *(socket.gaierror(-2, "Name or service not known"), asyncpg.InterfaceError("invalid input for argument $1")),
    )

    assert {type(translate(each)) for each in own} == {Unavailable}
    assert {type(translate(each)) for each in others} == {Internal}


def test_only_exceptions_of_a_lost_database_lose_their_tracebacks(told: StringIO) -> None:
    own, library = structlog.get_logger(), logging.getLogger("some.library")
    for fault in (GONE, GONE, RuntimeError("a mistake")):
        own.error("effect failed", exc_info=(type(fault), fault, None))
        own.error("request failed", exc_info=fault)
        library.error("job failed", exc_info=fault)
    assert events(told) == [
        "A connection to the database was lost",
        "effect failed",
        "request failed",
        "job failed",
    ]
    assert told.getvalue().count("RuntimeError: a mistake") == 3
