"""How people come in, and how a page says no."""

from http.cookies import CookieError, SimpleCookie

from openslot.access.door import enter_with_session
from openslot.access.models import Entry
from openslot.core.config import Settings
from openslot.core.errors import Refusal
from openslot.core.work import House
from openslot.http.doors import Answer, Door, Headers, Visit
from openslot.http.security import page_headers
from openslot.web.pages import render

COOKIE = "openslot_session"


def page_door(settings: Settings) -> Door:
    """The way in for everything that is not an API."""
    return Door(
        name="pages",
        prefixes=("/",),
        enter=_enter,
        refuse=refuse_with_page,
        media_types=("application/x-www-form-urlencoded",),
        headers=page_headers(settings),
    )


def refuse_with_page(refusal: Refusal, visit: Visit) -> Answer:
    """Refuse with a page that says what happened and where to go."""
    body = render("refused.html", visit, status=refusal.status, message=refusal.message)
    headers = {"content-type": "text/html; charset=utf-8", "x-error-code": refusal.code, **refusal.headers}
    headers.pop("WWW-Authenticate", None)
    return Answer(status=refusal.status, headers=headers, body=body.encode())


async def _enter(house: House, headers: Headers, address: str) -> Entry:  # noqa: ARG001 - one shape for all
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        morsel = None
    return await enter_with_session(house, morsel.value if morsel else None)
