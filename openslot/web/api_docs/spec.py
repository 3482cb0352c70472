"""The parts of JSON Schema that the documentation shows; other keywords are ignored."""

import msgspec
from msgspec import UNSET, Struct, UnsetType


class Schema(Struct, frozen=True, rename={"ref": "$ref"}):
    """A JSON Schema."""

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
    """Read a JSON Schema."""
    return msgspec.convert(schema, Schema | bool)
