"""The verbs of imports: a file is uploaded, its columns are confirmed, and the worker adds its lines in batches."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.contacts.errors import ImportAlreadyStarted, ImportLimitExceeded, ImportNotFound
from openslot.domains.contacts.events import ContactChanged, ContactCreated
from openslot.domains.contacts.imports import store
from openslot.domains.contacts.imports.csv_files import guess_columns, read_file
from openslot.domains.contacts.imports.models import (
    ContactImport,
    ExistingContacts,
    HandledLine,
    ImportLine,
    ImportPlan,
    ImportState,
    LineFault,
)
from openslot.domains.contacts.imports.rules import ReadLine, find_mapping_fault, handle_line, read_person
from openslot.platform.core.errors import Invalid, require
from openslot.platform.core.events import Event
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Work

CONTACT_IMPORT = "contacts.import"
# Short enough that its locks are held only briefly, and that other people's effects run in between.
BATCH = 250
MAX_UNFINISHED, MAX_RUNNING, MAX_KEPT = 5, 2, 20
DONE_KEPT_FOR, IDLE_KEPT_FOR = timedelta(days=30), timedelta(days=1)


class ContactAddedMeanwhile(Exception):
    """Another transaction has added one of the contacts that a batch was about to add."""


async def upload_import(work: Work, owner: User, *, file_name: str, body: bytes) -> ContactImport:
    """Read a file of contacts and keep its lines until its columns are confirmed."""
    # Thousands of lines take a while, and other requests must not wait for them.
    file = await asyncio.to_thread(read_file, body)
    await store.lock_owner(work.db, owner.id)
    unfinished, _ = await store.count_unfinished(work.db, owner.id)
    if unfinished >= MAX_UNFINISHED:
        raise ImportLimitExceeded
    first = next((line.cells for line in file.lines if line.fault is None), ())
    new = ContactImport(
        id=new_id(),
        owner_id=owner.id,
        file_name="".join(each for each in file_name if each.isprintable())[-200:],
        encoding=file.encoding,
        delimiter=file.delimiter,
        header=file.header,
        columns=guess_columns(file.header, first),
        line_count=len(file.lines),
        created_at=work.now,
        updated_at=work.now,
    )
    await store.insert_import(work.db, new, file.lines)
    await store.delete_oldest_done(work.db, owner.id, kept=MAX_KEPT)
    return new


async def start_import(
    work: Work, owner: User, import_id: UUID, *, columns: tuple[str, ...], existing: ExistingContacts
) -> ContactImport:
    """Confirm what the columns of a file hold, and let the worker import its lines."""
    await store.lock_owner(work.db, owner.id)
    found = require(await store.find_import(work.db, owner.id, import_id, lock=True), ImportNotFound)
    if found.state is not ImportState.DRAFT:
        raise ImportAlreadyStarted
    fault = find_mapping_fault(columns, found.header)
    if fault is not None:
        raise Invalid(details={"columns": fault})
    _, running = await store.count_unfinished(work.db, owner.id)
    if running >= MAX_RUNNING:
        raise ImportLimitExceeded
    started = replace(found, columns=columns, existing=existing, state=ImportState.RUNNING, updated_at=work.now)
    await store.start_import(work.db, started)
    await plan_next_lines(work, ImportPlan(import_id=import_id, actor=work.actor), owner.id)
    return started


async def plan_next_lines(work: Work, plan: ImportPlan, owner_id: UUID | None) -> None:
    await work.plan(CONTACT_IMPORT, str(plan.import_id), due_at=work.now, payload=plan, tenant_id=owner_id)


async def import_batch(work: Work, import_id: UUID) -> bool:
    """Import the next lines of a file; return False if there are none left, or the import was deleted."""
    owner_id = await store.find_owner(work.db, import_id)
    if owner_id is None:
        return False
    # One batch of an owner at a time: two files that name the same people would wait for each other in a circle.
    await store.lock_owner(work.db, owner_id)
    found = await store.find_import(work.db, owner_id, import_id, lock=True)
    if found is None or found.state is not ImportState.RUNNING:
        return False
    lines = await store.list_lines(work.db, owner_id, import_id, behind=found.position, limit=BATCH)
    handled = await _handle(work, found, lines)
    await _write(work, handled)
    is_last = len(lines) < BATCH
    await store.save_lines(work.db, import_id, handled)
    state = ImportState.DONE if is_last else ImportState.RUNNING
    await store.save_progress(work.db, found, handled, state=state, now=work.now)
    if is_last:
        await store.delete_good_lines(work.db, import_id)
    return not is_last


async def get_import(work: Work, owner: User, import_id: UUID) -> ContactImport:
    return require(await store.find_import(work.db, owner.id, import_id), ImportNotFound)


async def list_imports(work: Work, owner: User) -> list[ContactImport]:
    return await store.list_imports(work.db, owner.id, limit=MAX_KEPT)


async def list_import_sample(work: Work, owner: User, import_id: UUID) -> list[ImportLine]:
    return await store.list_lines(work.db, owner.id, import_id, behind=0, limit=3)


async def list_bad_import_lines(
    work: Work, owner: User, import_id: UUID, *, page: int = 1, limit: int
) -> list[ImportLine]:
    return await store.list_bad_lines(work.db, owner.id, import_id, limit=limit, offset=(page - 1) * limit)


async def delete_import(work: Work, owner: User, import_id: UUID) -> None:
    """Delete an import; one that runs stops, and the contacts that it has added stay."""
    if not await store.delete_import(work.db, owner.id, import_id):
        raise ImportNotFound


async def _handle(work: Work, found: ContactImport, lines: Sequence[ImportLine]) -> list[HandledLine]:
    read, handled = [], []
    for line in lines:
        person, faults = ({}, {}) if line.fault else read_person(line.cells, found.columns)
        if line.fault or faults:
            handled.append(HandledLine(number=line.number, fault=line.fault or LineFault.FIELDS))
        else:
            read.append((line, person))
    keys = await store.list_keys(work.db, found.id, [person["email"] for _, person in read])
    contacts = await store.lock_contacts(work.db, found.owner_id, {key for key, _ in keys})
    first_lines: dict[str, int] = {}
    # Ids in the order of the file, because contacts of the same moment are listed by id.
    ids = sorted(new_id() for _ in read)
    for (line, person), (key, earlier), contact_id in zip(read, keys, ids, strict=True):
        first_line = earlier or first_lines.get(key)
        first_lines.setdefault(key, line.number)
        valid = ReadLine(line=line, person=person, key=key, contact_id=contact_id)
        contact = contacts.get(key)
        handled.append(handle_line(valid, contact=contact, first_line=first_line, found=found, now=work.now))
    return sorted(handled, key=lambda each: each.number)


async def _write(work: Work, handled: Sequence[HandledLine]) -> None:
    """Write the contacts that lines have added and changed, with the events of the ordinary verbs."""
    added = [line.added for line in handled if line.added]
    updated = [line.updated for line in handled if line.updated]
    if added and await store.insert_contacts(work.db, added) < len(added):
        raise ContactAddedMeanwhile
    if updated:
        await store.update_contacts(work.db, updated)
    events: list[Event] = [ContactCreated(contact=contact) for contact in added]
    events += [ContactChanged(contact=contact) for contact in updated]
    if events:
        await work.record(*events)
