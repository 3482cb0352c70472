"""The queue's own tables: created once, and upgraded only by the newest version of the queue."""

import re
from importlib.metadata import version

import asyncpg

OURS = version("pgqueuer")
# An upgrade by the queue changes the tables to what its own version declares, even if a newer version has upgraded them
# before. So the tables record which version has shaped them, and an older version leaves them unchanged.
SHAPED_BY = "select obj_description(to_regclass('pgqueuer'), 'pg_class')"


async def is_queue_ready(connection: asyncpg.Connection) -> bool:
    """Return whether the queue's tables are those of this version or a newer one."""
    shaped_by = await connection.fetchval(SHAPED_BY)
    return shaped_by is not None and _numbers(shaped_by) >= _numbers(OURS)


async def prepare_queue(connection: asyncpg.Connection) -> None:
    """Create or upgrade the queue's tables; can be repeated."""
    # Loading the queue's code takes a third of a web process's start, and is needed only to change its tables.
    from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver  # noqa: PLC0415
    from pgqueuer.adapters.persistence.queries import Queries  # noqa: PLC0415

    queue = Queries(AsyncpgDriver(connection))
    if await queue.schema_is_installed():
        await queue.upgrade()
    else:
        await queue.install()
    await connection.execute(f"comment on table pgqueuer is 'pgqueuer {OURS}'")


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]
