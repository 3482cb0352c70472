"""How a process or a command gets a runtime: find or start the database, check its schema, open, run, close."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.log import set_up_logging
from openslot.platform.core.migrate import check_migrated, connect, direct_url
from openslot.platform.core.profiles import COMMANDS, ConnectionProfile
from openslot.platform.core.sealing import is_sealed
from openslot.platform.core.secrets import load_secrets
from openslot.platform.core.work import Runtime, Wiring, Work
from openslot.processes.environment import database, settings
from openslot.runtime import open_runtime
from openslot.wiring import WIRING

T = TypeVar("T")
Prepare = Callable[[str], Awaitable[object]]


def with_runtime(
    do: Callable[[Runtime], Awaitable[T]],
    *,
    prepare: Prepare = check_migrated,
    wiring: Wiring = WIRING,
    profile: ConnectionProfile = COMMANDS,
    new_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop,
) -> T:
    """Run a function in an open runtime, on a database that `prepare` has checked or migrated."""
    chosen = settings()
    set_up_logging(chosen)
    with database(chosen) as ready, asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(_in_runtime(ready, do, prepare, wiring, profile))


def with_work(do: Callable[[Work], Awaitable[T]], *, prepare: Prepare = check_migrated) -> T:
    """Run a verb as the operator, in one transaction."""

    async def in_transaction(runtime: Runtime) -> T:
        async with runtime.transaction(OPERATOR) as work:
            return await do(work)

    return with_runtime(in_transaction, prepare=prepare)


async def check_secrets(ready: Settings) -> None:
    """Raise a `StartupError` without a usable secret key; only a database that never had one gets a new one."""
    connection = await connect(direct_url(ready))
    try:
        load_secrets(ready.secret_key, ready.data_dir, is_first=not await is_sealed(connection))
    finally:
        await connection.close()


async def check_runtime(ready: Settings) -> None:
    """Raise a `StartupError` if the runtime can't be opened, for example because the secret key does not fit."""
    async with open_runtime(ready):
        pass


async def _in_runtime(
    ready: Settings, do: Callable[[Runtime], Awaitable[T]], prepare: Prepare, wiring: Wiring, profile: ConnectionProfile
) -> T:
    await check_secrets(ready)
    await prepare(direct_url(ready))
    async with open_runtime(ready, wiring=wiring, profile=profile) as runtime:
        return await do(runtime)
