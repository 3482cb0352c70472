"""Pages: upload a file of contacts, choose its columns, and see what was imported and what was not."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.contacts.errors import ImportAlreadyStarted, ImportLimitExceeded
from openslot.domains.contacts.imports.csv_files import (
    COLUMN_NAMES,
    MAX_BYTES,
    MAX_LINES,
    UTF8,
    UTF16,
    WINDOWS,
    read_cell,
)
from openslot.domains.contacts.imports.models import ContactImport, ExistingContacts, ImportLine, ImportState, LineFault
from openslot.domains.contacts.imports.operations import (
    delete_import,
    get_import,
    list_bad_import_lines,
    list_import_sample,
    list_imports,
    start_import,
    upload_import,
)
from openslot.domains.contacts.imports.rules import read_person
from openslot.doors.web.dashboard.contacts.contacts import write_file
from openslot.doors.web.shared import words
from openslot.doors.web.shared.downloads import send_csv
from openslot.doors.web.shared.list_queries import make_pager, read_page
from openslot.doors.web.shared.pages import locale_of, page, redirect
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import Locale
from openslot.platform.i18n.localization import localize
from openslot.platform.routing import File, Form, RateLimit, Request, Response, WhenEmpty, get, post

LONGEST = 500
UNREADABLE = Text("A quotation mark is missing or in the wrong place")
# The form around the file; a larger file is refused at its field, a much larger one before it is read.
AROUND = 64 * 1024
# Files that are refused were read too.
UPLOADS = RateLimit("contact-uploads", 20)
NOTICES = {"deleted": Text("The import was deleted. Contacts that it has added stay.")}
STATES = {
    ImportState.DRAFT: (Text("Not started"), "wait"),
    ImportState.RUNNING: (Text("Running"), "wait"),
    ImportState.DONE: (Text("Finished"), "good"),
}
BAD_LINES = 50
NOT_IMPORTED = "none"
ENCODINGS = {UTF8: "UTF-8", UTF16: "UTF-16", WINDOWS: "Windows-1252"}
DELIMITERS = {",": Text("commas"), ";": Text("semicolons"), "\t": Text("tabs")}


def find_problems(line: ImportLine, found: ContactImport) -> tuple[Text, ...]:
    if line.fault is LineFault.DUPLICATE:
        return (Text("The email address is the same as in line %(line)s", line=line.first_line),)
    if line.fault is LineFault.COLUMNS:
        return (Text("The line has more values than there are columns"),)
    if line.fault is LineFault.UNREADABLE:
        return (UNREADABLE,)
    _, faults = read_person(line.cells, found.columns)
    return tuple(
        Text("%(field)s: %(fault)s", field=COLUMN_NAMES[field], fault=fault) for field, fault in faults.items()
    )


class UploadForm(Struct, frozen=True, kw_only=True):
    file: Annotated[File, WhenEmpty(Text("Choose a file"))]


@get("/contacts/import")
async def show_imports(work: Work, user: User, form: Form[UploadForm] = Form()) -> Response:
    """Show the form that takes a file, and earlier imports."""
    found = await list_imports(work, user)
    return page(
        "dashboard/contacts/import.html",
        user,
        here="/contacts",
        form=form,
        rows=found,
        states=STATES,
        size=MAX_BYTES // 1024 // 1024,
        lines=f"{MAX_LINES:,}",
        notices=NOTICES,
    )


@post(
    "/contacts/import",
    max_bytes=MAX_BYTES + AROUND,
    limit=UPLOADS,
    shows=show_imports,
    at={ImportLimitExceeded: "file"},
)
async def upload_file(work: Work, user: User, form: Form[UploadForm]) -> Response:
    """Read a file, and show what its columns might hold."""
    file = form.get().file
    made = await upload_import(work, user, file_name=file.name, body=file.body)
    return redirect(f"/contacts/imports/{made.id}")


class StartForm(Struct, frozen=True, kw_only=True):
    column: tuple[str, ...] = ()
    existing: Literal["update", "skip"] = "update"


class ImportColumn(Struct, frozen=True, kw_only=True):
    name: str
    number: int
    samples: tuple[str, ...]
    field: str


@get("/contacts/imports/{import_id}")
async def show_import(
    request: Request, work: Work, user: User, import_id: UUID, form: Form[StartForm] = Form()
) -> Response:
    """Show what can be done with an import, how far it is, or how it ended."""
    found = await get_import(work, user, import_id)
    if found.state is ImportState.DRAFT or form.faults:
        return await _show_draft(work, user, found, form.begin({"existing": found.existing}))
    if found.state is ImportState.RUNNING:
        return page("dashboard/contacts/running.html", user, here="/contacts", found=found)
    return await _show_result(work, user, found, number=read_page(request))


@post("/contacts/imports/{import_id}/start", shows=show_import, at={ImportLimitExceeded: "columns"})
async def start_import_by_form(work: Work, user: User, import_id: UUID, form: Form[StartForm]) -> Response:
    """Start an import with the columns that were chosen."""
    columns = tuple("" if each == NOT_IMPORTED else each for each in form.get().column)
    existing = ExistingContacts(form.get().existing)
    with suppress(ImportAlreadyStarted):
        await start_import(work, user, import_id, columns=columns, existing=existing)
    return redirect(f"/contacts/imports/{import_id}")


@get("/contacts/imports/{import_id}/delete")
async def ask_to_delete_import(work: Work, user: User, import_id: UUID) -> Response:
    """Say what is lost and what stays, and ask whether it is meant."""
    found = await get_import(work, user, import_id)
    return page("dashboard/contacts/delete_import.html", user, here="/contacts", found=found)


@post("/contacts/imports/{import_id}/delete")
async def delete_import_by_form(work: Work, user: User, import_id: UUID) -> Response:
    """Delete an import; one that runs stops."""
    await delete_import(work, user, import_id)
    return redirect("/contacts/import?done=deleted")


async def _show_draft(work: Work, user: User, found: ContactImport, form: Form[StartForm]) -> Response:
    lines = await list_import_sample(work, user, found.id)
    sent = form.sent.column if form.sent else ()
    chosen = sent if len(sent) == len(found.header) else found.columns
    return page(
        "dashboard/contacts/columns.html",
        user,
        here="/contacts",
        found=found,
        form=form,
        columns=_list_columns(found, lines, chosen),
        fields=COLUMN_NAMES,
        not_imported=NOT_IMPORTED,
        encoding=ENCODINGS[found.encoding],
        is_guess=found.encoding == WINDOWS,
        delimiter=DELIMITERS[found.delimiter],
    )


async def _show_result(work: Work, user: User, found: ContactImport, *, number: int) -> Response:
    bad = await list_bad_import_lines(work, user, found.id, page=number, limit=BAD_LINES)
    path = f"/contacts/imports/{found.id}"
    return page(
        "dashboard/contacts/result.html",
        user,
        here="/contacts",
        found=found,
        bad_lines=[(each, found.delimiter.join(each.cells), find_problems(each, found)) for each in bad],
        longest=LONGEST,
        pager=make_pager(number, found.bad, BAD_LINES, lambda page: f"{path}?page={page}"),
    )


def _list_columns(found: ContactImport, lines: Sequence[ImportLine], chosen: Sequence[str]) -> list[ImportColumn]:
    return [
        ImportColumn(
            name=name[:100],
            number=index + 1,
            samples=tuple(line.cells[index][:80] for line in lines if index < len(line.cells) and line.cells[index]),
            field=chosen[index] if chosen[index] in COLUMN_NAMES else NOT_IMPORTED,
        )
        for index, name in enumerate(found.header)
    ]


@get("/contacts/imports/{import_id}/bad-lines.csv")
async def export_bad_lines(request: Request, work: Work, user: User, import_id: UUID) -> Response:
    """Send every line that was not imported, with its number and what is wrong with it."""
    found = await get_import(work, user, import_id)
    bad = await list_bad_import_lines(work, user, import_id, limit=MAX_LINES)
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
