"""What an empty database needs before anyone can use it: demo data, or a link to the first account."""

import asyncio
from functools import partial

import msgspec
from msgspec import Struct

from openslot.cli.forking import ask_fork
from openslot.core.config import Settings
from openslot.core.direct import connect, direct_url, has_table


class FirstWords(Struct, frozen=True, kw_only=True):
    """What is printed once, at the first start."""

    seeded: object | None = None
    setup_link: str | None = None


def first_words(settings: Settings, *, demo: bool) -> FirstWords | None:
    """Create what an empty database needs; return None if the database is not empty."""
    # In a fork: the supervisor never has a connection or an event loop that its children would inherit.
    return msgspec.json.decode(ask_fork(partial(_first_words, settings, demo=demo)), type=FirstWords | None)


def _first_words(settings: Settings, *, demo: bool) -> bytes:
    is_inhabited = asyncio.run(_is_inhabited(direct_url(settings)))
    return msgspec.json.encode(None if is_inhabited else asyncio.run(_move_in(settings, demo=demo)))


async def _is_inhabited(url: str) -> bool:
    """Return whether there are accounts."""
    from openslot.accounts.operations import has_users

    connection = await connect(url)
    try:
        return await has_table(connection, "users") and await has_users(connection)
    finally:
        await connection.close()


async def _move_in(settings: Settings, *, demo: bool) -> FirstWords:
    from openslot.access.operations import create_setup_link
    from openslot.cli.running import check_secrets
    from openslot.core.actor import OPERATOR
    from openslot.core.upgrade import bring_up_to_date
    from openslot.demo.seed import seed
    from openslot.runtime import open_runtime

    check_secrets(settings)
    await bring_up_to_date(direct_url(settings))
    async with open_runtime(settings) as runtime, runtime.transaction(OPERATOR) as work:
        if demo:
            return FirstWords(seeded=await seed(work))
        token = await create_setup_link(work)
        return FirstWords(setup_link=f"{settings.public_url}/setup?token={token}")
