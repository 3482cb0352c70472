"""Pages: one calendar connection, its choices, test, password and end."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from openslot.accounts.models import User
from openslot.core.errors import Invalid
from openslot.core.outbound import OutboundRefused
from openslot.core.text import LINE
from openslot.core.work import Work
from openslot.i18n import PluralText, Text
from openslot.integrations.calendars import operations as calendars
from openslot.integrations.calendars import repairs
from openslot.integrations.calendars.errors import CalendarFault, CalendarSignInFailed
from openslot.integrations.calendars.models import ConnectionChanges, ConnectionKind, ConnectionRef
from openslot.routing import Form, Request, Response, WhenEmpty, get, post
from openslot.web.dashboard.calendars.overview import HERE
from openslot.web.dashboard.calendars.providers import TRIES
from openslot.web.dashboard.calendars.rows import connection_row, list_policies, policy_of
from openslot.web.pages import page, redirect

NOTICES = {
    "saved": Text("Your choices are saved."),
    "reading": Text("The calendar is syncing. Reload this page in a moment to see the result."),
    "password": Text("The new password works. The calendar is syncing now."),
}
REFUSED = Text("was refused by the server. Check it, or create a new app password at your provider")


class ChoicesForm(Struct, frozen=True, kw_only=True):
    """Which calendars close times, and what happens when they can't be read."""

    busy: list[str] = []
    unreadable: Annotated[str, Meta(pattern=LINE, max_length=20), WhenEmpty(Text("Choose one of these"))]


class CalendarPasswordForm(Struct, frozen=True, kw_only=True):
    """A new password of a calendar account."""

    password: Annotated[str, Meta(max_length=500), WhenEmpty(Text("Enter the new password"))]


class ConnectionCheck(Struct, frozen=True, kw_only=True):
    """What a test of a connection came to."""

    is_good: bool
    words: Text
    reason: str | None = None


@get("/settings/calendars/{connection_id}")
async def show_connection(request: Request, work: Work, user: User, connection_id: UUID) -> Response:
    """Show one connection."""
    return await _show(work, user, connection_id, notice=NOTICES.get(request.query.get("done", "")))


@post("/settings/calendars/{connection_id}")
async def save_choices(work: Work, user: User, connection_id: UUID, form: Form[ChoicesForm]) -> Response:
    """Choose which calendars close times, and what happens when they can't be read."""
    ref = ConnectionRef(connection_id, user.id)
    if form.faults:
        return await _show(work, user, connection_id, choices=form)
    sent = form.get()
    try:
        changes = ConnectionChanges(busy=tuple(sent.busy), when_unreadable=sent.unreadable)
        await calendars.change_connection(work, ref, changes)
    except Invalid as refusal:
        names = {"whenUnreadable": "unreadable"}
        faults = {names.get(field, field): fault for field, fault in refusal.faults.items()}
        return await _show(work, user, connection_id, choices=form.with_faults(faults))
    return redirect(f"{HERE}/{connection_id}?done=saved")


@post("/settings/calendars/{connection_id}/test", transaction="none", limit=TRIES)
async def check_now(work: Work, user: User, connection_id: UUID) -> Response:
    """Ask the calendar's server now, and show what it answers; no connection to the database is held meanwhile."""
    try:
        count = await repairs.check_connection(work, ConnectionRef(connection_id, user.id))
    except CalendarSignInFailed as refusal:
        words = Text("The server refuses the user name or the password. Enter the new password below.")
        result = ConnectionCheck(is_good=False, words=words, reason=refusal.sentence)
    except (CalendarFault, OutboundRefused) as refusal:
        words = Text("The test has failed. Nothing was changed.")
        result = ConnectionCheck(is_good=False, words=words, reason=refusal.sentence)
    else:
        words = PluralText(
            "The connection works. The server shows %(count)s calendar.",
            "The connection works. The server shows %(count)s calendars.",
            count=count,
        )
        result = ConnectionCheck(is_good=True, words=words)
    return await _show(work, user, connection_id, result=result)


@post("/settings/calendars/{connection_id}/read")
async def read_now(work: Work, user: User, connection_id: UUID) -> Response:
    """Let the worker read a connection now."""
    await repairs.read_now(work, ConnectionRef(connection_id, user.id))
    return redirect(f"{HERE}/{connection_id}?done=reading")


@post("/settings/calendars/{connection_id}/password", transaction="none", limit=TRIES)
async def change_calendar_password(
    work: Work, user: User, connection_id: UUID, form: Form[CalendarPasswordForm]
) -> Response:
    """Replace the password of a connection if the server accepts it."""
    if form.faults:
        return await _show(work, user, connection_id, password_form=form)
    try:
        await repairs.replace_password(work, ConnectionRef(connection_id, user.id), form.get().password)
    except CalendarSignInFailed:
        return await _show(work, user, connection_id, password_form=form.with_faults({"password": REFUSED}))
    except (CalendarFault, OutboundRefused) as refusal:
        fault = Text("could not be tested (%(reason)s)", reason=refusal.sentence)
        return await _show(work, user, connection_id, password_form=form.with_faults({"password": fault}))
    except Invalid as refusal:
        return await _show(work, user, connection_id, password_form=form.with_faults(refusal.faults))
    return redirect(f"{HERE}/{connection_id}?done=password")


@get("/settings/calendars/{connection_id}/disconnect")
async def ask_to_disconnect(work: Work, user: User, connection_id: UUID) -> Response:
    """Ask for confirmation before a connection is deleted."""
    connection = await calendars.get_connection(work, ConnectionRef(connection_id, user.id))
    row = connection_row(connection, user, now=work.now)
    receives = any(each.receives for each in connection.calendars)
    return page("dashboard/calendars/disconnect.html", user, here=HERE, row=row, receives=receives)


@post("/settings/calendars/{connection_id}/disconnect")
async def disconnect(work: Work, user: User, connection_id: UUID) -> Response:
    """Delete a connection."""
    await calendars.disconnect(work, ConnectionRef(connection_id, user.id))
    return redirect(f"{HERE}?done=disconnected")


async def _show(
    work: Work,
    user: User,
    connection_id: UUID,
    *,
    notice: Text | None = None,
    result: ConnectionCheck | None = None,
    choices: Form[ChoicesForm] | None = None,
    password_form: Form[CalendarPasswordForm] | None = None,
) -> Response:
    connection = await calendars.get_connection(work, ConnectionRef(connection_id, user.id))
    chosen = set(choices.sent.busy) if choices and choices.sent else None
    policy = choices["unreadable"] if choices else policy_of(connection)
    return page(
        "dashboard/calendars/connection.html",
        user,
        status=400 if choices or password_form else 200,
        here=HERE,
        notice=notice,
        row=connection_row(connection, user, now=work.now),
        calendars=[(each, each.is_busy if chosen is None else str(each.id) in chosen) for each in connection.calendars],
        policies=list_policies(policy_of(connection)),
        policy=policy,
        has_password=connection.kind is ConnectionKind.CALDAV,
        result=result,
        choices=choices or Form(),
        password_form=password_form or Form(),
    )
