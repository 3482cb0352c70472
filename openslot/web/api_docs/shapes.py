"""Simplified schemas: references resolved, parts joined, alternatives listed, null separated."""

import msgspec

from openslot.web.api_docs.spec import Schema, Schemas

DEEPEST = 8
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
    """Return whether null is one of the values."""
    if isinstance(schema.type, list) and "null" in schema.type:
        return True
    return None in schema.enum or any(_is_null(follow(one, schemas)) for one in (*schema.oneOf, *schema.anyOf))


def _is_null(schema: Schema) -> bool:
    return schema.type in ("null", ["null"])


def _join(outer: Schema, inner: Schema) -> Schema:
    own = {name: value for name, value in msgspec.structs.asdict(outer).items() if value != DEFAULTS[name]}
    joined = msgspec.structs.replace(inner, **own)
    return msgspec.structs.replace(
        joined,
        properties={**inner.properties, **outer.properties},
        required=[*inner.required, *outer.required],
    )
