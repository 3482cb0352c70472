"""The API's description for machines: OpenAPI 3.1, generated from the handlers' own types."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import msgspec

from openslot import __version__
from openslot.core.errors import NotFound
from openslot.core.work import Work
from openslot.flags import operations as flags
from openslot.flags.models import FlagKey
from openslot.http.describing import Operation, Shapes, kinds_of, schema_of
from openslot.http.queries import Parameter
from openslot.routing import ErrorBody, Mount, Response, get
from openslot.routing.declarations import JsonSchema, Webhook

TITLE = "Openslot API"
DESCRIPTION = """
Manage the bookings, contacts, event types and availability of the user that the API key belongs to.

Send an API key with every request: `Authorization: Bearer svc_live_…`. A key can make 60 requests in any 60 seconds;
`RateLimit-*` headers say how many are left, and `Retry-After` says how many seconds to wait after a refused request.
POST and PATCH accept an `Idempotency-Key`: a repeat within 24 hours gets the first response again.
""".strip()
SECURITY = {
    "apiKey": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "svc_live_…",
        "description": "An API key of the user",
    }
}


def describe(operations: Sequence[Operation], webhooks: Sequence[Webhook], public_url: str) -> dict[str, Any]:
    """Describe these operations as they are served at this address, and the webhooks that are sent."""
    shapes = Shapes([*kinds_of(operations), *dict.fromkeys(webhook.data for webhook in webhooks)])
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _describe(operation, shapes)
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
        "components": {"schemas": shapes.named, "securitySchemes": SECURITY},
    }


def _describe(operation: Operation, shapes: Shapes) -> dict[str, Any]:
    described: dict[str, Any] = {
        "tags": [operation.tag],
        "summary": operation.summary,
        "description": operation.description,
        "operationId": operation.operation_id,
    }
    parameters = [_path_value(name) for name in operation.path_values]
    parameters += [_parameter(parameter, shapes) for parameter in operation.parameters]
    if parameters:
        described["parameters"] = parameters
    if operation.body is not None:
        content = {"application/json": {"schema": shapes.of(operation.body)}}
        described["requestBody"] = {"content": content, "required": operation.is_body_required}
    done = {"description": "Success", "content": {operation.media_type: {"schema": shapes.of(operation.returns)}}}
    described["responses"] = {str(operation.status): done} | {
        str(status): _refusal(words, shapes) for status, words in operation.errors.items()
    }
    if operation.security is not None:
        described["security"] = [{operation.security: []}]
    return described


def _path_value(name: str) -> JsonSchema:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _parameter(parameter: Parameter, shapes: Shapes) -> JsonSchema:
    schema = schema_of(parameter, shapes)
    described = {"name": parameter.name, "in": "query", "required": parameter.is_required, "schema": schema}
    return described | ({"description": schema["description"]} if "description" in schema else {})


def _refusal(words: str, shapes: Shapes) -> JsonSchema:
    return {"description": words, "content": {"application/json": {"schema": shapes.of(ErrorBody)}}}


def serve_description(describe_api: Callable[[], dict[str, Any]]) -> Mount:
    """Serve the description; it is generated on the first request."""

    @cache
    def written() -> bytes:
        return msgspec.json.encode(describe_api())

    @get("/api/openapi.json")
    async def openapi_json(work: Work) -> Response:
        """Hand the description out, unless it is switched off."""
        if not await flags.is_enabled(work, FlagKey.API_DOCS):
            raise NotFound
        return Response(headers={"content-type": "application/json"}, body=written())

    return Mount(prefix="", handlers=[openapi_json])
