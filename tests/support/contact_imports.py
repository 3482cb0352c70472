"""Files of contacts for tests, and a way to import them without a worker."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from openslot.domains.accounts.models import User
from openslot.domains.contacts.imports import operations as imports
from openslot.domains.contacts.imports.models import ContactImport, ExistingContacts
from openslot.platform.core.actor import Actor, ActorKind, EffectAttempt
from openslot.platform.core.work import Runtime
from tests.support.effects import run_attempt

UPDATE, SKIP = ExistingContacts.UPDATE, ExistingContacts.SKIP


async def upload(runtime: Runtime, owner: User, text: str | bytes) -> ContactImport:
    """Upload a file as its owner."""
    body = text.encode() if isinstance(text, str) else text
    async with runtime.transaction(_actor(owner)) as work:
        return await imports.upload_import(work, owner, file_name="people.csv", body=body)


async def start(runtime: Runtime, owner: User, text: str | bytes, existing: ExistingContacts = UPDATE) -> ContactImport:
    """Upload a file and accept the guess about its columns."""
    draft = await upload(runtime, owner, text)
    async with runtime.transaction(_actor(owner)) as work:
        return await imports.start_import(work, owner, draft.id, columns=draft.columns, existing=existing)


async def bring_in(
    runtime: Runtime, owner: User, text: str | bytes, existing: ExistingContacts = UPDATE
) -> ContactImport:
    """Import a file from its upload to its last line."""
    started = await start(runtime, owner, text, existing)
    await run_imports(runtime)
    return await read_import(runtime, owner, started.id)


async def run_imports(runtime: Runtime) -> None:
    """Run every batch that is planned, 100 at most: none would go on for ever."""
    for _ in range(100):
        row = await runtime.pool.fetchrow(
            "select id, round from effects where reaction = $1 and state = 'queued' limit 1", imports.CONTACT_IMPORT
        )
        if row is None:
            return
        await run_attempt(runtime, EffectAttempt(row["id"], row["round"]))
    raise AssertionError("the import does not come to its end")


async def read_import(runtime: Runtime, owner: User, import_id: UUID) -> ContactImport:
    """Read an import as it is now."""
    return await imports.get_import(runtime.work(_actor(owner)), owner, import_id)


async def read_people(runtime: Runtime, owner: User) -> dict[str, Any]:
    """Read an owner's contacts by their addresses."""
    rows = await runtime.pool.fetch("select * from contacts where owner_id = $1 order by email", owner.id)
    return {row["email"]: dict(row) for row in rows}


def counts(found: ContactImport) -> tuple[int, int, int, int]:
    """Tell how many were added, updated, left unchanged, and refused."""
    return found.added, found.updated, found.unchanged, found.bad


def _actor(owner: User) -> Actor:
    return Actor(kind=ActorKind.SESSION, user_id=owner.id)


def many(count: int, *, start: int = 0) -> str:
    """Write a file of so many people."""

    def rows() -> Iterator[str]:
        yield "Name,Email"
        for n in range(start, start + count):
            yield f"Person {n},person{n}@many.example"

    return "\n".join(rows())
