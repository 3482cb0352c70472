"""Cookies: the browser's session, and the mark of a device that the user has signed in with before."""

from datetime import timedelta

from openslot.access.devices import DEVICE_LASTS
from openslot.access.models import SignedIn
from openslot.access.operations import SESSION_LASTS
from openslot.core.work import Work
from openslot.routing import Cookie, Request
from openslot.web.door import COOKIE

DEVICE_COOKIE = "openslot_device"


def cookies_for(work: Work, signed_in: SignedIn) -> tuple[Cookie, Cookie]:
    """Return the session cookie, and the cookie that marks a known device, which outlives the session."""
    is_secure = _is_secure(work)
    return (
        Cookie(name=COOKIE, value=signed_in.session, max_age=_seconds(SESSION_LASTS), secure=is_secure),
        Cookie(name=_device_name(work), value=signed_in.device, max_age=_seconds(DEVICE_LASTS), secure=is_secure),
    )


def no_session_cookie(work: Work) -> Cookie:
    """Return the cookie that deletes the session from the browser."""
    return Cookie(name=COOKIE, value="", max_age=0, secure=_is_secure(work))


def device_of(request: Request, work: Work) -> str:
    """Return the mark of a known device; empty if there is none."""
    return request.cookies.get(_device_name(work), "")


def browser_of(request: Request) -> str:
    """Return the browser's name for itself."""
    return "".join(sign for sign in request.headers.get("user-agent", "") if sign.isprintable())


def _device_name(work: Work) -> str:
    # With this prefix neither another host of the domain nor an unencrypted connection can set or replace it.
    return f"__Host-{DEVICE_COOKIE}" if _is_secure(work) else DEVICE_COOKIE


def _seconds(time: timedelta) -> int:
    return int(time.total_seconds())


def _is_secure(work: Work) -> bool:
    return work.runtime.settings.public_url.startswith("https://")
