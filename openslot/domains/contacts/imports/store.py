"""SQL of imports: files, their lines, and the contacts that many lines write at once."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from openslot.domains.contacts.imports.models import ContactImport, HandledLine, ImportLine, ImportState
from openslot.domains.contacts.models import Contact, fold_contact
from openslot.domains.contacts.store import CHANGEABLE, CONTACTS
from openslot.platform.core.db import Db, count_of
from openslot.platform.core.rows import Rows

# The first of the two numbers of an advisory lock.
OWNERS = 25

IMPORTS = Rows(ContactImport, "contact_imports")
LINES = Rows(ImportLine, "contact_import_lines l", json={"cells"})
INSERT_LINES = """
insert into contact_import_lines (import_id, number, cells, fault)
select $1, * from unnest($2::int[], $3::text[], $4::text[])"""

# Both write what `store.insert_contact` and `store.update_contact` write, for many contacts at once.
ROWS = "json_populate_recordset(null::contacts, $1::json) r"
INSERT_CONTACTS = f"""
insert into contacts ({CONTACTS.stored.columns}, search_text)
select {CONTACTS.stored.columns}, search_text from {ROWS}
on conflict (owner_id, lower(email)) do nothing"""
CHANGED = (*CHANGEABLE.without("email").names, "search_text")
UPDATE_CONTACTS = f"""
update contacts c set {", ".join(f"{name} = r.{name}" for name in CHANGED)}
from {ROWS} where c.id = r.id and c.owner_id = r.owner_id"""

KEYS = """
select lower(w.email) as key, (
    select min(l.number) from contact_import_lines l
    where l.import_id = $1 and l.email_key = lower(w.email)) as first_line
from unnest($2::text[]) with ordinality w (email, no) order by w.no"""

SAVE_LINES = """
update contact_import_lines l set fault = w.fault, first_line = w.first_line, email_key = w.email_key
from unnest($2::int[], $3::text[], $4::int[], $5::text[]) w (number, fault, first_line, email_key)
where l.import_id = $1 and l.number = w.number"""
SAVE_PROGRESS = """
update contact_imports set position = $3, handled = handled + $4, added = added + $5, updated = updated + $6,
    unchanged = unchanged + $7, bad = bad + $8, updated_at = $9, state = $10,
    finished_at = case when $10 = 'done' then $9::timestamptz end
where id = $1 and owner_id = $2"""


async def lock_owner(db: Db, owner_id: UUID) -> None:
    """Let changes of an owner's imports wait for each other until the commit."""
    await db.execute("select pg_advisory_xact_lock($1::int, hashtext($2::text))", OWNERS, str(owner_id))


async def count_unfinished(db: Db, owner_id: UUID) -> tuple[int, int]:
    """Count an owner's imports that are not done, and those of them that run."""
    statement = """select count(*) as unfinished, count(*) filter (where state = 'running') as running
        from contact_imports where owner_id = $1 and state <> 'done'"""
    row = await db.fetchrow(statement, owner_id)
    return (row["unfinished"], row["running"]) if row else (0, 0)


async def insert_import(db: Db, new: ContactImport, lines: Sequence[ImportLine]) -> None:
    await db.execute(IMPORTS.insert(), *IMPORTS.values(new))
    await db.execute(
        INSERT_LINES,
        new.id,
        [line.number for line in lines],
        [msgspec.json.encode(line.cells).decode() for line in lines],
        [line.fault for line in lines],
    )


async def list_imports(db: Db, owner_id: UUID, *, limit: int) -> list[ContactImport]:
    rows = await db.fetch(
        f"select {IMPORTS.columns} from contact_imports where owner_id = $1 order by created_at desc, id desc limit $2",
        owner_id,
        limit,
    )
    return [IMPORTS.read(row) for row in rows]


async def find_import(db: Db, owner_id: UUID, import_id: UUID, *, lock: bool = False) -> ContactImport | None:
    """Look an owner's import up, and with a lock keep others from changing it until the commit."""
    statement = f"select {IMPORTS.columns} from contact_imports where owner_id = $1 and id = $2"
    row = await db.fetchrow(f"{statement} for no key update" if lock else statement, owner_id, import_id)
    return IMPORTS.read(row) if row else None


async def find_owner(db: Db, import_id: UUID) -> UUID | None:
    owner_id: UUID | None = await db.fetchval("select owner_id from contact_imports where id = $1", import_id)
    return owner_id


async def start_import(db: Db, started: ContactImport) -> None:
    statement = """update contact_imports set columns = $3, existing = $4, state = 'running', updated_at = $5
        where owner_id = $1 and id = $2"""
    await db.execute(statement, started.owner_id, started.id, started.columns, started.existing, started.updated_at)


async def list_lines(db: Db, owner_id: UUID, import_id: UUID, *, behind: int, limit: int) -> list[ImportLine]:
    statement = f"""select {LINES.columns} from contact_import_lines l join contact_imports i on i.id = l.import_id
        where i.owner_id = $1 and l.import_id = $2 and l.number > $3 order by l.number limit $4"""
    rows = await db.fetch(statement, owner_id, import_id, behind, limit)
    return [LINES.read(row) for row in rows]


async def list_bad_lines(db: Db, owner_id: UUID, import_id: UUID, *, limit: int, offset: int) -> list[ImportLine]:
    statement = f"""select {LINES.columns} from contact_import_lines l join contact_imports i on i.id = l.import_id
        where i.owner_id = $1 and l.import_id = $2 and l.fault is not null order by l.number limit $3 offset $4"""
    rows = await db.fetch(statement, owner_id, import_id, limit, offset)
    return [LINES.read(row) for row in rows]


async def list_keys(db: Db, import_id: UUID, emails: Sequence[str]) -> list[tuple[str, int | None]]:
    """Write each address as addresses are compared, with the line of this import that had it first."""
    rows = await db.fetch(KEYS, import_id, emails)
    return [(row["key"], row["first_line"]) for row in rows]


async def lock_contacts(db: Db, owner_id: UUID, keys: Iterable[str]) -> dict[str, Contact]:
    """Read an owner's contacts by their addresses, and keep others from changing them until the commit."""
    statement = f"""select lower(c.email) as key, {CONTACTS.columns} from contacts c
        where c.owner_id = $1 and lower(c.email) = any($2::text[]) order by c.id for no key update"""
    rows = await db.fetch(statement, owner_id, list(keys))
    return {row["key"]: CONTACTS.read(row) for row in rows}


async def insert_contacts(db: Db, contacts: Sequence[Contact]) -> int:
    """Write new contacts, and return how many of them the owner did not have."""
    return count_of(await db.execute(INSERT_CONTACTS, _to_json(contacts)))


async def update_contacts(db: Db, contacts: Sequence[Contact]) -> None:
    await db.execute(UPDATE_CONTACTS, _to_json(contacts))


async def save_lines(db: Db, import_id: UUID, handled: Sequence[HandledLine]) -> None:
    await db.execute(
        SAVE_LINES,
        import_id,
        [line.number for line in handled],
        [line.fault for line in handled],
        [line.first_line for line in handled],
        [line.email_key for line in handled],
    )


async def save_progress(
    db: Db, found: ContactImport, handled: Sequence[HandledLine], *, state: ImportState, now: datetime
) -> None:
    added = sum(line.added is not None for line in handled)
    updated = sum(line.updated is not None for line in handled)
    bad = sum(line.fault is not None for line in handled)
    await db.execute(
        SAVE_PROGRESS,
        found.id,
        found.owner_id,
        handled[-1].number if handled else found.position,
        len(handled),
        added,
        updated,
        len(handled) - added - updated - bad,
        bad,
        now,
        state,
    )


async def delete_good_lines(db: Db, import_id: UUID) -> None:
    await db.execute("delete from contact_import_lines where import_id = $1 and fault is null", import_id)


async def delete_import(db: Db, owner_id: UUID, import_id: UUID) -> bool:
    gone = await db.execute("delete from contact_imports where owner_id = $1 and id = $2", owner_id, import_id)
    return count_of(gone) > 0


async def delete_oldest_done(db: Db, owner_id: UUID, *, kept: int) -> None:
    statement = """delete from contact_imports where id = any(array(
            select id from contact_imports where owner_id = $1 and state = 'done'
            order by created_at desc, id desc offset $2))"""
    await db.execute(statement, owner_id, kept)


async def delete_old_imports(db: Db, *, done_before: datetime, idle_before: datetime, limit: int) -> int:
    """Delete imports that were finished long ago, and those that nobody has continued."""
    statement = """delete from contact_imports where id = any(array(
            select id from contact_imports
            where updated_at < $2 and (state <> 'done' or updated_at < $1) order by updated_at limit $3))"""
    gone = await db.execute(statement, done_before, idle_before, limit)
    return count_of(gone)


def _to_json(contacts: Sequence[Contact]) -> str:
    rows = [
        {
            **msgspec.to_builtins(contact),
            "search_text": fold_contact(name=contact.name, email=contact.email, company=contact.company),
        }
        for contact in contacts
    ]
    return msgspec.json.encode(rows).decode()
