"""Cookies and CSRF tokens: the browser's session, devices that are known, sign-ins and sign-ups that are under way."""

from datetime import timedelta
from uuid import UUID

from openslot.domains.access.models import SignedIn
from openslot.domains.access.operations import SESSION_LASTS
from openslot.domains.access.sessions import DEVICE_LASTS
from openslot.doors.http.doors import Exchange, get_user
from openslot.doors.http.forms import FORMS, parse_fields
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Forbidden
from openslot.platform.core.work import Runtime, Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Cookie, Request

SESSION_COOKIE, DEVICE_COOKIE, SIGN_UP_COOKIE = "openslot_session", "openslot_device", "openslot_sign_up"
PENDING_COOKIE = "openslot_sign_in"
FIELD = "csrf"
HEADER = "x-csrf-token"
PURPOSE = "csrf"
TOKEN_BYTES = 16


def cookies_for(work: Work, signed_in: SignedIn) -> tuple[Cookie, Cookie]:
    """Return the session cookie, and the cookie that marks a known device, which outlives the session."""
    return (
        write_cookie(work, SESSION_COOKIE, signed_in.session, lasts=SESSION_LASTS),
        write_cookie(work, DEVICE_COOKIE, signed_in.device, lasts=DEVICE_LASTS),
    )


def browser_of(request: Request) -> str:
    return "".join(sign for sign in request.headers.get("user-agent", "") if sign.isprintable())


def cookie_name(settings: Settings, name: str) -> str:
    """Return a cookie's whole name.

    With this prefix neither another host of the domain nor an unencrypted connection can set or replace it.
    """
    return f"__Host-{name}" if _is_secure(settings) else name


def read_cookie(request: Request, settings: Settings, name: str) -> str:
    """Return a cookie's value, empty if there is none; with https, only of the cookie that no other site can set."""
    return request.cookies.get(cookie_name(settings, name), "")


def delete_cookie(work: Work, name: str) -> Cookie:
    return write_cookie(work, name, "")


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


def csrf_token(runtime: Runtime, session_id: UUID | None) -> str:
    """Return the token of a session; empty if there is no session."""
    if session_id is None:
        return ""
    return runtime.signer.sign(PURPOSE, session_id.bytes)[:TOKEN_BYTES].hex()


def check_csrf_token(exchange: Exchange) -> None:
    """Refuse a form of a signed-in user that does not carry the token of the session, in its field or as a header."""
    session_id = exchange.entry.actor.credential_id
    if session_id is None or not _needs_user(exchange):
        return
    token = exchange.headers.get(HEADER) or read_field(exchange, FIELD) or ""
    if not _is_token(exchange.runtime, session_id, token):
        raise Forbidden(Text("This form is out of date. Reload the page and send it again. Nothing was changed"))


def _needs_user(exchange: Exchange) -> bool:
    """Return whether the handler acts for the signed-in user; pages that anyone may use do not."""
    handler = exchange.found[0].handlers.get(exchange.method) if exchange.found else None
    return handler is not None and ("user", get_user) in handler.given


def read_field(exchange: Exchange, name: str) -> str | None:
    """Return what a form says in one of its fields; None if that is no text, or if there is no form."""
    sent = parse_fields(exchange).get(name, [None])[0] if exchange.media_type in FORMS else None
    return sent if isinstance(sent, str) else None


def _is_token(runtime: Runtime, session_id: UUID, token: str) -> bool:
    try:
        signature = bytes.fromhex(token)
    except ValueError:
        return False
    return runtime.signer.is_signed(PURPOSE, session_id.bytes, signature, length=TOKEN_BYTES)
