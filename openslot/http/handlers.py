"""Handlers, run without the framework: where each argument comes from, and how what is returned becomes an answer."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.serialization import default_serializer
from msgspec import Struct

from openslot.core.errors import Invalid
from openslot.http.bodies import Body, body_of, decode
from openslot.http.doors import Answer, Visit
from openslot.http.queries import Parameter, parameters_of, read_query

Give = Callable[[Visit], object]

NO_CONTENT = 204

# The hook is for subclasses of what JSON knows, such as a text that is known to be a moment.
_encode = msgspec.json.Encoder(enc_hook=default_serializer).encode


class Handler(Struct, frozen=True, kw_only=True):
    """A function behind a path, read once from its declaration."""

    run: Callable[..., Awaitable[object]]
    path_values: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    body: Body | None
    given: tuple[tuple[str, Give], ...]
    status: int
    headers: dict[str, str]


async def handle(handler: Handler, visit: Visit, values: Sequence[str], query: bytes) -> Answer:
    """Call a handler and write its answer; one that has more to say than a body returns the answer itself."""
    result = await handler.run(**_gather(handler, visit, values, query))
    if isinstance(result, Answer):
        return result
    body = _encode(result) if handler.status != NO_CONTENT else b""
    return Answer(status=handler.status, headers=handler.headers, body=body)


def _gather(handler: Handler, visit: Visit, values: Sequence[str], query: bytes) -> dict[str, object]:
    arguments, faults = read_query(handler.parameters, query)
    wanted = handler.body
    if wanted is not None and wanted.is_required and not visit.body:
        faults["body"] = "is required"
    if faults:
        raise Invalid(details=faults)
    if wanted is not None and visit.body:
        arguments["data"] = decode(visit.body, wanted.kind)
    arguments.update(zip(handler.path_values, values, strict=True))
    for name, give in handler.given:
        arguments[name] = give(visit)
    return arguments


def read_handler(declared: HTTPRouteHandler, path_values: tuple[str, ...], given: Mapping[str, Give]) -> Handler:
    """Read a declaration, or raise a `TypeError` where it asks for what nobody gives."""
    fields = declared.parsed_fn_signature.parameters
    parameters, body = parameters_of(declared), body_of(declared)
    known = {"data", *path_values, *given, *(each.argument for each in parameters)}
    texts = {name for name, field in fields.items() if field.annotation is str}
    if declared.has_sync_callable or not (texts.issuperset(path_values) and fields.keys() <= known):
        raise TypeError(f"{declared} must be async, take its path's values as texts, and know only {sorted(known)}")
    media_type = declared.media_type.value if isinstance(declared.media_type, Enum) else declared.media_type
    return Handler(
        run=declared.fn,
        path_values=path_values,
        parameters=parameters,
        body=body,
        given=tuple((name, give) for name, give in given.items() if name in fields),
        status=declared.status_code,
        headers={"content-type": media_type} if declared.status_code != NO_CONTENT else {},
    )
