"""A standby that is asked for what may be old: when it is trusted, how old an answer gets, what the log says."""

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Any, cast

import pytest
import structlog
from structlog.testing import capture_logs

from openslot.platform.core import reading
from openslot.platform.core.db import Pool, PoolTimeoutError
from openslot.platform.core.outages import OUTAGE
from openslot.platform.core.profiles import JOBS
from openslot.platform.core.reading import StandbyReader, make_standby_pool
from proofs.proxy import Fault, FaultProxy
from tests.support.black_holes import relayed, with_servers

NOT_USED = "The standby is not used; free times are read from the database itself"
USED_AGAIN = "The standby is used again for free times"


class Server:
    """Answers a look with how far it is behind, and a read with its name."""

    def __init__(self, name: str, behind: Callable[[], float | None] = lambda: 0.0) -> None:
        self.name = name
        self.behind = behind
        self.fault: Exception | None = None

    async def fetchval(self, query: str) -> Any:
        if self.fault is not None:
            raise self.fault
        return self.behind() if query == reading.BEHIND else self.name


def read_from(standby: Any, database: Any = None) -> StandbyReader:
    return StandbyReader(cast("Pool", database or Server("database")), cast("Pool", standby))


@pytest.fixture(autouse=True)
def _own_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Say it by a logger that no earlier test has made ready, at every level, whichever one of them has set."""
    everything = structlog.make_filtering_bound_logger(0)
    monkeypatch.setattr(reading, "log", structlog.wrap_logger(None, wrapper_class=everything))


@pytest.fixture
def always_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LOOK_EVERY", 0.0)
    monkeypatch.setattr(reading, "LOOK_AGAIN_AFTER", 0.0)


@pytest.mark.parametrize(
    ("behind", "asked"),
    [
        (0.0, "standby"),
        (reading.OLDEST - 0.1, "standby"),
        (reading.OLDEST + 0.1, "database"),
        (-reading.AHEAD + 0.1, "standby"),
        (-reading.AHEAD - 0.1, "database"),
        (None, "database"),
    ],
)
async def test_a_standby_is_asked_if_it_is_fresh_and_its_clock_is_right(behind: float | None, asked: str) -> None:
    assert await read_from(Server("standby", lambda: behind)).fetchval("which") == asked


async def test_a_full_pool_of_the_process_is_no_fault_of_the_standby() -> None:
    standby = Server("standby")
    reader = read_from(standby)
    standby.fault = PoolTimeoutError("none of 10 connections was free")
    with capture_logs() as told:
        looked = await reader.fetchval("which")
        standby.fault = None
        before = await reader.fetchval("which")
        standby.fault = PoolTimeoutError("none of 10 connections was free")
        read = await reader.fetchval("which")
        standby.fault = None
        after = await reader.fetchval("which")

    assert (looked, before, read, after) == ("database", "standby", "database", "standby")
    assert told == []


@pytest.mark.usefixtures("always_looking")
async def test_the_log_says_once_that_a_standby_is_not_used_and_once_that_it_is_again() -> None:
    standby = Server("standby")
    reader = read_from(standby)
    with capture_logs() as told:
        for fault in (None, None, OSError("refused"), OSError("refused"), TimeoutError(), None, None):
            standby.fault = fault
            await reader.fetchval("which")

    assert [(each["event"], each.get("error")) for each in told] == [(NOT_USED, "refused"), (USED_AGAIN, None)]


async def test_a_standby_that_is_wrong_from_the_beginning_is_told_with_the_reason() -> None:
    standby = Server("standby")
    standby.fault = OSError("unsupported startup parameter: jit")
    with capture_logs() as told:
        await read_from(standby).fetchval("which")

    assert [each["event"] for each in told] == [NOT_USED]
    assert "OPENSLOT_READ_DATABASE_URL has to lead to the standby itself" in told[0]["error"]


async def test_a_standby_that_refuses_is_no_outage_of_the_database(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OUTAGE, "_is_down", False)
    async with relayed(database_url) as way, FaultProxy("127.0.0.1", way).running() as proxy:
        pool = make_standby_pool(with_servers(database_url, str(proxy.port)), max_=2, profile=JOBS)
        assert await pool.fetchval("select 1") == 1
        async with proxy.broken(Fault.RESET):
            for _ in range(2):
                with pytest.raises(reading.FAULTS):
                    await pool.fetchval("select 1")
        assert OUTAGE._is_down is False
        # Nor does a standby that can be reached say anything about the database.
        OUTAGE._is_down = True
        assert await pool.fetchval("select 1") == 1
        assert OUTAGE._is_down is True
        await pool.close()


class Still:
    """A standby that stands still, was just fresh enough, and takes long for looks and reads."""

    def __init__(self) -> None:
        self.since = monotonic() - reading.OLDEST + 0.02

    async def fetchval(self, query: str) -> float:
        behind = monotonic() - self.since
        await asyncio.sleep(reading.PATIENCE * 0.7)
        return behind if query == reading.BEHIND else monotonic() - self.since


@pytest.mark.rest("waits for seconds")
async def test_no_answer_is_older_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worst there is, four times as fast."""
    for name in ("OLDEST", "LOOK_EVERY", "PATIENCE", "BOUND"):
        monkeypatch.setattr(reading, name, getattr(reading, name) / 4)
    reader = read_from(Still())
    reads = []
    for _ in range(200):
        reads.append(asyncio.create_task(reader.fetchval("how old")))
        await asyncio.sleep(0.005)
    answers = await asyncio.gather(*reads)
    ages = [age for age in answers if age != "database"]

    assert answers[-1] == "database"
    assert reading.BOUND - 0.3 < max(ages) <= reading.BOUND
