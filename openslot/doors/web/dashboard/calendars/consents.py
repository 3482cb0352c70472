"""Pages: allow access to an account at another service, which asks on a page of its own and sends the browser back."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from openslot.domains.accounts.models import User
from openslot.domains.calendars.errors import CalendarFault, ConnectionNotFound
from openslot.domains.calendars.models import ConnectionRef
from openslot.domains.calendars.operations import connect_calendar, get_calendar_connection, renew_calendar_consent
from openslot.domains.oauth.models import CallbackQuery, ConsentIncomplete, OAuthVendor
from openslot.domains.oauth.operations import begin_oauth_consent, finish_oauth_consent, get_oauth_client
from openslot.doors.http.errors import status_of
from openslot.doors.web.dashboard.calendars import overview
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.errors import Conflict, Forbidden, NotFound, Refusal, Unavailable
from openslot.platform.core.outbound import OutboundRefused
from openslot.platform.core.work import Work
from openslot.platform.routing import Form, RateLimit, Request, Response, get, post

# Each begins something that is kept for ten minutes, or asks the other service.
TRIES = RateLimit("consents", 30)
CALENDAR_STEP = 3
REFUSALS = (Forbidden, Conflict, Unavailable, NotFound, CalendarFault, OutboundRefused)


class ConsentForm(Struct, frozen=True, kw_only=True):
    renews: Annotated[str, Meta(max_length=36)] = ""
    """The connection whose consent has ended; none if empty."""


@post("/connect/{vendor}", limit=TRIES)
async def begin_consent(work: Work, user: User, vendor: str, form: Form[ConsentForm]) -> Response:
    """Begin a consent, and show what the other service will ask for, with the link to it."""
    chosen = _read_vendor(vendor)
    renews = _read_id(form["renews"])
    if renews is not None:
        await get_calendar_connection(work, ConnectionRef(renews, user.id))
    client = get_oauth_client(work.runtime, chosen)
    url = await begin_oauth_consent(work, user, chosen, renews=renews)
    return page(
        "dashboard/calendars/consent.html", user, here=overview.HERE, client=client, service=client.name, url=url
    )


@get("/connect/{vendor}/callback", limit=TRIES)
async def finish_consent(request: Request, work: Work, user: User, vendor: str) -> Response:
    """Connect the account that its owner has allowed access to, or say what is missing."""
    answer = CallbackQuery(**{name: request.query.get(name, "") for name in CallbackQuery.__struct_fields__})
    chosen = _read_vendor(vendor)
    try:
        consent = await finish_oauth_consent(work, user, chosen, answer)
        if consent.renews is None:
            await connect_calendar(work, user, consent)
            # A new user goes on with the first steps.
            is_new = user.welcome_step == CALENDAR_STEP
            return redirect("/welcome/calendar" if is_new else f"{overview.HERE}?done=connected")
        await renew_calendar_consent(work, ConnectionRef(consent.renews, user.id), consent)
    except REFUSALS as refusal:
        return _refuse(work, user, chosen, refusal)
    return redirect(f"{overview.HERE}/{consent.renews}?done=renewed")


def _refuse(work: Work, user: User, vendor: OAuthVendor, refusal: Refusal) -> Response:
    client = get_oauth_client(work.runtime, vendor)
    return page(
        "dashboard/calendars/consent_refused.html",
        user,
        here=overview.HERE,
        status=status_of(refusal),
        client=client,
        service=client.name,
        message=refusal.sentence,
        missing=refusal.missing if isinstance(refusal, ConsentIncomplete) else (),
    )


def _read_vendor(name: str) -> OAuthVendor:
    try:
        return OAuthVendor(name)
    except ValueError:
        raise NotFound from None


def _read_id(text: str) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError:
        raise ConnectionNotFound from None
