"""Refusals that only HTTP knows: they say their own status and headers."""

from typing import ClassVar

from openslot.core.errors import Refusal, RefusalKind


class HttpRefusal(Refusal):
    """A request that is wrong as an HTTP request, whatever it asks for."""

    kind = RefusalKind.INVALID
    status: ClassVar[int]

    def __init__(self, message: str, *, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.headers = headers or {}


class RequestTimeout(HttpRefusal):
    """The request did not arrive in time."""

    code = "timeout"
    status = 408


class MethodNotAllowed(HttpRefusal):
    """The path exists and does not take this method."""

    code = "method_not_allowed"
    status = 405


class TooLarge(HttpRefusal):
    """The body is larger than the service reads."""

    code = "too_large"
    status = 413


class UnsupportedMedia(HttpRefusal):
    """The body is not of a media type that this path reads."""

    code = "unsupported_media"
    status = 415


class HeadTooLarge(HttpRefusal):
    """The request line and the header fields are too large."""

    code = "head_too_large"
    status = 431
