"""The lines that were not imported as a CSV file, to be corrected and imported again."""

import asyncio
from collections.abc import Iterator, Sequence
from uuid import UUID

from openslot.accounts.models import User
from openslot.contacts import imports
from openslot.contacts.csv_cells import read_cell
from openslot.contacts.csv_files import MOST_LINES
from openslot.contacts.import_models import ContactImport, ImportLine
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.i18n.languages import Locale
from openslot.i18n.localization import localize
from openslot.routing import Request, Response, get
from openslot.web import words
from openslot.web.csv_files import send_csv
from openslot.web.dashboard.contacts.bad_lines import find_problems
from openslot.web.dashboard.contacts.contact_csv import write_file
from openslot.web.pages import locale_of


@get("/contacts/imports/{import_id}/bad-lines.csv")
async def export_bad_lines(request: Request, work: Work, user: User, import_id: UUID) -> Response:
    """Send every line that was not imported, with its number and what is wrong with it."""
    found = await imports.get_import(work, user, import_id)
    bad = await imports.list_bad_lines(work, user, import_id, limit=MOST_LINES)
    # Thousands of lines take a while, and other requests must not wait for them.
    body = await asyncio.to_thread(_write, found, bad, locale_of(request))
    return send_csv(f"bad-lines-{words.day(work.now, user.zone)}.csv", body)


def _write(found: ContactImport, bad: Sequence[ImportLine], locale: Locale) -> bytes:
    columns = (Text("Line"), Text("Problem"), *found.header)
    return write_file(columns, ([*_cells(line, found, locale)] for line in bad), locale)


def _cells(line: ImportLine, found: ContactImport, locale: Locale) -> Iterator[str]:
    yield str(line.number)
    yield "; ".join(str(localize(problem, locale)) for problem in find_problems(line, found))
    yield from (read_cell(cell) for cell in line.cells)
