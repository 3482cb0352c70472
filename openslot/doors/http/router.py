"""Routing: finds the handler for a path and a method, and the refusal if there is none."""

import re
from collections.abc import Mapping, Sequence
from functools import cache

from openslot.doors.http.doors import Door, Exchange, Handler, Route, RouteMatch
from openslot.doors.http.errors import MethodNotAllowed
from openslot.doors.http.handlers import read_handler
from openslot.platform.core.errors import NotFound
from openslot.platform.routing import HandlerFunction, Mount, find_declaration


class _Node:
    """A node of the routing tree: a path continues with a fixed word, with any value, or with its whole rest."""

    __slots__ = ("rest", "template", "value", "words")

    def __init__(self) -> None:
        self.words: dict[str, _Node] = {}
        self.value: _Node | None = None
        self.rest: str | None = None
        self.template: str | None = None

    def add(self, template: str) -> None:
        node = self
        for part in filter(None, template.split("/")):
            if part.endswith(":path}"):
                node.rest = template
                return
            if part.startswith("{"):
                node.value = node = node.value or _Node()
            else:
                node = node.words.setdefault(part, _Node())
        if node.template is not None:
            raise TypeError(f"{node.template} and {template} are one path")
        node.template = template


class Router:
    """Routes by their templates; one without values is matched as a whole, others word by word."""

    def __init__(self, doors: Sequence[Door], methods: Mapping[str, Mapping[str, Handler]]) -> None:
        self._doors = {f"{prefix.rstrip('/')}/": door for door in reversed(doors) for prefix in door.prefixes}
        longest_first = sorted(self._doors, key=len, reverse=True)
        self._prefix = re.compile("|".join(map(re.escape, longest_first)))
        self._routes = {
            template: Route(
                template=template,
                door=self.door_of(template),
                handlers=dict(handlers),
                allowed=_allowed(frozenset(handlers)),
            )
            for template, handlers in methods.items()
        }
        self._root = _grow(tuple(template for template in methods if "{" in template))
        self.routes = list(self._routes.values())

    def find(self, path: str) -> tuple[Door, RouteMatch | None]:
        """Return a path's door, and its route with the values in the path."""
        route = self._routes.get(path)
        if route is not None and "{" not in path:
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

    def _follow(self, path: str) -> RouteMatch | None:
        """Match word by word; a fixed word of a route takes precedence over a value."""
        node = self._root
        values: list[str] = []
        parts = list(filter(None, path.split("/")))
        for index, part in enumerate(parts):
            if node.rest is not None:
                return self._routes[node.rest], [*values, "/".join(parts[index:])]
            next_node = node.words.get(part)
            if next_node is None:
                next_node = node.value
                values.append(part)
            if next_node is None:
                return None
            node = next_node
        return (self._routes[node.template], values) if node.template is not None else None


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
    methods: dict[str, dict[str, Handler]] = {}
    for mount in mounts:
        for template, method, handler in _read_mount(mount.prefix, tuple(mount.handlers)):
            handlers = methods.setdefault(template, {})
            if method in handlers:
                raise TypeError(f"{method} {template} is declared twice")
            handlers[method] = handler
    return Router(doors, methods)


# benchmarks/caches.py: make the app, 17 times
@cache
def _read_mount(prefix: str, handlers: tuple[HandlerFunction, ...]) -> tuple[tuple[str, str, Handler], ...]:
    return tuple(_read_declaration(prefix, run) for run in handlers)


def _read_declaration(prefix: str, run: HandlerFunction) -> tuple[str, str, Handler]:
    declaration = find_declaration(run)
    if declaration is None:
        raise TypeError(f"{run.__name__} has no declaration, such as @get")
    path = declaration.path
    template = normalize(path if path.startswith("/api/") else f"{prefix}{path}")
    return template, declaration.method, read_handler(run, declaration, template)


def _grow(templates: tuple[str, ...]) -> _Node:
    root = _Node()
    for template in templates:
        root.add(template)
    return root


def normalize(path: str) -> str:
    """Write a path with one slash before each of its parts and none at the end."""
    return "/" + "/".join(filter(None, path.split("/")))


def _allowed(methods: frozenset[str]) -> str:
    """List a path's methods as `Allow` does; HEAD is answered wherever GET is."""
    return ", ".join(sorted({*methods, "OPTIONS"} | ({"HEAD"} if "GET" in methods else set())))
