"""Refusals as HTTP says them: status and headers of each kind, those that only HTTP knows, and faults as refusals."""

from typing import ClassVar

import structlog

from openslot.domains.access.errors import LimitReached
from openslot.platform.core.db import is_refused
from openslot.platform.core.errors import Internal, Refusal, RefusalKind, Unavailable
from openslot.platform.core.outages import OUTAGE, REFUSED


class HttpRefusal(Refusal):
    """A request that is wrong as an HTTP request, whatever it asks for."""

    kind = RefusalKind.INVALID
    status: ClassVar[int]

    def __init__(self, message: str, *, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.headers = headers or {}


class RequestTimeout(HttpRefusal):
    """The request did not arrive in time."""

    code = "request_timeout"
    status = 408


class MethodNotAllowed(HttpRefusal):
    """The path exists and does not take this method."""

    code = "method_not_allowed"
    status = 405


class RequestTooLarge(HttpRefusal):
    """The body is larger than the service reads."""

    code = "request_too_large"
    status = 413


class UnsupportedMediaType(HttpRefusal):
    """The body is not of a media type that this path reads."""

    code = "unsupported_media_type"
    status = 415


class HeadersTooLarge(HttpRefusal):
    """The request line and the header fields are too large."""

    code = "headers_too_large"
    status = 431


STATUSES = {
    RefusalKind.INVALID: 400,
    RefusalKind.UNAUTHENTICATED: 401,
    RefusalKind.FORBIDDEN: 403,
    RefusalKind.NOT_FOUND: 404,
    RefusalKind.CONFLICT: 409,
    RefusalKind.GONE: 410,
    RefusalKind.OUTDATED: 412,
    RefusalKind.RATE_LIMITED: 429,
    RefusalKind.INTERNAL: 500,
    RefusalKind.UNSUPPORTED: 501,
    RefusalKind.UNAVAILABLE: 503,
}


def status_of(refusal: Refusal) -> int:
    return refusal.status if isinstance(refusal, HttpRefusal) else STATUSES[refusal.kind]


def headers_of(refusal: Refusal) -> dict[str, str]:
    if isinstance(refusal, HttpRefusal):
        return refusal.headers
    headers = {}
    if refusal.kind is RefusalKind.UNAUTHENTICATED:
        headers["WWW-Authenticate"] = "Bearer"
    if refusal.retry_after is not None:
        headers["Retry-After"] = str(refusal.retry_after)
    if isinstance(refusal, LimitReached):
        limit, reset = str(refusal.limit), str(refusal.retry_after)
        headers |= {"RateLimit-Limit": limit, "RateLimit-Remaining": "0", "RateLimit-Reset": reset}
    return headers


log = structlog.get_logger()


def translate(exception: Exception) -> Refusal:
    """Return the refusal that tells the caller what an exception means; unexpected exceptions are logged."""
    if isinstance(exception, Refusal):
        return exception
    if is_refused(exception):
        REFUSED.note(exception)
        OUTAGE.mention(exception)
        return Unavailable()
    log.error("request failed", exc_info=exception)
    return Internal()
