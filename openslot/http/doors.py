"""Doors: which paths there are, who may come in by them, and in which shape they refuse."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from openslot.access.models import Entry
from openslot.accounts.models import User
from openslot.core.actor import PUBLIC
from openslot.core.errors import Refusal, Unauthorized
from openslot.core.work import House, Work

Scope = dict[str, Any]
Headers = Mapping[str, str]
RawHeaders = tuple[tuple[bytes, bytes], ...]

ANYONE = Entry(actor=PUBLIC)


class Answer(Struct, frozen=True, kw_only=True):
    """A whole answer, ready to be sent; pairs where a name may come twice, as with cookies."""

    status: int
    headers: dict[str, str] | tuple[tuple[str, str], ...]
    body: bytes

    def pairs(self) -> Iterable[tuple[str, str]]:
        """Go through the headers one by one."""
        return self.headers.items() if isinstance(self.headers, dict) else self.headers


class Enter(Protocol):
    """Turns a request's credential into an actor, or refuses."""

    def __call__(self, house: House, headers: Headers, address: str) -> Awaitable[Entry]:
        """Authenticate and count."""


class Count(Protocol):
    """Takes a place in a limit, or refuses."""

    def __call__(self, visit: "Visit", path: str) -> Awaitable[None]:
        """Count one request."""


class Door(Struct, frozen=True, kw_only=True):
    """One way in."""

    name: str
    prefixes: tuple[str, ...]
    enter: Enter
    refuse: Callable[[Refusal, "Visit"], Answer]
    media_types: tuple[str, ...] = ()
    headers: RawHeaders = ()
    open_to_other_origins: bool = False
    count: Count | None = None
    """A limit by address; taken before the work has a connection, so that nobody holds one and waits for a second."""
    retried_by: Callable[["Visit"], str | None] = lambda _: None
    """Whose retries are recognised: the scope of an Idempotency-Key, or None where there is none."""


class Visit:
    """One request between its coming in and its answer."""

    __slots__ = ("address", "body", "door", "entry", "headers", "house", "method", "request_id", "status", "work")

    work: Work
    """Begins when the visitor is in."""

    def __init__(
        self, *, house: House, door: Door, request_id: str, method: str, headers: Headers, address: str
    ) -> None:
        self.house = house
        self.door = door
        self.request_id = request_id
        self.method = method
        self.headers = headers
        self.address = address
        self.entry = ANYONE
        self.body = b""
        self.status = 500

    @property
    def user(self) -> User | None:
        """The user who came in, where it is one."""
        return self.entry.user


def get_user(visit: Visit) -> User:
    """Name the user who came in; there must be one."""
    user = visit.entry.user
    if user is None:
        raise Unauthorized
    return user


def visit_of(scope: Mapping[str, Any]) -> Visit:
    """Find the visit that a handler is serving."""
    visit: Visit = scope["openslot"]
    return visit


async def enter_freely(house: House, headers: Headers, address: str) -> Entry:
    """Let everyone in."""
    return ANYONE


def refuse_with_json(refusal: Refusal, visit: Visit) -> Answer:
    """Refuse as the REST contract says: `error`, and `details` where fields are at fault."""
    body: dict[str, object] = {"error": refusal.message}
    if refusal.details:
        body["details"] = refusal.details
    headers = {"content-type": "application/json", "x-error-code": refusal.code, **refusal.headers}
    return Answer(status=refusal.status, headers=headers, body=msgspec.json.encode(body))
