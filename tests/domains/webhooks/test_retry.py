"""effect retry: what becomes of dead deliveries, told to whoever asked for it."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from openslot.cli.commands import app
from openslot.domains.accounts.models import User
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.reactions import WEBHOOK_REACTIONS
from openslot.platform.core.actor import OPERATOR, EffectAttempt
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Invalid, NotFound
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from openslot.wiring import WIRING
from tests.domains.webhooks.conftest import Add, live_through
from tests.support.effects import run_attempt
from tests.support.races import workday
from tests.support.receiver import Receiver, answering

Retry = Callable[..., Awaitable[Any]]
CREATED, MOVED, CANCELLED = "booking.created", "booking.rescheduled", "booking.cancelled"
DONE_SINCE = "a later change has been carried out already"


@pytest.fixture
async def runtime(settings: Settings) -> AsyncIterator[Runtime]:
    """Open a runtime on the real clock, as the command has it, where every delivery is tried once."""
    reactions = tuple(replace(reaction, delays=()) for reaction in WEBHOOK_REACTIONS)
    async with open_runtime(settings, wiring=replace(WIRING, reactions=reactions)) as opened:
        yield opened


@pytest.fixture
def retry(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Retry:
    """Run the command beside the test's own event loop, as it starts one itself."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", settings.database_url or "")
    monkeypatch.setenv("OPENSLOT_DATA_DIR", str(settings.data_dir))
    monkeypatch.setenv("OPENSLOT_LOG_LEVEL", "error")

    def run(*arguments: str) -> Any:
        result = CliRunner().invoke(app, ["effect", "retry", *arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout) if "--json" in arguments else result.stdout

    async def run_in_thread(*arguments: str) -> Any:
        return await asyncio.to_thread(run, *arguments)

    return run_in_thread


def refuse(receiver: Receiver, *types: str) -> list[str]:
    """Let a receiver take all but some events, and write down what it took."""
    taken: list[str] = []

    async def behave(writer: asyncio.StreamWriter) -> None:
        kind = receiver.got[-1].json["type"]
        if kind in types:
            await answering(500)(writer)
            return
        taken.append(kind)
        await answering(200)(writer)

    receiver.behaviour = behave
    return taken


async def work_off(runtime: Runtime) -> None:
    """Run whatever is queued, one after the other, until nothing is."""
    while rows := await runtime.pool.fetch("select id, round from effects where state = 'queued' order by no"):
        for row in rows:
            await run_attempt(runtime, EffectAttempt(row["id"], row["round"]))


async def dead(runtime: Runtime) -> list[UUID]:
    return [row["id"] for row in await runtime.pool.fetch("select id from effects where state = 'dead' order by no")]


async def test_what_is_outdated_is_skipped_and_the_operator_is_told(
    runtime: Runtime, user: User, receiver: Receiver, add: Add, retry: Retry
) -> None:
    await add(receiver.url, CREATED, MOVED, CANCELLED)
    taken = refuse(receiver, CREATED)
    await live_through(runtime, user, workday(0), 0)
    await work_off(runtime)
    taken_of_another = refuse(receiver, CREATED, MOVED, CANCELLED)
    await live_through(runtime, user, workday(1), 1)
    await work_off(runtime)
    assert (taken, taken_of_another) == ([MOVED, CANCELLED], [])
    assert len(await dead(runtime)) == 4

    taken = refuse(receiver)
    said = await retry("--all")
    assert said.split("\n")[:2] == ["3 effects will be tried again.", f"1 effect was skipped: {DONE_SINCE}."]
    await work_off(runtime)
    assert taken == [CREATED, MOVED, CANCELLED]
    assert await retry("--all", "--json") == {"revived": 0, "skipped": 0, "left": 0, "reasons": {}}


async def test_one_by_its_id(runtime: Runtime, user: User, receiver: Receiver, add: Add, retry: Retry) -> None:
    await add(receiver.url, CREATED, MOVED, CANCELLED)
    refuse(receiver, CREATED)
    await live_through(runtime, user, workday(0))
    await work_off(runtime)
    (created,) = await dead(runtime)

    told = await retry(str(created), "--json")
    assert told == {"revived": 0, "skipped": 1, "left": 0, "reasons": {DONE_SINCE: 1}}
    with pytest.raises(Invalid, match="No dead effect has this id"):
        await retry(str(created))
    with pytest.raises(Invalid):
        await retry(str(new_id()))
    with pytest.raises(NotFound):
        await retry("nonsense")
    with pytest.raises(Invalid, match="or --all"):
        await retry()


async def test_a_cancellation_that_was_replayed_keeps_its_creation_from_coming_after_it(
    runtime: Runtime, user: User, receiver: Receiver, add: Add, retry: Retry
) -> None:
    endpoint, _ = await add(receiver.url, CREATED, CANCELLED)
    refuse(receiver, CREATED, CANCELLED)
    await live_through(runtime, user, workday(0))
    await work_off(runtime)
    taken = refuse(receiver)
    cancelled = await runtime.pool.fetchval(
        "select d.id from webhook_deliveries d join events v on v.id = d.event_id where v.type = $1", CANCELLED
    )
    async with runtime.transaction(OPERATOR) as work:
        await webhooks.replay_delivery(work, cancelled, owner_id=endpoint.owner_id)
    await work_off(runtime)
    assert taken == [CANCELLED]

    assert await retry("--all", "--json") == {"revived": 0, "skipped": 2, "left": 0, "reasons": {DONE_SINCE: 2}}
    await work_off(runtime)
    assert taken == [CANCELLED]


async def test_a_dead_fan_out_behind_one_that_is_done_is_skipped(
    runtime: Runtime, user: User, receiver: Receiver, add: Add, retry: Retry
) -> None:
    await add(receiver.url, CREATED, CANCELLED)
    taken = refuse(receiver)
    await live_through(runtime, user, workday(0))
    await runtime.pool.execute(
        """update effects f set state = 'dead', finished_at = now() from events v
        where v.id = f.event_id and v.type = $1 and f.reaction = 'webhooks.dispatch'""",
        CREATED,
    )
    await runtime.pool.execute("update lanes set unfinished = unfinished - 1 where lane like 'webhooks:booking:%'")
    await runtime.pool.execute("update effects set state = 'queued' where state = 'waiting'")
    await work_off(runtime)
    assert taken == [CANCELLED]

    assert (await retry("--all", "--json"))["reasons"] == {DONE_SINCE: 1}
    await work_off(runtime)
    assert taken == [CANCELLED]
