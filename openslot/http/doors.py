"""Doors: which paths there are, who may come in by them, and in which shape they refuse."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import Struct

from openslot.access.models import Entry
from openslot.accounts.models import User
from openslot.core.actor import PUBLIC
from openslot.core.errors import Refusal, Unauthorized
from openslot.core.work import Runtime, Work
from openslot.routing import RateLimit, Request, Response

if TYPE_CHECKING:
    from openslot.http.router import Found

Scope = dict[str, Any]
Headers = Mapping[str, str]
RawHeaders = tuple[tuple[bytes, bytes], ...]

ANYONE = Entry(actor=PUBLIC)
JSON = "application/json"

encode = msgspec.json.Encoder().encode


class Enter(Protocol):
    """Turns a request's credential into an actor, or refuses."""

    def __call__(self, runtime: Runtime, headers: Headers, address: str) -> Awaitable[Entry]:
        """Authenticate and count."""


class Door(Struct, frozen=True, kw_only=True):
    """One way in."""

    name: str
    prefixes: tuple[str, ...]
    enter: Enter
    refuse: Callable[[Refusal, "Exchange"], Response]
    """The shape of its errors."""
    media_types: tuple[str, ...] = ()
    """Of the bodies that it takes, the first one named in refusals; none: any."""
    answers_in: str = JSON
    write: Callable[[object, "Exchange"], bytes] = lambda body, _: encode(body)
    """Makes bytes of what a handler returns."""
    most_bytes: int = 256 * 1024
    headers: RawHeaders = ()
    """On every answer that does not have its own."""
    security: str | None = None
    """What the API's description calls its credential."""
    open_to_other_origins: bool = False
    reads: RateLimit | None = None
    writes: RateLimit | None = None
    """Limits by address; taken before the work has a connection, so that nobody holds one and waits for a second."""
    check: Callable[["Exchange"], None] | None = None
    """Refuses what none of its handlers should see."""
    answered: Callable[["Exchange", Response], Awaitable[None]] | None = None
    """Called with every answer before it is sent, and whatever has been refused."""
    retried_by: Callable[["Exchange"], str | None] = lambda _: None
    """Whose retries are recognised: the scope of an Idempotency-Key, or None where there is none."""


class Exchange(Request):
    """One request between its coming in and its answer."""

    __slots__ = ("door", "entry", "found", "request_id", "runtime", "template", "work")

    work: Work
    """Begins when the caller is in."""

    def __init__(
        self,
        *,
        runtime: Runtime,
        door: Door,
        found: "Found | None",
        request_id: str,
        method: str,
        path: str,
        query_string: bytes,
        headers: Headers,
        address: str,
        peer: str | None = None,
    ) -> None:
        super().__init__(
            method=method, path=path, query_string=query_string, headers=headers, address=address, peer=peer
        )
        self.runtime = runtime
        self.door = door
        self.found = found
        """The route of the path, if there is one."""
        self.request_id = request_id
        self.entry = ANYONE
        self.template: str | None = None
        """The path as it was declared, once its handler is found: the path itself may hold a secret."""

    @property
    def user(self) -> User | None:
        """The user who came in, where it is one."""
        return self.entry.user


def get_user(exchange: Exchange) -> User:
    """Name the user who came in; there must be one."""
    user = exchange.entry.user
    if user is None:
        raise Unauthorized
    return user


async def enter_freely(runtime: Runtime, headers: Headers, address: str) -> Entry:
    """Let everyone in."""
    return ANYONE


def refuse_with_json(refusal: Refusal, exchange: Exchange) -> Response:
    """Refuse as the REST contract says: `error`, and `details` where fields are at fault."""
    body: dict[str, object] = {"error": refusal.message}
    if refusal.details:
        body["details"] = refusal.details
    headers = {"content-type": JSON, "x-error-code": refusal.code, **refusal.headers}
    return Response(status=refusal.status, headers=headers, body=encode(body))
