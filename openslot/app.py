"""The ASGI app: every door with its handlers, the edge around them, and the lifespan."""

from collections.abc import Sequence

from openslot.domains.access.models import CredentialKind
from openslot.domains.bookings.public_api import READS, booking_limit
from openslot.domains.webhooks.schemas import WEBHOOKS
from openslot.doors.agents.door import agent_door
from openslot.doors.assistants.door import assistant_door, oauth_doors
from openslot.doors.http.doors import JSON, Door, enter_freely, enter_with, refuse_with_json
from openslot.doors.http.edge import App
from openslot.doors.http.health import HEALTH
from openslot.doors.http.openapi import Operation, describe, list_operations, serve_description
from openslot.doors.http.router import read_mounts
from openslot.doors.http.security import api_headers
from openslot.doors.public_tools.server import public_tool_door
from openslot.doors.scim.door import scim_door
from openslot.doors.web.api_docs.page import make_reference, serve_reference
from openslot.doors.web.door import web_doors
from openslot.platform.core.config import Settings
from openslot.platform.core.profiles import request_profile
from openslot.platform.core.work import Clock, Wiring, system_clock
from openslot.platform.routing import HandlerFunction, Mount
from openslot.routes import AGENTS, API, ASSISTANTS, NOTICES, PAGES, PUBLIC_TOOLS, SCIM
from openslot.runtime import open_runtime
from openslot.wiring import WIRING


def create_app(
    settings: Settings,
    *,
    wiring: Wiring = WIRING,
    clock: Clock = system_clock,
    more_routes: Sequence[HandlerFunction] = (),
) -> App:
    """Put the doors, their handlers and the edge together; the runtime opens when the server starts."""
    mounts = (
        *API,
        HEALTH,
        NOTICES,
        PAGES,
        SCIM,
        AGENTS,
        PUBLIC_TOOLS,
        ASSISTANTS,
        serve_description(lambda: describe(list_api(settings), WEBHOOKS, settings.public_url)),
        serve_reference(lambda: make_reference(list_api(settings), settings.public_url), limit=settings.limit_key),
        Mount(prefix="", handlers=more_routes),
    )
    router = read_mounts(mounts, doors(settings))
    profile = request_profile(settings)
    return App(router, lambda: open_runtime(settings, wiring=wiring, clock=clock, profile=profile))


def list_api(settings: Settings) -> tuple[Operation, ...]:
    return list_operations(read_mounts(API, doors(settings)))


def doors(settings: Settings) -> tuple[Door, ...]:
    headers = api_headers(settings)
    return (
        Door(
            name="rest",
            prefixes=("/api/v1/", "/api/v1"),
            enter=enter_with(CredentialKind.API_KEY),
            refuse=refuse_with_json,
            media_types=(JSON,),
            headers=headers,
            security="apiKey",
            retried_by=lambda exchange: str(exchange.entry.actor.credential_id),
        ),
        Door(
            name="public",
            prefixes=("/api/public/", "/api/bookings"),
            enter=enter_freely,
            refuse=refuse_with_json,
            media_types=(JSON,),
            headers=headers,
            open_to_other_origins=True,
            reads=READS,
            writes=booking_limit(settings),
        ),
        # Providers choose how they write; each handler verifies the bytes before it reads them.
        Door(
            name="notices",
            prefixes=("/api/notices/",),
            enter=enter_freely,
            refuse=refuse_with_json,
            headers=headers,
        ),
        Door(
            name="service",
            prefixes=("/api/", "/healthz", "/readyz", "/metrics"),
            enter=enter_freely,
            refuse=refuse_with_json,
            media_types=(JSON,),
            headers=headers,
        ),
        scim_door(settings),
        agent_door(settings),
        public_tool_door(settings),
        *oauth_doors(settings),
        assistant_door(settings),
        *web_doors(settings),
    )
