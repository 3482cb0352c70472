"""What the API can do, according to its routes: the source of its OpenAPI description and its reference page."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from openslot.core.checked import describe_checked
from openslot.http.doors import JSON, Door
from openslot.http.handlers import Handler
from openslot.http.queries import Parameter
from openslot.http.router import Route, Router
from openslot.routing import Declaration, ErrorBody
from openslot.routing.declarations import JsonSchema

REFERENCES = "#/components/schemas/{name}"
ERRORS = {
    400: "The request is invalid; `details` names every wrong field",
    401: "The API key is missing, wrong, expired or inactive",
    404: "The resource does not exist, or it is not yours",
    405: "The path does not support this method",
    409: "The request conflicts with the current state",
    413: "The body is larger than {size} KiB",
    415: "The body is not {media_type}",
    429: "A rate limit is exceeded; wait `Retry-After` seconds",
    500: "An internal error occurred; nothing was changed",
    503: "The service is temporarily unavailable; try again after `Retry-After` seconds",
}
MEDIA_TYPES = {JSON: "JSON"}
KEYED = frozenset({401})
TYPED = frozenset({415})
WRITES = frozenset({409, 413, 415})


class Operation(Struct, frozen=True, kw_only=True):
    """One method of one path, as a caller sees it."""

    method: str
    path: str
    summary: str
    description: str
    tag: str
    operation_id: str
    path_values: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    body: Any
    """Its type; None if there is no body."""
    is_body_required: bool
    status: int
    returns: Any
    media_type: str
    security: str | None
    errors: dict[int, str]


class Shapes:
    """The JSON Schemas of types, with named ones kept separately."""

    def __init__(self, kinds: Iterable[Any]) -> None:
        self._kinds = list(kinds)
        schemas, self.named = msgspec.json.schema_components(
            self._kinds, schema_hook=describe_checked, ref_template=REFERENCES
        )
        self._schemas = list(schemas)

    def of(self, kind: Any) -> JsonSchema:
        """Return the schema of one of the types."""
        return next(schema for known, schema in zip(self._kinds, self._schemas, strict=True) if known is kind)


def list_operations(router: Router) -> tuple[Operation, ...]:
    """List what handlers do, in the order in which they are mounted."""
    return tuple(_operation(route, handler) for route in router.routes for handler in route.handlers.values())


def kinds_of(operations: Iterable[Operation]) -> list[Any]:
    """List every type that operations take or return."""
    kinds: list[Any] = [ErrorBody]
    for operation in operations:
        kinds += [parameter.kind for parameter in operation.parameters]
        kinds += [operation.returns, *([operation.body] if operation.body is not None else [])]
    return kinds


def schema_of(parameter: Parameter, shapes: Shapes) -> JsonSchema:
    """Return a parameter's schema, including its default."""
    schema = shapes.of(parameter.kind)
    if parameter.is_required or parameter.default is None:
        return schema
    return {**schema, "default": msgspec.to_builtins(parameter.default)}


def _operation(route: Route, handler: Handler) -> Operation:
    declaration, door = handler.declaration, route.door
    return Operation(
        method=declaration.method,
        path=route.template,
        summary=declaration.summary,
        description=declaration.description,
        tag=declaration.tag,
        operation_id=declaration.operation_id,
        path_values=tuple(name for name, _ in handler.path_values),
        parameters=handler.parameters,
        body=handler.body.kind if handler.body else None,
        is_body_required=handler.body is not None and handler.body.is_required,
        status=declaration.status,
        returns=handler.returns,
        media_type=declaration.media_type or door.answers_in,
        security=door.security,
        errors=_errors(declaration, door),
    )


def _errors(declaration: Declaration, door: Door) -> dict[int, str]:
    """List how a method of a door can be refused; sizes and media types are the handler's own, or else its door's."""
    left_out = {
        *(KEYED if door.security is None else ()),
        *(WRITES if declaration.method == "GET" else ()),
        *(TYPED if not door.media_types else ()),
    }
    size = (declaration.most_bytes or door.most_bytes) // 1024
    media_type = ", ".join(MEDIA_TYPES.get(each, each) for each in door.media_types[:1])
    return {
        status: words.format(size=size, media_type=media_type)
        for status, words in ERRORS.items()
        if status not in left_out
    }
