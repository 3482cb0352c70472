"""The API's documentation: everything in the description is on the page, in words and with an example."""

import html
import re

import httpx2
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from openslot.web.api_docs.fields import FieldRow, field_row
from openslot.web.api_docs.prose import paragraphs, sentences
from openslot.web.api_docs.reference import Entry, Reference, read_reference
from openslot.web.api_docs.spec import Schema
from openslot.web.pages import templates
from tests.web.rich_description import DESCRIPTION, SCHEMAS

NAMES = msgspec.convert(SCHEMAS, dict[str, Schema | bool])
WORDS = (
    ({"type": "string"}, "string"),
    ({"type": "string", "format": "date-time"}, "date-time"),
    ({"type": "string", "format": "hostname"}, "string, hostname"),
    ({"type": "integer"}, "integer"),
    ({"type": "boolean"}, "true or false"),
    ({"type": ["string", "null"]}, "string or null"),
    ({"oneOf": [{"type": "string"}, {"type": "null"}]}, "string or null"),
    ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "string or integer"),
    ({"type": "array", "items": {"type": "string"}}, "list of string"),
    ({"type": "array", "items": {"$ref": "#/components/schemas/Status"}}, "list of string"),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, "object, each value integer"),
    ({"$ref": "#/components/schemas/Contact"}, "object"),
    ({"allOf": [{"$ref": "#/components/schemas/Status"}]}, "string"),
    ({"$ref": "#/components/schemas/Nowhere"}, "any value"),
    ({"enum": ["a", None]}, "string or null"),
    ({"const": 1}, "fixed value"),
    (True, "any value"),
)


@pytest.fixture(scope="module")
def reference() -> Reference:
    """Read the rich description."""
    return read_reference(msgspec.json.encode(DESCRIPTION))


def entry(reference: Reference, anchor: str) -> Entry:
    return next(one for group in reference.groups for one in group.entries if one.anchor == anchor)


def row(rows: tuple[FieldRow, ...], *names: str) -> FieldRow:
    found = next(one for one in rows if one.name == names[0])
    return row(found.inside, *names[1:]) if names[1:] else found


@pytest.mark.parametrize(("schema", "words"), WORDS)
def test_a_schema_is_told_in_words(schema: object, words: str) -> None:
    assert field_row("x", msgspec.convert(schema, Schema | bool), NAMES).kind == words


def test_bounds_defaults_and_values_are_told(reference: Reference) -> None:
    body = entry(reference, "book").body
    assert body is not None
    assert row(body.fields, "page").notes == ("1 to 1,000,000", "default 1")
    assert row(body.fields, "invitee", "name").notes == ("1 to 200 characters",)
    assert row(body.fields, "invitee", "tags").notes == ("at most 20 entries",)
    assert row(entry(reference, "listBookings").parameters, "status").values == ("CONFIRMED", "CANCELLED")


def test_joined_schemas_have_the_fields_of_all_parts(reference: Reference) -> None:
    body = entry(reference, "book").body
    assert body is not None
    assert {one.name for one in row(body.fields, "invitee").inside} == {"name", "tags", "email"}
    assert row(body.fields, "invitee", "name").required


def test_alternatives_are_told_one_by_one(reference: Reference) -> None:
    body = entry(reference, "PATCH-api-v1-bookings-bookingId").body
    assert body is not None
    assert [one.name for one in body.fields] == ["Move", "Stop"]
    assert row(body.fields, "Stop", "kind").values == ("stop",)


def test_a_circle_is_walked_once(reference: Reference) -> None:
    answer = entry(reference, "listBookings").answers[0].body
    assert answer is not None
    assert row(answer.fields, "previous").inside == ()
    assert msgspec.json.decode(answer.example)[0]["previous"] is None


def test_commands_can_be_pasted_into_a_shell(reference: Reference) -> None:
    listing, book = entry(reference, "listBookings").command, entry(reference, "book").command
    change = entry(reference, "PATCH-api-v1-bookings-bookingId").command

    assert listing.startswith("curl 'https://slots.example/api/v1/bookings?searchFor=SEARCH_FOR'")
    assert '-H "Authorization: Bearer $OPENSLOT_KEY"' in listing
    assert "it'\"'\"'s-a-call" in book
    assert "{bookingId}" not in change
    assert "Authorization" not in change


def test_parameters_of_the_path_itself_count_for_every_method(reference: Reference) -> None:
    removal = entry(reference, "DELETE-api-v1-bookings-bookingId")

    assert [one.name for one in removal.parameters] == ["bookingId"]
    assert removal.deprecated


def test_groups_follow_the_tags_and_empty_ones_are_left_out(reference: Reference) -> None:
    assert [group.name for group in reference.groups] == ["Bookings", "More"]


def test_descriptions_are_text_with_code_and_nothing_else() -> None:
    assert sentences("a `b` <i>\n c") == "a <code>b</code> &lt;i&gt; c"
    assert paragraphs("one\n\ntwo `<b>`") == "<p>one</p><p>two <code>&lt;b&gt;</code></p>"


AGAIN: dict[str, object] = {"$ref": "#/components/schemas/A"}
CIRCLES: tuple[dict[str, object], ...] = (
    AGAIN,
    {"allOf": [AGAIN, AGAIN]},
    {"oneOf": [AGAIN]},
    {"anyOf": [AGAIN, AGAIN]},
    {"oneOf": [{"allOf": [AGAIN, AGAIN]}, AGAIN]},
    {"additionalProperties": AGAIN},
    {"type": "array", "items": AGAIN},
    {"properties": {"a": AGAIN, "b": AGAIN}},
)


@pytest.mark.parametrize("circle", CIRCLES)
def test_every_circle_ends(circle: dict[str, object]) -> None:
    content = {"content": {"application/json": {"schema": AGAIN}}}
    description = {"paths": {"/x": {"get": {"responses": {"200": content}}}}, "components": {"schemas": {"A": circle}}}

    assert read_reference(msgspec.json.encode(description)).groups


schemas = some.recursive(
    some.sampled_from(
        [
            True,
            False,
            {},
            {"type": "string", "enum": ["a", None]},
            {"type": ["integer", "null"], "minimum": 0.5},
            {"$ref": "#/components/schemas/A"},
            {"$ref": "#/components/schemas/Nowhere"},
            {"const": {"a": [1]}, "default": None},
            {"type": "unheard-of", "examples": {"a": {"value": 1}}},
        ]
    ),
    lambda inner: some.one_of(
        some.fixed_dictionaries({"type": some.just("array"), "items": inner}),
        some.dictionaries(some.sampled_from(["oneOf", "anyOf", "allOf"]), some.lists(inner, max_size=3), max_size=2),
        some.dictionaries(some.text(max_size=3), inner, max_size=3).map(
            lambda p: {"properties": p, "required": list(p)}
        ),
        some.fixed_dictionaries({"additionalProperties": inner}),
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(some.dictionaries(some.sampled_from(["A", "B"]), schemas, max_size=2), schemas)
def test_any_schema_can_be_shown(named: dict[str, object], schema: object) -> None:
    content = {"content": {"application/json": {"schema": schema}}}
    parameter = {"name": "p", "in": "query", "required": True, "schema": schema}
    operation = {"parameters": [parameter], "requestBody": content, "responses": {"200": content, "default": content}}
    description = {"paths": {"/x": {"post": operation}}, "components": {"schemas": named}}
    made = read_reference(msgspec.json.encode(description))

    assert templates.get_template("api_docs.html").render(user=None, reference=made, limit=60)


async def test_every_operation_is_on_the_page(client: httpx2.AsyncClient) -> None:
    described = (await client.get("/api/openapi.json")).json()
    answer = await client.get("/api/docs")
    shown = html.unescape(re.sub(r"<[^>]+>", " ", answer.text))

    assert answer.status_code == 200
    assert "style-src 'self'" in answer.headers["content-security-policy"]
    for path, item in described["paths"].items():
        assert path in shown
        for operation in item.values():
            assert operation["summary"] in shown
            assert f'id="{operation["operationId"]}"' in answer.text
    anchors = re.findall(r'href="#([^"]+)"', answer.text)
    assert anchors
    assert all(f'id="{anchor}"' in answer.text for anchor in anchors)
