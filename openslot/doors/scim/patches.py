"""PATCH: its operations are read, their paths resolved, and each is applied to a user."""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Literal, get_args

from msgspec import Struct

from openslot.doors.scim.attributes import CORE, ENTERPRISE, Attribute, find_attribute, split_schema
from openslot.doors.scim.errors import InvalidPath, InvalidSyntax, InvalidValue, NoTarget, NotMutable
from openslot.doors.scim.filters import And, Comparison, Filter, is_match, parse_attribute_path, parse_filter, part_of
from openslot.doors.scim.resources import (
    MAX_VALUES,
    Resource,
    check_user,
    is_empty,
    read_extension,
    read_one,
    read_value,
    without_empty,
    without_primary,
)

LONGEST = 1000
_SHAPE = re.compile(r"(?P<head>[^\[\]]+)(?:\[(?P<filter>.*)\](?:\.(?P<part>[A-Za-z$][\w$-]*))?)?", re.ASCII | re.DOTALL)


class PathTarget(Struct, frozen=True, kw_only=True):
    schema: str
    attribute: Attribute | None
    """None if it is the whole schema."""
    filter: Filter | None = None
    part: Attribute | None = None

    @property
    def is_read_only(self) -> bool:
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


PatchKind = Literal["add", "replace", "remove"]


class PatchOperation(Struct, frozen=True):
    kind: PatchKind
    target: PathTarget
    value: Any


def apply(resource: Resource, operation: PatchOperation) -> None:
    target = operation.target
    if target.attribute is None:
        _apply_to_schema(resource, operation)
        return
    if operation.kind == "remove" and target.attribute.required and not target.attribute.multi_valued:
        raise NotMutable(f"{target.attribute.name} is required")
    holder = resource if target.schema == CORE else resource.setdefault(target.schema, {})
    if target.attribute.multi_valued:
        _apply_to_values(holder, operation, target.attribute)
    elif target.part is not None:
        _apply_to_one(holder.setdefault(target.attribute.name, {}), operation, target.part)
    else:
        _apply_to_one(holder, operation, target.attribute)


def _apply_to_schema(resource: Resource, operation: PatchOperation) -> None:
    if operation.kind == "remove":
        if operation.target.schema == CORE:
            raise NotMutable("userName is required")
        resource.pop(operation.target.schema, None)
        return
    extension = resource.setdefault(operation.target.schema, {})
    for name, value in read_extension(operation.value).items():
        extension[name] = {**extension.get(name, {}), **value} if isinstance(value, dict) else value


def _apply_to_one(holder: Resource, operation: PatchOperation, attribute: Attribute) -> None:
    if operation.kind == "remove":
        holder.pop(attribute.name, None)
        return
    value = read_one(attribute, operation.value)
    if isinstance(value, dict):
        # Parts that the operation does not name stay as they are.
        removed = _nulls_of(attribute, operation.value)
        kept = {name: part for name, part in holder.get(attribute.name, {}).items() if name not in removed}
        value = without_empty({**kept, **value})
    holder[attribute.name] = value


def _nulls_of(attribute: Attribute, value: object) -> set[str]:
    if not isinstance(value, Mapping):
        return set()
    parts = (attribute.part(str(key)) for key, inner in value.items() if inner is None)
    return {part.name for part in parts if part is not None}


def _apply_to_values(holder: Resource, operation: PatchOperation, attribute: Attribute) -> None:
    values: list[Resource] = holder.setdefault(attribute.name, [])
    if operation.target.filter is None and operation.target.part is None:
        holder[attribute.name] = _changed_list(values, operation, attribute)
    else:
        holder[attribute.name] = _changed_elements(values, operation, attribute)
    if len(holder[attribute.name]) > MAX_VALUES:
        raise InvalidValue(f"{attribute.name} must have at most {MAX_VALUES} values")


def _changed_list(values: list[Resource], operation: PatchOperation, attribute: Attribute) -> list[Resource]:
    if operation.kind == "remove":
        if operation.value is None:
            return []
        gone = [each.get("value") for each in read_value(attribute, operation.value)]
        return [each for each in values if each.get("value") not in gone]
    sent: list[Resource] = read_value(attribute, operation.value)
    if operation.kind == "replace":
        return sent
    added = [each for each in sent if each not in values]
    return _with_new_primary(values, added)


def _changed_elements(values: list[Resource], operation: PatchOperation, attribute: Attribute) -> list[Resource]:
    """Change the elements that the path selects; if there are none, make the one that it describes."""
    chosen = operation.target.filter
    indexes = [index for index, each in enumerate(values) if chosen is None or is_match(each, chosen, attribute)]
    if operation.kind == "remove":
        return _without(values, indexes, operation.target.part)
    if not indexes:
        made: Resource = _described_by(chosen, attribute)
        return _with_new_primary(values, [_change(made, operation, attribute)])
    changed = {index: _change(values[index], operation, attribute) for index in indexes}
    if any(each.get("primary") for each in changed.values()):
        values = [without_primary(each) for each in values]
    return [changed.get(index, each) for index, each in enumerate(values)]


def _change(element: Resource, operation: PatchOperation, attribute: Attribute) -> Resource:
    part = operation.target.part
    if part is not None:
        return {**element, part.name: read_one(part, operation.value)}
    value = read_one(attribute, operation.value)
    if operation.kind == "add":
        return {**element, **value}
    return {**_described_by(operation.target.filter, attribute), **value}


def _without(values: list[Resource], indexes: list[int], part: Attribute | None) -> list[Resource]:
    if part is None or part.name == "value":
        return [each for index, each in enumerate(values) if index not in indexes]
    return [
        {name: value for name, value in each.items() if name != part.name} if index in indexes else each
        for index, each in enumerate(values)
    ]


def _described_by(term: Filter | None, attribute: Attribute) -> Resource:
    """Make the element that a filter such as `type eq "work"` describes."""
    match term:
        case None:
            return {}
        case Comparison(path, "eq", value) if isinstance(value, str | bool):
            part = part_of(attribute, path)
            return {part.name: read_one(part, value)}
        case And(terms):
            return {name: value for each in terms for name, value in _described_by(each, attribute).items()}
    raise NoTarget("No value matches the filter of the path")


def _with_new_primary(values: list[Resource], added: list[Resource]) -> list[Resource]:
    if any(each.get("primary") for each in added):
        values = [without_primary(each) for each in values]
    return [*values, *added]


MAX_OPERATIONS = 100
_KINDS: dict[str, PatchKind] = {kind: kind for kind in get_args(PatchKind)}


def patch(resource: Resource, body: Mapping[str, Any]) -> Resource:
    """Apply all operations of a message to a copy, or refuse them all."""
    changed = deepcopy(resource)
    for operation in read_operations(body):
        apply(changed, operation)
    if ENTERPRISE in changed:
        changed[ENTERPRISE] = without_empty(changed[ENTERPRISE])
    return check_user(without_empty(changed))


def read_operations(body: Mapping[str, Any]) -> Iterator[PatchOperation]:
    """Read a message's operations in order; those on attributes that are not stored are ignored."""
    sent = _get(body, "Operations")
    if not isinstance(sent, list) or not sent:
        raise InvalidSyntax("Operations must be a list with at least one operation")
    if len(sent) > MAX_OPERATIONS:
        raise InvalidSyntax(f"Operations must have at most {MAX_OPERATIONS} operations")
    for each in sent:
        if not isinstance(each, Mapping):
            raise InvalidSyntax("Each of Operations must be an object")
        yield from _read_operation(each)


def _read_operation(sent: Mapping[str, Any]) -> Iterator[PatchOperation]:
    op, path, value = (_get(sent, name) for name in ("op", "path", "value"))
    kind = _KINDS.get(op.lower()) if isinstance(op, str) else None
    if kind is None:
        raise InvalidSyntax("op must be add, replace or remove")
    if path is not None and not isinstance(path, str):
        raise InvalidPath("path must be a string")
    if path is None or not path.strip():
        yield from _read_without_path(kind, value)
        return
    target = parse_path(path)
    if target is None:
        return
    if target.is_read_only:
        raise NotMutable(f"{target.attribute.name if target.attribute else path} is read-only")
    if kind != "remove" and "value" not in {key.lower() for key in sent}:
        raise InvalidValue(f"value is required to {kind} {path[:100]}")
    yield from _with_value(kind, target, value)


def _read_without_path(kind: PatchKind, value: object) -> Iterator[PatchOperation]:
    if kind == "remove":
        raise NoTarget("path is required to remove something")
    if not isinstance(value, Mapping):
        raise InvalidValue("value must be an object where there is no path")
    for key, inner in value.items():
        # Each key is a path of its own: name.givenName, urn:…:User:department, emails[type eq "work"].value.
        target = parse_path(key) if key.strip() else None
        if target is not None and not target.is_read_only:
            yield from _with_value(kind, target, inner)


def _with_value(kind: PatchKind, target: PathTarget, value: object) -> Iterator[PatchOperation]:
    """Turn an operation on a whole schema into one for each of its attributes; a null removes."""
    if target.attribute is None and target.schema == CORE and kind != "remove":
        yield from _read_without_path(kind, value)
    elif kind != "remove" and is_empty(value):
        yield PatchOperation("remove", target, None)
    else:
        yield PatchOperation(kind, target, value)


def _get(sent: Mapping[str, Any], name: str) -> Any:
    """Read a member of a message by its name in any letter case."""
    return next((value for key, value in sent.items() if key.lower() == name.lower()), None)
