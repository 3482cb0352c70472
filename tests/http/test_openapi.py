"""The API's description: complete, valid OpenAPI 3.1, and with examples."""

from typing import Any

import httpx2
import pytest

from openslot.http.doors import Door, enter_freely, refuse_with_json
from openslot.http.openapi import list_operations
from openslot.http.router import read_mounts
from openslot.routing import Mount, get, post
from tests.http.routes import PUBLIC, REST
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

    assert references(DESCRIPTION) <= {f"#/components/schemas/{name}" for name in SCHEMAS}


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
        assert parameter["in"] in {"path", "query"}, name
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
