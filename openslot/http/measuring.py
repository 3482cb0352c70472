"""Who may read the metrics: programs on this machine, and clients with the token."""

import hmac

from openslot.access.addresses import is_loopback, is_trusted
from openslot.access.door import bearer
from openslot.core.config import Settings
from openslot.core.errors import Unauthorized
from openslot.routing import Request

# A request that came through a proxy is not local, even if the proxy runs on this machine.
FORWARDED = frozenset({"forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip"})
REFUSED = "Metrics can be read on the machine itself, or with the token of OPENSLOT_METRICS_TOKEN"


def check_may_measure(request: Request, settings: Settings) -> None:
    """Refuse a request that is neither from this machine nor has the token."""
    if not (has_token(request, settings.metrics_token) or is_local(request, settings)):
        raise Unauthorized(REFUSED)


def has_token(request: Request, token: str | None) -> bool:
    """Return whether a request carries the token; never if the settings have none."""
    given = bearer(request.headers.get("authorization", ""))
    return token is not None and hmac.compare_digest(given.encode(), token.encode())


def is_local(request: Request, settings: Settings) -> bool:
    """Return whether a request was made on this machine, to this machine, and without a proxy in between.

    A browser on this machine can be sent to a foreign name that resolves to this machine; the `Host` header reveals
    that.
    """
    peer = request.peer or ""
    if not is_loopback(peer) or is_trusted(peer, settings.trusted_proxies):
        return False
    if any(name in FORWARDED or name.startswith("x-forwarded-") for name in request.headers):
        return False
    return is_loopback(request.headers.get("host", ""))
