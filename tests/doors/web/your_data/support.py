"""The page where hosts delete their account, and its mail."""

from openslot.platform.core.work import Runtime

PAGE = "/settings/data/delete"


async def find_message(runtime: Runtime) -> tuple[str | None] | None:
    row = await runtime.pool.fetchrow("select message from account_deletions")
    return (row["message"],) if row else None
