"""Contacts as a CSV file that a spreadsheet opens safely, and that can be imported again."""

import asyncio
from collections.abc import Iterable, Iterator

from openslot.accounts.models import User
from openslot.contacts import directory
from openslot.contacts.csv_cells import write_cell, write_tags
from openslot.contacts.csv_columns import COLUMN_NAMES
from openslot.contacts.import_models import Field
from openslot.contacts.models import Contact
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.i18n.languages import Locale
from openslot.i18n.localization import localize
from openslot.routing import Request, Response, get
from openslot.web import words
from openslot.web.csv_files import send_csv, write_csv
from openslot.web.dashboard.contacts.contact_query import read_contacts_query, read_sort
from openslot.web.list_addresses import read_page
from openslot.web.pages import locale_of

# As many as one file can bring in again.
MOST_ROWS = 20_000
FIELDS = (Field.NAME, Field.EMAIL, Field.PHONE, Field.COMPANY, Field.NOTES, Field.TAGS)
COLUMNS = (*(COLUMN_NAMES[field] for field in FIELDS), Text("Added on"))


@get("/contacts/export.csv")
async def export_contacts(request: Request, work: Work, user: User) -> Response:
    """Send the contacts that the address asks for, 20,000 in each part."""
    query, part = read_contacts_query(request, user), read_page(request, "part")
    found, _ = await directory.list_directory(
        work, user, search=query.search, sort=read_sort(query), page=part, limit=MOST_ROWS
    )
    # Thousands of lines take a while, and other requests must not wait for them.
    rows = ([*_cells(entry.contact, user)] for entry in found)
    body = await asyncio.to_thread(write_file, COLUMNS, rows, locale_of(request))
    return send_csv(f"contacts-{words.day(work.now, user.zone)}.csv", body)


def write_file(columns: Iterable[str], rows: Iterable[Iterable[str]], locale: Locale) -> bytes:
    """Write lines below the names of their columns, in cells that can be imported again."""
    return write_csv((str(localize(column, locale)) for column in columns), rows, write_cell=write_cell)


def _cells(contact: Contact, user: User) -> Iterator[str]:
    yield contact.name
    yield contact.email
    yield contact.phone or ""
    yield contact.company or ""
    yield contact.notes or ""
    yield write_tags(contact.tags)
    yield f"{words.day(contact.created_at, user.zone)}"
