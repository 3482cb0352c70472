"""Refusals as HTTP says them: the status of each kind, and the headers."""

from openslot.access.errors import LimitReached
from openslot.core.errors import Refusal, RefusalKind
from openslot.http.errors import HttpRefusal

STATUSES = {
    RefusalKind.INVALID: 400,
    RefusalKind.UNAUTHENTICATED: 401,
    RefusalKind.FORBIDDEN: 403,
    RefusalKind.NOT_FOUND: 404,
    RefusalKind.CONFLICT: 409,
    RefusalKind.OUTDATED: 412,
    RefusalKind.RATE_LIMITED: 429,
    RefusalKind.INTERNAL: 500,
    RefusalKind.UNSUPPORTED: 501,
    RefusalKind.UNAVAILABLE: 503,
}


def status_of(refusal: Refusal) -> int:
    """Return the status of a refusal."""
    return refusal.status if isinstance(refusal, HttpRefusal) else STATUSES[refusal.kind]


def headers_of(refusal: Refusal) -> dict[str, str]:
    """Write the headers that tell a client what to do about a refusal."""
    if isinstance(refusal, HttpRefusal):
        return refusal.headers
    headers = {}
    if refusal.kind is RefusalKind.UNAUTHENTICATED:
        headers["WWW-Authenticate"] = "Bearer"
    if refusal.retry_after is not None:
        headers["Retry-After"] = str(refusal.retry_after)
    if isinstance(refusal, LimitReached):
        headers |= limit_headers(refusal.limit, 0, refusal.retry_after)
    return headers


def limit_headers(limit: int, left: int, reset: int) -> dict[str, str]:
    """Write the headers that tell a client how much of its limit is left, and in how many seconds there is more."""
    return {"RateLimit-Limit": str(limit), "RateLimit-Remaining": str(left), "RateLimit-Reset": str(reset)}
