"""Cookies: the browser's session, the mark of a device that the user has signed in with before, and a sign-up's."""

from datetime import timedelta

from openslot.access.models import SignedIn
from openslot.access.operations import SESSION_LASTS
from openslot.access.sessions import DEVICE_LASTS
from openslot.accounts.sign_ups import LASTS as SIGN_UP_LASTS
from openslot.core.config import Settings
from openslot.core.work import Work
from openslot.routing import Cookie, Request

SESSION_COOKIE, DEVICE_COOKIE, SIGN_UP_COOKIE = "openslot_session", "openslot_device", "openslot_sign_up"


def cookies_for(work: Work, signed_in: SignedIn) -> tuple[Cookie, Cookie]:
    """Return the session cookie, and the cookie that marks a known device, which outlives the session."""
    return (
        write_cookie(work, SESSION_COOKIE, signed_in.session, lasts=SESSION_LASTS),
        write_cookie(work, DEVICE_COOKIE, signed_in.device, lasts=DEVICE_LASTS),
    )


def no_session_cookie(work: Work) -> Cookie:
    """Return the cookie that deletes the session from the browser."""
    return write_cookie(work, SESSION_COOKIE, "")


def sign_up_cookie(work: Work, browser: str) -> Cookie:
    """Return the cookie by which the browser that sent the sign-up form is recognised; empty deletes it."""
    return write_cookie(work, SIGN_UP_COOKIE, browser, lasts=SIGN_UP_LASTS)


def session_of(request: Request, settings: Settings) -> str | None:
    """Return the session's token, if there is one; with https, only from the cookie that no other site can set."""
    return request.cookies.get(cookie_name(settings, SESSION_COOKIE))


def device_of(request: Request, work: Work) -> str:
    """Return the mark of a known device; empty if there is none."""
    return request.cookies.get(cookie_name(work.runtime.settings, DEVICE_COOKIE), "")


def sign_up_of(request: Request, work: Work) -> str:
    """Return the mark of the browser that sent the sign-up form; empty if there is none."""
    return request.cookies.get(cookie_name(work.runtime.settings, SIGN_UP_COOKIE), "")


def browser_of(request: Request) -> str:
    """Return the browser's name for itself."""
    return "".join(sign for sign in request.headers.get("user-agent", "") if sign.isprintable())


def cookie_name(settings: Settings, name: str) -> str:
    """Return a cookie's whole name.

    With this prefix neither another host of the domain nor an unencrypted connection can set or replace it.
    """
    return f"__Host-{name}" if _is_secure(settings) else name


def write_cookie(work: Work, name: str, value: str, *, lasts: timedelta = timedelta()) -> Cookie:
    """Return a cookie of ours under its whole name; an empty value deletes it from the browser."""
    settings = work.runtime.settings
    return Cookie(
        name=cookie_name(settings, name),
        value=value,
        max_age=int(lasts.total_seconds()) if value else 0,
        secure=_is_secure(settings),
    )


def _is_secure(settings: Settings) -> bool:
    return settings.public_url.startswith("https://")
