"""Refusals: what a verb or an entry point raises when it does not do what was asked."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import ClassVar, TypeVar

from openslot.platform.i18n import Text

Found = TypeVar("Found")


class RefusalKind(StrEnum):
    """Why a request is not granted; each door says it in its own way."""

    INVALID = "invalid"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    GONE = "gone"
    """It was there, and is closed for good."""
    OUTDATED = "outdated"
    """The caller has not seen the current version."""
    RATE_LIMITED = "rate_limited"
    UNSUPPORTED = "unsupported"
    """The service does not offer this."""
    INTERNAL = "internal"
    UNAVAILABLE = "unavailable"


class Refusal(Exception):
    """A request that is understood and not granted."""

    code: ClassVar[str]
    kind: ClassVar[RefusalKind]
    message: str
    """The sentence in English. A class attribute, unless it depends on the case."""
    faults: Mapping[str, str] = {}
    """The fault of each field."""
    retry_after: int | None = None
    """How many seconds until the same request may succeed, if that is known."""

    def __init__(self, message: str | None = None, *, details: Mapping[str, str] | None = None) -> None:
        self.sentence = self.message if message is None else message
        """The message as it was raised: a `Text` can be shown in the reader's language."""
        self.message = str(self.sentence)
        self.faults = details or self.faults
        self.details = {field: str(fault) for field, fault in self.faults.items()} or None
        """The faults in English, for programs and logs."""
        super().__init__(self.message)


class Invalid(Refusal):
    """What was sent is wrong; `details` names every field and its fault."""

    code = "invalid_request"
    kind = RefusalKind.INVALID
    message: str = Text("Invalid request")


class Unauthorized(Refusal):
    """No valid credential came with the request."""

    code = "unauthorized"
    kind = RefusalKind.UNAUTHENTICATED
    message: str = Text("Missing or invalid credentials")


class Forbidden(Refusal):
    """The caller is known and may not do this."""

    code = "forbidden"
    kind = RefusalKind.FORBIDDEN


class NotFound(Refusal):
    """It does not exist, or it is not the caller's: nobody can tell which."""

    code = "not_found"
    kind = RefusalKind.NOT_FOUND
    message: str = Text("Not found")


class Conflict(Refusal):
    """The request conflicts with the current state; nothing was changed."""

    code = "conflict"
    kind = RefusalKind.CONFLICT


class Gone(Refusal):
    """What was asked for is closed for good; nothing was changed."""

    code = "gone"
    kind = RefusalKind.GONE


class RateLimited(Refusal):
    """A limit is reached; waiting `retry_after` seconds helps."""

    code = "rate_limited"
    kind = RefusalKind.RATE_LIMITED
    retry_after: int

    message: str = Text("Too many requests")

    def __init__(self, message: str | None = None, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Internal(Refusal):
    """Something broke on our side; nothing was changed."""

    code = "internal_error"
    kind = RefusalKind.INTERNAL
    message: str = Text("Internal server error")


class Unavailable(Refusal):
    """The service can't answer right now; the same request may succeed soon."""

    code = "service_unavailable"
    kind = RefusalKind.UNAVAILABLE

    message: str = Text("The service is not available right now")

    def __init__(self, message: str | None = None, *, retry_after: int = 2) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class StartupError(Exception):
    """The process can't start; the message is the one sentence that the operator reads."""


def all_refusals(base: type[Refusal] = Refusal) -> Iterator[type[Refusal]]:
    """List every refusal class that is loaded, for the documentation and its test."""
    for refusal in base.__subclasses__():
        yield refusal
        yield from all_refusals(refusal)


def require(found: Found | None, refusal: type[Refusal]) -> Found:
    """Return what was looked up, or raise the refusal if there is nothing."""
    if found is None:
        raise refusal
    return found
