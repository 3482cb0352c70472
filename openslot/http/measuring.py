"""Who may read the metrics: programs on this machine, and whoever has the token."""

import hmac

from openslot.access.addresses import is_loopback, is_trusted
from openslot.access.door import bearer
from openslot.core.config import Settings
from openslot.core.errors import Unauthorized
from openslot.routing import Request

# Whatever has passed a proxy comes from elsewhere, also where the proxy runs on this machine.
FORWARDED = frozenset({"forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip"})
REFUSED = "Metrics can be read on the machine itself, or with the token of OPENSLOT_METRICS_TOKEN"


def check_may_measure(request: Request, settings: Settings) -> None:
    """Refuse whoever is neither on this machine nor has the token."""
    if not (has_token(request, settings.metrics_token) or is_local(request, settings)):
        raise Unauthorized(REFUSED)


def has_token(request: Request, token: str | None) -> bool:
    """Tell whether a request carries the token; without one in the settings, none does."""
    given = bearer(request.headers.get("authorization", ""))
    return token is not None and hmac.compare_digest(given.encode(), token.encode())


def is_local(request: Request, settings: Settings) -> bool:
    """Tell whether a request was made on this machine, for this machine, and without a proxy between.

    A browser here can be led to a foreign name that stands for this machine: the `Host` gives that away.
    """
    peer = request.peer or ""
    if not is_loopback(peer) or is_trusted(peer, settings.trusted_proxies):
        return False
    if any(name in FORWARDED or name.startswith("x-forwarded-") for name in request.headers):
        return False
    return is_loopback(request.headers.get("host", ""))
