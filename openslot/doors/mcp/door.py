"""What the doors of all tool servers share: requests that are meant for us, and errors as JSON-RPC writes them."""

from urllib.parse import urlsplit

from openslot.domains.access.door import is_address, is_loopback
from openslot.doors.http.doors import JSON, READ_BY_PAGES, Exchange, Headers
from openslot.doors.http.edge import check_declared_size
from openslot.doors.http.errors import headers_of, status_of
from openslot.doors.mcp.errors import OriginNotAllowed
from openslot.doors.mcp.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, RATE_LIMITED, UNAUTHORIZED, Id, write_error
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import RateLimited, Refusal, RefusalKind
from openslot.platform.routing import Response

MAX_BYTES = 256 * 1024
SENT_BY_CLIENTS = "Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id"
READ_BY_CLIENTS = f"WWW-Authenticate, MCP-Protocol-Version, Mcp-Session-Id, {READ_BY_PAGES}"
CODES = {
    RefusalKind.UNAUTHENTICATED: UNAUTHORIZED,
    RefusalKind.RATE_LIMITED: RATE_LIMITED,
    RefusalKind.INTERNAL: INTERNAL_ERROR,
    RefusalKind.UNAVAILABLE: INTERNAL_ERROR,
}


def admit(exchange: Exchange) -> None:
    """Refuse what is not meant for us or is too large, before its credential is looked at."""
    check_origin(exchange.headers, exchange.runtime.settings)
    check_declared_size(exchange.headers, MAX_BYTES)


def admit_some_origins(exchange: Exchange) -> None:
    """Admit the pages to which the door is open, and no others."""
    _check_name(exchange.headers, exchange.runtime.settings)
    open_to = exchange.door.open_to
    if "origin" in exchange.headers and (open_to is None or open_to(exchange) is None):
        raise OriginNotAllowed("Origin")
    check_declared_size(exchange.headers, MAX_BYTES)


def admit_any_origin(exchange: Exchange) -> None:
    """Admit the pages of all sites, where no credential is looked at; the name must be ours."""
    _check_name(exchange.headers, exchange.runtime.settings)
    check_declared_size(exchange.headers, MAX_BYTES)


def check_origin(headers: Headers, settings: Settings) -> None:
    """Refuse a request from another site's page, or to a name that is not ours but leads here."""
    host, origin = _check_name(headers, settings), headers.get("origin")
    if origin is not None and not _is_own_origin(origin.strip().lower(), host, settings):
        raise OriginNotAllowed("Origin")


def _check_name(headers: Headers, settings: Settings) -> str:
    host = headers.get("host", "").strip().lower()
    if host and not is_own_host(host, settings):
        raise OriginNotAllowed("Host")
    return host


def is_own_host(host: str, settings: Settings) -> bool:
    """Accept the public name, this machine, and, while no public name is set, every plain address of it."""
    if is_loopback(host) or (settings.base_url is None and is_address(host)):
        return True
    return _name(f"//{host}") == _name(settings.public_url)


def _is_own_origin(origin: str, host: str, settings: Settings) -> bool:
    """Accept our own pages, and on this machine those of other programs of it."""
    return is_public_origin(origin, settings) or (is_loopback(host) and is_loopback_origin(origin))


def is_public_origin(origin: str, settings: Settings) -> bool:
    own = urlsplit(settings.public_url.lower())
    return origin == f"{own.scheme}://{own.netloc}"


def is_loopback_origin(origin: str) -> bool:
    """Return whether a page comes from a program on the computer of whoever looks at it."""
    return is_loopback(_name(origin) or "")


def _name(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def refuse_with_rpc(refusal: Refusal, exchange: Exchange) -> Response:
    """Refuse with an error of JSON-RPC; the message is not read yet, so it has no id."""
    headers = {"content-type": JSON, "x-error-code": refusal.code, **headers_of(refusal)}
    return Response(status=status_of(refusal), headers=headers, body=write_refusal(refusal))


def write_refusal(refusal: Refusal, message_id: Id | None = None) -> bytes:
    code = CODES.get(refusal.kind, INVALID_REQUEST)
    return write_error(message_id, code, refusal.message, error_data(refusal))


def error_data(refusal: Refusal) -> dict[str, object]:
    if isinstance(refusal, RateLimited):
        return {"reason": refusal.code, "retryAfterSeconds": refusal.retry_after}
    return {"reason": refusal.code}
