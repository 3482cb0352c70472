"""Decisions about imports: what a line says about a person, and what follows from it."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.contacts.imports.csv_files import COLUMN_NAMES, read_cell
from openslot.domains.contacts.imports.models import (
    ContactImport,
    ExistingContacts,
    Field,
    HandledLine,
    ImportLine,
    LineFault,
)
from openslot.domains.contacts.models import CONTACT_FIELDS, Contact
from openslot.platform.core.text import EMPTY, EmailAddress, Name
from openslot.platform.i18n import Text

Person = dict[str, Any]
Faults = dict[str, str]


class ReadLine(Struct, frozen=True, kw_only=True):
    """A line without faults: the person, the address as it is compared, and the id of the contact if it is new."""

    line: ImportLine
    person: Person
    key: str
    contact_id: UUID


def read_person(cells: tuple[str, ...], columns: tuple[str, ...]) -> tuple[Person, Faults]:
    """Read a line into the fields of a contact, with the fault of each field; empty values are left out."""
    given = {field: read_cell(cell) for field, cell in zip(columns, cells, strict=False) if field}
    person: Person = {}
    faults: Faults = {}
    for field, read in _READERS.items():
        text = _join_name(given) if field == Field.NAME else given.get(field, "")
        if not text.strip():
            if field in {Field.NAME, Field.EMAIL}:
                faults[field] = EMPTY
            continue
        try:
            person[field] = read(text)
        except ValueError as fault:
            faults[field] = fault.args[0]
    return person, faults


def handle_line(
    read: ReadLine, *, contact: Contact | None, first_line: int | None, found: ContactImport, now: datetime
) -> HandledLine:
    """Decide what a valid line leads to, given the contact and the earlier line with the same address."""
    number, key, person = read.line.number, read.key, read.person
    if first_line is not None:
        return HandledLine(number=number, fault=LineFault.DUPLICATE, first_line=first_line)
    if contact is None:
        fresh = Contact(id=read.contact_id, owner_id=found.owner_id, created_at=now, updated_at=now, **person)
        return HandledLine(number=number, email_key=key, added=fresh)
    if found.existing is ExistingContacts.SKIP:
        return HandledLine(number=number, email_key=key)
    # The address in its letter case is the owner's; a file does not change it.
    changed = replace(contact, **{name: value for name, value in person.items() if name != Field.EMAIL})
    if changed == contact:
        return HandledLine(number=number, email_key=key)
    return HandledLine(number=number, email_key=key, updated=replace(changed, updated_at=now))


def find_mapping_fault(columns: tuple[str, ...], header: tuple[str, ...]) -> Text | None:
    chosen = [each for each in columns if each]
    if len(columns) != len(header) or not set(chosen) <= set(COLUMN_NAMES):
        return Text("Choose what each column contains")
    if len(set(chosen)) < len(chosen):
        return Text("Choose each field for one column only")
    if Field.EMAIL not in chosen:
        return Text("Choose the column with the email address")
    if not {Field.NAME, Field.FIRST_NAME, Field.LAST_NAME} & set(chosen):
        return Text("Choose the column with the name")
    return None


def _join_name(given: Mapping[str, str]) -> str:
    parts = (given.get(Field.FIRST_NAME, "").strip(), given.get(Field.LAST_NAME, "").strip())
    return given.get(Field.NAME, "").strip() or " ".join(part for part in parts if part)


_READERS: dict[str, Callable[[str], object]] = {
    Field.NAME.value: Name.parse,
    Field.EMAIL.value: EmailAddress.parse,
    **{each.name: each.kind.read for each in CONTACT_FIELDS},
}
