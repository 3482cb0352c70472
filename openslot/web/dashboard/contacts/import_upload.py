"""Pages: upload a file of contacts, and the files of the last days."""

from datetime import date
from typing import Annotated
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.contacts import imports
from openslot.contacts.csv_files import MOST_BYTES, MOST_LINES
from openslot.contacts.errors import TooManyImports
from openslot.contacts.import_models import ContactImport, ImportState
from openslot.core.errors import Invalid
from openslot.core.work import Work
from openslot.i18n import PluralText, Text
from openslot.routing import File, Form, RateLimit, Request, Response, WhenEmpty, get, post
from openslot.web import words
from openslot.web.pages import page, redirect

# The form around the file; a larger file is refused at its field, a much larger one before it is read.
AROUND = 64 * 1024
# Files that are refused were read too.
UPLOADS = RateLimit("contact-uploads", 20)
NOTICES = {"deleted": Text("The import was deleted. Contacts that it has added stay.")}
STATES = {
    ImportState.DRAFT: (Text("Not started"), "warn"),
    ImportState.RUNNING: (Text("Running"), "warn"),
    ImportState.DONE: (Text("Finished"), "good"),
}


class UploadForm(Struct, frozen=True, kw_only=True):
    """A file of contacts."""

    file: Annotated[File, WhenEmpty(Text("Choose a file"))]


class ImportRow(Struct, frozen=True, kw_only=True):
    """One import in the list."""

    id: UUID
    file_name: str
    at: Text | date
    lines: Text
    state: Text
    tone: str


@get("/contacts/import")
async def show_imports(request: Request, work: Work, user: User) -> Response:
    """Show the form that takes a file, and earlier imports."""
    return await _show(work, user, Form(), notice=NOTICES.get(request.query.get("done", "")))


@post("/contacts/import", most_bytes=MOST_BYTES + AROUND, limit=UPLOADS)
async def upload_file(work: Work, user: User, form: Form[UploadForm]) -> Response:
    """Read a file, and show what its columns might hold."""
    if form.faults:
        return await _show(work, user, form)
    file = form.get().file
    try:
        made = await imports.upload_import(work, user, file_name=file.name, body=file.body)
    except Invalid as refusal:
        return await _show(work, user, form.with_faults(refusal.faults))
    except TooManyImports as refusal:
        return await _show(work, user, form.with_faults({"file": refusal.sentence}))
    return redirect(f"/contacts/imports/{made.id}")


async def _show(work: Work, user: User, form: Form[UploadForm], *, notice: Text | None = None) -> Response:
    found = await imports.list_imports(work, user)
    return page(
        "dashboard/contacts/import.html",
        user,
        here="/contacts",
        status=400 if form.faults else 200,
        form=form,
        rows=[_row(each, work, user) for each in found],
        size=MOST_BYTES // 1024 // 1024,
        lines=f"{MOST_LINES:,}",
        notice=notice,
    )


def _row(found: ContactImport, work: Work, user: User) -> ImportRow:
    state, tone = STATES[found.state]
    return ImportRow(
        id=found.id,
        file_name=found.file_name or "CSV",
        at=words.moment(found.created_at, user.zone, now=work.now),
        lines=PluralText("%(count)s line", "%(count)s lines", count=found.line_count),
        state=state,
        tone=tone,
    )
