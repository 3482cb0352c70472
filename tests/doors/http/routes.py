"""Every route of the app as it is, so that rules can be held against all of them."""

from msgspec import Struct

from openslot.app import create_app
from openslot.doors.http.doors import Handler
from openslot.platform.core.environment import load_settings


class Operation(Struct, frozen=True):
    """One method of one path."""

    method: str
    path: str
    handler: Handler

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


ROUTES = create_app(load_settings({}, environ={})).router.routes
OPERATIONS = sorted(
    (Operation(method, route.template, handler) for route in ROUTES for method, handler in route.handlers.items()),
    key=str,
)
REST = [one for one in OPERATIONS if one.path.startswith("/api/v1")]
JSON_API = [one for one in OPERATIONS if one.path.startswith("/api/") and one.path != "/api/docs"]
PUBLIC = [one for one in OPERATIONS if one.path.startswith(("/api/public/", "/api/bookings"))]
