"""How people come in, and how a page says no."""

from typing import Any
from urllib.parse import quote, urlsplit

from litestar import Response
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from openslot.access.door import enter_with_session
from openslot.access.models import Entry
from openslot.core.config import Settings
from openslot.core.errors import Forbidden, Refusal
from openslot.core.work import House
from openslot.http.doors import Answer, Door, Headers, Visit, enter_freely, visit_of
from openslot.http.security import page_headers
from openslot.web.pages import HTML, NOT_KEPT, PageRequest, redirect, render

COOKIE = "openslot_session"
FORM = ("application/x-www-form-urlencoded",)
SAFE = frozenset({"GET", "HEAD"})
FOREIGN = "This form was sent from another site. Nothing was changed."


def web_doors(settings: Settings) -> tuple[Door, ...]:
    """List the ways in for everything that is not an API."""
    headers = page_headers(settings)
    return (
        Door(
            name="pages",
            prefixes=("/", "/api/docs"),
            enter=_enter,
            refuse=refuse_with_page,
            media_types=FORM,
            headers=headers,
        ),
        Door(
            name="static",
            prefixes=("/static/", "/favicon.ico", "/robots.txt"),
            enter=enter_freely,
            refuse=refuse_with_page,
            media_types=FORM,
            headers=headers,
        ),
    )


def refuse_with_page(refusal: Refusal, visit: Visit) -> Answer:
    """Refuse with a page that says what happened and where to go."""
    wait = refusal.headers.get("Retry-After")
    body = render(
        "refused.html",
        visit,
        status=refusal.status,
        code=refusal.code,
        message=refusal.message,
        wait=int(wait) if wait else None,
    )
    # In capitals, so that it is taken as it is: of a lower-case one the framework would name the charset again.
    headers = {"Content-Type": HTML, "x-error-code": refusal.code, **NOT_KEPT, **refusal.headers}
    headers.pop("WWW-Authenticate", None)
    return Answer(status=refusal.status, headers=headers, body=body.encode())


def ask_to_sign_in(request: PageRequest, _: Exception) -> Response[str]:
    """Send someone without a session to the sign-in, and back afterwards to the page that was asked for."""
    wanted = request.scope["path"] if request.method in SAFE else "/account"
    return redirect(f"/login?next={quote(wanted)}")


def check_same_origin(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
    """Refuse a form that another site has sent in a visitor's name; what is no browser sends neither header."""
    if connection.scope.get("method") in SAFE:
        return
    visit = visit_of(connection.scope)
    if visit.headers.get("sec-fetch-site", "none") in {"cross-site", "same-site"}:
        raise Forbidden(FOREIGN)
    origin = visit.headers.get("origin")
    if origin is not None and _host(origin) not in _own_hosts(visit):
        raise Forbidden(FOREIGN)


def _own_hosts(visit: Visit) -> set[str]:
    # Some proxies put their own name into Host; the public address is ours in any case.
    return {visit.headers.get("host", "").lower(), _host(visit.work.house.settings.public_url)} - {""}


def _host(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def find_cookie(headers: Headers, name: str) -> str | None:
    """Read one cookie, whatever shape its neighbours have."""
    for part in headers.get("cookie", "").split(";"):
        found, _, value = part.strip().partition("=")
        if found == name and value:
            return value
    return None


async def _enter(house: House, headers: Headers, address: str) -> Entry:
    return await enter_with_session(house, find_cookie(headers, COOKIE))
