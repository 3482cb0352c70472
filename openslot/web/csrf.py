"""CSRF tokens: every form of a signed-in user carries one, which only pages of the same session contain."""

from uuid import UUID

from openslot.core.errors import Forbidden
from openslot.core.work import Runtime
from openslot.http.doors import Exchange, get_user
from openslot.http.forms import is_form, parse_fields
from openslot.i18n import Text

FIELD = "csrf"
HEADER = "x-csrf-token"
PURPOSE = "csrf"
TOKEN_BYTES = 16
STALE = Text("This form is out of date. Reload the page and send it again. Nothing was changed")


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
    token = exchange.headers.get(HEADER) or _sent_token(exchange)
    if not _is_token(exchange.runtime, session_id, token):
        raise Forbidden(STALE)


def _needs_user(exchange: Exchange) -> bool:
    """Return whether the handler acts for the signed-in user; pages that anyone may use do not."""
    handler = exchange.found[0].handlers.get(exchange.method) if exchange.found else None
    return handler is not None and ("user", get_user) in handler.given


def _sent_token(exchange: Exchange) -> str:
    if not is_form(exchange):
        return ""
    sent = parse_fields(exchange).get(FIELD, [""])[0]
    return sent if isinstance(sent, str) else ""


def _is_token(runtime: Runtime, session_id: UUID, token: str) -> bool:
    try:
        signature = bytes.fromhex(token)
    except ValueError:
        return False
    return runtime.signer.is_signed(PURPOSE, session_id.bytes, signature, length=TOKEN_BYTES)
