"""Pages: a copy of all data to download, and the deletion of the account."""

from typing import Annotated, Any
from uuid import UUID

from msgspec import Meta, Struct
from msgspec.structs import replace

from openslot.domains.access.models import Entry, TwoFactorState
from openslot.domains.access.two_factor.operations import get_two_factor_state
from openslot.domains.accounts.models import User
from openslot.domains.exports.operations import get_ready_export, list_exports, read_export_file, request_data_export
from openslot.domains.people import deletions
from openslot.domains.people.deletions import MAX_SHOWN
from openslot.domains.people.models import DeletionPreview
from openslot.doors.http.doors import take_own
from openslot.doors.http.errors import status_of
from openslot.doors.web.shared import words
from openslot.doors.web.shared.cookies import SESSION_COOKIE, delete_cookie
from openslot.doors.web.shared.owners import NO_PROOF, confirm_owner, needs_link
from openslot.doors.web.shared.pages import NOT_KEPT, MailNotice, page, redirect
from openslot.platform.core.errors import Conflict, RateLimited
from openslot.platform.core.text import LINE, ReasonText
from openslot.platform.core.work import Work
from openslot.platform.i18n import PluralText, Text
from openslot.platform.routing import Form, RateLimit, Response, Stream, get, post

HERE = "/settings/data"
NOTICES = {
    "requested": MailNotice(
        Text("We're preparing your export. We'll email you when it's ready. You can leave this page."),
        Text("We're preparing your export. This page shows it when it's ready."),
    )
}
LINKS = RateLimit("deletion-links", 3)
SENT = MailNotice(
    Text("We have sent you an email with a link. It works for an hour."),
    Text("This site sends no emails yet. Its administrator finds the link in the mailbox and can give it to you."),
)


@get("/settings/data")
async def show_data(work: Work, user: User, form: Form[Any] = Form()) -> Response:
    """Show the exports, and where the account is deleted."""
    found = await list_exports(work, user)
    return page("dashboard/your_data/export.html", user, here=HERE, notices=NOTICES, form=form, rows=found)


@post("/settings/data/export", shows=show_data, at={Conflict: "form", RateLimited: "form"}, own_status=True)
async def request_export(work: Work, user: User) -> Response:
    """Ask for a copy of all data."""
    await request_data_export(work, user)
    return redirect(f"{HERE}?done=requested")


@get("/settings/data/{export_id}/download")
async def download(work: Work, user: User, export_id: UUID) -> Response:
    """Send the file of an export in pieces."""
    export = await get_ready_export(work, user, export_id)
    name = f"openslot-{user.username}-{words.day(export.requested_at, user.zone)}.zip"
    headers = {"content-type": "application/zip", "content-disposition": f"attachment; filename={name}"}
    body = Stream(size=export.size, pieces=read_export_file(work, export))
    return Response(headers={**NOT_KEPT, **headers}, body=body)


class DeleteAccountForm(Struct, frozen=True, kw_only=True):
    password: Annotated[str, Meta(pattern=LINE, max_length=200)] = ""
    code: Annotated[str, Meta(pattern=LINE, max_length=100)] = ""
    proof: Annotated[str, Meta(pattern=LINE, max_length=200)] = ""
    message: ReasonText = ""


@get("/settings/data/delete")
async def show_delete(work: Work, entry: Entry, user: User, form: Form[DeleteAccountForm] = Form()) -> Response:
    """Show what the deletion would do, and ask for the password; or say what is in its way."""
    if entry.memberships and not form.faults:
        try:
            await deletions.check_organizations(work, user)
        except Conflict as refusal:
            return page("dashboard/your_data/not_deletable.html", user, here=HERE, obstacle=refusal.sentence)
    return await _show_deletion(work, user, form, await get_two_factor_state(work, user))


@get("/settings/data/delete/{token}")
async def show_delete_by_link(work: Work, entry: Entry, user: User, token: str) -> Response:
    """Show the same to a user who has opened the link in the email."""
    is_proof = deletions.is_proof(work.runtime, user, token, now=work.now)
    form: Form[DeleteAccountForm] = Form(values={"proof": token}) if is_proof else Form(faults={"form": NO_PROOF})
    return await show_delete(work, entry, user, form)


@post("/settings/data/delete/link", transaction="none")
async def send_deletion_link(work: Work, user: User) -> Response:
    """Send the link to the owner of an account that has no password."""
    state = await get_two_factor_state(work, user)
    try:
        await take_own(work.runtime, LINKS, user.id)
    except RateLimited as refusal:
        form: Form[DeleteAccountForm] = Form(faults={"form": refusal.sentence})
        return replace(await _show_deletion(work, user, form, state, wait=refusal), status=status_of(refusal))
    if needs_link(state):
        async with work.transaction():
            await deletions.request_link(work, user)
    return redirect("/settings/data/delete?done=sent")


@post(
    "/settings/data/delete",
    transaction="none",
    shows=show_delete,
    at={Conflict: "form"},
    names={"current": "password"},
    own_status=True,
)
async def delete_own_account(work: Work, user: User, form: Form[DeleteAccountForm]) -> Response:
    """Delete the account if its owner is sure; the password is checked without a connection."""
    sent, state = form.get(), await get_two_factor_state(work, user)
    await confirm_owner(work, user, state, password=sent.password, code=sent.code, proof=sent.proof)
    async with work.transaction():
        await deletions.delete_account(work, user, message=sent.message.strip())
    return replace(page("goodbye.html", None), cookies=(delete_cookie(work, SESSION_COOKIE),))


async def _show_deletion(
    work: Work, user: User, form: Form[DeleteAccountForm], state: TwoFactorState, *, wait: RateLimited | None = None
) -> Response:
    preview = await deletions.preview_deletion(work, user)
    is_proved = deletions.is_proof(work.runtime, user, form["proof"], now=work.now)
    return page(
        "dashboard/your_data/delete.html",
        user,
        here=HERE,
        form=form,
        notices={"sent": SENT},
        wait=words.wait(wait.retry_after) if wait else None,
        has_password=state.has_password,
        needs_link=needs_link(state) and not is_proved,
        needs_code=state.on_since is not None,
        upcoming=preview.upcoming,
        more=max(preview.counts["upcoming"] - MAX_SHOWN, 0),
        belongings=list_belongings(preview),
        count=preview.counts["upcoming"],
        counts=preview.counts,
        taken_over=preview.counts["team_event_types"],
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
