"""Pages: a copy of all data to download, and the deletion of the account."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct
from msgspec.structs import replace

from openslot.access import operations as access
from openslot.access import two_factor
from openslot.access.models import Entry, TwoFactorState
from openslot.accounts.models import User
from openslot.core.errors import Conflict, Invalid, TooMany
from openslot.core.text import LINE, ReasonText
from openslot.core.work import Work
from openslot.exports import operations as exports
from openslot.exports.models import DataExport, ExportState
from openslot.http.doors import take_own
from openslot.http.errors import status_of
from openslot.i18n import PluralText, Text
from openslot.people import deletions
from openslot.people.deletions import MAX_SHOWN
from openslot.people.models import DeletionPreview
from openslot.routing import Form, RateLimit, Request, Response, Stream, get, post
from openslot.web import words
from openslot.web.cookies import SESSION_COOKIE, delete_cookie
from openslot.web.pages import NOT_KEPT, page, redirect

NO_PROOF = Text("The link is not valid or has expired. Ask for a new one")
HERE = "/settings/data"
NOTICES = {"requested": Text("We're preparing your export. We'll email you when it's ready. You can leave this page.")}
KIB = 1024
FIELDS = {"current": "password"}
LINKS = RateLimit("deletion-links", 3)
SENT = Text("We have sent you an email with a link. It works for an hour.")


def needs_link(state: TwoFactorState) -> bool:
    """Return whether nothing but a link by mail can prove who it is."""
    return not state.has_password and state.on_since is None


async def confirm_owner(work: Work, user: User, state: TwoFactorState, *, password: str, code: str, proof: str) -> None:
    """Refuse unless the owner has proved who it is: by the password, and by a code if the second factor is on.

    Without either, the link that was sent to the account's address is needed.
    """
    if needs_link(state) and not deletions.is_proof(work.runtime, user, proof, now=work.now):
        raise Invalid(details={"form": NO_PROOF})
    if state.has_password:
        await access.confirm_password(work, user, password)
    await two_factor.confirm_code(work, user, code)


class ExportRow(Struct, frozen=True, kw_only=True):
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
    return await _show_export(work, user, notice=NOTICES.get(request.query.get("done", "")))


@post("/settings/data/export")
async def request_export(work: Work, user: User) -> Response:
    """Ask for a copy of all data."""
    try:
        async with work.attempt():
            await exports.request_export(work, user)
    except (Conflict, TooMany) as refusal:
        return await _show_export(work, user, fault=refusal.sentence, status=status_of(refusal))
    return redirect(f"{HERE}?done=requested")


@get("/settings/data/{export_id}/download")
async def download(work: Work, user: User, export_id: UUID) -> Response:
    """Send the file of an export in pieces."""
    export = await exports.get_ready_export(work, user, export_id)
    name = f"openslot-{user.username}-{words.day(export.requested_at, user.zone)}.zip"
    headers = {"content-type": "application/zip", "content-disposition": f"attachment; filename={name}"}
    body = Stream(size=export.size, pieces=exports.read_file(work, export))
    return Response(headers={**NOT_KEPT, **headers}, body=body)


async def _show_export(
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
        requested=words.at(export.requested_at, user.zone, now=now),
        expires=words.at(export.expires_at, user.zone, now=now) if is_ready else None,
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


class DeleteAccountForm(Struct, frozen=True, kw_only=True):
    """The proof that it is the owner, and what invitees are told."""

    password: Annotated[str, Meta(pattern=LINE, max_length=200)] = ""
    code: Annotated[str, Meta(pattern=LINE, max_length=100)] = ""
    proof: Annotated[str, Meta(pattern=LINE, max_length=200)] = ""
    message: ReasonText = ""


@get("/settings/data/delete")
async def show_delete(request: Request, work: Work, entry: Entry, user: User) -> Response:
    """Show what the deletion would do, and ask for the password; or say what is in its way."""
    notice = SENT if request.query.get("done") == "sent" else None
    return await _show_or_refuse(entry, work, user, Form(), notice=notice)


@get("/settings/data/delete/{token}")
async def show_delete_by_link(work: Work, entry: Entry, user: User, token: str) -> Response:
    """Show the same to a user who has opened the link in the email."""
    if not deletions.is_proof(work.runtime, user, token, now=work.now):
        return await _show_or_refuse(entry, work, user, Form(faults={"form": NO_PROOF}))
    return await _show_or_refuse(entry, work, user, Form(values={"proof": token}))


@post("/settings/data/delete/link", transaction="none")
async def send_deletion_link(work: Work, user: User) -> Response:
    """Send the link to the owner of an account that has no password."""
    state = await two_factor.get_state(work, user)
    try:
        await take_own(work.runtime, LINKS, user.id)
    except TooMany as refusal:
        faults = {"form": refusal.sentence}
        return await _show_deletion(
            work, user, Form(faults=faults), state=state, status=status_of(refusal), wait=refusal
        )
    if needs_link(state):
        async with work.transaction():
            await deletions.request_link(work, user)
    return redirect("/settings/data/delete?done=sent")


async def _show_or_refuse(
    entry: Entry, work: Work, user: User, form: Form[DeleteAccountForm], *, notice: Text | None = None
) -> Response:
    if entry.memberships:
        try:
            await deletions.check_organizations(work, user)
        except Conflict as refusal:
            return page("dashboard/your_data/not_deletable.html", user, here=HERE, obstacle=refusal.sentence)
    return await _show_deletion(work, user, form, notice=notice)


@post("/settings/data/delete", transaction="none")
async def delete_own_account(work: Work, user: User, form: Form[DeleteAccountForm]) -> Response:
    """Delete the account if its owner is sure; the password is checked without a connection."""
    if form.faults:
        return await _show_deletion(work, user, form)
    sent = form.get()
    state = await two_factor.get_state(work, user)
    try:
        await confirm_owner(work, user, state, password=sent.password, code=sent.code, proof=sent.proof)
        async with work.transaction():
            await deletions.delete_account(work, user, message=sent.message.strip())
    except Invalid as refusal:
        faults = {FIELDS.get(field, field): fault for field, fault in refusal.faults.items()}
        return await _show_deletion(work, user, form.with_faults(faults))
    except Conflict as refusal:
        return await _show_deletion(work, user, form.with_faults({"form": refusal.sentence}), status=status_of(refusal))
    return replace(page("goodbye.html", None), cookies=(delete_cookie(work, SESSION_COOKIE),))


async def _show_deletion(
    work: Work,
    user: User,
    form: Form[DeleteAccountForm],
    *,
    state: TwoFactorState | None = None,
    status: int = 400,
    notice: Text | None = None,
    wait: TooMany | None = None,
) -> Response:
    preview = await deletions.preview_deletion(work, user)
    state = state or await two_factor.get_state(work, user)
    proof = form["proof"]
    return page(
        "dashboard/your_data/delete.html",
        user,
        status=status if form.faults else 200,
        here=HERE,
        form=form,
        notice=notice,
        wait=words.wait(wait.retry_after) if wait else None,
        has_password=state.has_password,
        needs_link=needs_link(state) and not deletions.is_proof(work.runtime, user, proof, now=work.now),
        needs_code=state.on_since is not None,
        upcoming=[
            (
                each.invitee_name,
                each.event_type_name,
                words.day_and_hours(each.starts_at, each.ends_at, user.zone, now=work.now),
            )
            for each in preview.upcoming
        ],
        more=max(preview.counts["upcoming"] - MAX_SHOWN, 0),
        belongings=list_belongings(preview),
        count=preview.counts["upcoming"],
    )


def list_belongings(preview: DeletionPreview) -> list[Text]:
    """Say how many there are of what would be deleted, leaving out what there is none of."""
    counts = preview.counts
    said = {
        "bookings": PluralText(
            "%(count)s booking, past ones included", "%(count)s bookings, past ones included", count=counts["bookings"]
        ),
        "event_types": PluralText(
            "%(count)s event type with its page", "%(count)s event types with their pages", count=counts["event_types"]
        ),
        "contacts": PluralText("%(count)s contact", "%(count)s contacts", count=counts["contacts"]),
        "conversations": PluralText("%(count)s conversation", "%(count)s conversations", count=counts["conversations"]),
        "keys": PluralText("%(count)s API key", "%(count)s API keys", count=counts["keys"]),
        "webhooks": PluralText("%(count)s webhook endpoint", "%(count)s webhook endpoints", count=counts["webhooks"]),
        "calendars": PluralText(
            "%(count)s connected calendar", "%(count)s connected calendars", count=counts["calendars"]
        ),
    }
    return [text for name, text in said.items() if counts[name]]
