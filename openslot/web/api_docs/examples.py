"""Examples: those of the types if they have any, sensible ones otherwise, and the command that sends them."""

import json
import re
import shlex
from collections.abc import Sequence
from urllib.parse import quote, urlencode

from msgspec import UNSET, Struct

from openslot.web.api_docs.shapes import DEEPEST, alternatives, follow, kinds, ref_name
from openslot.web.api_docs.spec import Schema, Schemas

TEXTS = {
    "date-time": "2026-03-16T09:00:00Z",
    "date": "2026-03-16",
    "time": "09:00",
    "email": "mara@lindqvist.example",
    "uuid": "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f",
    "uri": "https://example.com",
}
UNKNOWN = "…"
KEY = "Authorization: Bearer $OPENSLOT_KEY"


class ExampleParameter(Struct, frozen=True, kw_only=True):
    """A parameter in the path or the query of a URL."""

    name: str
    place: str
    required: bool
    schema: Schema | bool


def example_of(schema: Schema | bool, schemas: Schemas, *, trail: tuple[str, ...] = ()) -> object:
    """Return one value that the schema accepts; a recursive schema ends in null."""
    plain, name = follow(schema, schemas), ref_name(schema)
    given = _given(plain)
    if given is not UNSET:
        return given
    if len(trail) > DEEPEST or (name is not None and name in trail):
        return None
    trail = (*trail, name or "")
    choices = alternatives(plain, schemas)
    if choices and not plain.properties:
        return example_of(choices[0], schemas, trail=trail)
    return _made(plain, schemas, trail)


def parameter_example(parameter: ExampleParameter, schemas: Schemas) -> str:
    """Write a parameter's value as it appears in a URL; one that can't be known is a name in capitals."""
    value = example_of(parameter.schema, schemas)
    if value is None or value == UNKNOWN:
        return re.sub(r"(?<=[a-z])(?=[A-Z])|\W+", "_", parameter.name).upper()
    return value if isinstance(value, str) else json.dumps(value)


def as_json(value: object) -> str:
    """Format a value as readable JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def curl(
    method: str, url: str, parameters: Sequence[ExampleParameter], schemas: Schemas, *, with_key: bool, body: str | None
) -> str:
    """Write the command that tries an operation, with its required parameters and this body."""
    values = [(each, parameter_example(each, schemas)) for each in parameters if each.required]
    for parameter, value in values:
        if parameter.place == "path":
            url = url.replace(f"{{{parameter.name}}}", quote(value, safe=""))
    query = urlencode([(each.name, value) for each, value in values if each.place == "query"])
    lines = [_command(method, f"{url}?{query}" if query else url)]
    lines += [f'-H "{KEY}"'] if with_key else []
    if body is not None:
        lines += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(body)}"]
    return " \\\n  ".join(lines)


def _command(method: str, url: str) -> str:
    return f"curl {shlex.quote(url)}" if method == "GET" else f"curl -X {method} {shlex.quote(url)}"


def _given(schema: Schema) -> object:
    if schema.examples:
        return schema.examples[0]
    if schema.const is not UNSET:
        return schema.const
    if schema.default is not UNSET and schema.default is not None:
        return schema.default
    return schema.enum[0] if schema.enum else UNSET


def _made(schema: Schema, schemas: Schemas, trail: tuple[str, ...]) -> object:
    kind = next(iter(kinds(schema)), None)
    if kind == "object":
        return {name: example_of(inner, schemas, trail=trail) for name, inner in schema.properties.items()}
    if kind == "array":
        return [example_of(schema.items, schemas, trail=trail)] if schema.items is not None else []
    if kind in {"integer", "number"}:
        return int(schema.minimum) if schema.minimum is not None else 1
    if kind == "boolean":
        return True
    return TEXTS.get(schema.format or "", UNKNOWN) if kind == "string" else None
