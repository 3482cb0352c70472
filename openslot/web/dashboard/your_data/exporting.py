"""Pages: ask for a copy of all data, see how far it is, and download it."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.errors import Conflict, TooMany
from openslot.core.work import Work
from openslot.exports import operations as exports
from openslot.exports.models import DataExport, ExportState
from openslot.http.refusals import status_of
from openslot.i18n import Text
from openslot.routing import Request, Response, Stream, get, post
from openslot.web import words
from openslot.web.dashboard import phrases
from openslot.web.pages import NOT_KEPT, page, redirect

HERE = "/settings/data"
NOTICES = {"requested": Text("We're preparing your export. We'll email you when it's ready. You can leave this page.")}
KIB = 1024


class ExportRow(Struct, frozen=True, kw_only=True):
    """An export in words."""

    id: UUID
    state: Text
    tone: str
    requested: Text
    expires: Text | None
    size: Text | None
    done: int
    files: int
    is_ready: bool
    is_under_way: bool


@get("/settings/data")
async def show_data(request: Request, work: Work, user: User) -> Response:
    """Show the exports, and where the account is deleted."""
    return await _show(work, user, notice=NOTICES.get(request.query.get("done", "")))


@post("/settings/data/export")
async def request_export(work: Work, user: User) -> Response:
    """Ask for a copy of all data."""
    try:
        async with work.attempt():
            await exports.request_export(work, user)
    except (Conflict, TooMany) as refusal:
        return await _show(work, user, fault=refusal.sentence, status=status_of(refusal))
    return redirect(f"{HERE}?done=requested")


@get("/settings/data/{export_id}/download")
async def download(work: Work, user: User, export_id: UUID) -> Response:
    """Send the file of an export in pieces."""
    export = await exports.get_ready_export(work, user, export_id)
    name = f"openslot-{user.username}-{words.day(export.requested_at, user.zone)}.zip"
    headers = {"content-type": "application/zip", "content-disposition": f"attachment; filename={name}"}
    body = Stream(size=export.size, pieces=exports.read_file(work, export))
    return Response(headers={**NOT_KEPT, **headers}, body=body)


async def _show(
    work: Work, user: User, *, notice: Text | None = None, fault: str | None = None, status: int = 200
) -> Response:
    found = await exports.list_exports(work, user)
    rows = [_row(each, user, now=work.now) for each in found]
    return page(
        "dashboard/your_data/export.html",
        user,
        status=status,
        here=HERE,
        notice=notice,
        fault=fault,
        rows=rows,
        is_under_way=any(row.is_under_way for row in rows),
    )


def _row(export: DataExport, user: User, *, now: datetime) -> ExportRow:
    state, tone = _state(export)
    is_ready = export.state is ExportState.READY
    return ExportRow(
        id=export.id,
        state=state,
        tone=tone,
        requested=phrases.at(export.requested_at, user.zone, now=now),
        expires=phrases.at(export.expires_at, user.zone, now=now) if is_ready else None,
        size=_size(export.size) if is_ready else None,
        done=export.files_done,
        files=export.files,
        is_ready=is_ready,
        is_under_way=export.is_under_way,
    )


def _state(export: DataExport) -> tuple[Text, str]:
    if export.is_under_way:
        return Text("In progress"), ""
    if export.state is ExportState.READY:
        return Text("Ready"), "good"
    return Text("Failed"), "bad"


def _size(size: int) -> Text:
    if size < KIB * KIB:
        return Text("%(size)s KB", size=-(-size // KIB))
    return Text("%(size)s MB", size=-(-size // (KIB * KIB)))
