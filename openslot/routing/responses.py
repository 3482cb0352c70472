"""Responses: for handlers that return more than a body, and bodies that many handlers share."""

from collections.abc import AsyncIterator
from typing import Annotated

from msgspec import Meta, Struct


class Cookie(Struct, frozen=True, kw_only=True):
    """A cookie for this site only, which scripts can't read."""

    name: str
    value: str
    max_age: int
    secure: bool

    def written(self) -> str:
        """Write the value of a `Set-Cookie` header."""
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
