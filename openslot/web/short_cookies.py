"""Short-lived cookies of a sign-in that is under way."""

from datetime import timedelta

from openslot.access.two_factor import PENDING_LASTS
from openslot.core.work import Work
from openslot.routing import Cookie, Request
from openslot.web.cookies import cookie_name, write_cookie

PENDING_COOKIE = "openslot_sign_in"


def pending_cookie(work: Work, token: str) -> Cookie:
    """Return the cookie of a sign-in that waits for its second factor."""
    return short_cookie(work, PENDING_COOKIE, token, lasts=PENDING_LASTS)


def pending_of(request: Request, work: Work) -> str:
    """Return the token of a sign-in that waits for its second factor; empty if there is none."""
    return short_cookie_of(request, work, PENDING_COOKIE)


def short_cookie(work: Work, name: str, value: str, *, lasts: timedelta) -> Cookie:
    """Return a cookie that the browser forgets soon."""
    return write_cookie(work, name, value, lasts=lasts)


def no_short_cookie(work: Work, name: str) -> Cookie:
    """Return the cookie that deletes a short-lived one from the browser."""
    return write_cookie(work, name, "")


def short_cookie_of(request: Request, work: Work, name: str) -> str:
    """Return a short-lived cookie's value; empty if there is none."""
    return request.cookies.get(cookie_name(work.runtime.settings, name), "")
