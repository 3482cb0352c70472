"""Paths of PATCH operations: which attribute, which of its values, which part."""

import re

from msgspec import Struct

from openslot.scim.attributes import CORE, Attribute, find_attribute, split_schema
from openslot.scim.errors import InvalidPath
from openslot.scim.filters import Filter, parse_attribute_path, parse_filter

LONGEST = 1000
_SHAPE = re.compile(r"(?P<head>[^\[\]]+)(?:\[(?P<filter>.*)\](?:\.(?P<part>[A-Za-z$][\w$-]*))?)?", re.ASCII | re.DOTALL)


class PathTarget(Struct, frozen=True, kw_only=True):
    """What an operation changes."""

    schema: str
    attribute: Attribute | None
    """None: all of the schema."""
    filter: Filter | None = None
    part: Attribute | None = None

    @property
    def is_read_only(self) -> bool:
        """Return whether no provider may change it."""
        return self.attribute is not None and self.attribute.mutability == "readOnly"


def parse_path(text: str) -> PathTarget | None:
    """Read a path; None if it names an attribute that is not stored."""
    shape = _SHAPE.fullmatch(text.strip()) if len(text) <= LONGEST else None
    if shape is None:
        raise InvalidPath(f"{text[:100]} is not a path")
    split = split_schema(shape["head"])
    if split is not None and not split[1]:
        return PathTarget(schema=split[0], attribute=None)
    path = parse_attribute_path(shape["head"])
    if path is None or (path.part and shape["filter"] is not None):
        raise InvalidPath(f"{text[:100]} is not a path")
    wanted = parse_filter(shape["filter"]) if shape["filter"] is not None else None
    attribute = find_attribute(path.schema, path.name) if path.schema is not None else None
    if attribute is None:
        return None
    if wanted is not None and not (attribute.multi_valued and attribute.parts):
        raise InvalidPath(f"{attribute.name} has no values to choose from")
    part_name = path.part or shape["part"]
    part = attribute.part(part_name) if part_name else None
    if part_name and part is None:
        return None
    return PathTarget(schema=path.schema or CORE, attribute=attribute, filter=wanted, part=part)
