"""Paths to handlers: what is found, what is counted as a value, and which declarations are refused at the start."""

from typing import Annotated, Any

import pytest
from litestar import Request, Router, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, HeaderParameter

from openslot.app import DEPENDENCIES, GIVEN
from openslot.core.work import Work
from openslot.http.routing import Routes, read_routes


@get("/holds")
async def list_holds() -> None: ...


@post("/holds/{hold:str}/drop")
async def drop_hold(hold: FromPath[str], work: NamedDependency[Work]) -> None: ...


@get("/{host:str}")
async def get_host(host: FromPath[str]) -> None: ...


@get("/{host:str}/{slug:str}")
async def get_offer(host: FromPath[str], slug: FromPath[str]) -> None: ...


@get("/plain")
async def get_plain() -> None: ...


ROUTES = read_routes(
    [Router("/p", route_handlers=[list_holds, drop_hold, get_host, get_offer, get_plain])], DEPENDENCIES, GIVEN
)


@pytest.mark.parametrize(
    ("path", "template", "values"),
    [
        ("/p/holds", "/p/holds", []),
        ("/p/holds/7/drop", "/p/holds/{hold}/drop", ["7"]),
        ("/p/mara", "/p/{host}", ["mara"]),
        ("/p/mara/intro", "/p/{host}/{slug}", ["mara", "intro"]),
        ("/p/plain", "/p/plain", []),
        # A path that is found only as a whole takes no word away from values.
        ("/p/plain/intro", "/p/{host}/{slug}", ["plain", "intro"]),
        ("/p/{host}", "/p/{host}", ["{host}"]),
    ],
)
def test_a_path_is_found_with_its_values(path: str, template: str, values: list[str]) -> None:
    found = ROUTES.find(path)

    assert found is not None
    assert (found[0].template, list(found[1])) == (template, values)


@pytest.mark.parametrize(
    "path", ["/", "/p", "/q", "/p/holds/7", "/p/holds/7/take", "/p/mara/intro/x", "/P/mara", "/p/holds/7/drop/x"]
)
def test_any_other_path_is_left_to_others(path: str) -> None:
    assert ROUTES.find(path) is None


def test_a_route_tells_its_methods_with_head_and_options() -> None:
    def allowed(path: str) -> str:
        found = ROUTES.find(path)
        return found[0].allowed if found else ""

    assert (allowed("/p/holds"), allowed("/p/holds/7/drop")) == ("GET, HEAD, OPTIONS", "OPTIONS, POST")


def test_without_routes_nothing_is_found() -> None:
    assert Routes().find("/p") is None


@get("/asks")
async def asks_for_the_request(request: Request[Any, Any, Any]) -> None: ...


@get("/asks")
async def asks_for_a_header(agent: Annotated[str, HeaderParameter(name="user-agent")]) -> None: ...


@get("/asks/{name:str}")
async def leaves_a_value() -> None: ...


@get("/asks/{number:int}")
async def asks_for_a_number(number: FromPath[int]) -> None: ...


@get("/asks", sync_to_thread=False)
def is_not_async() -> None: ...


@pytest.mark.parametrize(
    "handler", [asks_for_the_request, asks_for_a_header, asks_for_a_number, leaves_a_value, is_not_async]
)
def test_a_handler_that_asks_for_what_nobody_gives_is_refused_at_the_start(handler: Any) -> None:
    with pytest.raises(TypeError, match="must be async"):
        read_routes([handler], DEPENDENCIES, GIVEN)


@post("/{guest:str}")
async def add_guest(guest: FromPath[str]) -> None: ...


def test_one_path_has_one_name_for_its_value() -> None:
    with pytest.raises(TypeError, match="are one path"):
        read_routes([get_host, add_guest], DEPENDENCIES, GIVEN)
