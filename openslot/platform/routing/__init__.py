"""What a handler gets and answers, and the decorators that declare it without changing it."""

import inspect
import pkgutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any, Generic, Literal, TypeVar
from urllib.parse import parse_qsl

from msgspec import Meta, Struct
from msgspec.structs import replace

from openslot.platform.core.errors import Refusal
from openslot.platform.core.work import Runtime

MAX_PARAMETERS = 50


@dataclass(slots=True, kw_only=True, eq=False)
class Request:
    method: str
    path: str
    query_string: bytes = b""
    headers: Mapping[str, str]
    """The headers by lower-case name."""
    address: str
    """The client's address behind any proxies, as limits count it."""
    peer: str | None = None
    """The other end of the connection, which may be a proxy."""
    body: bytes = b""
    """The unparsed body; empty if the method has none."""
    settled: object = None
    """The result of `settle` of the handler's declaration; None when the handler runs for the first time."""

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
    """The type of the submitted form, on a page that has several; None if none was sent."""

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


class Query(Struct, frozen=True):
    """Marks an argument as a query parameter; bounds and description are in its `Meta`, as for fields."""

    name: str | None = None
    """The name in a URL; None if it is that of the argument."""


def find_query(annotation: Any) -> Query | None:
    return next((each for each in getattr(annotation, "__metadata__", ()) if isinstance(each, Query)), None)


HandlerFunction = Callable[..., Awaitable[Any]]
Transaction = Literal["none", "one"]
F = TypeVar("F", bound=HandlerFunction)

GIVEN = frozenset({"work", "user", "entry", "request", "data", "form"})
READS = frozenset({"GET", "HEAD"})
NOWHERE: Mapping[type[Refusal], str] = {}
NO_NAMES: Mapping[str, str] = {}


class QueryValues(Struct, frozen=True, kw_only=True):
    """The query parameters of a request, read one by one."""

    values: Mapping[str, Any]
    """The valid ones, by argument."""
    wrong: AbstractSet[str]
    """The invalid ones, by their own names."""
    now: datetime


Check = Callable[[QueryValues], dict[str, str]]
Completion = Callable[[Runtime, Response], Awaitable[Response]]
Settling = Callable[[Runtime, Request, Refusal], Awaitable[object]]


class RateLimit(Struct, frozen=True):
    """How often one address may do something in any minute; requests with the same name are counted together."""

    name: str
    max_: int


class FormPage(Struct, frozen=True, kw_only=True, eq=False):
    """The page that is shown again if its form has faults or is refused."""

    show: HandlerFunction
    """Takes the form, with all faults; and what else handlers may ask for."""
    at: Mapping[type[Refusal], str]
    """The field at which a refusal that names no field is shown."""
    names: Mapping[str, str]
    """The fields that a verb calls otherwise than the form does, by the verb's names."""
    own_status: bool
    """Whether the page has the refusal's own status; otherwise it is 400."""

    def place(self, refusal: Refusal) -> dict[str, str]:
        """Return what a refusal says about each field of the form; empty if it is not about them."""
        if refusal.faults:
            return {self.names.get(name, name): fault for name, fault in refusal.faults.items()}
        field = next((field for kind, field in self.at.items() if isinstance(refusal, kind)), None)
        return {field: refusal.sentence} if field is not None else {}


class Declaration(Struct, frozen=True, kw_only=True):
    method: str
    path: str
    """Relative to the mount, unless it begins with `/api/`; `{name}` is a value, `{name:path}` the rest of a path."""
    status: int
    summary: str
    description: str
    tag: str
    operation_id: str
    transaction: Transaction
    media_type: str | None
    """The media type of the result; None means the door's."""
    max_bytes: int | None
    """The size limit of the body in bytes; None means the door's."""
    limit: RateLimit | None
    """The limit that is counted instead of the door's own."""
    retried_by: Callable[[Request], str | None] | None
    """Returns the caller by which retries are recognized, from what they send, instead of the door's own rule."""
    hide: Callable[[bytes], bytes] | None
    """Takes what is secret out of a kept response for whoever may have guessed the key of the retry."""
    check: Check | None
    """Returns faults between query parameters that are valid one by one, by their names."""
    is_public: bool
    """Whether everyone gets the same answer, which may then be compressed: it holds no secret and no form token."""
    settle: Settling | None
    """Called after a refusal is rolled back: raises it, or another, or what it returns lets the handler run again."""
    then: Completion | None
    """Completes a response after the commit, also one that was kept for a retry; if it refuses, that is forgotten."""
    form_page: FormPage | None
    """Set if the handler takes only a form without faults, and lets refusals pass."""


class Mount(Struct, frozen=True, kw_only=True):
    prefix: str
    handlers: Sequence[HandlerFunction]


def route(
    method: str,
    path: str | None = None,
    *,
    summary: str | None = None,
    tag: str | None = None,
    operation_id: str | None = None,
    status: int = 200,
    transaction: Transaction | None = None,
    media_type: str | None = None,
    max_bytes: int | None = None,
    limit: RateLimit | None = None,
    retried_by: Callable[[Request], str | None] | None = None,
    hide: Callable[[bytes], bytes] | None = None,
    check: Check | None = None,
    is_public: bool = False,
    settle: Settling | None = None,
    then: Completion | None = None,
    shows: HandlerFunction | None = None,
    at: Mapping[type[Refusal], str] = NOWHERE,
    names: Mapping[str, str] = NO_NAMES,
    own_status: bool = False,
) -> Callable[[F], F]:
    """Declare a handler; defaults are derived from its name, module, docstring and method.

    `shows` is the page that has the handler's form; `FormPage` says when it is shown again, and what the rest means.
    """
    if transaction == "none" and retried_by is not None:
        raise TypeError("an answer is kept for retries in the handler's own transaction, and there is none")

    def attach(handler: F) -> F:
        vars(handler)["declaration"] = Declaration(
            method=method,
            path=path if path is not None else _path_of(handler),
            status=status,
            summary=summary or _summary_of(handler),
            description=inspect.getdoc(handler) or "",
            tag=tag or _tag_of(handler),
            operation_id=operation_id or _camel(handler.__name__),
            transaction=transaction or ("none" if method in READS else "one"),
            media_type=media_type,
            max_bytes=max_bytes,
            limit=limit,
            retried_by=retried_by,
            hide=hide,
            check=check,
            is_public=is_public,
            settle=settle,
            then=then,
            form_page=FormPage(show=shows, at=at, names=names, own_status=own_status) if shows else None,
        )
        return handler

    return attach


get = partial(route, "GET")
post = partial(route, "POST")
put = partial(route, "PUT")
patch = partial(route, "PATCH")
delete = partial(route, "DELETE")


def find_declaration(handler: HandlerFunction) -> Declaration | None:
    declaration: Declaration | None = vars(handler).get("declaration")
    return declaration


def collect(*names: str) -> tuple[HandlerFunction, ...]:
    """Return every handler that these modules, or modules inside these packages, declare."""
    return tuple(
        member
        for name in names
        for module in _walk(import_module(name))
        for member in vars(module).values()
        if inspect.isfunction(member) and member.__module__ == module.__name__ and find_declaration(member)
    )


def _walk(module: ModuleType) -> Iterator[ModuleType]:
    yield module
    for inner in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{module.__name__}."):
        yield from _walk(import_module(inner.name))


def _path_of(handler: HandlerFunction) -> str:
    """Build the path from the domain's collection and the arguments that are not query, body or injected."""
    parameters = inspect.signature(handler).parameters.values()
    values = [each.name for each in parameters if each.name not in GIVEN and find_query(each.annotation) is None]
    return "/".join(("", _domain_of(handler).replace("_", "-"), *(f"{{{name}}}" for name in values)))


def _summary_of(handler: HandlerFunction) -> str:
    """Turn the name of a function into a title: `get_event_type` is "Get an event type"."""
    verb, _, noun = handler.__name__.replace("_", " ").partition(" ")
    article = "" if not noun or noun.endswith("s") else "an " if noun[0] in "aeiou" else "a "
    return f"{verb.capitalize()} {article}{noun}".rstrip()


def _tag_of(handler: HandlerFunction) -> str:
    if handler.__module__.endswith(".public_api"):
        return "Public"
    return _domain_of(handler).replace("_", " ").capitalize()


def _domain_of(handler: HandlerFunction) -> str:
    return handler.__module__.rpartition(".")[0].rpartition(".")[2]


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


JsonSchema = dict[str, Any]


class DescribedAs(Struct, frozen=True):
    """Marks a result that a function returns half written: its JSON is that of another type."""

    kind: Any


def described_type(returns: Any) -> Any:
    marks = getattr(returns, "__metadata__", ())
    return next((mark.kind for mark in marks if isinstance(mark, DescribedAs)), returns)


class Webhook(Struct, frozen=True, kw_only=True):
    """A request that we send: the type of its content, and how that type's schema becomes an OpenAPI operation."""

    name: str
    data: type[Struct]
    describe: Callable[[JsonSchema], JsonSchema]
