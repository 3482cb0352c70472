"""Shapes of the OpenAPI description as the reference reads them, and an example of each."""

import json
import re
import shlex
from collections.abc import Sequence
from urllib.parse import quote, urlencode

import msgspec
from msgspec import UNSET, Struct, UnsetType

from openslot.doors.web.shared.curl import KEY

DEEPEST = 8
TEXTS = {
    "date-time": "2026-03-16T09:00:00Z",
    "date": "2026-03-16",
    "time": "09:00",
    "email": "mara@lindqvist.example",
    "uuid": "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f",
    "uri": "https://example.com",
}
UNKNOWN = "…"


class Schema(Struct, frozen=True, rename={"ref": "$ref"}):
    ref: str | None = None
    type: str | list[str] | None = None
    format: str | None = None
    title: str | None = None
    description: str | None = None
    properties: dict[str, "Schema | bool"] = {}
    required: list[str] = []
    additionalProperties: "Schema | bool | None" = None  # noqa: N815 - the wire's own names
    items: "Schema | bool | None" = None
    prefixItems: list["Schema | bool"] = []  # noqa: N815
    oneOf: list["Schema | bool"] = []  # noqa: N815
    anyOf: list["Schema | bool"] = []  # noqa: N815
    allOf: list["Schema | bool"] = []  # noqa: N815
    enum: list[object] = []
    const: object | UnsetType = UNSET
    default: object | UnsetType = UNSET
    examples: list[object] = []
    minimum: float | None = None
    maximum: float | None = None
    exclusiveMinimum: float | None = None  # noqa: N815
    exclusiveMaximum: float | None = None  # noqa: N815
    multipleOf: float | None = None  # noqa: N815
    minLength: int | None = None  # noqa: N815
    maxLength: int | None = None  # noqa: N815
    minItems: int | None = None  # noqa: N815
    maxItems: int | None = None  # noqa: N815
    uniqueItems: bool = False  # noqa: N815


Schemas = dict[str, Schema | bool]


def read_schema(schema: object) -> Schema | bool:
    return msgspec.convert(schema, Schema | bool)


DEFAULTS = msgspec.structs.asdict(Schema())


def follow(schema: Schema | bool, schemas: Schemas, *, trail: tuple[str, ...] = ()) -> Schema:
    """Replace a reference by what it refers to, and `allOf` by the union of its parts; recursion is followed once."""
    if isinstance(schema, bool):
        return Schema()
    parts = []
    if schema.ref is not None and schema.ref not in trail:
        trail = (*trail, schema.ref)
        parts.append(follow(schemas.get(ref_name(schema) or "", True), schemas, trail=trail))
    parts += [follow(part, schemas, trail=trail) for part in schema.allOf]
    whole = msgspec.structs.replace(schema, ref=None, allOf=[])
    for part in parts:
        whole = _join(whole, part)
    return whole


def ref_name(schema: Schema | bool) -> str | None:
    """Return the name of the schema that a schema refers to, also through a lone `allOf`."""
    if isinstance(schema, bool):
        return None
    if schema.ref is None and len(schema.allOf) == 1:
        return ref_name(schema.allOf[0])
    return schema.ref.rpartition("/")[2] if schema.ref else None


def kinds(schema: Schema) -> tuple[str, ...]:
    """List the JSON types that a resolved schema names or implies, without null."""
    if schema.type is not None:
        named = (schema.type,) if isinstance(schema.type, str) else tuple(schema.type)
        return tuple(kind for kind in named if kind != "null")
    if schema.properties or isinstance(schema.additionalProperties, Schema):
        return ("object",)
    return ("array",) if schema.items is not None or schema.prefixItems else ()


def alternatives(schema: Schema, schemas: Schemas) -> list[Schema | bool]:
    """List the alternatives of a resolved schema, without null."""
    return [one for one in (*schema.oneOf, *schema.anyOf) if not _is_null(follow(one, schemas))]


def allows_null(schema: Schema, schemas: Schemas) -> bool:
    if isinstance(schema.type, list) and "null" in schema.type:
        return True
    return None in schema.enum or any(_is_null(follow(one, schemas)) for one in (*schema.oneOf, *schema.anyOf))


def _is_null(schema: Schema) -> bool:
    return schema.type in ("null", ["null"])


def _join(outer: Schema, inner: Schema) -> Schema:
    own = {name: value for name, value in msgspec.structs.asdict(outer).items() if value != DEFAULTS[name]}
    joined = msgspec.structs.replace(inner, **own)
    return msgspec.structs.replace(
        joined, properties={**inner.properties, **outer.properties}, required=[*inner.required, *outer.required]
    )


class ExampleParameter(Struct, frozen=True, kw_only=True):
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
    target = shlex.quote(f"{url}?{query}" if query else url)
    lines = [f"curl {target}" if method == "GET" else f"curl -X {method} {target}"]
    lines += [f'-H "{KEY}"'] if with_key else []
    if body is not None:
        lines += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(body)}"]
    return " \\\n  ".join(lines)


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
