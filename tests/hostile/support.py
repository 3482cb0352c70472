"""Owners, workers and processes under attack."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import psutil

from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.plans import Plan
from openslot.domains.contacts import operations as contacts
from openslot.domains.contacts.schemas import ContactWanted
from openslot.domains.people import operations as people
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.models import EndpointWanted
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.embedded import postgres_program
from openslot.platform.core.text import EmailAddress, Name
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.worker import run_worker
from tests.support.installation import Command

WITHIN = 60.0


def with_key(head: bytes, key: str) -> bytes:
    """Let the request come in, so that its body is asked for."""
    line, _, rest = head.partition(b"\r\n")
    return line + b"\r\nAuthorization: Bearer " + key.encode() + b"\r\n" + rest if rest else head


def children_of(serve: Command, kind: str) -> list[psutil.Process]:
    """Find the children of this kind that live."""
    found = []
    for child in psutil.Process(serve.pid).children():
        with suppress(psutil.Error):
            if child.name() == f"openslot-{kind}" and child.status() != psutil.STATUS_ZOMBIE:
                found.append(child)
    return found


def child_of(serve: Command, kind: str) -> psutil.Process:
    """Find the one child of this kind."""
    (found,) = children_of(serve, kind)
    return found


async def find_in_dump(runtime: Runtime, needles: set[str], *, known: str | None = None) -> list[str]:
    """Name the lines of a dump that hold one of some words, as they are or in hexadecimal digits.

    What is known to be in it must be found.
    """
    process = await asyncio.create_subprocess_exec(
        postgres_program("pg_dump"), str(runtime.settings.database_url), stdout=subprocess.PIPE
    )
    dump, _ = await process.communicate()
    assert process.returncode == 0
    assert len(dump) > 20_000
    assert known is None or known.encode() in dump
    words = {spelling for each in needles for spelling in (each.encode(), each.encode().hex().encode())}
    return [line.decode()[:200] for line in dump.splitlines() if any(word in line for word in words)]


@asynccontextmanager
async def working(runtime: Runtime) -> AsyncIterator[asyncio.Task[None]]:
    """Keep a worker running; what hangs in the end is cut off."""
    task = asyncio.create_task(run_worker(runtime, asyncio.Event()))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def add_owner(runtime: Runtime, name: str, *urls: str) -> User:
    async with runtime.transaction(OPERATOR) as work:
        owner = await people.welcome_user(work, UserWanted(email=f"{name}@owner.example", name=name, plan=Plan.PRO))
        for url in urls:
            await webhooks.add_endpoint(work, owner, EndpointWanted(url=url))
    return owner


async def happen(runtime: Runtime, owner: User, number: int) -> None:
    async with runtime.transaction(OPERATOR) as work:
        wanted = ContactWanted(name=Name("Noor"), email=EmailAddress(f"noor{number}@haddad.example"))
        await contacts.add_contact(work, owner, wanted)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WITHIN):
        while not condition():
            await asyncio.sleep(0.02)
