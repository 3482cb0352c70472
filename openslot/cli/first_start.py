"""What an empty database needs before anyone can use it: demo data, or a link to the first account."""

import asyncio

import asyncpg
from msgspec import Struct

from openslot.core.config import Settings
from openslot.core.db import DOWN, hide_password, reason
from openslot.core.errors import StartupError


class FirstWords(Struct, frozen=True, kw_only=True):
    """What is told once, at the first start."""

    seeded: object | None = None
    setup_link: str | None = None


def first_words(settings: Settings, *, demo: bool) -> FirstWords | None:
    """Make what an empty database needs, or tell that it is none."""
    url = settings.direct_database_url or settings.database_url or ""
    if asyncio.run(_is_inhabited(url)):
        return None
    return asyncio.run(_move_in(settings, url, demo=demo))


async def _is_inhabited(url: str) -> bool:
    """Ask with as little code loaded as possible: this stands before every start."""
    try:
        connection = await asyncpg.connect(url, timeout=10)
    except (*DOWN, asyncpg.PostgresError, ValueError) as fault:
        raise StartupError(f"The database can't be reached at {hide_password(url)}: {reason(fault)}.") from None
    try:
        if await connection.fetchval("select to_regclass('users') is null"):
            return False
        return bool(await connection.fetchval("select exists (select 1 from users)"))
    finally:
        await connection.close()


async def _move_in(settings: Settings, url: str, *, demo: bool) -> FirstWords:
    from openslot.access.operations import create_setup_link
    from openslot.core.actor import OPERATOR
    from openslot.core.migrate import migrate
    from openslot.demo.seed import seed
    from openslot.house import open_house

    await migrate(url)
    async with open_house(settings) as house, house.writing(OPERATOR) as work:
        if demo:
            return FirstWords(seeded=await seed(work))
        token = await create_setup_link(work)
        return FirstWords(setup_link=f"{settings.public_url}/setup?token={token}")
