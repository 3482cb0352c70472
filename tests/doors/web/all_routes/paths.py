"""Every route of the web door, and its path with something for each parameter."""

import re
from collections.abc import Mapping
from functools import cache

from msgspec import Struct
from msgspec.structs import fields

from openslot.doors.http.doors import get_user
from openslot.doors.http.handlers import read_handler
from openslot.platform.routing import find_declaration
from openslot.routes import PAGES


class WebRoute(Struct, frozen=True):
    """A page, a file or a form."""

    method: str
    path: str
    needs_session: bool
    """Whether its handler asks for the user."""
    fields: tuple[str, ...]
    """What its form declares."""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@cache
def list_routes(method: str) -> tuple[WebRoute, ...]:
    """List the routes of the web door, as its modules declare them."""
    found = []
    for run in PAGES.handlers:
        declaration = find_declaration(run)
        assert declaration is not None
        if declaration.method == method:
            handler = read_handler(run, declaration, declaration.path)
            names = [each.encode_name for each in fields(handler.body.kind)] if handler.body else []
            found.append(WebRoute(method, declaration.path, ("user", get_user) in handler.given, tuple(names)))
    return tuple(found)


@cache
def find_route(method: str, path: str) -> WebRoute | None:
    """Find the route of a path; a name that is written out is nearer than a parameter."""
    fitting = [each for each in list_routes(method) if _pattern(each).fullmatch(path)]
    return min(fitting, key=lambda each: each.path.count("{"), default=None)


@cache
def _pattern(route: WebRoute) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{.+?\\\}", "[^/]+", re.escape(route.path)))


def fill(route: WebRoute, values: Mapping[str, str]) -> str:
    """Write a path: each parameter is what the longest beginning of the path has for its name, or the name alone."""
    path = route.path
    for name in re.findall(r"\{([^}]+)\}", path):
        parts = path.partition("{" + name)[0].split("/")
        beginnings = ("/".join(parts[:length]) for length in range(len(parts), 1, -1))
        keys = [f"{beginning} {name}" for beginning in (route.path, *beginnings)]
        key = next((key for key in (*keys, name) if key in values), None)
        assert key, f"{route}: tests/doors/web/all_routes/stage.py has nothing for {{{name}}}"
        path = path.replace(f"{{{name}}}", values[key])
    return path + values.get(f"{route.path} ?", "")
