"""Decisions about imports: what a line says about a person, and what follows from it."""

import csv
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.contacts.csv_files import read_cell
from openslot.contacts.import_models import (
    ContactImport,
    ExistingContacts,
    Field,
    HandledLine,
    ImportLine,
    LineFault,
)
from openslot.contacts.models import Contact
from openslot.contacts.schemas import PhoneOrNone, Tag
from openslot.core.text import EMPTY, NOT_ALLOWED, EmailAddress, Name, at_most_characters, is_line, is_prose
from openslot.i18n import PluralText, Text

MAX_TAGS, LONGEST_COMPANY, LONGEST_NOTES = 20, 200, 5000

Person = dict[str, Any]
Faults = dict[Field, str]


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
        text = _join_name(given) if field is Field.NAME else given.get(field, "")
        if not text.strip():
            if field in {Field.NAME, Field.EMAIL}:
                faults[field] = EMPTY
            continue
        try:
            person[field.value] = read(text)
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
    if len(columns) != len(header) or not set(chosen) <= set(Field):
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


def _read_phone(text: str) -> str:
    given = text.strip()
    return PhoneOrNone.parse(f"+{given[2:]}" if given.startswith("00") else given)


def _read_company(text: str) -> str:
    if not is_line(text.strip()):
        raise ValueError(NOT_ALLOWED)
    return _check_length(text.strip(), LONGEST_COMPANY)


def _read_notes(text: str) -> str:
    if not is_prose(text):
        raise ValueError(NOT_ALLOWED)
    return _check_length(text, LONGEST_NOTES)


def read_tags(text: str) -> tuple[Tag, ...]:
    """Read tags that are separated by commas, or raise a `ValueError` that says what is wrong with them."""
    try:
        cells = next(csv.reader([text.replace("\n", ",")], skipinitialspace=True, strict=True))
    except csv.Error:
        raise ValueError(NOT_ALLOWED) from None
    tags = tuple(dict.fromkeys(Tag(cell) for cell in cells if cell.strip()))
    if len(tags) > MAX_TAGS:
        raise ValueError(
            PluralText("must have at most %(count)s tag", "must have at most %(count)s tags", count=MAX_TAGS)
        )
    return tags


def _check_length(text: str, longest: int) -> str:
    if len(text) > longest:
        raise ValueError(at_most_characters(longest))
    return text


_READERS: dict[Field, Callable[[str], object]] = {
    Field.NAME: Name.parse,
    Field.EMAIL: EmailAddress.parse,
    Field.PHONE: _read_phone,
    Field.COMPANY: _read_company,
    Field.NOTES: _read_notes,
    Field.TAGS: read_tags,
}
