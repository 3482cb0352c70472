"""The queue's own tables: made once, and brought forward by the newest version of the queue alone."""

import re
from importlib.metadata import version

import asyncpg
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.adapters.persistence.queries import Queries

OURS = version("pgqueuer")
# What the queue calls an upgrade makes the tables what its own version declares, also where a newer one has been.
# So the tables say which version has shaped them, and an older one leaves them alone.
SHAPED_BY = "select obj_description(to_regclass('pgqueuer'), 'pg_class')"


async def is_queue_ready(connection: asyncpg.Connection) -> bool:
    """Tell whether the queue's tables are those of this version, or of a newer one."""
    shaped_by = await connection.fetchval(SHAPED_BY)
    return shaped_by is not None and _numbers(shaped_by) >= _numbers(OURS)


async def prepare_queue(connection: asyncpg.Connection) -> None:
    """Make the queue's tables, or bring them forward; may be repeated."""
    queue = Queries(AsyncpgDriver(connection))
    if await queue.schema_is_installed():
        await queue.upgrade()
    else:
        await queue.install()
    await connection.execute(f"comment on table pgqueuer is 'pgqueuer {OURS}'")


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]
