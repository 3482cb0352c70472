"""JSON bodies: read strictly, and every fault named at once."""

from typing import Any

import httpx2
import pytest

from tests.support.hangs import within_a_second

JSON = {"Content-Type": "application/json"}
STOP = {"startsAt": "2026-03-16T09:00:00Z"}
ISO = "must be an ISO 8601 date-time, such as 2026-03-16T09:00:00Z"
NOT_ALLOWED = "has characters that are not allowed"
OUT_OF_TIME = "must be between 1970 and 2200"
OUT_OF_RANGE = "is a number out of range"


async def send(probe: httpx2.AsyncClient, body: bytes | str) -> httpx2.Response:
    return await probe.post("/api/v1/probe", content=body, headers=JSON)


@pytest.mark.parametrize(
    "body",
    [
        {"name": "Mara"},
        {"name": "Mara", "seats": 10, "price": 1, "paid": True, "color": "blue", "on": "2026-03-16"},
        {"name": "Mara", "notes": "two\nlines\r\nand a\ttab", "remark": "😀 é 漢"},
        {"name": "Mara", "firstStop": STOP, "stops": [STOP, {"startsAt": "2026-03-16T09:00:00+05:30", "label": "x"}]},
        {"name": "Mara", "firstStop": {"startsAt": "1970-01-01T00:00:00Z"}},
        {"name": "Mara", "firstStop": {"startsAt": "2200-12-31T23:59:59Z"}},
        {"name": "Mara", "firstStop": None, "tags": [], "answers": {"who": "me"}},
        {"name": "Mara", "number": 2**63 - 1},
        {"name": "Mara", "number": -(2**63)},
    ],
)
async def test_a_sound_body_is_taken(probe: httpx2.AsyncClient, body: dict[str, Any]) -> None:
    answer = await probe.post("/api/v1/probe", json=body)

    assert answer.status_code == 200, answer.text
    assert answer.json()["journey"]["name"] == "Mara"


FAULTS: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({}, {"name": "is required"}),
    ({"name": ""}, {"name": "must not be empty"}),
    ({"name": "x" * 201}, {"name": "must have at most 200 characters"}),
    ({"name": None}, {"name": "must be a string, not null"}),
    ({"name": 5}, {"name": "must be a string, not an integer"}),
    ({"name": ["Mara"]}, {"name": "must be a string, not a list"}),
    ({"name": "Mara", "seats": "1"}, {"seats": "must be an integer, not a string"}),
    ({"name": "Mara", "seats": 1.0}, {"seats": "must be an integer, not a number"}),
    ({"name": "Mara", "seats": True}, {"seats": "must be an integer, not true or false"}),
    ({"name": "Mara", "seats": 0}, {"seats": "must be at least 1"}),
    ({"name": "Mara", "seats": 11}, {"seats": "must be at most 10"}),
    ({"name": "Mara", "number": 2**63}, {"number": OUT_OF_RANGE}),
    ({"name": "Mara", "number": 10**400}, {"number": OUT_OF_RANGE}),
    ({"name": "Mara", "price": "1.5"}, {"price": "must be a number, not a string"}),
    ({"name": "Mara", "paid": "true"}, {"paid": "must be true or false, not a string"}),
    ({"name": "Mara", "paid": 1}, {"paid": "must be true or false, not an integer"}),
    ({"name": "Mara", "color": "green"}, {"color": "must be one of red, blue"}),
    ({"name": "Mara", "color": 1}, {"color": "must be a string, not an integer"}),
    ({"name": "Mara", "on": "16.03.2026"}, {"on": "must be a date, such as 2026-03-16"}),
    ({"name": "Mara", "on": "2026-02-30"}, {"on": "must be a date, such as 2026-03-16"}),
    ({"name": "Mara", "on": "1969-12-31"}, {"on": OUT_OF_TIME}),
    ({"name": "Mara", "firstStop": []}, {"firstStop": "must be an object, not a list"}),
    ({"name": "Mara", "firstStop": {}}, {"firstStop.startsAt": "is required"}),
    ({"name": "Mara", "firstStop": {"startsAt": "tomorrow"}}, {"firstStop.startsAt": ISO}),
    ({"name": "Mara", "firstStop": {"startsAt": "2026-03-16"}}, {"firstStop.startsAt": ISO}),
    ({"name": "Mara", "firstStop": {"startsAt": 0}}, {"firstStop.startsAt": "must be a date-time, not an integer"}),
    (
        {"name": "Mara", "firstStop": {"startsAt": "2026-03-16T09:00:00"}},
        {"firstStop.startsAt": "must have an offset, such as Z"},
    ),
    ({"name": "Mara", "firstStop": {"startsAt": "1969-12-31T23:59:59Z"}}, {"firstStop.startsAt": OUT_OF_TIME}),
    ({"name": "Mara", "firstStop": {"startsAt": "2201-01-01T00:00:00Z"}}, {"firstStop.startsAt": OUT_OF_TIME}),
    ({"name": "Mara", "firstStop": {"startsAt": "0001-01-01T00:00:00+14:00"}}, {"firstStop.startsAt": OUT_OF_TIME}),
    ({"name": "Mara", "firstStop": {"startsAt": "9999-12-31T23:59:59-14:00"}}, {"firstStop.startsAt": OUT_OF_TIME}),
    ({"name": "Mara", "stops": {}}, {"stops": "must be a list, not an object"}),
    ({"name": "Mara", "stops": [STOP] * 4}, {"stops": "must have at most 3 entries"}),
    ({"name": "Mara", "stops": [STOP, {"startsAt": "x"}]}, {"stops.1.startsAt": ISO}),
    (
        {"name": "Mara", "tags": ["a", 1, "b", None]},
        {"tags.1": "must be a string, not an integer", "tags.3": "must be a string, not null"},
    ),
    ({"name": "Mara", "answers": {"a": "x", "b": 2}}, {"answers.b": "must be a string, not an integer"}),
    ({"name": "Mara", "nmae": 1}, {"nmae": "is not a known field"}),
    ({"name": "Mara", "first_stop": STOP}, {"first_stop": "is not a known field"}),
    ({"name": "Mara", "firstStop": {**STOP, "end": 1}}, {"firstStop.end": "is not a known field"}),
    ({"name": "a\x00b"}, {"name": NOT_ALLOWED}),
    ({"name": "a\nb"}, {"name": NOT_ALLOWED}),
    ({"name": "ends with a line break\n"}, {"name": NOT_ALLOWED}),
    ({"name": "Mara", "notes": "a\x00b"}, {"notes": NOT_ALLOWED}),
    ({"name": "Mara", "notes": "a\x1bb"}, {"notes": NOT_ALLOWED}),
    ({"name": "Mara", "remark": "a\x00b"}, {"remark": NOT_ALLOWED}),
    ({"name": "Mara", "remark": "a\x85b"}, {"remark": NOT_ALLOWED}),
    ({"name": "Mara", "stops": [{**STOP, "label": "\x07"}]}, {"stops.0.label": NOT_ALLOWED}),
    ({"name": "Mara", "tags": ["ok", "\x00"]}, {"tags.1": NOT_ALLOWED}),
    ({"name": "Mara", "answers": {"a\x00": "x"}}, {"answers.a\\x00": NOT_ALLOWED}),
    ({"name": "Mara", "x\x00y": 1}, {"x\\x00y": "is not a known field"}),
]


@pytest.mark.parametrize(("body", "details"), FAULTS)
async def test_a_wrong_field_is_named_in_words(
    probe: httpx2.AsyncClient, body: dict[str, Any], details: dict[str, str]
) -> None:
    answer = await probe.post("/api/v1/probe", json=body)

    assert answer.status_code == 400
    assert answer.json() == {"error": "Invalid request", "details": details}


async def test_every_wrong_field_is_named_at_once(probe: httpx2.AsyncClient) -> None:
    body = {
        "seats": "two",
        "number": 2**70,
        "remark": "\x00",
        "color": "green",
        "firstStop": {"startsAt": "2026-03-16T09:00:00", "label": 5, "more": 1},
        "stops": [{"startsAt": "1900-01-01T00:00:00Z"}, {}],
        "unknown": 1,
    }

    answer = await probe.post("/api/v1/probe", json=body)

    assert answer.json()["details"] == {
        "name": "is required",
        "seats": "must be an integer, not a string",
        "number": OUT_OF_RANGE,
        "remark": NOT_ALLOWED,
        "color": "must be one of red, blue",
        "firstStop.startsAt": "must have an offset, such as Z",
        "firstStop.label": "must be a string, not an integer",
        "firstStop.more": "is not a known field",
        "stops.0.startsAt": OUT_OF_TIME,
        "stops.1.startsAt": "is required",
        "unknown": "is not a known field",
    }


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"null", "must be an object, not null"),
        (b"[]", "must be an object, not a list"),
        (b'"name"', "must be an object, not a string"),
        (b"5", "must be an object, not an integer"),
        (b"", "is required"),
        (b" ", "is not valid JSON"),
        (b"{", "is not valid JSON"),
        (b"{}{}", "is not valid JSON"),
        (b'{"name": "Mara",}', "is not valid JSON"),
        (b"{'name': 'Mara'}", "is not valid JSON"),
        (b'{"name": NaN}', "is not valid JSON"),
        (b'{"name": "a\x00b"}', "is not valid JSON"),
        (b'{"name": "\xff"}', "is not valid JSON"),
        (b'{"seats": "\xff"}', "is not valid JSON"),
        (b'{"unknown": "\xff"}', "is not valid JSON"),
        (b'{"\xff": 1}', "is not valid JSON"),
        (b'{"name": "\\ud800"}', "is not valid JSON"),
        (b'{"name": "\\udc00"}', "is not valid JSON"),
        (b'\xef\xbb\xbf{"name": "Mara"}', "is not valid JSON"),
        ('{"name": "Mara"}'.encode("utf-16"), "is not valid JSON"),
        (b"\xff\xfe", "is not valid JSON"),
    ],
)
async def test_what_is_no_json_object_is_refused(probe: httpx2.AsyncClient, body: bytes, fault: str) -> None:
    answer = await send(probe, body)

    assert answer.status_code == 400
    assert answer.json()["details"] == {"body": fault}


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b'{"name": "Mara", "price": 1e400}', "price"),
        (b'{"name": "Mara", "number": 1e400}', "number"),
        (b'{"name": "Mara", "number": 1' + b"0" * 5000 + b"}", "number"),
        (b'{"name": "Mara", "unknown": 1e400}', "unknown"),
    ],
)
async def test_a_number_that_nothing_can_hold_is_refused(probe: httpx2.AsyncClient, body: bytes, place: str) -> None:
    answer = await send(probe, body)

    assert answer.status_code == 400
    assert set(answer.json()["details"]) <= {place, "body"}


async def test_of_a_name_given_twice_the_last_counts(probe: httpx2.AsyncClient) -> None:
    taken = await send(probe, b'{"name": "first", "name": "last"}')
    refused = await send(probe, b'{"name": 1, "name": "last"}')

    assert taken.json()["journey"]["name"] == "last"
    assert refused.json()["details"] == {"name": "must be a string, not an integer"}


@pytest.mark.parametrize("opening", ["[", '{"a":'])
async def test_64_levels_are_read_and_65_are_not(probe: httpx2.AsyncClient, opening: str) -> None:
    closing = {"[": "]", '{"a":': "}"}[opening]

    deep = await send(probe, opening * 64 + "1" + closing * 64)
    deeper = await send(probe, opening * 65 + "1" + closing * 65)

    assert "is nested" not in deep.text
    assert deeper.status_code == 400
    assert deeper.json()["details"] == {"body": "is nested deeper than 64"}


async def test_brackets_inside_strings_are_no_levels(probe: httpx2.AsyncClient) -> None:
    answer = await probe.post("/api/v1/probe", json={"name": "Mara", "notes": '"[{' * 500})

    assert answer.status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"name": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b"[" * 65 + b'"' + b'\\"' * 100_000,
        b"[" * 65 + b'"' * 200_000,
        b'{"tags": [' + b"1," * 100_000 + b"1]}",
        b'{"name": "x"' + b"".join(b',"k%d":1' % n for n in range(20_000)) + b"}",
        b'{"name": "' + b"\\u0000" * 40_000 + b'"}',
    ],
)
async def test_a_hostile_body_is_refused_at_once_and_briefly(probe: httpx2.AsyncClient, body: bytes) -> None:
    with within_a_second(body):
        answer = await send(probe, body)

    assert answer.status_code == 400
    assert len(answer.content) < 10_000


async def test_a_long_name_comes_back_shortened(probe: httpx2.AsyncClient) -> None:
    answer = await probe.post("/api/v1/probe", json={"name": "Mara", "n" * 5000: 1})

    assert list(answer.json()["details"]) == ["n" * 100 + "…"]


async def test_an_optional_body_may_be_left_out(probe: httpx2.AsyncClient) -> None:
    without = await probe.post("/api/v1/probe/note")
    given = await probe.post("/api/v1/probe/note", json={"reason": "x"})
    wrong = await probe.post("/api/v1/probe/note", json={"raeson": "x"})

    assert (without.json(), given.json()) == ({"given": False}, {"given": True})
    assert wrong.json()["details"] == {"raeson": "is not a known field"}


@pytest.mark.parametrize(
    "media_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx", ""],
)
async def test_another_media_type_is_415(probe: httpx2.AsyncClient, media_type: str) -> None:
    headers = {"Content-Type": media_type} if media_type else {}
    answer = await probe.post("/api/v1/probe", content=b'{"name": "Mara"}', headers=headers)

    assert answer.status_code == 415
    assert answer.json() == {"error": "The body must be application/json"}


@pytest.mark.parametrize("media_type", ["application/json", "Application/JSON", "application/json; charset=utf-8"])
async def test_json_is_taken_however_it_is_written(probe: httpx2.AsyncClient, media_type: str) -> None:
    answer = await probe.post("/api/v1/probe", content=b'{"name": "Mara"}', headers={"Content-Type": media_type})

    assert answer.status_code == 200


async def test_a_compressed_body_is_415(probe: httpx2.AsyncClient) -> None:
    answer = await probe.post("/api/v1/probe", content=b"\x1f\x8b", headers={**JSON, "Content-Encoding": "gzip"})

    assert answer.status_code == 415


async def test_a_body_may_have_256_kib_and_no_more(probe: httpx2.AsyncClient) -> None:
    def body(size: int) -> bytes:
        return b'{"name": "Mara"}'.ljust(size)

    async def chunks(size: int) -> Any:
        for _ in range(size // 4096):
            yield b" " * 4096

    fits = await send(probe, body(256 * 1024))
    declared = await send(probe, body(256 * 1024 + 1))
    chunked = await probe.post("/api/v1/probe", content=chunks(260 * 1024), headers=JSON)

    assert (fits.status_code, declared.status_code, chunked.status_code) == (200, 413, 413)
    assert declared.json() == chunked.json() == {"error": "The body must not be larger than 256 KiB"}


async def test_a_body_on_get_is_ignored(probe: httpx2.AsyncClient) -> None:
    answer = await probe.request("GET", "/api/v1/me", content=b"\xff" * 300_000, headers={"Content-Type": "text/plain"})
    again = await probe.get("/api/v1/me")

    assert answer.status_code == again.status_code == 200


async def test_a_body_where_none_is_asked_for_is_ignored(probe: httpx2.AsyncClient) -> None:
    answer = await probe.request("DELETE", "/api/v1/probe", json={"any": "thing"})

    assert answer.json() == {"success": True}
