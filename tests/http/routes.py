"""Every route of the app as it is, so that rules can be held against all of them."""

from collections.abc import Iterator

from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute
from msgspec import Struct

from openslot.app import DEPENDENCIES, create_app
from openslot.core.config import load_settings
from openslot.http.routing import declare
from openslot.routes import api_routers


class Operation(Struct, frozen=True):
    """One method of one path."""

    method: str
    path: str
    handler: HTTPRouteHandler

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def framework() -> Litestar:
    """Make the app and take the edge off."""
    app = create_app(load_settings({}, environ={}))._app
    assert isinstance(app, Litestar)
    return app


def operations() -> Iterator[Operation]:
    """List what can be asked, OPTIONS aside."""
    for route in (*framework().routes, *declare(api_routers(), DEPENDENCIES)):
        assert isinstance(route, HTTPRoute), f"{route.path} is neither a page nor an operation"
        for method, (handler, _) in route.route_handler_map.items():
            if method != "OPTIONS":
                yield Operation(method, route.path_format, handler)


OPERATIONS = sorted(operations(), key=str)
REST = [one for one in OPERATIONS if one.path.startswith("/api/v1")]
JSON_API = [one for one in OPERATIONS if one.path.startswith("/api/") and one.path != "/api/docs"]
PUBLIC = [one for one in OPERATIONS if one.path.startswith(("/api/public/", "/api/bookings"))]
