"""How people sign in, and how a page shows a refusal."""

from urllib.parse import quote, urlsplit

from msgspec.structs import replace

from openslot.domains.access.door import enter_with_session
from openslot.domains.access.models import Entry
from openslot.domains.accounts.models import RESERVED
from openslot.doors.http.doors import Door, Exchange, enter_freely
from openslot.doors.http.errors import headers_of, status_of
from openslot.doors.http.forms import FORMS
from openslot.doors.http.security import page_headers
from openslot.doors.web.shared import words
from openslot.doors.web.shared.cookies import SESSION_COOKIE, check_csrf_token, read_cookie
from openslot.doors.web.shared.pages import page, redirect, write_page
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Forbidden, NotFound, Refusal, Unauthorized
from openslot.platform.i18n import Text
from openslot.platform.routing import Request, Response

# The first words of addresses that hosts hand to others.
PUBLIC_WORDS = frozenset({"manage", "team", "wait-list"})
SAFE = frozenset({"GET", "HEAD"})
FOREIGN = Text("This form was sent from another site. Nothing was changed")
TITLES = {
    403: Text("Not allowed"),
    404: Text("Page not found"),
    405: Text("Action not available"),
    410: Text("Link closed"),
    413: Text("Request too large"),
    415: Text("Request could not be read"),
    429: Text("Too many attempts"),
    500: Text("Something went wrong"),
    503: Text("Temporarily unavailable"),
}
FOR_INVITEES = frozenset(
    {"host_not_found", "event_type_not_found", "booking_not_found", "link_used_up", "link_ended", "link_revoked"}
)
NOT_YOURS = Text("It does not exist any more, or it belongs to somebody else. Look for it in your lists.")
NO_PAGE = Text("Nothing can be booked at this address. Check the link, or ask the person who sent it to you.")
# By the refusal's code, for cases where what to do matters more than what happened.
ADVICE = {
    "not_found": Text("Check the address, or go back to the previous page."),
    "host_not_found": NO_PAGE,
    "event_type_not_found": NO_PAGE,
    "booking_not_found": Text(
        "This link does not lead to a booking. Open the link in the newest email about it: links in older emails may be"
        " cut off. If it does not work either, reply to that email to reach your host."
    ),
    "method_not_allowed": Text("Go back to the previous page and try again."),
    "request_too_large": Text("What you sent is too large. Nothing was changed."),
    "unsupported_media_type": Text("Go back to the previous page and try again."),
    "internal_error": Text("Nothing was changed. Try again. If the problem continues, contact your administrator."),
    "service_unavailable": Text("The service is temporarily unavailable. Nothing was changed."),
    "invalid_invitation": Text("The invitation was used or has expired. Ask your organization for a new one."),
}


def web_doors(settings: Settings) -> tuple[Door, ...]:
    pages = Door(
        name="pages",
        prefixes=("/", "/api/docs"),
        enter=_enter,
        refuse=refuse_with_page,
        media_types=FORMS,
        write=write_page,
        headers=page_headers(settings),
        check=check_form,
    )
    free = replace(pages, enter=enter_freely, check=None)
    static = (
        "/static/",
        "/photos/",
        "/favicon.ico",
        "/llms.txt",
        "/.well-known/api-catalog",
        "/robots.txt",
        "/widget.js",
    )
    return (
        pages,
        # To everyone but administrators of the platform, the page does not exist.
        replace(pages, name="administration", prefixes=("/admin",), check=check_administrator),
        # Mail programs send the form that unsubscribes, without a cookie and from anywhere; the link is the credential.
        replace(free, name="unsubscribe", prefixes=("/unsubscribe/",), media_types=()),
        replace(free, name="static", prefixes=static),
    )


def refuse_with_page(refusal: Refusal, exchange: Exchange) -> Response:
    """Refuse with a page that says what happened and where to go; without a session, that is the sign-in."""
    if isinstance(refusal, Unauthorized):
        return ask_to_sign_in(exchange)
    status, wait = status_of(refusal), refusal.retry_after
    is_inside = exchange.user is not None and status < 500
    shown = page(
        "dashboard/refused.html" if is_inside else "refused.html",
        exchange.user,
        status=status,
        here=f"/{exchange.path.split('/')[1]}",
        # The answer must not tell which of two addresses exists.
        this_address="/",
        is_for_invitees=refusal.code in FOR_INVITEES,
        host_path=find_host_path(refusal, exchange),
        title=TITLES.get(status, TITLES[500]),
        advice=_find_advice(refusal.code, exchange, is_inside=is_inside),
        message=refusal.sentence,
        wait=words.wait(wait) if wait is not None else None,
    )
    headers = {**shown.headers, "x-error-code": refusal.code, **headers_of(refusal)}
    return replace(shown, headers=headers, body=write_page(shown.body, exchange))


def _find_advice(code: str, exchange: Exchange, *, is_inside: bool) -> Text | None:
    """Say what to do next: hosts on pages of their own have no email or host to ask."""
    is_own = is_inside and exchange.path.split("/")[1] in RESERVED - PUBLIC_WORDS
    return NOT_YOURS if is_own and code in FOR_INVITEES else ADVICE.get(code)


def find_host_path(refusal: Refusal, exchange: Exchange) -> str | None:
    """Return the path of the page that lists a host's other event types, if one of them was not found."""
    first, _, rest = exchange.path[1:].partition("/")
    return f"/{first}" if refusal.code == "event_type_not_found" and rest and first not in RESERVED else None


def ask_to_sign_in(request: Request) -> Response:
    """Redirect a visitor without a session to the sign-in, and afterwards back to the requested page."""
    wanted = request.path if request.method in SAFE else "/"
    return redirect(f"/login?next={quote(wanted)}")


def check_administrator(exchange: Exchange) -> None:
    if exchange.user is None:
        raise Unauthorized
    if not exchange.user.is_admin:
        raise NotFound
    check_form(exchange)


def check_form(exchange: Exchange) -> None:
    """Refuse a form that one of our own pages has not sent."""
    if exchange.method in SAFE:
        return
    check_same_origin(exchange)
    check_csrf_token(exchange)


def check_same_origin(exchange: Exchange) -> None:
    """Refuse a form that another site has sent on a visitor's behalf; only browsers send these headers."""
    if exchange.headers.get("sec-fetch-site", "none") in {"cross-site", "same-site"}:
        raise Forbidden(FOREIGN)
    origin = exchange.headers.get("origin")
    # Some proxies put their own name into Host; the public address is always ours.
    own = {exchange.headers.get("host", "").lower(), _host(exchange.runtime.settings.public_url)} - {""}
    if origin is not None and _host(origin) not in own:
        raise Forbidden(FOREIGN)


def _host(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


async def _enter(exchange: Exchange) -> Entry:
    return await enter_with_session(
        exchange.runtime, read_cookie(exchange, exchange.runtime.settings, SESSION_COOKIE) or None
    )
