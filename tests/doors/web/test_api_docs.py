"""The API's documentation: everything in the description is on the page, in words and with an example."""

import html
import re

import httpx2
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from openslot.app import doors
from openslot.domains.accounts.models import User
from openslot.doors.http.openapi import list_operations
from openslot.doors.http.router import read_mounts
from openslot.doors.web.api_docs import page
from openslot.doors.web.api_docs.fields import FieldRow, field_row, rows_inside
from openslot.doors.web.api_docs.page import Reference, ReferenceEntry, make_reference, paragraphs, sentences
from openslot.doors.web.api_docs.shapes import Schema, Schemas, as_json, example_of, read_schema
from openslot.doors.web.shared.pages import render
from openslot.platform.core.environment import load_settings
from openslot.platform.i18n.languages import Locale
from tests.doors.web.conftest import sign_in
from tests.doors.web.rich_api import MOUNTS, SCHEMAS
from tests.support.page import read_page
from tests.support.parts import how_many

NAMES = {name: read_schema(schema) for name, schema in SCHEMAS.items()}
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
    """Read the rich handlers."""
    operations = list_operations(read_mounts(MOUNTS, doors(load_settings({}, environ={}))))
    return make_reference(operations, "https://slots.example/")


def entry(reference: Reference, anchor: str) -> ReferenceEntry:
    return next(
        one for entries in reference.groups.values() for one in entries if one.operation.declared.operation_id == anchor
    )


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
    assert row(entry(reference, "listBookings").parameters, "status").values == ("CANCELLED", "CONFIRMED")


def test_joined_schemas_have_the_fields_of_all_parts() -> None:
    rows = rows_inside(NAMES["Joined"], NAMES)

    assert {one.name for one in rows} == {"name", "tags", "email"}
    assert row(rows, "name").required


def test_alternatives_are_told_one_by_one(reference: Reference) -> None:
    body = entry(reference, "changeBooking").body
    assert body is not None
    assert [one.name for one in body.fields] == ["Move", "Stop"]
    assert row(body.fields, "Stop", "kind").values == ("stop",)


def test_a_circle_is_walked_once(reference: Reference) -> None:
    answer = entry(reference, "listBookings").answer

    assert row(answer.fields, "previous").inside == ()
    assert msgspec.json.decode(answer.example)[0]["previous"] is None


def test_commands_can_be_pasted_into_a_shell(reference: Reference) -> None:
    listing, book = entry(reference, "listBookings").command, entry(reference, "book").command
    change = entry(reference, "changeBooking").command

    assert listing.startswith("curl 'https://slots.example/api/v1/bookings?searchFor=SEARCH_FOR'")
    assert '-H "Authorization: Bearer $OPENSLOT_KEY"' in listing
    assert "it'\"'\"'s-a-call" in book
    assert "{booking_id}" not in change
    assert "Authorization" not in change


def test_an_operation_is_told_as_it_is_declared(reference: Reference) -> None:
    book, removal = entry(reference, "book"), entry(reference, "removeBooking")

    assert (book.operation.declared.summary, book.operation.declared.description) == (
        "Book",
        "Book. A sentence that is no part of the summary.",
    )
    assert list(book.operation.errors) == [400, 401, 404, 405, 409, 413, 415, 429, 500, 503]
    assert 401 not in removal.operation.errors
    assert [one.name for one in removal.parameters] == ["booking_id"]


def test_groups_follow_the_tags(reference: Reference) -> None:
    assert list(reference.groups) == ["Bookings", "More"]


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
    assert show(AGAIN, {"A": circle})


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
            {"type": "unheard-of", "examples": [1]},
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


@pytest.mark.rest("draws whole schemas")
@settings(max_examples=how_many(60), deadline=None)
@given(some.dictionaries(some.sampled_from(["A", "B"]), schemas, max_size=2), schemas)
def test_any_schema_can_be_shown(named: dict[str, object], schema: object) -> None:
    assert show(schema, named)


def show(schema: object, named: dict[str, object]) -> str:
    schemas: Schemas = {name: read_schema(each) for name, each in named.items()}
    plain = read_schema(schema)
    row = field_row("x", plain, schemas)
    return row.kind + as_json(example_of(plain, schemas)) + str(rows_inside(plain, schemas))


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


async def test_the_page_is_written_once_for_each_language_and_reader(
    client: httpx2.AsyncClient, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[tuple[str, object]] = []

    def note(template: str, locale: Locale, **values: object) -> bytes:
        written.append((locale.language.tag, values["is_signed_in"]))
        return render(template, locale, **values)

    monkeypatch.setattr(page, "render", note)
    # More regions and spellings than languages: none of them is kept.
    wanted = ["de", "de-AT", "de-CH", "DE;q=0.5", "xx", "en-US", "en-x-1", "en-x-2", ""]
    answers = [await client.get("/api/docs", headers={"accept-language": each}) for each in 2 * wanted]
    await sign_in(client, user.email)
    signed_in = [await client.get("/api/docs", headers={"accept-language": "de"}) for _ in range(3)]

    assert written == [("de", False), ("en", False), ("en", True)]
    assert len({answer.text for answer in answers}) == 2
    assert "/login" in read_page(answers[0]).addresses
    assert "/account" in read_page(signed_in[0]).addresses


async def test_a_browser_that_has_the_page_is_not_sent_it_again(client: httpx2.AsyncClient) -> None:
    first = await client.get("/api/docs")
    again = await client.get("/api/docs", headers={"if-none-match": first.headers["etag"]})
    german = await client.get("/api/docs", headers={"if-none-match": first.headers["etag"], "accept-language": "de"})

    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["cache-control"] == "private, no-cache"
    assert (german.status_code, german.headers["vary"]) == (200, "accept-language, cookie, accept-encoding")
