"""Callers, calls and two runtimes on one database, for tests of what agents spend."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from uuid import UUID

import pytest
from msgspec.structs import replace

from openslot.domains.access import operations as access
from openslot.doors.agents import budget
from openslot.doors.agents.models import Agent, Caller, Level, ToolCall
from openslot.doors.agents.roster import ROSTER, with_implied
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.ports import NO_FAKES
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.support.clocks import MovingClock

NOON = datetime(2026, 3, 16, 12, tzinfo=UTC)
EMAIL = 1_000
DOLLAR = 1_000_000
SUM = "select spent_micros, reserved_micros from agent_spend where on_date = $1 and agent = $2"


@pytest.fixture
def clock() -> MovingClock:
    """A clock on which it is noon."""
    return MovingClock(NOON)


def call_of(slug: str, *, level: Level | None = None, key_id: UUID | None = None) -> ToolCall:
    """One call by an agent as the roster has it."""
    entry = ROSTER[slug]
    agent = Agent(
        slug=slug,
        autonomy_level=entry.autonomy_level if level is None else level,
        email_level=entry.email_level,
    )
    caller = Caller(agent=agent, key_id=key_id or new_id(), scopes=with_implied(entry.scopes))
    return ToolCall(id=new_id(), caller=caller, request_id="test")


async def make_key(runtime: Runtime, slug: str) -> UUID:
    """Make a key for an agent and return its id."""
    async with runtime.transaction(OPERATOR) as work:
        _, credential = await access.create_agent_key(work, slug, name="test")
        return credential.id


@asynccontextmanager
async def two_runtimes(
    settings: Settings, clock: MovingClock, *, fakes: Mapping[type, object] = NO_FAKES, **changes: object
) -> AsyncIterator[tuple[Runtime, Runtime]]:
    """Open two runtimes, as two web processes have them."""
    chosen = replace(settings, **changes)
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(open_runtime(chosen, clock=clock, fakes=fakes))
        second = await stack.enter_async_context(open_runtime(chosen, clock=clock, fakes=fakes))
        yield first, second


async def spent_and_reserved(runtime: Runtime, agent: str, on: datetime = NOON) -> tuple[int, int]:
    row = await runtime.pool.fetchrow(SUM, on.date(), agent)
    return (row["spent_micros"], row["reserved_micros"]) if row else (0, 0)


async def spend(runtime: Runtime, agent: str, micros: int) -> None:
    reservation = await budget.reserve(runtime, call_of(agent), micros)
    async with runtime.transaction(SYSTEM) as work:
        await budget.settle(work, reservation)
