"""The API's description for machines: OpenAPI 3.1, generated from the routes and the handlers' own types."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from openslot import __version__
from openslot.doors.http.assets import Asset, make_asset, send_asset
from openslot.doors.http.doors import JSON, Door, Handler, Parameter, Route
from openslot.doors.http.handlers import takes_idempotency_key
from openslot.doors.http.router import Router
from openslot.platform.core.errors import NotFound
from openslot.platform.core.text import describe_checked
from openslot.platform.core.work import Work
from openslot.platform.flags.models import FlagKey
from openslot.platform.flags.operations import is_enabled
from openslot.platform.routing import Declaration, ErrorBody, JsonSchema, Mount, Request, Response, Webhook, get

REFERENCES = "#/components/schemas/{name}"
ERRORS = {
    400: "The request is invalid; `details` names every wrong field",
    401: "The API key is missing, wrong, expired or inactive",
    404: "The resource does not exist, or it is not yours",
    405: "The path does not support this method",
    409: "The request conflicts with the current state",
    410: "The link is used up, has ended or was revoked",
    413: "The body is larger than {size} KiB",
    415: "The body is not {media_type}",
    429: "A rate limit is exceeded; wait `Retry-After` seconds",
    500: "An internal error occurred; nothing was changed",
    503: "The service is temporarily unavailable; try again after `Retry-After` seconds",
}
MEDIA_TYPES = {JSON: "JSON"}
WRITES = frozenset({409, 413, 415})
UNSAID: tuple[object, ...] = (None, "", [], {})
"""Defaults that say nothing: whoever leaves the field out sends nothing."""


class Operation(Struct, frozen=True, kw_only=True):
    """One method of one path, as a caller sees it."""

    path: str
    declared: Declaration
    handler: Handler
    media_type: str
    security: str | None
    is_retried: bool
    """Whether it recognises the repeat of a request by an `Idempotency-Key`."""
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
        return next(schema for known, schema in zip(self._kinds, self._schemas, strict=True) if known is kind)


def list_operations(router: Router) -> tuple[Operation, ...]:
    """List what handlers do, in the order in which they are mounted."""
    return tuple(_operation(route, handler) for route in router.routes for handler in route.handlers.values())


def kinds_of(operations: Iterable[Operation]) -> list[Any]:
    kinds: list[Any] = [ErrorBody]
    for operation in operations:
        kinds += [parameter.kind for parameter in operation.handler.parameters]
        kinds += [operation.handler.returns, *([operation.handler.body.kind] if operation.handler.body else [])]
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
        path=route.template,
        declared=declaration,
        handler=handler,
        media_type=declaration.media_type or door.answers_in,
        security=door.security,
        is_retried=takes_idempotency_key(handler, door),
        errors=_errors(declaration, door),
    )


def _errors(declaration: Declaration, door: Door) -> dict[int, str]:
    """List how a method of a door can be refused; sizes and media types are the handler's own, or else its door's."""
    left_out = {
        # Only the public comes with links.
        401 if door.security is None else 410,
        *(WRITES if declaration.method == "GET" else ()),
        *((415,) if not door.media_types else ()),
    }
    size = (declaration.max_bytes or door.max_bytes) // 1024
    media_type = ", ".join(MEDIA_TYPES.get(each, each) for each in door.media_types[:1])
    return {
        status: words.format(size=size, media_type=media_type)
        for status, words in ERRORS.items()
        if status not in left_out
    }


TITLE = "Openslot API"
DESCRIPTION = """
Manage the bookings, contacts, event types and availability of the user that the API key belongs to.

Send an API key with every request: `Authorization: Bearer svc_live_…`. A key can make 60 requests in any 60 seconds;
`RateLimit-*` headers say how many are left, and `Retry-After` says how many seconds to wait after a refused request.
POST and PATCH accept an `Idempotency-Key`: a repeat within 24 hours gets the first response again. Use a random
text of 16 characters or more: a public booking that is repeated from another network with a shorter one is answered
without its links.
""".strip()
SECURITY = {
    "apiKey": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "svc_live_…",
        "description": "An API key of the user",
    }
}

TEXT: JsonSchema = {"type": "string"}
NUMBER: JsonSchema = {"type": "integer", "minimum": 0}
HEADERS = {
    "X-Request-Id": ("The name of the request in the service's log", TEXT, True),
    "X-Error-Code": ("A stable code for programs, such as `booking_not_found`", TEXT, True),
    "Retry-After": ("After how many seconds to try again", NUMBER, True),
    "RateLimit-Limit": ("How many requests are allowed in any 60 seconds", NUMBER, False),
    "RateLimit-Remaining": ("How many requests are left", NUMBER, False),
    "RateLimit-Reset": ("After how many seconds more requests are allowed", NUMBER, False),
    "Idempotent-Replayed": ("Present if this is the first response again", {"const": "true", **TEXT}, False),
    "WWW-Authenticate": ("How to authenticate", TEXT, True),
    "Allow": ("The methods that the path supports", TEXT, True),
}
"""The description and schema of each header, and whether every response that declares it has it."""
RATE = tuple(name for name in HEADERS if name.startswith("RateLimit-"))
HEADERS_OF = {401: ("WWW-Authenticate",), 405: ("Allow",), 429: ("Retry-After", *RATE), 503: ("Retry-After",)}
IDEMPOTENCY_KEY: JsonSchema = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Any text of your own: a repeat of the request within 24 hours gets the first response again",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]*$"},
}


def describe(operations: Sequence[Operation], webhooks: Sequence[Webhook], public_url: str) -> dict[str, Any]:
    """Describe these operations as they are served at this address, and the webhooks that are sent."""
    shapes = Shapes([*kinds_of(operations), *dict.fromkeys(webhook.data for webhook in webhooks)])
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.declared.method.lower()] = _describe(operation, shapes)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": TITLE,
            "version": __version__,
            "description": DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": public_url}],
        "paths": paths,
        "webhooks": {webhook.name: {"post": webhook.describe(shapes.of(webhook.data))} for webhook in webhooks},
        "components": {
            "schemas": {name: _without_defaults(schema) for name, schema in shapes.named.items()},
            "headers": {
                name: {"description": words, "schema": schema} | ({"required": True} if is_required else {})
                for name, (words, schema, is_required) in HEADERS.items()
            },
            "securitySchemes": SECURITY,
        },
    }


def _describe(operation: Operation, shapes: Shapes) -> dict[str, Any]:
    declared, handler = operation.declared, operation.handler
    described: dict[str, Any] = {
        "tags": [declared.tag],
        "summary": declared.summary,
        "description": declared.description,
        "operationId": declared.operation_id,
    }
    parameters: list[JsonSchema] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name, _ in handler.path_values
    ]
    parameters += [_parameter(parameter, shapes) for parameter in handler.parameters]
    parameters += [IDEMPOTENCY_KEY] if operation.is_retried else []
    if parameters:
        described["parameters"] = parameters
    if handler.body is not None:
        content = {"application/json": {"schema": shapes.of(handler.body.kind)}}
        described["requestBody"] = {"content": content, "required": handler.body.is_required}
    described["responses"] = _responses(operation, shapes)
    if operation.security is not None:
        described["security"] = [{operation.security: []}]
    return described


def _responses(operation: Operation, shapes: Shapes) -> dict[str, JsonSchema]:
    limited = RATE if operation.security is not None else ()
    replayed = ("Idempotent-Replayed",) if operation.is_retried else ()
    done = {
        "description": "Success",
        "headers": _headers("X-Request-Id", *limited, *replayed),
        "content": {operation.media_type: {"schema": shapes.of(operation.handler.returns)}},
    }
    refused = {JSON: {"schema": shapes.of(ErrorBody)}}
    return {str(operation.declared.status): done} | {
        str(status): {
            "description": words,
            "headers": _headers("X-Request-Id", "X-Error-Code", *HEADERS_OF.get(status, limited)),
            "content": refused,
        }
        for status, words in operation.errors.items()
    }


def _headers(*names: str) -> dict[str, JsonSchema]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _without_defaults(schema: JsonSchema) -> JsonSchema:
    """Say the defaults of fields in words: generators take a field that has one for a field that is always there."""
    if "properties" not in schema:
        return schema
    return {**schema, "properties": {name: _say_default(inner) for name, inner in schema["properties"].items()}}


def _say_default(schema: JsonSchema) -> JsonSchema:
    plain = {name: value for name, value in schema.items() if name != "default"}
    default = schema.get("default")
    if default in UNSAID:
        return plain
    written = default if isinstance(default, str) else msgspec.json.encode(default).decode()
    description = "; ".join(filter(None, (schema.get("description"), f"by default `{written}`")))
    return {**plain, "description": description[:1].upper() + description[1:]}


def _parameter(parameter: Parameter, shapes: Shapes) -> JsonSchema:
    schema = schema_of(parameter, shapes)
    described = {"name": parameter.name, "in": "query", "required": parameter.is_required, "schema": schema}
    return described | ({"description": schema["description"]} if "description" in schema else {})


def serve_description(describe_api: Callable[[], dict[str, Any]]) -> Mount:
    """Serve the description; it is generated on the first request."""

    # benchmarks/caches.py: description of the API, 410 times
    @cache
    def written() -> Asset:
        return make_asset(msgspec.json.encode(describe_api()), JSON)

    @get("/api/openapi.json")
    async def openapi_json(work: Work, request: Request) -> Response:
        """Hand the description out, unless it is switched off."""
        if not await is_enabled(work, FlagKey.API_DOCS):
            raise NotFound
        return send_asset(request, written(), {})

    return Mount(prefix="", handlers=[openapi_json])
