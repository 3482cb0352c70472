"""Decorators: each attaches a declaration to a handler without changing the handler."""

import inspect
import pkgutil
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, Literal, TypeVar

from msgspec import Struct

from openslot.routing.parameters import is_query
from openslot.routing.requests import Request

HandlerFunction = Callable[..., Awaitable[Any]]
Transaction = Literal["none", "one"]
F = TypeVar("F", bound=HandlerFunction)

GIVEN = frozenset({"work", "user", "entry", "request", "data", "form"})
READS = frozenset({"GET", "HEAD"})


class QueryValues(Struct, frozen=True, kw_only=True):
    """The query parameters of a request, read one by one."""

    values: Mapping[str, Any]
    """The valid ones, by argument."""
    wrong: AbstractSet[str]
    """The invalid ones, by their own names."""
    now: datetime


Check = Callable[[QueryValues], dict[str, str]]


class RateLimit(Struct, frozen=True):
    """How often one address may do something in any minute; requests with the same name are counted together."""

    name: str
    most: int


class Declaration(Struct, frozen=True, kw_only=True):
    """What a handler declares."""

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
    most_bytes: int | None
    """The size limit of the body in bytes; None means the door's."""
    limit: RateLimit | None
    """Counted instead of the door's own limit."""
    retried_by: Callable[[Request], str | None] | None
    """Whose retries are recognised, instead of the door's own rule."""
    check: Check | None
    """Returns faults between query parameters that are valid one by one, by their names."""


class Mount(Struct, frozen=True, kw_only=True):
    """Handlers whose paths share a prefix."""

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
    most_bytes: int | None = None,
    limit: RateLimit | None = None,
    retried_by: Callable[[Request], str | None] | None = None,
    check: Check | None = None,
) -> Callable[[F], F]:
    """Declare a handler; defaults are derived from its name, module, docstring and method."""
    if transaction == "none" and retried_by is not None:
        raise TypeError("an answer is kept for retries in the handler's own transaction, and there is none")

    def attach(handler: F) -> F:
        description = inspect.getdoc(handler) or ""
        vars(handler)["declaration"] = Declaration(
            method=method,
            path=path if path is not None else _path_of(handler),
            status=status,
            summary=summary or _summary_of(handler),
            description=description,
            tag=tag or _tag_of(handler),
            operation_id=operation_id or _camel(handler.__name__),
            transaction=transaction or ("none" if method in READS else "one"),
            media_type=media_type,
            most_bytes=most_bytes,
            limit=limit,
            retried_by=retried_by,
            check=check,
        )
        return handler

    return attach


get = partial(route, "GET")
post = partial(route, "POST")
put = partial(route, "PUT")
patch = partial(route, "PATCH")
delete = partial(route, "DELETE")


def find_declaration(handler: HandlerFunction) -> Declaration | None:
    """Return the declaration that a decorator has attached."""
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
    values = [each.name for each in parameters if each.name not in GIVEN and not is_query(each.annotation)]
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
