"""Every answer, whatever was asked: its status, its shape, its headers."""

import asyncio
import json
from uuid import UUID

import httpx2
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as fuzzing
from hypothesis import strategies as st

from tests.doors.http.conftest import METRICS_TOKEN
from tests.doors.http.wire import send_raw
from tests.support.hangs import within_a_second
from tests.support.parts import how_many

# A loaded machine may stand still in the middle of an example.
SUPPRESSED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
EXAMPLES = how_many(50, long=2000)
SECURITY = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "strict-origin-when-cross-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}
ASKED = [
    ("GET", "/api/v1/me", 200),
    ("GET", "/api/v1/nowhere", 404),
    ("GET", "/api/v1", 404),
    ("GET", "/api/nowhere", 404),
    ("GET", "/api/v1/probe?page=0", 400),
    ("DELETE", "/api/v1/me", 405),
    ("POST", "/api/v1/me", 405),
    ("PUT", "/api/v1/nowhere", 404),
    ("TRACE", "/api/v1/me", 405),
    ("PROPFIND", "/api/v1/me", 405),
    ("GET", "/api/v1/probe/breaks", 500),
    ("PUT", "/api/v1/probe/deadlock", 503),
    ("GET", "/api/public/probe", 200),
    ("GET", "/api/public/nowhere", 404),
    ("GET", "/healthz", 200),
    ("GET", "/api/openapi.json", 200),
    ("OPTIONS", "/api/v1/me", 204),
    ("OPTIONS", "/api/public/probe", 204),
]


@pytest.mark.parametrize(("method", "path", "status"), ASKED)
async def test_every_answer_has_an_id_and_the_security_headers(
    probe: httpx2.AsyncClient, method: str, path: str, status: int
) -> None:
    answer = await probe.request(method, path)

    assert answer.status_code == status
    assert UUID(answer.headers["x-request-id"]).version == 7
    assert {name: answer.headers[name] for name in SECURITY} == SECURITY
    assert "server" not in answer.headers or answer.headers["server"] == "uvicorn"


@pytest.mark.parametrize(("method", "path", "status"), [asked for asked in ASKED if asked[2] >= 400])
async def test_every_refusal_is_json_with_an_error(
    probe: httpx2.AsyncClient, method: str, path: str, status: int
) -> None:
    answer = await probe.request(method, path, headers={"Accept": "text/html"})

    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    assert set(answer.json()) <= {"error", "details"}
    assert answer.json()["error"]


async def test_two_answers_have_two_ids(probe: httpx2.AsyncClient) -> None:
    answers = [await probe.get("/api/v1/me", headers={"X-Request-Id": "mine"}) for _ in range(2)]

    assert len({answer.headers["x-request-id"] for answer in answers} | {"mine"}) == 3


async def test_a_fault_of_ours_tells_nothing_of_the_inside(probe: httpx2.AsyncClient) -> None:
    answer = await probe.get("/api/v1/probe/breaks")

    assert answer.json() == {"error": "Internal server error"}
    assert "swordfish" not in str(answer.headers)


async def test_what_lost_against_another_transaction_may_be_tried_again(probe: httpx2.AsyncClient) -> None:
    answer = await probe.put("/api/v1/probe/deadlock")

    assert answer.headers["retry-after"] == "2"


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("/api/v1/me", "GET, HEAD, OPTIONS"), ("/api/v1/probe", "DELETE, GET, HEAD, OPTIONS, POST")],
)
async def test_a_wrong_method_is_told_the_right_ones(probe: httpx2.AsyncClient, path: str, allowed: str) -> None:
    refused = await probe.request("PATCH", path)
    asked = await probe.request("OPTIONS", path)

    assert refused.json() == {"error": "PATCH is not allowed here"}
    assert refused.headers["allow"] == asked.headers["allow"] == allowed


async def test_options_asks_for_no_key_and_tells_other_origins_nothing(probe: httpx2.AsyncClient) -> None:
    preflight = {"Origin": "https://evil.example", "Access-Control-Request-Method": "GET", "Authorization": ""}
    answer = await probe.request("OPTIONS", "/api/v1/me", headers=preflight)

    assert answer.status_code == 204
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", ["/api/v1/me", "/api/v1/nowhere", "/api/openapi.json", "/healthz", "/login"])
async def test_only_the_public_door_is_open_to_other_origins(probe: httpx2.AsyncClient, path: str) -> None:
    answer = await probe.get(path, headers={"Origin": "https://elsewhere.example"})

    assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_the_public_door_answers_other_origins(probe: httpx2.AsyncClient) -> None:
    origin = {"Origin": "https://elsewhere.example"}
    preflight = await probe.request(
        "OPTIONS", "/api/public/probe", headers={**origin, "Access-Control-Request-Method": "POST"}
    )
    answer = await probe.get("/api/public/probe", headers=origin)
    refusal = await probe.get("/api/public/nowhere", headers=origin)

    assert preflight.headers["access-control-allow-methods"] == "GET, POST, DELETE"
    assert preflight.headers["access-control-allow-headers"] == "Content-Type, Idempotency-Key"
    assert {one.headers["access-control-allow-origin"] for one in (preflight, answer, refusal)} == {"*"}
    assert "access-control-allow-credentials" not in preflight.headers
    exposed = {name.lower() for name in refusal.headers["access-control-expose-headers"].split(", ")}
    assert {"x-request-id", "x-error-code", "retry-after", "idempotent-replayed"} <= exposed
    assert {"ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"} <= exposed


async def test_two_headers_of_one_name_both_arrive(probe: httpx2.AsyncClient) -> None:
    answer = await probe.post("/api/public/probe")

    assert len(answer.headers.get_list("set-cookie")) == 2


async def test_an_answer_has_the_media_type_that_its_handler_declares(probe: httpx2.AsyncClient) -> None:
    answer = await probe.get("/api/v1/probe/card")

    assert answer.headers["content-type"] == "application/vcard+json"
    assert answer.json() == {"fn": "Mara"}


async def test_an_answer_without_content_has_neither_type_nor_length(probe: httpx2.AsyncClient) -> None:
    answer = await probe.delete("/api/v1/probe/things/any")

    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers.keys().isdisjoint({"content-type", "content-length"})


@pytest.mark.parametrize(
    "path", ["/api/v1/me", "/api/v1/nowhere", "/api/v1/probe?page=0", "/api/v1/probe/breaks", "/healthz", "/login"]
)
async def test_head_answers_as_get_without_the_body(probe: httpx2.AsyncClient, path: str) -> None:
    # What is compressed has another length.
    plain = {"accept-encoding": "identity"}
    get, head = await probe.get(path, headers=plain), await probe.head(path, headers=plain)
    changing = {"date", "x-request-id", "ratelimit-remaining", "ratelimit-reset"}

    assert head.status_code == get.status_code
    assert head.content == b""
    assert {k: v for k, v in head.headers.items() if k not in changing} == {
        k: v for k, v in get.headers.items() if k not in changing
    }
    assert head.headers["content-length"] == str(len(get.content))


async def test_head_where_there_is_no_get_is_405(probe: httpx2.AsyncClient) -> None:
    answer = await probe.head("/api/v1/probe/note")

    assert answer.status_code == 405
    assert answer.headers["allow"] == "OPTIONS, POST"


@pytest.mark.parametrize(
    "path",
    ["/api/v1/me/", "//api/v1/me", "/api//v1//me", "/api/v1//me///", "/%61pi/v1/me", "/api%2Fv1/me", "/api/v1/%6de"],
)
async def test_slashes_and_escapes_lead_to_the_same_door_as_the_plain_path(
    probe: httpx2.AsyncClient, path: str
) -> None:
    request = f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    inside, outside = await send_raw(probe, request), await send_raw(probe, request, key=False)

    assert (inside.status, outside.status) == (200, 401)
    assert "ratelimit-limit" in inside.headers


@pytest.mark.parametrize(
    "path", ["/api/v1x/me", "/api/v1me", "/API/v1/me", "/api/v1/../v1/me", "/api/v1/./me", "/api/v1;/me"]
)
async def test_a_path_that_only_looks_like_ours_is_404(probe: httpx2.AsyncClient, path: str) -> None:
    answer = await send_raw(probe, f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())

    assert answer.status == 404


@pytest.mark.parametrize(
    ("request_bytes", "statuses"),
    [
        (b"GET /api/v1/me HTTP/1.0\r\n\r\n", {200}),
        (b"GET /api/v1/me HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n\r\n", {200}),
        (b"GET http://other.example/api/v1/me HTTP/1.1\r\nHost: x\r\n\r\n", {200}),
        (b"GET /api/v1/me?a=\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n", {200, 400}),
        (b"GET /api/v1/probe?q=\xff HTTP/1.1\r\nHost: x\r\n\r\n", {400}),
        (b"GET /api/v1/probe?q=\xc3\xa9 HTTP/1.1\r\nHost: x\r\n\r\n", {200, 400}),
        (b"GET /api/v1/probe?\xff=1 HTTP/1.1\r\nHost: x\r\n\r\n", {200, 400}),
        (b"GET /api/v1/\xff HTTP/1.1\r\nHost: x\r\n\r\n", {400, 404}),
        (b"GET /api/v1/me?%zz=%&%=%ff HTTP/1.1\r\nHost: x\r\n\r\n", {200}),
        (b"GET /api/v1/%zz%ff%00 HTTP/1.1\r\nHost: x\r\n\r\n", {404}),
        (b"GET * HTTP/1.1\r\nHost: x\r\n\r\n", {400, 404}),
        (b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", {204, 400, 404}),
        (b"FOO /api/v1/me HTTP/1.1\r\nHost: x\r\n\r\n", {400, 405}),
        (b"TRACE /api/v1/me HTTP/1.1\r\nHost: x\r\n\r\n", {405}),
        (b"GET /api/v1/me HTTP/1.1\r\nHost: \xff\xfe\r\nX-Odd: \xff\r\nCookie: \xff=\xfe\r\n\r\n", {200, 400}),
        (b"GET /api/v1/me HTTP/1.1\r\nHost: a b\r\n\r\n", {200, 400}),
        (b"GET /api/v1/me HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: \xff,,%,1.2.3.4.5\r\n\r\n", {200}),
        (b"POST /api/v1/probe HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n", {413}),
        (b"POST /api/v1/probe HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", {400}),
        (b"POST /api/v1/probe HTTP/1.1\r\nHost: x\r\nContent-Length: \xb2\r\n\r\n", {400}),
    ],
)
async def test_odd_requests_break_nothing(probe: httpx2.AsyncClient, request_bytes: bytes, statuses: set[int]) -> None:
    answer = await send_raw(probe, request_bytes)

    assert answer.status in statuses
    assert (await probe.get("/api/v1/me")).status_code == 200


async def test_a_client_that_waits_for_100_is_told_to_go_on_or_refused_at_once(probe: httpx2.AsyncClient) -> None:
    head = b"POST /api/v1/probe/note HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
    taken = await send_raw(probe, head + b"Content-Length: 2\r\n\r\n")
    large = await send_raw(probe, head + b"Content-Length: 300000\r\n\r\n")
    stranger = await send_raw(probe, head + b"Content-Length: 2\r\n\r\n", key=False)

    assert (taken.status, large.status, stranger.status) == (100, 413, 401)


async def read_metrics(probe: httpx2.AsyncClient) -> str:
    return (await probe.get("/metrics", headers={"Authorization": f"Bearer {METRICS_TOKEN}"})).text


@pytest.mark.rest("waits for seconds")
async def test_half_a_body_is_never_taken_for_a_whole_one(probe: httpx2.AsyncClient) -> None:
    _, writer = await asyncio.open_connection(probe.base_url.host, probe.base_url.port)
    head = "POST /api/v1/probe/note HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 999\r\n"
    writer.write(f"{head}Authorization: {probe.headers['Authorization']}\r\n\r\n{{}}".encode())
    await writer.drain()
    writer.close()
    await writer.wait_closed()

    counted = 'method="POST",route="none",status="499"'
    for _ in range(100):
        if counted in await read_metrics(probe):
            break
        await asyncio.sleep(0.02)
    assert counted in await read_metrics(probe)


async def test_a_web_socket_is_refused_as_any_other_request(probe: httpx2.AsyncClient) -> None:
    upgrade = (
        b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    here = await send_raw(probe, b"GET /api/v1/me HTTP/1.1\r\nHost: x\r\n" + upgrade)
    nowhere = await send_raw(probe, b"GET /api/v1/socket HTTP/1.1\r\nHost: x\r\n" + upgrade)

    assert (here.status, nowhere.status) == (200, 404)
    assert (await probe.get("/api/v1/me")).status_code == 200


async def test_no_caller_can_make_new_series_of_metrics(probe: httpx2.AsyncClient) -> None:
    await probe.request("PROPFIND", "/api/v1/me")
    await probe.get("/api/v1/a-word-of-my-own")
    written = await read_metrics(probe)

    assert 'method="other"' in written
    assert "PROPFIND" not in written
    assert "a-word-of-my-own" not in written


async def test_the_client_behind_a_trusted_proxy_is_counted_by_its_own_address(probe: httpx2.AsyncClient) -> None:
    async def address(*lines: str) -> str:
        headers = "".join(f"X-Forwarded-For: {line}\r\n" for line in lines)
        request = f"GET /api/public/probe/address HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode()
        return str(json.loads((await send_raw(probe, request)).body)["address"])

    assert await address() == "127.0.0.1"
    assert await address("203.0.113.7") == "203.0.113.7"
    assert await address("198.51.100.1, 203.0.113.7") == "203.0.113.7"
    assert await address("198.51.100.1", "203.0.113.7") == "203.0.113.7"
    assert await address("203.0.113.7", "127.0.0.1") == "203.0.113.7"
    assert await address("2001:db8:1:2:3:4:5:6") == "2001:db8:1:2::/64"


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(), st.datetimes()
).map(lambda value: value if isinstance(value, str | int | float | None) else str(value))
names = st.sampled_from(
    ["name", "seats", "number", "price", "on", "notes", "firstStop", "startsAt", "stops", "answers"]
)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names | st.text(), inner))


# Values inside one another, to any depth: in order, and in none.
CLOSINGS = {"[": "]", '{"a":': "}"}
nested = st.lists(st.sampled_from(sorted(CLOSINGS)), min_size=1, max_size=150).map(
    lambda openings: "".join([*openings, "1", *(CLOSINGS[each] for each in reversed(openings))])
)
disordered = st.lists(st.sampled_from([*'[]{},:"1\\', '{"a":', '"a"', "null"]), max_size=300).map("".join)


@fuzzing(max_examples=EXAMPLES, deadline=None, suppress_health_check=SUPPRESSED)
@given(
    body=st.one_of(
        st.binary(),
        values.map(lambda value: json.dumps(value, allow_nan=False).encode("utf-8")),
        nested.map(str.encode),
        disordered.map(str.encode),
    )
)
async def test_no_body_breaks_anything(probe: httpx2.AsyncClient, body: bytes) -> None:
    with within_a_second(body):
        answer = await probe.post("/api/v1/probe", content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code in {200, 400}
    assert answer.status_code == 200 or answer.json()["details"]


@fuzzing(max_examples=EXAMPLES, deadline=None, suppress_health_check=SUPPRESSED)
@given(
    query=st.dictionaries(
        st.sampled_from(["page", "limit", "q", "at", "from", "color", "number", "share", "tag"]) | st.text(),
        st.one_of(
            st.text(), st.integers().map(str), st.datetimes().map(str), st.floats().map(str), st.dates().map(str)
        ),
    )
)
async def test_no_query_breaks_anything(probe: httpx2.AsyncClient, query: dict[str, str]) -> None:
    with within_a_second(query):
        answer = await probe.get("/api/v1/probe", params=httpx2.QueryParams(query))

    assert answer.status_code in {200, 400}
    assert answer.status_code == 200 or answer.json()["details"]


@fuzzing(max_examples=EXAMPLES, deadline=None, suppress_health_check=SUPPRESSED)
@given(target=st.binary(max_size=60), header=st.binary(max_size=60))
async def test_no_bytes_break_anything(probe: httpx2.AsyncClient, target: bytes, header: bytes) -> None:
    request = b"GET /api/v1/" + target + b" HTTP/1.1\r\nHost: x\r\nIdempotency-Key: " + header + b"\r\n\r\n"
    try:
        answer = await send_raw(probe, request)
    except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
        return

    assert answer.status in {200, 400, 401, 404}
