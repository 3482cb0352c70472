"""Pages: one import, from the choice of its columns to the lines that were not imported."""

from collections.abc import Sequence
from typing import Literal
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.contacts import imports
from openslot.contacts.csv_columns import COLUMN_NAMES
from openslot.contacts.csv_files import UTF8, UTF16, WINDOWS
from openslot.contacts.errors import ImportStarted, TooManyImports
from openslot.contacts.import_models import ContactImport, ExistingContacts, Field, ImportLine, ImportState
from openslot.core.errors import Invalid
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Form, Request, Response, get, post
from openslot.web.dashboard.contacts.bad_lines import bad_line_row
from openslot.web.list_addresses import make_pager, read_page
from openslot.web.pages import page, redirect

BAD_LINES = 50
NOT_IMPORTED = "none"
ENCODINGS = {UTF8: "UTF-8", UTF16: "UTF-16", WINDOWS: "Windows-1252"}
DELIMITERS = {",": Text("commas"), ";": Text("semicolons"), "\t": Text("tabs")}


class StartForm(Struct, frozen=True, kw_only=True):
    """What each column holds, and what happens to contacts that exist already."""

    column: tuple[str, ...] = ()
    existing: Literal["update", "skip"] = "update"


class ImportColumn(Struct, frozen=True, kw_only=True):
    """A column of a file: its name, some of its values, and what it is taken for."""

    name: str
    number: int
    samples: tuple[str, ...]
    field: str


@get("/contacts/imports/{import_id}")
async def show_import(request: Request, work: Work, user: User, import_id: UUID) -> Response:
    """Show what can be done with an import, how far it is, or how it ended."""
    found = await imports.get_import(work, user, import_id)
    if found.state is ImportState.DRAFT:
        return await _show_draft(work, user, found, Form(values={"existing": found.existing}))
    if found.state is ImportState.RUNNING:
        return page("dashboard/contacts/running.html", user, here="/contacts", found=found)
    return await _show_result(work, user, found, number=read_page(request))


@post("/contacts/imports/{import_id}/start")
async def start_import_by_form(work: Work, user: User, import_id: UUID, form: Form[StartForm]) -> Response:
    """Start an import with the columns that were chosen."""
    if not form.faults:
        sent = form.get()
        columns = tuple("" if each == NOT_IMPORTED else each for each in sent.column)
        existing = ExistingContacts(sent.existing)
        try:
            await imports.start_import(work, user, import_id, columns=columns, existing=existing)
        except Invalid as refusal:
            form = form.with_faults(refusal.faults)
        except TooManyImports as refusal:
            form = form.with_faults({"columns": refusal.sentence})
        except ImportStarted:
            return redirect(f"/contacts/imports/{import_id}")
    if form.faults:
        return await _show_draft(work, user, await imports.get_import(work, user, import_id), form)
    return redirect(f"/contacts/imports/{import_id}")


@get("/contacts/imports/{import_id}/delete")
async def ask_to_delete_import(work: Work, user: User, import_id: UUID) -> Response:
    """Say what is lost and what stays, and ask whether it is meant."""
    found = await imports.get_import(work, user, import_id)
    return page("dashboard/contacts/delete_import.html", user, here="/contacts", found=found)


@post("/contacts/imports/{import_id}/delete")
async def delete_import_by_form(request: Request, work: Work, user: User, import_id: UUID) -> Response:
    """Delete an import; one that runs stops."""
    await imports.delete_import(work, user, import_id)
    return redirect("/contacts/import?done=deleted")


async def _show_draft(work: Work, user: User, found: ContactImport, form: Form[StartForm]) -> Response:
    lines = await imports.list_sample(work, user, found.id)
    sent = form.sent.column if form.sent else ()
    chosen = sent if len(sent) == len(found.header) else found.columns
    return page(
        "dashboard/contacts/columns.html",
        user,
        here="/contacts",
        status=400 if form.faults else 200,
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
    bad = await imports.list_bad_lines(work, user, found.id, page=number, limit=BAD_LINES)
    path = f"/contacts/imports/{found.id}"
    return page(
        "dashboard/contacts/result.html",
        user,
        here="/contacts",
        found=found,
        bad_lines=[bad_line_row(each, found) for each in bad],
        pager=make_pager(number, found.bad, BAD_LINES, lambda page: f"{path}?page={page}"),
    )


def _list_columns(found: ContactImport, lines: Sequence[ImportLine], chosen: Sequence[str]) -> list[ImportColumn]:
    return [
        ImportColumn(
            name=name[:100],
            number=place + 1,
            samples=tuple(line.cells[place][:80] for line in lines if place < len(line.cells) and line.cells[place]),
            field=chosen[place] if chosen[place] in set(Field) else NOT_IMPORTED,
        )
        for place, name in enumerate(found.header)
    ]
