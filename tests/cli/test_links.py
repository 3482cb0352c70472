"""Links for a number of bookings at the terminal."""

import asyncio

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types.errors import EventTypeNotFound, LinkNotFound
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.support.clocks import clock
from tests.support.command_line import Cli

__all__ = ["clock"]


async def test_an_operator_creates_lists_and_revokes(cli: Cli, runtime: Runtime, user: User) -> None:
    await offer(runtime, user, "call", is_private=True)
    host = ("--user", user.email)

    async def run(*arguments: str) -> object:
        return await asyncio.to_thread(cli, "link", *arguments, *host)

    assert "No links yet" in str(await run("list", "call"))
    made = await run("create", "call", "--uses", "2", "--ends-at", "2040-03-31", "--note", "Fair", "--json")
    assert isinstance(made, dict)
    assert (made["uses"], made["note"], made["status"]) == (2, "Fair", "open")
    assert made["endsAt"].startswith("2040-03-31T") or made["endsAt"].startswith("2040-04-01T")
    url = await run("create", "call")
    assert str(url).strip().startswith(f"{runtime.settings.public_url}/mara/call?token=")
    listed = await run("list", "call", "--json")
    assert isinstance(listed, dict)
    assert [each["id"] for each in listed["links"]][1] == made["id"]
    revoked = await run("revoke", made["id"], "--json")
    assert isinstance(revoked, dict)
    assert revoked["id"] == made["id"]
    assert "revoked" in str(await run("list", "call"))

    for arguments, refusal in (
        (("create", "call", "--ends-at", "tomorrow"), Invalid),
        (("create", "call", "--uses", "0"), Invalid),
        (("create", "none"), EventTypeNotFound),
        (("revoke", str(new_id())), LinkNotFound),
    ):
        with pytest.raises(refusal):
            await run(*arguments)
