"""Schemas in words: what each field is, which values it accepts, and what it contains."""

import msgspec
from msgspec import UNSET, Struct

from openslot.doors.web.api_docs.shapes import (
    DEEPEST,
    Schema,
    Schemas,
    allows_null,
    alternatives,
    follow,
    kinds,
    ref_name,
)

KINDS = {"boolean": "true or false", "object": "object", "array": "list"}
FORMATS = {
    "date-time": "date-time",
    "date": "date",
    "time": "time",
    "email": "email address",
    "uuid": "id",
    "uri": "URL",
}
NOTHING: tuple[object, ...] = (UNSET, None, "", [], {})


class FieldRow(Struct, frozen=True, kw_only=True):
    """One field, parameter or alternative, with what is inside it."""

    name: str
    kind: str
    place: str = ""
    required: bool = False
    description: str = ""
    notes: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    inside: tuple["FieldRow", ...] = ()


def field_row(
    name: str, schema: Schema | bool, schemas: Schemas, *, required: bool = False, trail: tuple[str, ...] = ()
) -> FieldRow:
    plain = follow(schema, schemas)
    return FieldRow(
        name=name,
        kind=kind_of(schema, schemas),
        required=required,
        description=plain.description or "",
        notes=tuple(notes_of(plain)),
        values=tuple(shown(value) for value in _values(plain, schemas) if value is not None),
        inside=rows_inside(schema, schemas, trail=trail),
    )


def rows_inside(schema: Schema | bool, schemas: Schemas, *, trail: tuple[str, ...] = ()) -> tuple[FieldRow, ...]:
    """Describe the fields of an object, of a list's entries, or of each alternative; recursion is followed once."""
    name = ref_name(schema)
    if len(trail) > DEEPEST or (name is not None and name in trail):
        return ()
    trail = (*trail, name or "")
    plain = follow(schema, schemas)
    rows = [
        field_row(key, inner, schemas, required=key in plain.required, trail=trail)
        for key, inner in plain.properties.items()
    ]
    if isinstance(plain.additionalProperties, Schema) and rows_inside(plain.additionalProperties, schemas, trail=trail):
        rows.append(field_row("any name", plain.additionalProperties, schemas, trail=trail))
    if plain.items is not None:
        rows += rows_inside(plain.items, schemas, trail=trail)
    return (*rows, *_alternative_rows(plain, schemas, trail))


def kind_of(schema: Schema | bool, schemas: Schemas, *, trail: tuple[str, ...] = ()) -> str:
    plain, name = follow(schema, schemas), ref_name(schema)
    if len(trail) > DEEPEST or (name is not None and name in trail):
        return "the same again"
    trail = (*trail, name or "")
    names = [kind_of(choice, schemas, trail=trail) for choice in alternatives(plain, schemas)]
    names = names or [_kind_name(kind, plain, schemas, trail) for kind in kinds(plain)]
    names = list(dict.fromkeys(names)) or [_kind_of_values(plain)]
    if allows_null(plain, schemas):
        names.append("null")
    return " or ".join(names)


def notes_of(schema: Schema) -> list[str]:
    """Describe the limits of a value, and its default."""
    notes = [
        _bounds(schema.minLength or None, schema.maxLength, "characters"),
        _bounds(schema.minItems or None, schema.maxItems, "entries"),
        _bounds(schema.minimum, schema.maximum, ""),
        f"more than {_number(schema.exclusiveMinimum)}" if schema.exclusiveMinimum is not None else "",
        f"less than {_number(schema.exclusiveMaximum)}" if schema.exclusiveMaximum is not None else "",
        f"a multiple of {_number(schema.multipleOf)}" if schema.multipleOf is not None else "",
        "no entry twice" if schema.uniqueItems else "",
        f"default {shown(schema.default)}" if schema.default not in NOTHING else "",
    ]
    return [note for note in notes if note]


def shown(value: object) -> str:
    """Format a value: a text as it is, everything else as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _alternative_rows(plain: Schema, schemas: Schemas, trail: tuple[str, ...]) -> tuple[FieldRow, ...]:
    rows = []
    for choice in alternatives(plain, schemas):
        inside = rows_inside(choice, schemas, trail=trail)
        if inside:
            shape = follow(choice, schemas)
            title = shape.title or ref_name(choice) or "Another shape"
            rows.append(FieldRow(name=title, kind="alternative", description=shape.description or "", inside=inside))
    return rows[0].inside if len(rows) == 1 else tuple(rows)


def _kind_name(kind: str, schema: Schema, schemas: Schemas, trail: tuple[str, ...]) -> str:
    if kind == "array" and schema.items is not None:
        return f"list of {kind_of(schema.items, schemas, trail=trail)}"
    if kind == "object" and isinstance(schema.additionalProperties, Schema) and not schema.properties:
        return f"object, each value {kind_of(schema.additionalProperties, schemas, trail=trail)}"
    if kind == "string" and schema.format is not None:
        return FORMATS.get(schema.format, f"string, {schema.format}")
    return KINDS.get(kind, kind)


def _kind_of_values(schema: Schema) -> str:
    values = [value for value in schema.enum if value is not None]
    if values and all(isinstance(value, str) for value in values):
        return "string"
    return "fixed value" if values or schema.const is not UNSET else "any value"


def _values(schema: Schema, schemas: Schemas) -> list[object]:
    if schema.const is not UNSET:
        return [schema.const]
    if schema.enum:
        return schema.enum
    inner = [follow(schema.items, schemas)] if schema.items is not None else []
    inner += [follow(choice, schemas) for choice in alternatives(schema, schemas)]
    found = [value for one in inner for value in (one.enum or ([] if one.const is UNSET else [one.const]))]
    return [value for index, value in enumerate(found) if value not in found[:index]]


def _bounds(least: float | None, max_: float | None, unit: str) -> str:
    if least is not None and max_ is not None:
        text = _number(least) if least == max_ else f"{_number(least)} to {_number(max_)}"
    elif least is not None:
        text = f"at least {_number(least)}"
    elif max_ is not None:
        text = f"at most {_number(max_)}"
    else:
        return ""
    return f"{text} {unit}".rstrip()


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"
