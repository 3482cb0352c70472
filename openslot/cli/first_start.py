"""What an empty database needs before anyone can use it: demo data, or a link to the first account."""

import asyncio
from functools import partial

import msgspec
from msgspec import Struct

from openslot.cli.forking import ask_fork
from openslot.core.config import Settings
from openslot.core.direct import connect, direct_url, has_table


class FirstStart(Struct, frozen=True, kw_only=True):
    """What is printed once, at the first start."""

    seeded: object | None = None
    setup_link: str | None = None


def prepare_first_start(settings: Settings, *, demo: bool) -> FirstStart | None:
    """Create what an empty database needs; return None if the database is not empty."""
    # In a fork: the supervisor never has a connection or an event loop that its children would inherit.
    return msgspec.json.decode(ask_fork(partial(_prepare_first_start, settings, demo=demo)), type=FirstStart | None)


def _prepare_first_start(settings: Settings, *, demo: bool) -> bytes:
    has_accounts = asyncio.run(_has_accounts(direct_url(settings)))
    return msgspec.json.encode(None if has_accounts else asyncio.run(_initialize(settings, demo=demo)))


async def _has_accounts(url: str) -> bool:
    """Return whether there are accounts."""
    from openslot.accounts.operations import has_users

    connection = await connect(url)
    try:
        return await has_table(connection, "users") and await has_users(connection)
    finally:
        await connection.close()


async def _initialize(settings: Settings, *, demo: bool) -> FirstStart:
    from openslot.access.operations import create_setup_link
    from openslot.cli.running import check_secrets
    from openslot.core.actor import OPERATOR
    from openslot.core.migrate import bring_up_to_date
    from openslot.demo.seed import seed
    from openslot.runtime import open_runtime

    check_secrets(settings)
    await bring_up_to_date(direct_url(settings))
    async with open_runtime(settings) as runtime, runtime.transaction(OPERATOR) as work:
        if demo:
            return FirstStart(seeded=await seed(work))
        token = await create_setup_link(work)
        return FirstStart(setup_link=f"{settings.public_url}/setup?token={token}")
