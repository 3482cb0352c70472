"""The API's description: complete, valid OpenAPI 3.1, and with examples."""

from typing import Any

import httpx2
import pytest

from tests.http.routes import REST, framework

DESCRIPTION: dict[str, Any] = framework().state["describe"]()
OPERATIONS: list[tuple[str, dict[str, Any]]] = [
    (f"{method.upper()} {path}", operation)
    for path, methods in DESCRIPTION["paths"].items()
    for method, operation in methods.items()
]
SCHEMAS: dict[str, Any] = DESCRIPTION["components"]["schemas"]


@pytest.mark.asyncio(loop_scope="module")
async def test_it_is_handed_out_without_a_key(probe: httpx2.AsyncClient) -> None:
    answer = await probe.get("/api/openapi.json", headers={"Authorization": ""})

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["paths"].keys() == DESCRIPTION["paths"].keys()


def test_it_is_openapi_3_1() -> None:
    assert DESCRIPTION["openapi"].startswith("3.1.")
    assert {"title", "version"} <= DESCRIPTION["info"].keys()
    assert DESCRIPTION["components"]["securitySchemes"]["apiKey"] | {"type": "http", "scheme": "bearer"} == (
        DESCRIPTION["components"]["securitySchemes"]["apiKey"]
    )


def test_nothing_under_v1_is_left_out() -> None:
    assert {name for name, _ in OPERATIONS} == {str(one) for one in REST}


def test_every_reference_leads_somewhere() -> None:
    def references(node: Any) -> set[str]:
        if isinstance(node, dict):
            own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
            return own.union(*map(references, node.values()))
        return set().union(*map(references, node)) if isinstance(node, list) else set()

    assert references(DESCRIPTION) <= {f"#/components/schemas/{name}" for name in SCHEMAS}


def test_every_operation_has_an_id_of_its_own() -> None:
    ids = [operation["operationId"] for _, operation in OPERATIONS]

    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(("name", "operation"), OPERATIONS, ids=[name for name, _ in OPERATIONS])
def test_every_operation_says_what_it_does_and_how_it_refuses(name: str, operation: dict[str, Any]) -> None:
    assert operation["tags"]
    assert operation["summary"]
    assert operation["description"]
    assert operation["security"] == [{"apiKey": []}]
    expected = {"400", "401", "404", "405", "429", "500", "503"}
    if not name.startswith("GET"):
        expected |= {"409", "413", "415"}
    assert expected <= operation["responses"].keys()
    for status in expected:
        schema = operation["responses"][status]["content"]["application/json"]["schema"]
        assert schema == {"$ref": "#/components/schemas/ErrorBody"}


@pytest.mark.parametrize(("name", "operation"), OPERATIONS, ids=[name for name, _ in OPERATIONS])
def test_every_parameter_is_described(name: str, operation: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", []):
        assert parameter["in"] in {"path", "query"}, name
        assert parameter.get("description"), f"{name}: {parameter['name']}"


@pytest.mark.parametrize("name", [name for name, schema in SCHEMAS.items() if schema.get("type") == "object"])
def test_every_property_has_an_example(name: str) -> None:
    def has_example(schema: dict[str, Any]) -> bool:
        return "examples" in schema or "$ref" in schema or "const" in schema or ("items" in schema and has_example(schema["items"]))

    assert [field for field, schema in SCHEMAS[name]["properties"].items() if not has_example(schema)] == []
