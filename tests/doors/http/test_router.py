"""Paths to handlers: what is found, what is counted as a value, and which declarations are refused at the start."""

from typing import Annotated, Any
from uuid import UUID

import pytest

from openslot.app import doors
from openslot.domains.accounts.models import User
from openslot.doors.http.doors import Door
from openslot.doors.http.router import Router, read_mounts
from openslot.platform.core.environment import load_settings
from openslot.platform.core.work import Work
from openslot.platform.routing import Form, Mount, Query, collect, get, post

DOORS = doors(load_settings({}, environ={}))


@get("/holds")
async def list_holds() -> None: ...


@post("/holds/{hold}/drop")
async def drop_hold(hold: str, work: Work) -> None: ...


@get("/{host}")
async def get_host(host: str) -> None: ...


@get("/{host}/{slug}")
async def get_offer(host: str, slug: str) -> None: ...


@get("/plain")
async def get_plain() -> None: ...


@get("/files/{name:path}")
async def get_file(name: str) -> None: ...


def read(prefix: str, *handlers: Any) -> Router:
    return read_mounts([Mount(prefix=prefix, handlers=handlers)], DOORS)


ROUTER = read("/p", list_holds, drop_hold, get_host, get_offer, get_plain, get_file)


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
        ("/p/files/a.css", "/p/files/{name:path}", ["a.css"]),
        ("/p/files/a/b.css", "/p/files/{name:path}", ["a/b.css"]),
    ],
)
def test_a_path_is_found_with_its_values(path: str, template: str, values: list[str]) -> None:
    _, found = ROUTER.find(path)

    assert found is not None
    assert (found[0].template, list(found[1])) == (template, values)


@pytest.mark.parametrize(
    "path",
    ["/", "/p", "/q", "/p/holds/7", "/p/holds/7/take", "/p/mara/intro/x", "/P/mara", "/p/holds/7/drop/x", "/p/files"],
)
def test_any_other_path_has_no_route(path: str) -> None:
    assert ROUTER.find(path)[1] is None


def test_a_route_tells_its_methods_with_head_and_options() -> None:
    def allowed(path: str) -> str:
        _, found = ROUTER.find(path)
        return found[0].allowed if found else ""

    assert (allowed("/p/holds"), allowed("/p/holds/7/drop")) == ("GET, HEAD, OPTIONS", "OPTIONS, POST")


def test_a_path_is_counted_by_its_names_alone() -> None:
    _, found = ROUTER.find("/p/files/a/b.css")

    assert found is not None
    assert found[0].handlers["GET"].template == "/p/files/{name}"


def test_a_value_never_reaches_behind_another_door() -> None:
    router = read("", get_host, get_offer)

    def door(path: str) -> tuple[str, bool]:
        found_door, found = router.find(path)
        return found_door.name, found is not None

    assert door("/mara/intro") == ("pages", True)
    assert door("/api/v1") == ("rest", False)
    assert door("/api/intro") == ("service", False)
    assert door("/static/intro") == ("static", False)


def test_a_door_has_the_longest_prefix_and_whole_words() -> None:
    def name(path: str) -> str:
        door: Door = ROUTER.door_of(path)
        return door.name

    assert [name(path) for path in ("/api/v1/me", "/api/v1", "/api/v1x", "/api/bookings/7", "/api/docs", "/")] == [
        "rest",
        "rest",
        "service",
        "public",
        "pages",
        "pages",
    ]


@get("/asks")
async def asks_for_an_address(address: str) -> None: ...


@get("/asks")
async def asks_for_another_work(work: str) -> None: ...


@get("/asks")
async def asks_for_another_entry(entry: User) -> None: ...


@get("/asks")
async def marks_a_plain_value(page: Annotated[int, "page"]) -> None: ...


@get("/asks/{name}")
async def leaves_a_value() -> None: ...


@get("/asks/{number}")
async def asks_for_a_number(number: int) -> None: ...


@post("/asks")
async def asks_for_a_form_of_nothing(form: str) -> None: ...


@get("/asks")  # type: ignore[type-var]
def is_not_async() -> None: ...


async def is_not_declared() -> None: ...


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        (asks_for_an_address, "asks_for_an_address asks for address, which nobody gives"),
        (asks_for_another_work, "must take work as <class 'openslot.platform.core.work.Work'>"),
        (asks_for_another_entry, "must take entry as .*Entry'> or .*AgentEntry'>"),
        (marks_a_plain_value, "asks for page, which nobody gives; mark it with Query"),
        (leaves_a_value, "does not take name, which its path has"),
        (asks_for_a_number, "must take number of its path as a str or a UUID"),
        (asks_for_a_form_of_nothing, "must take its form as a Form of a Struct"),
        (is_not_async, "must be async"),
        (is_not_declared, "has no declaration, such as @get"),
    ],
)
def test_a_handler_that_can_not_be_served_is_refused_when_the_app_is_made(handler: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        read("", handler)


@post("/{guest}")
async def add_guest(guest: str) -> None: ...


@post("/holds")
async def add_hold(form: Form[Any]) -> None: ...


def test_one_path_has_one_name_for_its_value() -> None:
    with pytest.raises(TypeError, match="are one path"):
        read("", get_host, add_guest)


def test_one_method_of_one_path_has_one_handler() -> None:
    assert read("", list_holds, add_hold).find("/holds")[1]
    with pytest.raises(TypeError, match="GET /holds is declared twice"):
        read("", list_holds, list_holds)


@get()
async def get_thing(work: Work, thing_id: UUID, part_id: UUID, *, deep: Annotated[bool, Query()] = False) -> None:
    """Read a thing. It may be deep."""


def test_what_is_not_given_follows_from_name_module_and_docstring() -> None:
    declaration = vars(get_thing)["declaration"]

    assert (declaration.method, declaration.path) == ("GET", "/http/{thing_id}/{part_id}")
    assert (declaration.tag, declaration.operation_id) == ("Http", "getThing")
    assert (declaration.summary, declaration.description) == ("Get a thing", "Read a thing. It may be deep.")
    assert (declaration.status, declaration.transaction) == (200, "none")
    assert vars(add_guest)["declaration"].transaction == "one"


def test_an_answer_is_not_kept_for_retries_without_a_transaction() -> None:
    with pytest.raises(TypeError, match="there is none"):
        post("/x", transaction="none", retried_by=lambda _: "anyone")


def test_a_declared_handler_is_collected_from_its_module_alone() -> None:
    found = collect("openslot.domains.bookings")
    names = [handler.__name__ for handler in found]

    assert names[:5] == ["list_bookings", "get_booking", "create_booking", "cancel_booking", "reschedule_booking"]
    assert "create_hold" in names
    assert all(handler.__module__.startswith("openslot.domains.bookings.") for handler in found)
