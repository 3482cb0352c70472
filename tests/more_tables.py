"""A database with more than the migrations make, for the tests of one file to share."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from tests.databases import new_database
from tests.shared_database import SharedDatabase, sharing


@asynccontextmanager
async def sharing_with(postgres: str, statements: str) -> AsyncIterator[SharedDatabase]:
    """Share a migrated database in which these statements were run; one for each test takes longer than most tests."""
    async with new_database(postgres) as url:
        connection = await asyncpg.connect(url)
        await connection.execute(statements)
        await connection.close()
        async with sharing(url) as shared:
            yield shared
