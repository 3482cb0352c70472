"""The API's description: OpenAPI 3.1, made from the handlers' own types."""

from collections.abc import Mapping, Sequence
from typing import Any

from litestar import Litestar, get
from litestar.datastructures import State
from litestar.di import Provide
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, License, SecurityScheme, Server
from litestar.types import ControllerRouterHandler

from openslot import __version__
from openslot.webhooks.describing import tell_of_webhooks

DESCRIPTION = """
Read and change bookings, contacts, event types and availability of the user whose key is used.

Every request carries an API key: `Authorization: Bearer svc_live_…`. A key may make 60 requests in any 60 seconds;
`RateLimit-*` headers tell how many are left, and a refused request tells in `Retry-After` how long to wait.
POST and PATCH take an `Idempotency-Key`: a repeat within 24 hours gets the first answer again.
""".strip()


def describe(
    routes: Sequence[ControllerRouterHandler], dependencies: Mapping[str, Provide], public_url: str
) -> dict[str, Any]:
    """Describe these routes as they are served at this address.

    A second app is made for it and never served: the framework's own schema routes answer unknown paths with HTML.
    """
    config = OpenAPIConfig(
        title="Openslot API",
        version=__version__,
        description=DESCRIPTION,
        license=License(name="Apache-2.0", identifier="Apache-2.0"),
        servers=[Server(url=public_url)],
        use_handler_docstrings=True,
        create_examples=False,
        components=Components(
            security_schemes={
                "apiKey": SecurityScheme(
                    type="http", scheme="bearer", bearer_format="svc_live_…", description="An API key of the user"
                )
            }
        ),
    )
    app = Litestar(route_handlers=routes, dependencies=dependencies, openapi_config=config, logging_config=None)
    description = app.openapi_schema.to_schema()
    for operations in description["paths"].values():
        for operation in operations.values():
            _loosen_body(operation)
    tell_of_webhooks(description)
    return description


def _loosen_body(operation: dict[str, Any]) -> None:
    """Say that a body which may be null may be left out as well; the framework calls every body required."""
    body = operation.get("requestBody")
    if body is None:
        return
    schema = body["content"]["application/json"]["schema"]
    if {"type": "null"} in schema.get("oneOf", []):
        body["required"] = False


@get("/api/openapi.json", include_in_schema=False)
async def openapi_json(state: State) -> dict[str, Any]:
    """Hand the description out."""
    description: dict[str, Any] = state["describe"]()
    return description
