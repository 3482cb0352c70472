"""Paths: which handler a path and a method name, and what a path is told that has no such method."""

from collections.abc import Mapping, Sequence

from litestar import Litestar
from litestar.di import Provide
from litestar.routes import HTTPRoute
from litestar.types import ControllerRouterHandler
from msgspec import Struct

from openslot.http.doors import Answer, Scope, Visit
from openslot.http.faults import allowed, wrong_method
from openslot.http.handlers import Give, Handler, handle, read_handler
from openslot.http.receiving import check_host


class Route(Struct, frozen=True, kw_only=True):
    """One path, with names where it has values, and the handler of each method."""

    template: str
    handlers: dict[str, Handler]
    allowed: str


Found = tuple[Route, Sequence[str]]


class _Fork:
    """Where a path may go on: by a word, or by any value."""

    __slots__ = ("route", "value", "words")

    def __init__(self) -> None:
        self.words: dict[str, _Fork] = {}
        self.value: _Fork | None = None
        self.route: Route | None = None


class Routes:
    """Every path that is answered without the framework."""

    def __init__(self) -> None:
        self._plain: dict[str, Route] = {}
        self._root = _Fork()

    def add(self, route: Route) -> None:
        """Take a route in; a path without values is found as a whole."""
        if "{" not in route.template:
            self._plain[route.template] = route
            return
        fork = self._root
        for part in filter(None, route.template.split("/")):
            if part.startswith("{"):
                fork.value = fork = fork.value or _Fork()
            else:
                fork = fork.words.setdefault(part, _Fork())
        if fork.route is not None:
            raise TypeError(f"{fork.route.template} and {route.template} are one path")
        fork.route = route

    def find(self, path: str) -> Found | None:
        """Find a path's route and the values in it; a word of a route's own is never taken for a value."""
        route = self._plain.get(path)
        if route is not None:
            return route, ()
        fork, values = self._root, []
        for part in filter(None, path.split("/")):
            next_fork = fork.words.get(part)
            if next_fork is None:
                next_fork = fork.value
                values.append(part)
            if next_fork is None:
                return None
            fork = next_fork
        return (fork.route, values) if fork.route is not None else None


async def answer_at(found: Found, visit: Visit, scope: Scope) -> Answer:
    """Answer with the handler of this method, or refuse the method."""
    check_host(visit.headers)
    route, values = found
    handler = route.handlers.get(scope["method"])
    if handler is None:
        raise wrong_method(visit, route.allowed)
    scope["path_template"] = route.template
    return await handle(handler, visit, values, scope["query_string"])


def read_routes(
    declarations: Sequence[ControllerRouterHandler], dependencies: Mapping[str, Provide], given: Mapping[str, Give]
) -> Routes:
    """Read the framework's declarations once; `given` is how to get without it what `dependencies` declares."""
    routes = Routes()
    for declared in declare(declarations, dependencies):
        methods = declared.route_handler_map
        values = tuple(part.name for part in declared.path_components if not isinstance(part, str))
        handlers: dict[str, Handler] = {
            method: read_handler(handler, values, given)
            for method, (handler, _) in methods.items()
            if method != "OPTIONS"
        }
        routes.add(Route(template=declared.path_format, handlers=handlers, allowed=allowed(methods)))
    return routes


def declare(declarations: Sequence[ControllerRouterHandler], dependencies: Mapping[str, Provide]) -> list[HTTPRoute]:
    """Let the framework put declarations and their routers together, in an app that is never served."""
    app = Litestar(route_handlers=declarations, dependencies=dependencies, openapi_config=None, logging_config=None)
    return [route for route in app.routes if isinstance(route, HTTPRoute)]
