"""Doors: the entry points, each with its paths, its authentication and the form of its refusals."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import Struct

from openslot.access.models import AgentEntry, Entry
from openslot.accounts.models import User
from openslot.core.actor import PUBLIC
from openslot.core.errors import Refusal, Unauthorized
from openslot.core.work import Runtime, Work
from openslot.http.errors import headers_of, status_of
from openslot.routing import Form, RateLimit, Request, Response

if TYPE_CHECKING:
    from openslot.http.router import RouteMatch

AsgiScope = dict[str, Any]
Headers = Mapping[str, str]
RawHeaders = tuple[tuple[bytes, bytes], ...]

ANYONE = Entry(actor=PUBLIC)
JSON = "application/json"

encode = msgspec.json.Encoder().encode


class Authenticate(Protocol):
    """Turns a request's credential into an actor, or raises a refusal."""

    def __call__(self, runtime: Runtime, headers: Headers, address: str) -> Awaitable[Entry]:
        """Authenticate the request and count it."""


class Door(Struct, frozen=True, kw_only=True):
    name: str
    prefixes: tuple[str, ...]
    enter: Authenticate
    refuse: Callable[[Refusal, "Exchange"], Response]
    """Builds its error responses."""
    media_types: tuple[str, ...] = ()
    """The media types that it accepts, the first of which is named in refusals; empty means any."""
    answers_in: str = JSON
    write: Callable[[object, "Exchange"], bytes] = lambda body, _: encode(body)
    """Converts a handler's result to bytes."""
    max_bytes: int = 256 * 1024
    headers: RawHeaders = ()
    """Added to every response that does not set them itself."""
    security: str | None = None
    """The name of its credential in the API's description."""
    open_to_other_origins: bool = False
    reads: RateLimit | None = None
    writes: RateLimit | None = None
    """Limits by address; counted before the work takes a connection, so that no request waits for a second one."""
    admit: Callable[["Exchange"], None] | None = None
    """Refuses requests before their credential is looked at."""
    check: Callable[["Exchange"], None] | None = None
    """Refuses requests that must not reach any handler."""
    answered: Callable[["Exchange", Response], Awaitable[None]] | None = None
    """Called with every response before it is sent, including refusals."""
    retried_by: Callable[["Exchange"], str | None] = lambda _: None
    """Returns the scope of an Idempotency-Key, within which retries are recognised; None if there is none."""


class Exchange(Request):
    """One request from its arrival to its response."""

    __slots__ = ("door", "entry", "form", "found", "request_id", "runtime", "template", "work")

    work: Work
    """Set once the caller is authenticated."""

    def __init__(
        self,
        *,
        runtime: Runtime,
        door: Door,
        found: "RouteMatch | None",
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
        self.form: Form[Any] = Form()
        """What the page sent that shows its form again."""
        self.template: str | None = None
        """The path as it was declared, once its handler is found; the path itself may contain a secret."""

    @property
    def user(self) -> User | None:
        """The authenticated user, if there is one."""
        return self.entry.user

    @property
    def chosen_locale(self) -> str | None:
        """The language that the user has chosen."""
        return self.entry.user.locale if self.entry.user else None


def get_user(exchange: Exchange) -> User:
    """Return the authenticated user; there must be one."""
    user = exchange.entry.user
    if user is None:
        raise Unauthorized
    return user


def get_agent_entry(exchange: Exchange) -> AgentEntry:
    """Return the result of an agent's authentication; it must be an agent."""
    entry = exchange.entry
    if not isinstance(entry, AgentEntry):
        raise Unauthorized
    return entry


async def enter_freely(runtime: Runtime, headers: Headers, address: str) -> Entry:
    return ANYONE


def refuse_with_json(refusal: Refusal, exchange: Exchange) -> Response:
    """Refuse as the REST contract says: `error`, and `details` if fields are invalid."""
    body: dict[str, object] = {"error": refusal.message}
    if refusal.details:
        body["details"] = refusal.details
    headers = {"content-type": JSON, "x-error-code": refusal.code, **headers_of(refusal)}
    return Response(status=status_of(refusal), headers=headers, body=encode(body))
