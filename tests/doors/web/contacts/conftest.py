"""A host with contacts, conversations and calls, and a way to import files through the pages."""

import re
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.calls import operations as calls
from openslot.domains.calls.models import Call, CallDirection, CallStatus, Ending
from openslot.domains.contacts import operations as contacts
from openslot.domains.contacts.models import Contact
from openslot.domains.contacts.schemas import ContactWanted
from openslot.domains.conversations import operations as conversations
from openslot.domains.conversations.models import Channel, Message, MessageDirection
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.text import EmailAddress, Name
from openslot.platform.core.work import Runtime
from tests.support.clocks import MONDAY
from tests.support.contact_imports import run_imports
from tests.support.host import book, clock, member, settings, stranger, user

__all__ = ["book", "clock", "member", "settings", "stranger", "user"]

PHONE = "+493012345678"

Add = Callable[..., Awaitable[Contact]]
Say = Callable[..., Awaitable[Message]]
Ring = Callable[..., Awaitable[Call]]
Import = Callable[..., Awaitable[str]]


@pytest.fixture
def add(runtime: Runtime, user: User) -> Add:
    """Add a contact."""

    async def add_one(
        name: str = "Noor Haddad", email: str = "noor@haddad.example", *, owner: User = user, **more: Any
    ) -> Contact:
        async with runtime.transaction(OPERATOR) as work:
            wanted = ContactWanted(name=Name(name), email=EmailAddress(email), **more)
            return await contacts.add_contact(work, owner, wanted)

    return add_one


@pytest.fixture
def say(runtime: Runtime, user: User) -> Say:
    """Keep a message of a thread."""

    async def keep(
        content: str = "Where do I park?",
        *,
        owner: User = user,
        phone: str = PHONE,
        channel: Channel = Channel.SMS,
        direction: MessageDirection = MessageDirection.INBOUND,
        at: datetime = MONDAY,
        **more: Any,
    ) -> Message:
        async with runtime.transaction(OPERATOR) as work:
            return await conversations.record_message(
                work,
                owner_id=owner.id,
                phone=phone,
                channel=channel,
                direction=direction,
                content=content,
                at=at,
                **more,
            )

    return keep


@pytest.fixture
def ring(runtime: Runtime, user: User) -> Ring:
    """Keep a call."""

    async def keep(
        *,
        owner: User = user,
        phone: str = PHONE,
        direction: CallDirection = CallDirection.INBOUND,
        status: CallStatus | None = CallStatus.COMPLETED,
        seconds: int = 184,
        at: datetime = MONDAY,
        agent_name: str = "Front desk",
    ) -> Call:
        ending = Ending(status=status, ended_at=at + timedelta(seconds=seconds)) if status else None
        async with runtime.transaction(OPERATOR) as work:
            return await calls.record_call(
                work,
                owner_id=owner.id,
                direction=direction,
                phone=phone,
                agent_name=agent_name,
                started_at=at,
                ending=ending,
            )

    return keep


async def upload(member: httpx2.AsyncClient, body: bytes, name: str = "people.csv") -> httpx2.Response:
    """Send the form with a file."""
    return await member.post("/contacts/import", files={"file": (name, body, "text/csv")})


@pytest.fixture
def bring(member: httpx2.AsyncClient, runtime: Runtime) -> Import:
    """Import a file through the pages, and return the address of the import."""

    async def bring_one(text: str, *, existing: str = "update") -> str:
        path = (await upload(member, text.encode())).headers["location"]
        columns = read_choices((await member.get(path)).text)
        started = await member.post(f"{path}/start", data={"column": columns, "existing": existing})
        assert started.status_code == 303
        await run_imports(runtime)
        return str(path)

    return bring_one


def read_choices(page: str) -> list[str]:
    """Return what each column is taken for."""
    selects = re.findall(r'<select name="column".*?</select>', page, re.DOTALL)
    return [found[1] if (found := re.search(r'value="([a-z_]+)" selected', each)) else "none" for each in selects]
