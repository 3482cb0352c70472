"""Pages: connect a calendar account or a feed."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from openslot.accounts.models import User
from openslot.core.errors import Conflict, Invalid
from openslot.core.outbound import OutboundRefused
from openslot.core.text import LINE
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.integrations.calendars import operations as calendars
from openslot.integrations.calendars.errors import CalendarFault
from openslot.integrations.calendars.models import CalDavWanted, IcsWanted
from openslot.routing import Form, Response, WhenEmpty, get, post
from openslot.web.dashboard.calendars.faults import find_feed_fault, find_server_fault
from openslot.web.dashboard.calendars.overview import HERE
from openslot.web.dashboard.calendars.providers import PROVIDERS, TRIES
from openslot.web.pages import page, redirect

NO_ADDRESS = Text("Enter the server address")


class CalendarAccountForm(Struct, frozen=True, kw_only=True):
    """An account on a CalDAV server."""

    server: Annotated[Literal["icloud", "fastmail", "nextcloud", "other"], WhenEmpty(Text("Choose a provider"))]
    address: Annotated[str, Meta(pattern=LINE, max_length=1000)] = ""
    username: Annotated[str, Meta(pattern=LINE, max_length=300), WhenEmpty(Text("Enter your user name"))]
    password: Annotated[str, Meta(max_length=500), WhenEmpty(Text("Enter the password"))]


class CalendarFeedForm(Struct, frozen=True, kw_only=True):
    """The address of a feed."""

    url: Annotated[str, Meta(pattern=LINE, max_length=2000), WhenEmpty(Text("Enter the calendar URL"))]


@get("/settings/calendars/connect")
async def show_connect(user: User) -> Response:
    """Show the forms that connect a calendar."""
    return _show(user)


@post("/settings/calendars/connect", transaction="none", limit=TRIES)
async def connect_account(work: Work, user: User, form: Form[CalendarAccountForm]) -> Response:
    """Connect an account on a CalDAV server; no connection to the database is held while the server is asked."""
    if form.faults:
        return _show(user, account_form=form)
    sent = form.get()
    address = PROVIDERS[sent.server].address or sent.address.strip()
    if not address:
        return _show(user, account_form=form.with_faults({"address": NO_ADDRESS}))
    try:
        wanted = CalDavWanted(address=address, username=sent.username.strip(), password=sent.password)
        await calendars.connect(work, user, wanted)
    except (CalendarFault, OutboundRefused) as refusal:
        return _show(user, account_form=form.with_faults(dict([find_server_fault(refusal)])))
    except Invalid as refusal:
        return _show(user, account_form=form.with_faults(refusal.faults))
    except Conflict as refusal:
        return _show(user, account_form=form.with_faults({"server": refusal.sentence}))
    return redirect(f"{HERE}?done=connected")


@post("/settings/calendars/connect/feed", transaction="none", limit=TRIES)
async def connect_feed(work: Work, user: User, form: Form[CalendarFeedForm]) -> Response:
    """Connect a feed; no connection to the database is held while it is fetched."""
    if form.faults:
        return _show(user, feed_form=form)
    try:
        await calendars.connect(work, user, IcsWanted(form.get().url))
    except (CalendarFault, OutboundRefused) as refusal:
        return _show(user, feed_form=form.with_faults({"url": find_feed_fault(refusal)}))
    except (Conflict, Invalid) as refusal:
        return _show(user, feed_form=form.with_faults({"url": refusal.sentence}))
    return redirect(f"{HERE}?done=connected")


def _show(
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
