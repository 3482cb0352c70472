"""The ASGI app: every door's routes, the edge around them, and the lifespan."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from operator import attrgetter
from typing import cast

from litestar import Litestar
from litestar.datastructures import State
from litestar.di import NamedDependency, Provide
from litestar.types import ControllerRouterHandler, Scope

from openslot.access.door import enter_with_key
from openslot.access.models import Entry
from openslot.accounts.models import User
from openslot.core.clock import Clock, system_clock
from openslot.core.config import Settings, load_settings
from openslot.core.events import Wiring
from openslot.core.log import set_up_logging
from openslot.core.work import House, Work
from openslot.house import open_house
from openslot.http.bodies import invitee_of
from openslot.http.doors import Door, Headers, Visit, enter_freely, get_user, refuse_with_json, visit_of
from openslot.http.edge import App, Edge
from openslot.http.faults import answer_exception
from openslot.http.guards import count_public
from openslot.http.handlers import Give
from openslot.http.health import health_router
from openslot.http.openapi import describe, openapi_json
from openslot.http.routing import read_routes
from openslot.http.security import api_headers
from openslot.routes import api_routers
from openslot.web.door import web_doors
from openslot.web.routes import pages_router
from openslot.wiring import WIRING


def _work(scope: Scope) -> Work:
    return visit_of(scope).work


# Each of these needs `work` only to come after it: the framework starts tasks for dependencies of equal rank.
def _user(scope: Scope, work: NamedDependency[Work]) -> User:
    return get_user(visit_of(scope))


def _address(scope: Scope, work: NamedDependency[Work]) -> str:
    return visit_of(scope).address


JSON = ("application/json",)
# What a handler may ask for by name: as the framework gets it, and as it is got without.
DEPENDENCIES = {
    "work": Provide(_work, sync_to_thread=False),
    "user": Provide(_user, sync_to_thread=False),
    "address": Provide(_address, sync_to_thread=False),
}
GIVEN: Mapping[str, Give] = {"work": attrgetter("work"), "user": get_user, "address": attrgetter("address")}


def create_app(
    settings: Settings,
    *,
    wiring: Wiring = WIRING,
    clock: Clock = system_clock,
    more_routes: Sequence[ControllerRouterHandler] = (),
) -> Edge:
    """Put the doors, their handlers and the edge together; the house opens when the server starts."""
    opened: list[House] = []

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        async with open_house(settings, wiring=wiring, clock=clock) as house:
            opened[:] = [house]
            yield

    api = api_routers()
    app = Litestar(
        route_handlers=[openapi_json, health_router, pages_router],
        dependencies=DEPENDENCIES,
        exception_handlers={Exception: answer_exception},
        openapi_config=None,
        state=State({"describe": cache(lambda: describe(api, DEPENDENCIES, settings.public_url))}),
        lifespan=[lifespan],
        logging_config=None,
    )
    routes = read_routes([*api, *more_routes], DEPENDENCIES, GIVEN)
    return Edge(cast("App", app), routes=routes, doors=doors(settings), house=lambda: opened[0])


def create_app_from_environment() -> Edge:
    """Make the app that a web process serves."""
    settings = load_settings()
    set_up_logging(settings)
    return create_app(settings)


def doors(settings: Settings) -> tuple[Door, ...]:
    """List every way in."""
    api = api_headers(settings)
    return (
        Door(
            name="rest",
            prefixes=("/api/v1/", "/api/v1"),
            enter=_enter_with_key,
            refuse=refuse_with_json,
            media_types=JSON,
            headers=api,
            retried_by=_credential,
        ),
        Door(
            name="public",
            prefixes=("/api/public/", "/api/bookings"),
            enter=enter_freely,
            refuse=refuse_with_json,
            media_types=JSON,
            headers=api,
            open_to_other_origins=True,
            count=count_public,
            retried_by=invitee_of,
        ),
        Door(
            name="service",
            prefixes=("/api/", "/healthz", "/readyz", "/metrics"),
            enter=enter_freely,
            refuse=refuse_with_json,
            media_types=JSON,
            headers=api,
        ),
        *web_doors(settings),
    )


def _credential(visit: Visit) -> str | None:
    return str(visit.entry.actor.credential_id)


async def _enter_with_key(house: House, headers: Headers, address: str) -> Entry:
    return await enter_with_key(house, headers.get("authorization", ""), address)
