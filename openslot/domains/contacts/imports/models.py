"""The nouns of imports: a file of contacts, its lines, and how each of them ended."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from openslot.domains.contacts.models import Contact
from openslot.platform.core.actor import Actor


class ImportState(StrEnum):
    DRAFT = "draft"
    """The file was read; what its columns hold has to be confirmed."""
    RUNNING = "running"
    DONE = "done"


class ExistingContacts(StrEnum):
    """What to do with a contact that the owner has already."""

    UPDATE = "update"
    SKIP = "skip"


class LineFault(StrEnum):
    UNREADABLE = "unreadable"
    """A quotation mark is in the wrong place, or is not closed."""
    COLUMNS = "columns"
    """It has more values than there are columns."""
    FIELDS = "fields"
    """A value is not valid."""
    DUPLICATE = "duplicate"
    """An earlier line has the same email address."""


class Field(StrEnum):
    """Who a contact is; a column of a file can also hold each of the contact's fields, by its name."""

    NAME = "name"
    FIRST_NAME = "first_name"
    LAST_NAME = "last_name"
    EMAIL = "email"


class ImportLine(Struct, frozen=True, kw_only=True):
    number: int
    cells: tuple[str, ...]
    fault: LineFault | None = None
    first_line: int | None = None
    """The line that has the same email address."""


class ContactFile(Struct, frozen=True, kw_only=True):
    encoding: str
    delimiter: str
    header: tuple[str, ...]
    lines: tuple[ImportLine, ...]


class ContactImport(Struct, frozen=True, kw_only=True):
    """A file that was uploaded, what is done with it, and how far that has come."""

    id: UUID
    owner_id: UUID
    file_name: str
    encoding: str
    delimiter: str
    header: tuple[str, ...]
    columns: tuple[str, ...]
    """A `Field` for each column; empty if the column is not imported."""
    existing: ExistingContacts = ExistingContacts.UPDATE
    state: ImportState = ImportState.DRAFT
    line_count: int
    position: int = 0
    """The number of the last line that was handled."""
    handled: int = 0
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    bad: int = 0
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None = None


class ImportPlan(Struct, frozen=True, kw_only=True):
    """Which import the worker continues, and who has started it."""

    import_id: UUID
    actor: Actor


class HandledLine(Struct, frozen=True, kw_only=True):
    """How one line ended, and what has to be written because of it."""

    number: int
    fault: LineFault | None = None
    first_line: int | None = None
    email_key: str | None = None
    added: Contact | None = None
    updated: Contact | None = None
