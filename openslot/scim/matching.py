"""Tells whether a path selects an element of a list, compared as in RFC 7644."""

from collections.abc import Callable, Mapping
from typing import Any

from openslot.scim.attributes import Attribute
from openslot.scim.errors import InvalidFilter, InvalidPath
from openslot.scim.filters import And, AttributePath, Comparison, Filter, Not, Or, Present, ValuePath

Element = Mapping[str, Any]

_COMPARES: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda found, wanted: bool(found == wanted),
    "ne": lambda found, wanted: bool(found != wanted),
    "gt": lambda found, wanted: bool(found > wanted),
    "ge": lambda found, wanted: bool(found >= wanted),
    "lt": lambda found, wanted: bool(found < wanted),
    "le": lambda found, wanted: bool(found <= wanted),
    "co": lambda found, wanted: wanted in found,
    "sw": lambda found, wanted: found.startswith(wanted),
    "ew": lambda found, wanted: found.endswith(wanted),
}


def is_match(element: Element, term: Filter, attribute: Attribute) -> bool:
    """Return whether a filter is true for one element of a multi-valued attribute."""
    match term:
        case And(terms):
            return all(is_match(element, each, attribute) for each in terms)
        case Or(terms):
            return any(is_match(element, each, attribute) for each in terms)
        case Not(inner):
            return not is_match(element, inner, attribute)
        case Present(path):
            return element.get(part_of(attribute, path).name) not in {None, ""}
        case Comparison(path, operator, value):
            part = part_of(attribute, path)
            return _compare(element.get(part.name), operator, value, part)
        case ValuePath():
            raise InvalidPath("A path must not have a filter inside a filter")


def part_of(attribute: Attribute, path: AttributePath) -> Attribute:
    """Find the part of a complex attribute that a filter names: `type`, or `emails.type`."""
    name = path.name
    if path.part is not None:
        if name.lower() != attribute.name.lower():
            raise InvalidFilter(f"{name}.{path.part} is not a part of {attribute.name}")
        name = path.part
    part = attribute.part(name)
    if part is None:
        raise InvalidFilter(f"{attribute.name} has no part {name[:100]}")
    return part


def to_boolean(value: object) -> bool | None:
    """Read a boolean, also one that is written as a string; None where it is neither."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return None


def _compare(found: object, operator: str, wanted: object, part: Attribute) -> bool:
    if part.kind == "boolean":
        # An element without `primary` is not the primary one.
        found, wanted = bool(found), to_boolean(wanted)
        return operator in {"eq", "ne"} and wanted is not None and _COMPARES[operator](found, wanted)
    if not isinstance(found, str) or not isinstance(wanted, str):
        return operator == "ne"
    if not part.case_exact:
        found, wanted = found.lower(), wanted.lower()
    return _COMPARES[operator](found, wanted)
