"""Pages: connect a calendar account or a feed; one connection, its choices, test, password and end."""

from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import Meta, Struct

from openslot.domains.accounts.models import User
from openslot.domains.calendars import channels
from openslot.domains.calendars.errors import CalendarFault, CalendarSignInFailed
from openslot.domains.calendars.models import CalDavWanted, ConnectionChanges, ConnectionRef, IcsWanted
from openslot.domains.calendars.operations import (
    change_calendar_connection,
    check_calendar_connection,
    connect_calendar,
    get_calendar_connection,
    read_connection_now,
    replace_calendar_password,
)
from openslot.domains.calendars.servers import can_invite
from openslot.domains.oauth.models import list_clients
from openslot.doors.web.dashboard.calendars import overview
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.errors import Conflict, Invalid
from openslot.platform.core.outbound import OutboundRefused
from openslot.platform.core.text import LINE
from openslot.platform.core.work import Work
from openslot.platform.i18n import PluralText, Text
from openslot.platform.routing import Form, RateLimit, Response, WhenEmpty, get, post

# Each try sends a password to somebody's server, and nobody is to guess passwords through this one.
TRIES = RateLimit("calendars", 30)
NO_ADDRESS = Text("Enter the server address")
NOTICES = {
    "saved": Text("Your choices are saved."),
    "reading": Text("The calendar is syncing. Reload this page in a moment to see the result."),
    "password": Text("The new password works. The calendar is syncing now."),
    "renewed": Text("The account is connected again. The calendar is syncing now."),
}
REFUSED = Text("was refused by the server. Check it, or create a new app password at your provider")


class CalendarProvider(Struct, frozen=True, kw_only=True):
    key: str
    name: str
    address: str | None
    """None if each installation has its own, so it is asked for."""
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
async def show_connect(work: Work, user: User, form: Form[Any] = Form()) -> Response:
    return page(
        "dashboard/calendars/connect.html",
        user,
        here=overview.HERE,
        providers=tuple(PROVIDERS.values()),
        vendors=list_clients(work.runtime.settings),
        form=form,
    )


@post("/settings/calendars/connect", transaction="none", limit=TRIES, shows=show_connect, at={Conflict: "server"})
async def connect_account(work: Work, user: User, form: Form[CalendarAccountForm]) -> Response:
    await try_account(work, user, form)
    return redirect(f"{overview.HERE}?done=connected")


@post("/settings/calendars/connect/feed", transaction="none", limit=TRIES, shows=show_connect, at={Conflict: "url"})
async def connect_feed(work: Work, user: User, form: Form[CalendarFeedForm]) -> Response:
    await try_feed(work, user, form)
    return redirect(f"{overview.HERE}?done=connected")


async def try_account(work: Work, user: User, form: Form[CalendarAccountForm]) -> None:
    """Connect an account on a CalDAV server; no connection to the database is held while the server is asked."""
    sent = form.get()
    address = PROVIDERS[sent.server].address or sent.address.strip()
    if not address:
        raise Invalid(details={"address": NO_ADDRESS})
    try:
        wanted = CalDavWanted(address=address, username=sent.username.strip(), password=sent.password)
        await connect_calendar(work, user, wanted)
    except (CalendarFault, OutboundRefused) as refusal:
        raise Invalid(details=dict([overview.find_server_fault(refusal)])) from None


async def try_feed(work: Work, user: User, form: Form[CalendarFeedForm]) -> None:
    """Connect a feed; no connection to the database is held while it is fetched."""
    try:
        await connect_calendar(work, user, IcsWanted(form.get().url))
    except (CalendarFault, OutboundRefused) as refusal:
        raise Invalid(details={"url": overview.find_feed_fault(refusal)}) from None
    except Invalid as refusal:
        raise Invalid(details={"url": refusal.sentence}) from None


class ChoicesForm(Struct, frozen=True, kw_only=True):
    busy: list[str] = []
    unreadable: Annotated[str, Meta(pattern=LINE, max_length=20), WhenEmpty(Text("Choose one of these"))]
    invites: bool = False


class CalendarPasswordForm(Struct, frozen=True, kw_only=True):
    password: Annotated[str, Meta(max_length=500), WhenEmpty(Text("Enter the new password"))]


class ConnectionCheck(Struct, frozen=True, kw_only=True):
    is_good: bool
    words: Text
    reason: str | None = None


@get("/settings/calendars/{connection_id}")
async def show_connection(work: Work, user: User, connection_id: UUID, form: Form[Any] = Form()) -> Response:
    return await _show_connection(work, user, connection_id, form)


@post("/settings/calendars/{connection_id}", shows=show_connection, names={"whenUnreadable": "unreadable"})
async def save_choices(work: Work, user: User, connection_id: UUID, form: Form[ChoicesForm]) -> Response:
    """Choose which calendars close times, what happens when they can't be read, and who invites."""
    sent = form.get()
    changes = ConnectionChanges(busy=tuple(sent.busy), when_unreadable=sent.unreadable, invites=sent.invites)
    await change_calendar_connection(work, ConnectionRef(connection_id, user.id), changes)
    return redirect(f"{overview.HERE}/{connection_id}?done=saved")


@post("/settings/calendars/{connection_id}/test", transaction="none", limit=TRIES)
async def check_now(work: Work, user: User, connection_id: UUID) -> Response:
    """Ask the calendar's server now, and show what it answers; no connection to the database is held meanwhile."""
    try:
        count = await check_calendar_connection(work, ConnectionRef(connection_id, user.id))
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
    return await _show_connection(work, user, connection_id, Form(), result=result)


@post("/settings/calendars/{connection_id}/read")
async def read_now(work: Work, user: User, connection_id: UUID) -> Response:
    """Let the worker read a connection now."""
    await read_connection_now(work, ConnectionRef(connection_id, user.id))
    return redirect(f"{overview.HERE}/{connection_id}?done=reading")


@post("/settings/calendars/{connection_id}/password", transaction="none", limit=TRIES, shows=show_connection)
async def change_calendar_password(
    work: Work, user: User, connection_id: UUID, form: Form[CalendarPasswordForm]
) -> Response:
    """Replace the password of a connection if the server accepts it."""
    try:
        await replace_calendar_password(work, ConnectionRef(connection_id, user.id), form.get().password)
    except CalendarSignInFailed:
        raise Invalid(details={"password": REFUSED}) from None
    except (CalendarFault, OutboundRefused) as refusal:
        fault = Text("could not be tested (%(reason)s)", reason=refusal.sentence)
        raise Invalid(details={"password": fault}) from None
    return redirect(f"{overview.HERE}/{connection_id}?done=password")


@get("/settings/calendars/{connection_id}/disconnect")
async def ask_to_disconnect(work: Work, user: User, connection_id: UUID) -> Response:
    """Ask for confirmation before a connection is deleted."""
    connection = await get_calendar_connection(work, ConnectionRef(connection_id, user.id))
    return page("dashboard/calendars/disconnect.html", user, here=overview.HERE, connection=connection)


@post("/settings/calendars/{connection_id}/disconnect", transaction="none")
async def disconnect(work: Work, user: User, connection_id: UUID) -> Response:
    """Delete a connection; no connection to the database is held while its server is told."""
    await channels.disconnect(work, ConnectionRef(connection_id, user.id))
    return redirect(f"{overview.HERE}?done=disconnected")


async def _show_connection(
    work: Work, user: User, connection_id: UUID, form: Form[Any], *, result: ConnectionCheck | None = None
) -> Response:
    connection = await get_calendar_connection(work, ConnectionRef(connection_id, user.id))
    choices = form.of(ChoicesForm)
    chosen = set(choices.sent.busy) if choices.sent else None
    policy = overview.policy_of(connection)
    return page(
        "dashboard/calendars/connection.html",
        user,
        here=overview.HERE,
        notices=NOTICES,
        connection=connection,
        **overview.CONNECTION_WORDS,
        calendars=[(each, each.is_busy if chosen is None else str(each.id) in chosen) for each in connection.calendars],
        policies=overview.list_policies(policy),
        policy=choices["unreadable"] if choices.kind else policy,
        can_invite=can_invite(work.runtime, connection),
        invites=choices.sent.invites if choices.sent else connection.invites,
        result=result,
        form=form,
    )
