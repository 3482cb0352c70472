"""What a handler gets and answers: requests, responses and forms."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar
from urllib.parse import parse_qsl

from msgspec import Meta, Struct
from msgspec.structs import replace

MAX_PARAMETERS = 50


@dataclass(slots=True, kw_only=True, eq=False)
class Request:
    method: str
    path: str
    query_string: bytes = b""
    headers: Mapping[str, str]
    """By lower-case name."""
    address: str
    """The client's address behind any proxies, as limits count it."""
    peer: str | None = None
    """The other end of the connection, which may be a proxy."""
    body: bytes = b""
    """The unparsed body; empty if the method has none."""

    @property
    def chosen_locale(self) -> str | None:
        """The language that the sender has chosen, if the sender is known and has chosen one."""
        return None

    @property
    def query(self) -> dict[str, str]:
        """The query, parsed leniently, with the last of equal names; declare parameters that must be valid instead."""
        text = self.query_string.decode("latin-1")
        try:
            return dict(parse_qsl(text, keep_blank_values=True, errors="replace", max_num_fields=MAX_PARAMETERS))
        except ValueError:
            return {}

    @property
    def cookies(self) -> dict[str, str]:
        """The cookies, with the first of equal names; malformed ones do not affect the others."""
        found: dict[str, str] = {}
        for part in self.headers.get("cookie", "").split(";"):
            name, _, value = part.strip().partition("=")
            if value:
                found.setdefault(name, value)
        return found


class Cookie(Struct, frozen=True, kw_only=True):
    """A cookie for this site only, which scripts can't read."""

    name: str
    value: str
    max_age: int
    secure: bool

    def written(self) -> str:
        value = self.value or '""'
        parts = [f"{self.name}={value}", "HttpOnly", f"Max-Age={self.max_age}", "Path=/", "SameSite=lax"]
        return "; ".join([*parts, "Secure"] if self.secure else parts)


class Stream(Struct, frozen=True, kw_only=True):
    """A body of known size that is sent in pieces, each made when the one before is sent."""

    size: int
    pieces: AsyncIterator[bytes]


class Response(Struct, frozen=True, kw_only=True):
    """A whole response: bytes and streams are sent as they are, everything else as JSON."""

    status: int = 200
    headers: dict[str, str] = {}
    cookies: tuple[Cookie, ...] = ()
    body: object = b""


class ErrorBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An error."""

    error: Annotated[str, Meta(description="What is wrong, in English", examples=["Invalid request"])]
    details: Annotated[
        dict[str, str],
        Meta(
            description="What is wrong with each field, by its name; all wrong fields at once",
            examples=[{"page": "must be at least 1"}],
        ),
    ] = {}


class Success(Struct, frozen=True):
    """The request succeeded."""

    success: Annotated[bool, Meta(examples=[True])] = True


T = TypeVar("T")
S = TypeVar("S")


class WhenEmpty(Struct, frozen=True):
    """Marks a form field with the message to show when it is left empty."""

    words: str


class File(Struct, frozen=True, kw_only=True):
    """A file that a form has sent."""

    name: str
    media_type: str
    body: bytes


class Form(Struct, Generic[T], frozen=True, kw_only=True):
    """A form as it was sent, its decoded data, and its faults."""

    values: Mapping[str, str] = {}
    """The input as typed, by field."""
    faults: Mapping[str, str] = {}
    sent: T | None = None
    """The decoded data; None if a field is invalid."""
    kind: type | None = None
    """Which form it is, on a page that has several; None if none was sent."""

    def __getitem__(self, name: str) -> str:
        """Return the input as typed; empty if there was none."""
        return self.values.get(name, "")

    def get(self) -> T:
        """Return the data of a form without faults."""
        if self.sent is None:
            raise LookupError("the form has faults")
        return self.sent

    def with_faults(self, faults: Mapping[str, str]) -> "Form[T]":
        """Return the form with faults that a verb has found."""
        return replace(self, faults={**self.faults, **faults})

    def begin(self, values: Mapping[str, str]) -> "Form[T]":
        """Return the form as it was sent, or one that begins with these values."""
        return self if self.kind is not None else Form(values=values)

    def of(self, kind: type[S]) -> "Form[S]":
        """Return the form if it is of this kind, and an empty one of this kind otherwise."""
        return self if self.kind is kind else Form()  # type: ignore[return-value]
