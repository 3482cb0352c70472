"""A host in Berlin on a Monday morning, with a way to book, to delete the account, and to let time pass."""

from collections.abc import Callable, Coroutine
from datetime import timedelta

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.people.deletions import advance_deletions, delete_account
from openslot.platform.core.actor import SYSTEM, Actor, ActorKind
from openslot.platform.core.work import Runtime
from tests.domains.webhooks.conftest import receiver
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import book, clock, member, settings, stranger, user

Delete = Callable[..., Coroutine[None, None, None]]

__all__ = ["book", "clock", "member", "receiver", "settings", "stranger", "user"]


@pytest.fixture
def delete(runtime: Runtime, user: User) -> Delete:
    """Delete the host's account as the host does."""

    async def do(whom: User = user, *, message: str | None = None) -> None:
        actor = Actor(kind=ActorKind.SESSION, user_id=whom.id)
        async with runtime.transaction(actor) as work:
            await delete_account(work, whom, message=message)

    return do


async def advance(runtime: Runtime) -> str:
    """Run the job once."""
    return await advance_deletions(runtime.work(SYSTEM))


async def settle(runtime: Runtime, clock: MovingClock) -> None:
    """Let the worker and the job run until nothing is due at this moment."""
    for _ in range(10):
        await work_off(runtime, clock)
        if (await advance(runtime)).endswith(" 0 under way"):
            return


async def find_state(runtime: Runtime, user: User) -> str | None:
    """Tell how far a deletion is."""
    state: str | None = await runtime.pool.fetchval("select state from account_deletions where user_id = $1", user.id)
    return state


async def is_there(runtime: Runtime, user: User) -> bool:
    """Tell whether the user's row is still there."""
    return bool(await runtime.pool.fetchval("select exists (select from users where id = $1)", user.id))


HOUR = timedelta(hours=1)
