"""Staged changes can't be forgotten: a handler that leaves some gets no success to its caller, whatever it declares."""

from collections.abc import AsyncIterator
from contextlib import suppress

import httpx2
import pytest

from openslot.app import create_app
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Conflict
from openslot.platform.core.events import Change
from openslot.platform.core.work import Runtime, Work
from openslot.platform.routing import Response, Success, get, post
from tests.support.live import connect, serving

NOTE = -2
INSERT = "insert into lanes (lane, unfinished) values ($1, $2)"


def stage(work: Work, note: str) -> Success:
    work.stage(Change(INSERT, (note, NOTE)))
    return Success()


@get("/api/v1/probe/staged/read")
async def forget_in_a_read(work: Work) -> Success:
    """Stage in a handler that has no transaction."""
    return stage(work, "read")


@post("/api/v1/probe/staged/write")
async def forget_in_a_write(work: Work) -> Success:
    """Write something, stage something else, and write only the first."""
    await work.db.execute(INSERT, "written", NOTE)
    return stage(work, "write")


@post("/api/v1/probe/staged/none", transaction="none")
async def forget_after_a_transaction(work: Work) -> Success:
    """Stage after the last transaction."""
    async with work.transaction():
        stage(work, "applied")
        await work.apply()
    return stage(work, "none")


@post("/api/v1/probe/staged/inside", transaction="none")
async def forget_inside_a_transaction(work: Work) -> Success:
    """Write and stage inside a transaction that the handler opens."""
    async with work.transaction():
        await work.db.execute(INSERT, "written inside", NOTE)
        return stage(work, "inside")


@post("/api/v1/probe/staged/undone", transaction="none")
async def go_on_after_a_refusal(work: Work) -> Success:
    """Stage in a transaction that is refused, as a form does that is shown again, and go on."""
    with suppress(Conflict):
        async with work.transaction():
            stage(work, "undone")
            raise Conflict("no")
    async with work.transaction():
        stage(work, "done")
        await work.apply()
    return Success()


@post("/api/v1/probe/staged/refused", transaction="none")
async def answer_with_a_refusal(work: Work) -> Response:
    """Stage, and answer that nothing was done."""
    stage(work, "refused")
    return Response(status=409, body={"error": "no"})


PROBES = (
    forget_in_a_read,
    forget_in_a_write,
    forget_after_a_transaction,
    forget_inside_a_transaction,
    go_on_after_a_refusal,
    answer_with_a_refusal,
)


@pytest.fixture
async def probe(settings: Settings, runtime: Runtime, bearer: dict[str, str]) -> AsyncIterator[httpx2.AsyncClient]:
    """Serve the probes beside the real routes."""
    async with (
        serving(create_app(settings, more_routes=PROBES)) as url,
        connect(url, headers=bearer, timeout=20) as client,
    ):
        yield client


async def notes(runtime: Runtime) -> set[str]:
    return {row["lane"] for row in await runtime.pool.fetch("select lane from lanes where unfinished = $1", NOTE)}


async def test_staged_and_forgotten_is_an_error_whatever_the_handler_declares(
    probe: httpx2.AsyncClient, runtime: Runtime
) -> None:
    answers = {
        "read": await probe.get("/api/v1/probe/staged/read"),
        **{path: await probe.post(f"/api/v1/probe/staged/{path}") for path in ("write", "none", "inside")},
    }

    assert {path: answer.status_code for path, answer in answers.items()} == dict.fromkeys(answers, 500)
    assert await notes(runtime) == {"applied"}


async def test_what_was_staged_in_a_refused_transaction_is_forgotten_with_it(
    probe: httpx2.AsyncClient, runtime: Runtime
) -> None:
    answer = await probe.post("/api/v1/probe/staged/undone")

    assert answer.json() == {"success": True}
    assert await notes(runtime) == {"done"}


async def test_an_answer_that_nothing_was_done_needs_nothing_written(
    probe: httpx2.AsyncClient, runtime: Runtime
) -> None:
    answer = await probe.post("/api/v1/probe/staged/refused")

    assert answer.status_code == 409
    assert await notes(runtime) == set()
