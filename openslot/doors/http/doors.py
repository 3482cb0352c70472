"""Doors: the entry points, each with its paths and its authentication; what is behind them, and what passes through."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from openslot.domains.access.door import enter
from openslot.domains.access.limits.operations import take_from_buckets
from openslot.domains.access.models import AgentEntry, AssistantEntry, CredentialKind, Entry, LimitVerdict
from openslot.domains.accounts.models import User
from openslot.doors.http.errors import headers_of, status_of
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.errors import Refusal, Unauthorized
from openslot.platform.core.work import Runtime, Work
from openslot.platform.routing import Declaration, Form, RateLimit, Request, Response

Headers = Mapping[str, str]
RawHeaders = tuple[tuple[bytes, bytes], ...]

ANYONE = Entry(actor=PUBLIC)
JSON = "application/json"
SAFE = frozenset({"GET", "HEAD"})
READ_BY_PAGES = "X-Request-Id, X-Error-Code, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset"

encode = msgspec.json.Encoder().encode


class Door(Struct, frozen=True, kw_only=True):
    name: str
    prefixes: tuple[str, ...]
    enter: Callable[["Exchange"], Awaitable[Entry]]
    """Turns a request's credential into an actor and counts it, or raises a refusal."""
    refuse: Callable[[Refusal, "Exchange"], Response]
    media_types: tuple[str, ...] = ()
    """The media types that it accepts, the first of which is named in refusals; empty means any."""
    answers_in: str = JSON
    write: Callable[[object, "Exchange"], bytes] = lambda body, _: encode(body)
    max_bytes: int = 256 * 1024
    headers: RawHeaders = ()
    """Added to every response that does not set them itself."""
    security: str | None = None
    """The name of its credential in the API's description."""
    open_to_other_origins: bool = False
    open_to: Callable[["Exchange"], str | None] | None = None
    """Returns the origin of the page that asks, if it is one of the few to which it is open."""
    allowed_headers: str = "Content-Type, Idempotency-Key"
    """The headers that pages of other sites may send, if it is open to them."""
    exposed_headers: str = f"{READ_BY_PAGES}, Idempotent-Replayed"
    """The headers of the response that they may read."""
    reads: RateLimit | None = None
    writes: RateLimit | None = None
    """Limits by address; counted before the work takes a connection, so that no request waits for a second one."""
    admit: Callable[["Exchange"], None] | None = None
    """Refuses requests before their credential is looked at."""
    check: Callable[["Exchange"], None] | None = None
    """Refuses requests that must not reach any handler."""
    answered: Callable[["Exchange", Response], Awaitable[None]] | None = None
    """Called with every response before it is sent, including refusals."""
    retried_by: Callable[["Exchange"], str | None] | None = None
    """Returns the scope of an Idempotency-Key, within which retries are recognised; None where there are none."""


class Parameter(Struct, frozen=True, kw_only=True):
    name: str
    argument: str
    kind: Any
    default: Any
    is_required: bool
    is_list: bool


class Body(Struct, frozen=True, kw_only=True):
    """The body that a handler takes, as `data` or as the `form` that a page shows again."""

    argument: str
    kind: Any
    is_required: bool


class Handler(Struct, frozen=True, kw_only=True):
    run: Callable[..., Awaitable[object]]
    declaration: Declaration
    template: str
    """The path as metrics and logs show it."""
    path_values: tuple[tuple[str, Callable[[str], object]], ...]
    parameters: tuple[Parameter, ...]
    body: Body | None
    given: "ArgumentSources"
    returns: Any
    shown_with: "ArgumentSources"
    shown_values: frozenset[str]
    """The arguments and the values of the path with which the page of its form is shown again."""


class Route(Struct, frozen=True, kw_only=True):
    """One path, with placeholders for its values, and the handler of each method."""

    template: str
    door: Door
    handlers: dict[str, Handler]
    allowed: str


ArgumentSources = tuple[tuple[str, Callable[["Exchange"], object]], ...]
RouteMatch = tuple[Route, Sequence[str]]


@dataclass(slots=True, kw_only=True, eq=False)
class Exchange(Request):
    """One request from its arrival to its response."""

    runtime: Runtime
    door: Door
    found: RouteMatch | None
    """The route of the path, if there is one."""
    request_id: str
    entry: Entry = ANYONE
    form: Form[Any] = Form()
    """The submitted form, if the page shows it again."""
    template: str | None = None
    """The path as it was declared, once its handler is found; the path itself may contain a secret."""
    work: Work = field(init=False)
    """Set once the caller is authenticated."""

    @property
    def user(self) -> User | None:
        return self.entry.user

    @property
    def chosen_locale(self) -> str | None:
        return self.entry.user.locale if self.entry.user else None

    @property
    def media_type(self) -> str:
        """The media type of the body, without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


def get_user(exchange: Exchange) -> User:
    user = exchange.entry.user
    if user is None:
        raise Unauthorized
    return user


def get_agent_entry(exchange: Exchange) -> AgentEntry:
    entry = exchange.entry
    if not isinstance(entry, AgentEntry):
        raise Unauthorized
    return entry


def get_assistant_entry(exchange: Exchange) -> AssistantEntry:
    entry = exchange.entry
    if not isinstance(entry, AssistantEntry):
        raise Unauthorized
    return entry


def enter_with(kind: CredentialKind) -> Callable[[Exchange], Awaitable[Entry]]:
    """Authenticate by a bearer's credential of one kind."""
    return lambda exchange: enter(
        exchange.runtime, kind, authorization=exchange.headers.get("authorization", ""), address=exchange.address
    )


async def enter_freely(_: Exchange) -> Entry:
    return ANYONE


def refuse_with_json(refusal: Refusal, exchange: Exchange) -> Response:
    """Refuse as the REST contract says: `error`, and `details` if fields are invalid."""
    body: dict[str, object] = {"error": refusal.message}
    if refusal.details:
        body["details"] = refusal.details
    headers = {"content-type": JSON, "x-error-code": refusal.code, **headers_of(refusal)}
    return Response(status=status_of(refusal), headers=headers, body=encode(body))


async def count(exchange: Exchange) -> None:
    """Count the request, and refuse it if its address is over the limit of any minute."""
    limit = limit_of(exchange)
    if limit is not None:
        await take(exchange.runtime, limit, exchange.address)


async def take(runtime: Runtime, limit: RateLimit, address: str) -> None:
    """Count one request of an address; for handlers that show a page when it is refused."""
    verdict = await runtime.batcher(_take_many).ask((limit, address))
    verdict.check()


async def take_own(runtime: Runtime, limit: RateLimit, user_id: UUID) -> None:
    """Count one act of a signed-in user, whatever the address; it stays counted if the act is refused."""
    await take(runtime, limit, str(user_id))


async def _take_many(runtime: Runtime, requests: Sequence[tuple[RateLimit, str]]) -> list[LimitVerdict]:
    """Count all waiting requests, with one statement for those that have the same limit."""
    verdicts: dict[int, LimitVerdict] = {}
    for max_ in {limit.max_ for limit, _ in requests}:
        buckets = {n: f"{limit.name}:{address}" for n, (limit, address) in enumerate(requests) if limit.max_ == max_}
        taken = await take_from_buckets(runtime.pool, list(buckets.values()), max_)
        verdicts.update(zip(buckets, taken, strict=True))
    return [verdicts[index] for index in range(len(requests))]


def limit_of(exchange: Exchange) -> RateLimit | None:
    """Return the limit that applies to a request: its handler's, or else its door's."""
    door = exchange.door
    is_read = exchange.method in SAFE
    if exchange.found is not None:
        handler = exchange.found[0].handlers.get("GET" if is_read else exchange.method)
        if handler is not None and handler.declaration.limit is not None:
            return handler.declaration.limit
    return door.reads if is_read else door.writes
