"""Custom plans: a plan for the arguments of each run, on connections that otherwise keep one plan per statement."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import asyncpg

from openslot.platform.core.db import Db, Pool, is_cut_off, set_local
from openslot.platform.core.profiles import CUSTOM_PLANS

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

USE = set_local(CUSTOM_PLANS)
# What the connection was opened with.
USE_OWN = "; ".join(f"set local {name} to default" for name in CUSTOM_PLANS)


def custom_plans(
    read: Callable[Concatenate[Db, Parameters], Awaitable[Result]],
) -> Callable[Concatenate[Db, Parameters], Coroutine[Any, Any, Result]]:
    """Run a read with custom plans: analytics, and searches whose filters may be left out."""

    @wraps(read)
    async def planned(db: Db, /, *args: Parameters.args, **named: Parameters.kwargs) -> Result:
        async with use_custom_plans(db) as planning:
            return await read(planning, *args, **named)

    return planned


@asynccontextmanager
async def use_custom_plans(db: Db) -> AsyncIterator[Db]:
    """Lend a connection for reads with custom plans: one of the pool, or that of the transaction that is open."""
    if isinstance(db, asyncpg.Connection):
        await db.execute(USE)
        yield db
        # After a failure there is nothing to restore: it rolls the transaction or the savepoint back.
        await db.execute(USE_OWN)
        return
    pool = cast("Pool", db)
    async with pool.acquire() as connection:
        # One round trip; the settings end with the transaction, so none can stay on a connection of the pool.
        await connection.execute("; ".join(filter(None, ("begin read only", pool.opening(waits=False), USE))))
        try:
            yield connection
        except BaseException as fault:
            # A rollback would wait for a server that does not answer.
            if not connection.is_closed() and not is_cut_off(fault):
                await connection.execute("rollback")
            raise
        await connection.execute("commit")
