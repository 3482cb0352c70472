"""Routing: finds the handler for a path and a method, and the refusal if there is none."""

import re
from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from openslot.core.errors import NotFound
from openslot.http.doors import Door, Exchange
from openslot.http.errors import MethodNotAllowed
from openslot.http.handlers import Handler, read_handler
from openslot.routing import Mount, find_declaration

REST_OF_PATH = ":path}"


class Route(Struct, frozen=True, kw_only=True):
    """One path, with placeholders for its values, and the handler of each method."""

    template: str
    door: Door
    handlers: dict[str, Handler]
    allowed: str


Found = tuple[Route, Sequence[str]]


class _Fork:
    """A node of the routing tree: a path continues with a fixed word, with any value, or with its whole rest."""

    __slots__ = ("rest", "route", "value", "words")

    def __init__(self) -> None:
        self.words: dict[str, _Fork] = {}
        self.value: _Fork | None = None
        self.rest: Route | None = None
        self.route: Route | None = None


class Router:
    """All routes."""

    def __init__(self, doors: Sequence[Door]) -> None:
        self._doors = {f"{prefix.rstrip('/')}/": door for door in reversed(doors) for prefix in door.prefixes}
        longest_first = sorted(self._doors, key=len, reverse=True)
        self._prefix = re.compile("|".join(map(re.escape, longest_first)))
        self._plain: dict[str, Route] = {}
        self._root = _Fork()
        self.routes: list[Route] = []

    def add(self, route: Route) -> None:
        """Add a route; a path without values is matched as a whole."""
        self.routes.append(route)
        if "{" not in route.template:
            self._plain[route.template] = route
            return
        fork = self._root
        for part in filter(None, route.template.split("/")):
            if part.endswith(REST_OF_PATH):
                fork.rest = route
                return
            if part.startswith("{"):
                fork.value = fork = fork.value or _Fork()
            else:
                fork = fork.words.setdefault(part, _Fork())
        if fork.route is not None:
            raise TypeError(f"{fork.route.template} and {route.template} are one path")
        fork.route = route

    def find(self, path: str) -> tuple[Door, Found | None]:
        """Return a path's door, and its route with the values in the path."""
        route = self._plain.get(path)
        if route is not None:
            return route.door, (route, ())
        door, found = self.door_of(path), self._follow(path)
        # A placeholder matches any word, so a path of one door may match a route of another.
        return door, found if found is not None and found[0].door is door else None

    def door_of(self, path: str) -> Door:
        """Return the door with the longest prefix of this path."""
        prefix = self._prefix.match(f"{path}/")
        if prefix is None:
            raise LookupError("a path without a door")
        return self._doors[prefix[0]]

    def _follow(self, path: str) -> Found | None:
        """Match word by word; a fixed word of a route takes precedence over a value."""
        fork = self._root
        values: list[str] = []
        parts = list(filter(None, path.split("/")))
        for place, part in enumerate(parts):
            if fork.rest is not None:
                return fork.rest, [*values, "/".join(parts[place:])]
            next_fork = fork.words.get(part)
            if next_fork is None:
                next_fork = fork.value
                values.append(part)
            if next_fork is None:
                return None
            fork = next_fork
        return (fork.route, values) if fork.route is not None else None


def find_handler(exchange: Exchange) -> tuple[Handler, Sequence[str]]:
    """Return the handler of a request and the values of its path, or refuse the path or the method."""
    if exchange.found is None:
        raise NotFound
    route, values = exchange.found
    handler = route.handlers.get("GET" if exchange.method == "HEAD" else exchange.method)
    if handler is None:
        raise MethodNotAllowed(f"{exchange.method} is not allowed here", headers={"Allow": route.allowed})
    return handler, values


def read_mounts(mounts: Sequence[Mount], doors: Sequence[Door]) -> Router:
    """Read every declaration once; raise a `TypeError` if one can't be served."""
    router = Router(doors)
    handlers: dict[str, dict[str, Handler]] = {}
    for mount in mounts:
        for run in mount.handlers:
            declaration = find_declaration(run)
            if declaration is None:
                raise TypeError(f"{run.__name__} has no declaration, such as @get")
            template = _template(mount.prefix, declaration.path)
            methods = handlers.setdefault(template, {})
            if declaration.method in methods:
                raise TypeError(f"{declaration.method} {template} is declared twice")
            methods[declaration.method] = read_handler(run, declaration, template)
    for template, methods in handlers.items():
        allowed = _allowed(frozenset(methods))
        router.add(Route(template=template, door=router.door_of(template), handlers=methods, allowed=allowed))
    return router


def normalize(path: str) -> str:
    """Write a path with one slash before each of its parts and none at the end."""
    return "/" + "/".join(filter(None, path.split("/")))


@cache
def _template(prefix: str, path: str) -> str:
    return normalize(f"{prefix}{path}")


@cache
def _allowed(methods: frozenset[str]) -> str:
    """List a path's methods as `Allow` does; HEAD is answered wherever GET is."""
    return ", ".join(sorted({*methods, "OPTIONS"} | ({"HEAD"} if "GET" in methods else set())))
