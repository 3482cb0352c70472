"""Transactions as handlers declare them: none for reads, one for writes, or those that a handler opens itself."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import httpx2
import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Conflict
from openslot.platform.core.work import Runtime, Work
from openslot.platform.routing import Response, Success, get, patch, post
from tests.support.live import connect, serving

# No lane of an effect has it.
NOTE = -1
SLOW = asyncio.Event()


async def write(work: Work, note: str) -> None:
    """Write into a table that has a text as its key."""
    await work.db.execute("insert into lanes (lane, unfinished) values ($1, $2)", note, NOTE)


@post("/api/v1/probe/refused")
async def refused(work: Work) -> Success:
    """Write and refuse."""
    await write(work, "refused")
    raise Conflict("no")


@post("/api/v1/probe/refused-softly")
async def refused_softly(work: Work) -> Response:
    """Write and answer that it was wrong, as a page does that shows its form again."""
    await write(work, "refused softly")
    return Response(status=400, body={"error": "no"})


@post("/api/v1/probe/parts")
async def in_parts(work: Work) -> Success:
    """Keep a note of what is tried, and lose what is refused."""
    await write(work, "tried")
    with suppress(Conflict):
        async with work.attempt():
            await refused(work)
    await write(work, "went on")
    return Success()


@get("/api/v1/probe/called-back", transaction="one")
async def called_back(work: Work) -> Success:
    """Write although it is a GET, as a vendor's call-back must."""
    await write(work, "called back")
    async with work.attempt():
        await write(work, "in the same transaction")
    return Success()


@post("/api/v1/probe/calls-out", transaction="none")
async def calls_out(work: Work) -> Success:
    """Write, wait for someone else without a connection, and write again."""
    async with work.transaction():
        await write(work, "before")
    await SLOW.wait()
    async with work.transaction():
        await write(work, "after")
        raise Conflict("no")


@patch("/api/v1/probe/calls-out", transaction="none")
async def calls_out_quickly(work: Work) -> Success:
    """Write once."""
    async with work.transaction():
        await write(work, "once")
    return Success()


PROBES = (refused, refused_softly, in_parts, called_back, calls_out, calls_out_quickly)


@pytest.fixture
async def probe(settings: Settings, runtime: Runtime, bearer: dict[str, str]) -> AsyncIterator[httpx2.AsyncClient]:
    """Serve the probes with two connections."""
    SLOW.clear()
    app = create_app(replace(settings, database_connections=2), more_routes=PROBES)
    async with serving(app) as url, connect(url, headers=bearer, timeout=20) as client:
        yield client


async def notes(runtime: Runtime) -> set[str]:
    return {row["lane"] for row in await runtime.pool.fetch("select lane from lanes where unfinished = $1", NOTE)}


async def test_what_is_refused_is_undone_however_it_is_said(probe: httpx2.AsyncClient, runtime: Runtime) -> None:
    answers = [await probe.post(f"/api/v1/probe/{path}") for path in ("refused", "refused-softly")]

    assert [answer.status_code for answer in answers] == [409, 400]
    assert await notes(runtime) == set()


async def test_a_refused_part_is_undone_and_the_rest_is_committed(probe: httpx2.AsyncClient, runtime: Runtime) -> None:
    answer = await probe.post("/api/v1/probe/parts")

    assert answer.json() == {"success": True}
    assert await notes(runtime) == {"tried", "went on"}


async def test_a_read_may_declare_a_transaction(probe: httpx2.AsyncClient, runtime: Runtime) -> None:
    answer = await probe.get("/api/v1/probe/called-back")

    assert answer.status_code == 200
    assert await notes(runtime) == {"called back", "in the same transaction"}


async def test_while_a_handler_waits_for_others_its_connection_serves_others(
    probe: httpx2.AsyncClient, runtime: Runtime
) -> None:
    waiting = [asyncio.create_task(probe.post("/api/v1/probe/calls-out")) for _ in range(3)]
    async with asyncio.timeout(60):
        while "before" not in await notes(runtime):
            await asyncio.sleep(0.01)
    me = [await probe.get("/api/v1/me") for _ in range(4)]
    SLOW.set()
    answers = await asyncio.gather(*waiting)

    assert {answer.status_code for answer in me} == {200}
    # Two of the three meet the first one's note; the first one's second transaction is refused.
    assert sorted(answer.status_code for answer in answers) == [409, 500, 500]
    assert await notes(runtime) == {"before"}


async def test_without_one_transaction_no_answer_is_kept_and_the_caller_is_told(
    probe: httpx2.AsyncClient, runtime: Runtime
) -> None:
    refused = await probe.patch("/api/v1/probe/calls-out", headers={"Idempotency-Key": "k"})
    taken = await probe.patch("/api/v1/probe/calls-out")

    assert refused.status_code == 400
    assert refused.json()["details"] == {"Idempotency-Key": "is not supported here"}
    assert taken.status_code == 200
    assert await runtime.pool.fetchval("select count(*) from idempotency") == 0
