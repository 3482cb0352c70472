"""The first start: demo data or a link to the first account, and what serve prints when it is ready."""

import asyncio
import os
import sys
from functools import partial

import msgspec
from msgspec import Struct

from openslot.platform.core.config import Settings
from openslot.platform.core.migrate import connect, direct_url, has_table
from openslot.processes.forks import ask_fork


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
    from openslot.domains.accounts.store import has_users

    connection = await connect(url)
    try:
        return await has_table(connection, "users") and await has_users(connection)
    finally:
        await connection.close()


async def _initialize(settings: Settings, *, demo: bool) -> FirstStart:
    from openslot.demo.seed import seed
    from openslot.domains.access.operations import create_setup_link
    from openslot.platform.core.actor import OPERATOR
    from openslot.platform.core.migrate import bring_up_to_date
    from openslot.processes.runtimes import check_secrets
    from openslot.runtime import open_runtime

    await check_secrets(settings)
    await bring_up_to_date(direct_url(settings))
    async with open_runtime(settings) as runtime, runtime.transaction(OPERATOR) as work:
        if demo:
            return FirstStart(seeded=await seed(work))
        token = await create_setup_link(work)
        return FirstStart(setup_link=f"{settings.public_url}/setup?token={token}")


def print_first_start(words: FirstStart) -> None:
    """Print once how to sign in, as soon as that is possible."""
    if words.setup_link is not None:
        lines = ["", "  There is no account yet. Create the first one within 24 hours:", f"    {words.setup_link}"]
    else:
        lines = ["", *sign_in_lines(msgspec.to_builtins(words.seeded))]
    _say(lines)


def print_ready(settings: Settings, *, is_first: bool) -> None:
    lines = ["", f"  {_bold('Openslot is ready')}    {settings.public_url}"]
    lines += [f"  API documentation    {settings.public_url}/api/docs", "  Stop                 Ctrl-C", ""]
    if not is_first:
        lines += [
            "  Sign-ins and keys were shown at the first start. New ones:",
            "    openslot seed                      demo people with new keys",
            "    openslot key create --user EMAIL   an API key",
            "    openslot user password EMAIL       a new password",
            "",
        ]
    _say(lines)


def sign_in_lines(seeded: dict[str, object]) -> list[str]:
    """Format the sign-ins and keys of demo data, which are shown once."""
    user, admin, agents = (msgspec.convert(seeded[name], dict[str, str]) for name in ("user", "admin", "agentKeys"))
    return [
        "  Shown once, keep them:",
        f"    Sign in         {user['email']}   {user['password']}",
        f"    Administrator   {admin['email']}   {admin['password']}",
        f"    API key         {seeded['apiKey']}",
        f"    SCIM token      {seeded['scimToken']}",
        "    Agent keys",
        *(f"      {agent:<17} {key}" for agent, key in agents.items()),
    ]


def _bold(words: str) -> str:
    return f"\033[1m{words}\033[0m" if sys.stdout.isatty() and "NO_COLOR" not in os.environ else words


def _say(lines: list[str]) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
