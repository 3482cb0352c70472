"""Refusals: what a verb or an entry point raises when it does not do what was asked."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from openslot.i18n import Text


class Refusal(Exception):  # noqa: N818 - a refusal is an answer, not a fault of the program
    """A request that is understood and not granted."""

    code: ClassVar[str]
    status: ClassVar[int]

    def __init__(
        self, message: str, *, details: Mapping[str, str] | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(str(message))
        self.message = str(message)
        """In English, for programs and logs."""
        self.details = {field: str(fault) for field, fault in details.items()} if details else None
        self.sentence = message
        """As it was raised: a `Text` can be shown in the reader's language."""
        self.faults = details or {}
        """The details as they were raised."""
        self.headers = headers or {}


class Invalid(Refusal):
    """What was sent is wrong; `details` names every field and its fault."""

    code = "invalid"
    status = 400

    def __init__(self, message: str = Text("Invalid request"), *, details: Mapping[str, str] | None = None) -> None:
        super().__init__(message, details=details)


class Unauthorized(Refusal):
    """No valid credential came with the request."""

    code = "unauthorized"
    status = 401

    def __init__(self, message: str = Text("Missing or invalid credentials")) -> None:
        super().__init__(message, headers={"WWW-Authenticate": "Bearer"})


class Forbidden(Refusal):
    """The caller is known and may not do this."""

    code = "forbidden"
    status = 403


class NotFound(Refusal):
    """It does not exist, or it is not the caller's: nobody can tell which."""

    code = "not_found"
    status = 404

    def __init__(self, message: str = Text("Not found")) -> None:
        super().__init__(message)


class MethodNotAllowed(Refusal):
    """The path exists and does not take this method."""

    code = "method_not_allowed"
    status = 405


class Conflict(Refusal):
    """The request conflicts with the current state; nothing was changed."""

    code = "conflict"
    status = 409


class TooLarge(Refusal):
    """The body is larger than the service reads."""

    code = "too_large"
    status = 413


class UnsupportedMedia(Refusal):
    """The body is not of a media type that this path reads."""

    code = "unsupported_media"
    status = 415


class TooMany(Refusal):
    """A limit is reached; waiting `Retry-After` seconds helps."""

    code = "too_many_requests"
    status = 429

    def __init__(
        self, message: str = Text("Too many requests"), *, retry_after: int, headers: dict[str, str] | None = None
    ):
        super().__init__(message, headers={"Retry-After": str(retry_after), **(headers or {})})
        self.retry_after = retry_after


class Internal(Refusal):
    """Something broke on our side; nothing was changed."""

    code = "internal"
    status = 500

    def __init__(self) -> None:
        super().__init__(Text("Internal server error"))


class Unavailable(Refusal):
    """The service can't answer right now; the same request may succeed soon."""

    code = "unavailable"
    status = 503

    def __init__(self, message: str = Text("The service is not available right now"), *, retry_after: int = 2) -> None:
        super().__init__(message, headers={"Retry-After": str(retry_after)})


class StartupError(Exception):
    """The process can't start; the message is the one sentence that the operator reads."""


def all_refusals(base: type[Refusal] = Refusal) -> Iterator[type[Refusal]]:
    """List every refusal class that is loaded, for the documentation and its test."""
    for refusal in base.__subclasses__():
        yield refusal
        yield from all_refusals(refusal)
