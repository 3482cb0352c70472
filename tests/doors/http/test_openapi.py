"""The API's description: complete, valid OpenAPI 3.1, and with examples."""

import re
from typing import Any

import httpx2
import pytest

from openslot.doors.http.doors import Door, enter_freely, refuse_with_json
from openslot.doors.http.openapi import list_operations
from openslot.doors.http.router import read_mounts
from openslot.platform.routing import Mount, get, post
from tests.doors.http.routes import PUBLIC, REST
from tests.support.openapi import DESCRIPTION

OPERATIONS: list[tuple[str, dict[str, Any]]] = [
    (f"{method.upper()} {path}", operation)
    for path, methods in DESCRIPTION["paths"].items()
    for method, operation in methods.items()
]
SCHEMAS: dict[str, Any] = DESCRIPTION["components"]["schemas"]


async def test_it_is_handed_out_without_a_key(probe: httpx2.AsyncClient) -> None:
    answer = await probe.get("/api/openapi.json", headers={"Authorization": ""})

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["paths"].keys() == DESCRIPTION["paths"].keys()


def test_it_is_openapi_3_1() -> None:
    assert DESCRIPTION["openapi"].startswith("3.1.")
    assert {"title", "version"} <= DESCRIPTION["info"].keys()
    assert (
        DESCRIPTION["components"]["securitySchemes"]["apiKey"] | {"type": "http", "scheme": "bearer"}
        == (DESCRIPTION["components"]["securitySchemes"]["apiKey"])
    )


def test_nothing_is_left_out() -> None:
    assert {name for name, _ in OPERATIONS} == {str(one) for one in (*REST, *PUBLIC)}


def test_every_reference_leads_somewhere() -> None:
    def references(node: Any) -> set[str]:
        if isinstance(node, dict):
            own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
            return own.union(*map(references, node.values()))
        return set().union(*map(references, node)) if isinstance(node, list) else set()

    parts = ("schemas", "headers")
    places = {f"#/components/{part}/{name}" for part in parts for name in DESCRIPTION["components"][part]}
    assert references(DESCRIPTION) <= places


@post("/photos", max_bytes=3 * 1024 * 1024)
async def add_photo(data: dict[str, str]) -> None: ...


@post("/names")
async def add_name(data: dict[str, str]) -> None: ...


@get("/names")
async def get_names() -> None: ...


def describe_refusals(**rules: Any) -> list[dict[int, str]]:
    """Describe these three behind a door with such rules."""
    door = Door(name="test", prefixes=("/",), enter=enter_freely, refuse=refuse_with_json, **rules)
    mount = Mount(prefix="", handlers=[add_photo, add_name, get_names])
    return [operation.errors for operation in list_operations(read_mounts([mount], [door]))]


def test_refusals_follow_from_door_and_method() -> None:
    photo, name, names = describe_refusals(media_types=("text/csv",), max_bytes=64 * 1024, security="apiKey")

    assert photo[413] == "The body is larger than 3072 KiB"
    assert name[413] == "The body is larger than 64 KiB"
    assert name[415] == "The body is not text/csv"
    assert photo.keys() == name.keys()
    assert names.keys() == name.keys() - {409, 413, 415}


def test_a_door_without_keys_or_media_types_refuses_none() -> None:
    _, keyed, _ = describe_refusals(media_types=("application/json",), security="apiKey")
    _, free, _ = describe_refusals()

    assert keyed[415] == "The body is not JSON"
    assert free.keys() == keyed.keys() - {401, 415} | {410}


def test_every_operation_has_an_id_of_its_own() -> None:
    ids = [operation["operationId"] for _, operation in OPERATIONS]

    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(("name", "operation"), OPERATIONS, ids=[name for name, _ in OPERATIONS])
def test_every_operation_says_what_it_does_and_how_it_refuses(name: str, operation: dict[str, Any]) -> None:
    assert operation["tags"]
    assert operation["summary"]
    assert operation["description"]
    needs_key = " /api/v1/" in name
    assert operation.get("security") == ([{"apiKey": []}] if needs_key else None)
    expected = {"400", "404", "405", "429", "500", "503"} | ({"401"} if needs_key else set())
    if not name.startswith("GET"):
        expected |= {"409", "413", "415"}
    assert expected <= operation["responses"].keys()
    for status in expected:
        schema = operation["responses"][status]["content"]["application/json"]["schema"]
        assert schema == {"$ref": "#/components/schemas/ErrorBody"}


@pytest.mark.parametrize(("name", "operation"), OPERATIONS, ids=[name for name, _ in OPERATIONS])
def test_every_operation_is_named_by_a_verb_that_callers_know(name: str, operation: dict[str, Any]) -> None:
    verb, _, thing = operation["summary"].partition(" ")

    assert verb in {"List", "Get", "Create", "Update", "Delete", "Cancel", "Reschedule"}
    assert thing
    assert not operation["summary"].endswith(".")
    assert operation["description"].endswith((".", "`."))


@pytest.mark.parametrize(("name", "operation"), OPERATIONS, ids=[name for name, _ in OPERATIONS])
def test_every_parameter_is_described(name: str, operation: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", []):
        assert parameter["in"] in {"path", "query", "header"}, name
        assert parameter["in"] == "path" or parameter.get("description"), f"{name}: {parameter['name']}"


def test_every_text_shows_what_it_looks_like() -> None:
    def is_clear(schema: dict[str, Any]) -> bool:
        return schema.get("type") != "string" or not schema.keys().isdisjoint({"examples", "enum", "const", "format"})

    unclear = {
        f"{name}.{field}"
        for name, schema in SCHEMAS.items()
        for field, inner in schema.get("properties", {}).items()
        if not is_clear(inner)
    }

    assert unclear == set()


def fields(schema: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return a schema's fields, and those of all that is in it."""
    if isinstance(schema, list):
        return [field for each in schema for field in fields(each)]
    if not isinstance(schema, dict):
        return []
    own = schema.get("properties", {})
    return [*own.items(), *(field for each in schema.values() for field in fields(each))]


def test_no_field_has_a_default_which_generators_take_for_a_field_that_is_always_there() -> None:
    bodies = [operation.get("requestBody", {}) for _, operation in OPERATIONS]
    found = [*fields(list(SCHEMAS.values())), *fields(bodies)]

    assert [name for name, inner in found if "default" in inner] == []
    assert SCHEMAS["LinkBody"]["properties"]["uses"]["description"].endswith("by default `1`")


def test_every_moment_has_the_format_of_one() -> None:
    def texts(schema: dict[str, Any]) -> list[dict[str, Any]]:
        return [schema, *schema.get("anyOf", [])]

    found = [(name, text) for name, inner in fields(DESCRIPTION) for text in texts(inner)]
    moments = [
        (name, text)
        for name, text in found
        if any(re.fullmatch(r"\d{4}-\d\d-\d\dT.*Z", str(example)) for example in text.get("examples", []))
    ]

    assert len(moments) > 50
    assert [name for name, text in moments if text.get("format") != "date-time"] == []


@pytest.mark.parametrize(("name", "operation"), OPERATIONS, ids=[name for name, _ in OPERATIONS])
def test_every_operation_declares_the_headers_of_its_responses(name: str, operation: dict[str, Any]) -> None:
    declared = {status: set(response["headers"]) for status, response in operation["responses"].items()}
    rate = {"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}

    assert all("X-Request-Id" in headers for headers in declared.values())
    assert {status for status, headers in declared.items() if "X-Error-Code" in headers} == {
        status for status in declared if not status.startswith("2")
    }
    assert declared["429"] >= {"Retry-After", *rate}
    assert "Retry-After" in declared["503"]
    assert "Allow" in declared["405"]
    assert (rate <= declared[next(iter(declared))]) == (" /api/v1/" in name)
    assert set().union(*declared.values()) <= DESCRIPTION["components"]["headers"].keys()


def test_an_operation_takes_an_idempotency_key_if_it_recognises_repeats() -> None:
    taking = {
        name
        for name, operation in OPERATIONS
        if any(parameter["name"] == "Idempotency-Key" for parameter in operation.get("parameters", []))
    }
    keyed = {name for name, _ in OPERATIONS if name.startswith(("POST /api/v1/", "PATCH /api/v1/"))}

    assert taking == keyed | {"POST /api/bookings"}
