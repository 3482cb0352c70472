"""Pages: connect a calendar account or a feed; one connection, its choices, test, password and end."""

from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import Meta, Struct

from openslot.accounts.models import User
from openslot.core.errors import Conflict, Invalid
from openslot.core.outbound import OutboundRefused
from openslot.core.text import LINE
from openslot.core.work import Work
from openslot.i18n import PluralText, Text
from openslot.integrations.calendars import operations
from openslot.integrations.calendars import operations as calendars
from openslot.integrations.calendars.errors import CalendarFault, CalendarSignInFailed
from openslot.integrations.calendars.models import (
    CalDavWanted,
    ConnectionChanges,
    ConnectionKind,
    ConnectionRef,
    IcsWanted,
)
from openslot.routing import Form, RateLimit, Request, Response, WhenEmpty, get, post
from openslot.web.dashboard.calendars.overview import (
    HERE,
    connection_row,
    find_feed_fault,
    find_server_fault,
    list_policies,
    policy_of,
)
from openslot.web.pages import page, redirect

# Each try sends a password to somebody's server, and nobody is to guess passwords through this one.
TRIES = RateLimit("calendars", 30)
NO_ADDRESS = Text("Enter the server address")
NOTICES = {
    "saved": Text("Your choices are saved."),
    "reading": Text("The calendar is syncing. Reload this page in a moment to see the result."),
    "password": Text("The new password works. The calendar is syncing now."),
}
REFUSED = Text("was refused by the server. Check it, or create a new app password at your provider")


class CalendarProvider(Struct, frozen=True, kw_only=True):
    """A provider, its server, and what to know before connecting."""

    key: str
    name: str
    address: str | None
    """None: each installation has its own, so it is asked for."""
    hint: Text


PROVIDERS = {
    provider.key: provider
    for provider in (
        CalendarProvider(
            key="icloud",
            name="iCloud",
            address="https://caldav.icloud.com",
            hint=Text(
                "Your user name is the email address of your Apple Account. Create an app-specific password at "
                "account.apple.com, under Sign-In and Security."
            ),
        ),
        CalendarProvider(
            key="fastmail",
            name="Fastmail",
            address="https://caldav.fastmail.com",
            hint=Text(
                "Your user name is your Fastmail address. Create an app password with access to calendars in "
                "Settings, Privacy & Security."
            ),
        ),
        CalendarProvider(
            key="nextcloud",
            name="Nextcloud",
            address=None,
            hint=Text(
                "The address is that of your Nextcloud, such as https://cloud.example.com. Create an app password in "
                "Settings, Security, Devices & sessions."
            ),
        ),
        CalendarProvider(
            key="other",
            name=Text("Another CalDAV server"),
            address=None,
            hint=Text("The address can be a URL, the name of the server, or your email address there."),
        ),
    )
}


class CalendarAccountForm(Struct, frozen=True, kw_only=True):
    server: Annotated[Literal["icloud", "fastmail", "nextcloud", "other"], WhenEmpty(Text("Choose a provider"))]
    address: Annotated[str, Meta(pattern=LINE, max_length=1000)] = ""
    username: Annotated[str, Meta(pattern=LINE, max_length=300), WhenEmpty(Text("Enter your user name"))]
    password: Annotated[str, Meta(max_length=500), WhenEmpty(Text("Enter the password"))]


class CalendarFeedForm(Struct, frozen=True, kw_only=True):
    url: Annotated[str, Meta(pattern=LINE, max_length=2000), WhenEmpty(Text("Enter the calendar URL"))]


@get("/settings/calendars/connect")
async def show_connect(user: User) -> Response:
    return _show_forms(user)


@post("/settings/calendars/connect", transaction="none", limit=TRIES)
async def connect_account(work: Work, user: User, form: Form[CalendarAccountForm]) -> Response:
    """Connect an account on a CalDAV server; no connection to the database is held while the server is asked."""
    if form.faults:
        return _show_forms(user, account_form=form)
    sent = form.get()
    address = PROVIDERS[sent.server].address or sent.address.strip()
    if not address:
        return _show_forms(user, account_form=form.with_faults({"address": NO_ADDRESS}))
    try:
        wanted = CalDavWanted(address=address, username=sent.username.strip(), password=sent.password)
        await calendars.connect(work, user, wanted)
    except (CalendarFault, OutboundRefused) as refusal:
        return _show_forms(user, account_form=form.with_faults(dict([find_server_fault(refusal)])))
    except Invalid as refusal:
        return _show_forms(user, account_form=form.with_faults(refusal.faults))
    except Conflict as refusal:
        return _show_forms(user, account_form=form.with_faults({"server": refusal.sentence}))
    return redirect(f"{HERE}?done=connected")


@post("/settings/calendars/connect/feed", transaction="none", limit=TRIES)
async def connect_feed(work: Work, user: User, form: Form[CalendarFeedForm]) -> Response:
    """Connect a feed; no connection to the database is held while it is fetched."""
    if form.faults:
        return _show_forms(user, feed_form=form)
    try:
        await calendars.connect(work, user, IcsWanted(form.get().url))
    except (CalendarFault, OutboundRefused) as refusal:
        return _show_forms(user, feed_form=form.with_faults({"url": find_feed_fault(refusal)}))
    except (Conflict, Invalid) as refusal:
        return _show_forms(user, feed_form=form.with_faults({"url": refusal.sentence}))
    return redirect(f"{HERE}?done=connected")


def _show_forms(
    user: User,
    *,
    account_form: Form[CalendarAccountForm] | None = None,
    feed_form: Form[CalendarFeedForm] | None = None,
) -> Response:
    account: Form[Any] = account_form or Form()
    return page(
        "dashboard/calendars/connect.html",
        user,
        status=400 if account_form or feed_form else 200,
        here=HERE,
        providers=tuple(PROVIDERS.values()),
        account_form=account,
        feed_form=feed_form or Form(),
    )


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
    return await _show_connection(work, user, connection_id, notice=NOTICES.get(request.query.get("done", "")))


@post("/settings/calendars/{connection_id}")
async def save_choices(work: Work, user: User, connection_id: UUID, form: Form[ChoicesForm]) -> Response:
    """Choose which calendars close times, and what happens when they can't be read."""
    ref = ConnectionRef(connection_id, user.id)
    if form.faults:
        return await _show_connection(work, user, connection_id, choices=form)
    sent = form.get()
    try:
        changes = ConnectionChanges(busy=tuple(sent.busy), when_unreadable=sent.unreadable)
        await calendars.change_connection(work, ref, changes)
    except Invalid as refusal:
        names = {"whenUnreadable": "unreadable"}
        faults = {names.get(field, field): fault for field, fault in refusal.faults.items()}
        return await _show_connection(work, user, connection_id, choices=form.with_faults(faults))
    return redirect(f"{HERE}/{connection_id}?done=saved")


@post("/settings/calendars/{connection_id}/test", transaction="none", limit=TRIES)
async def check_now(work: Work, user: User, connection_id: UUID) -> Response:
    """Ask the calendar's server now, and show what it answers; no connection to the database is held meanwhile."""
    try:
        count = await operations.check_connection(work, ConnectionRef(connection_id, user.id))
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
    return await _show_connection(work, user, connection_id, result=result)


@post("/settings/calendars/{connection_id}/read")
async def read_now(work: Work, user: User, connection_id: UUID) -> Response:
    """Let the worker read a connection now."""
    await operations.read_now(work, ConnectionRef(connection_id, user.id))
    return redirect(f"{HERE}/{connection_id}?done=reading")


@post("/settings/calendars/{connection_id}/password", transaction="none", limit=TRIES)
async def change_calendar_password(
    work: Work, user: User, connection_id: UUID, form: Form[CalendarPasswordForm]
) -> Response:
    """Replace the password of a connection if the server accepts it."""
    if form.faults:
        return await _show_connection(work, user, connection_id, password_form=form)
    try:
        await operations.replace_password(work, ConnectionRef(connection_id, user.id), form.get().password)
    except CalendarSignInFailed:
        return await _show_connection(work, user, connection_id, password_form=form.with_faults({"password": REFUSED}))
    except (CalendarFault, OutboundRefused) as refusal:
        fault = Text("could not be tested (%(reason)s)", reason=refusal.sentence)
        return await _show_connection(work, user, connection_id, password_form=form.with_faults({"password": fault}))
    except Invalid as refusal:
        return await _show_connection(work, user, connection_id, password_form=form.with_faults(refusal.faults))
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
    await calendars.disconnect(work, ConnectionRef(connection_id, user.id))
    return redirect(f"{HERE}?done=disconnected")


async def _show_connection(
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
