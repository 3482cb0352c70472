"""A door is data: another way in brings its own error shape, media types, size, limits and checks."""

from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import Annotated

import msgspec
import pytest
from msgspec import Struct

from openslot.domains.access.models import AgentEntry, Entry, LimitVerdict
from openslot.doors.http.doors import Door, Exchange
from openslot.doors.http.edge import App
from openslot.doors.http.errors import status_of
from openslot.doors.http.router import read_mounts
from openslot.platform.core.actor import Actor, ActorKind
from openslot.platform.core.errors import Forbidden, Refusal, Unauthorized
from openslot.platform.core.work import Runtime, Work
from openslot.platform.routing import Cookie, File, Mount, Query, RateLimit, Request, Response, delete, get, post, put
from tests.doors.http.golden.asgi import Sent, ask

SCIM = "application/scim+json"
TOKEN = {"authorization": "Bearer token"}
LIMIT = LimitVerdict(taken=True, limit=3, used=1, retry_after=60)


class Person(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What is sent."""

    user_name: str
    picture: File | None = None


@get("/Users/{name}")
async def get_person(name: str, work: Work) -> Person:
    """Read one."""
    return Person(user_name=f"{name} of {work.actor.agent}")


@post("/Users", status=201)
async def add_person(data: Person, request: Request) -> Response:
    """Add one, and say where it is."""
    headers = {"location": f"/Users/{data.user_name}", "x-type": request.headers["content-type"]}
    return Response(status=201, headers=headers, body=data)


@put("/Users/{name}", max_bytes=2048)
async def replace_person(name: str, data: Person, dry: Annotated[bool, Query("dryRun")] = False) -> Person:
    """Take a larger body than others."""
    return Person(user_name=f"{name} {dry}")


@delete("/Users/{name}", status=204, limit=RateLimit("remove", 1))
async def remove_person(name: str, request: Request) -> None:
    """Remove one, once a minute."""
    assert request.cookies == {"a": "1", "b": "2"}


@get("/Entry")
async def get_entry(entry: Entry, request: Exchange) -> list[str | None]:
    """Tell who has come in, by which door."""
    return [entry.actor.agent, request.door.name]


@get("/AgentEntry")
async def get_agent(entry: AgentEntry) -> str:
    """Tell which agent has come in."""
    return entry.agent


async def enter(exchange: Exchange) -> Entry:
    if exchange.headers.get("authorization") != TOKEN["authorization"]:
        raise Unauthorized
    return Entry(actor=Actor(kind=ActorKind.SCIM, agent="a firm"), limit=LIMIT)


def refuse(refusal: Refusal, exchange: Exchange) -> Response:
    status = status_of(refusal)
    body = {"status": str(status), "detail": refusal.details or refusal.message, "at": exchange.path}
    return Response(status=status, headers={"content-type": SCIM}, body=msgspec.json.encode(body))


def refuse_a_name(exchange: Exchange) -> None:
    if exchange.headers.get("x-evil"):
        raise Forbidden("No")


DOOR = Door(
    name="scim",
    prefixes=("/",),
    enter=enter,
    refuse=refuse,
    media_types=(SCIM, "application/json", "multipart/form-data"),
    answers_in=SCIM,
    max_bytes=1024,
    headers=((b"x-door", b"scim"),),
    reads=RateLimit("scim", 1000),
    check=refuse_a_name,
)


@pytest.fixture
async def app(runtime: Runtime) -> AsyncIterator[App]:
    """An app with nothing but this door."""
    mount = Mount(
        prefix="/scim", handlers=[get_person, add_person, replace_person, remove_person, get_entry, get_agent]
    )
    made = App(read_mounts([mount], [DOOR]), lambda: nullcontext(runtime))
    async with made._lifetime():
        yield made


async def send(app: App, method: str, path: str, body: bytes = b"", **headers: str) -> Sent:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return await ask(app, method, path, headers={**TOKEN, "content-type": SCIM, **given}, body=body)


async def test_answers_are_in_the_doors_media_type_with_its_headers(app: App) -> None:
    sent = await send(app, "GET", "/scim/Users/mara")

    assert (sent.status, msgspec.json.decode(sent.body)["userName"]) == (200, "mara of a firm")
    assert dict(sent.headers) | {"content-type": SCIM, "x-door": "scim", "ratelimit-remaining": "2"} == dict(
        sent.headers
    )


async def test_a_handler_asks_by_name_for_who_has_come_in(app: App) -> None:
    sent = await send(app, "GET", "/scim/Entry")

    assert msgspec.json.decode(sent.body) == ["a firm", "scim"]


async def test_a_handler_for_agents_runs_for_nobody_else(app: App) -> None:
    sent = await send(app, "GET", "/scim/AgentEntry")

    assert sent.status == 401


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/scim/Users/mara", {"authorization": "Bearer other"}, 401),
        ("GET", "/scim/Groups", {}, 404),
        ("PATCH", "/scim/Users/mara", {}, 405),
        ("POST", "/scim/Users", {"content-type": "text/plain"}, 415),
        ("POST", "/scim/Users", {"content-length": "2000"}, 413),
        ("POST", "/scim/Users", {"x-evil": "1"}, 403),
        ("POST", "/scim/Users", {}, 400),
        ("POST", "/scim/Users", {"host": "a b"}, 400),
    ],
)
async def test_every_refusal_has_the_doors_own_shape(
    app: App, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    sent = await ask(app, method, path, headers={**TOKEN, "content-type": SCIM, **headers}, body=b"{}")

    assert sent.status == status
    assert msgspec.json.decode(sent.body).keys() == {"status", "detail", "at"}
    assert dict(sent.headers)["content-type"] == SCIM


async def test_what_is_checked_is_checked_only_where_there_is_a_handler(app: App) -> None:
    assert (await send(app, "GET", "/scim/Groups", x_evil="1")).status == 404
    assert (await send(app, "GET", "/scim/Users/mara", x_evil="1")).status == 403


async def test_each_of_the_doors_media_types_is_taken(app: App) -> None:
    form = b'--x\r\nContent-Disposition: form-data; name="userName"\r\n\r\nmara\r\n--x--\r\n'
    for content_type, body in (
        (SCIM, b'{"userName":"mara"}'),
        ("application/json; charset=utf-8", b'{"userName":"mara"}'),
        ("multipart/form-data; boundary=x", form),
    ):
        sent = await send(app, "POST", "/scim/Users", body, content_type=content_type)
        headers = dict(sent.headers)

        assert (sent.status, msgspec.json.decode(sent.body)["userName"]) == (201, "mara")
        assert (headers["location"], headers["x-type"], headers["content-type"]) == ("/Users/mara", content_type, SCIM)


async def test_a_handler_may_take_a_larger_body_than_its_door(app: App) -> None:
    body = b'{"userName":"mara"}'.ljust(2000)
    sent = [
        (await send(app, method, path, body)).status
        for method, path in (("POST", "/scim/Users"), ("PUT", "/scim/Users/m"))
    ]
    larger = await send(app, "PUT", "/scim/Users/m", body.ljust(2049))

    assert sent == [413, 200]
    assert larger.status == 413
    assert msgspec.json.decode(larger.body)["detail"] == "The body must not be larger than 2 KiB"


@pytest.mark.parametrize(
    ("query", "body", "faults"),
    [
        ("dryRun=x", b'{"userNmae":"mara"}', {"dryRun": "must be true or false", "userName": "is required"}),
        ("dryRun=x", b"", {"dryRun": "must be true or false", "body": "is required"}),
        ("dryRun=x", b"{", {"dryRun": "must be true or false", "body": "is not valid JSON"}),
        ("dryRun=x", b'{"userName":"mara"}', {"dryRun": "must be true or false"}),
    ],
)
async def test_faults_of_query_and_body_are_named_together(
    app: App, query: str, body: bytes, faults: dict[str, str]
) -> None:
    sent = await send(app, "PUT", f"/scim/Users/m?{query}", body)

    assert sent.status == 400
    detail = msgspec.json.decode(sent.body)["detail"]
    assert {name: detail[name] for name in faults} == faults


async def test_a_handler_may_have_a_limit_of_its_own(app: App) -> None:
    cookie = "a=1; =; b=2; a=3; c="
    sent = [await send(app, "DELETE", "/scim/Users/mara", cookie=cookie) for _ in range(2)]

    assert [each.status for each in sent] == [204, 429]
    assert (await send(app, "GET", "/scim/Users/mara")).status == 200


@pytest.mark.parametrize(
    ("secure", "written"),
    [
        (True, "sid=x; HttpOnly; Max-Age=5; Path=/; SameSite=lax; Secure"),
        (False, "sid=x; HttpOnly; Max-Age=5; Path=/; SameSite=lax"),
    ],
)
def test_a_cookie_is_for_this_site_and_no_script(secure: bool, written: str) -> None:
    assert Cookie(name="sid", value="x", max_age=5, secure=secure).written() == written
