"""PATCH: all forms that providers send become plain operations on targets, and one function applies them."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from openslot.scim.applying import PatchKind, PatchOperation, apply
from openslot.scim.attributes import CORE
from openslot.scim.errors import InvalidPath, InvalidSyntax, InvalidValue, NoTarget, NotMutable
from openslot.scim.paths import PathTarget, parse_path
from openslot.scim.resources import Resource, check_user, is_empty, without_empty

MOST_OPERATIONS = 100
_KINDS: dict[str, PatchKind] = {"add": "add", "replace": "replace", "remove": "remove"}


def patch(resource: Resource, body: Mapping[str, Any]) -> Resource:
    """Apply all operations of a message to a copy, or refuse them all."""
    changed = deepcopy(resource)
    for operation in read_operations(body):
        apply(changed, operation)
    return check_user(without_empty(changed))


def read_operations(body: Mapping[str, Any]) -> Iterator[PatchOperation]:
    """Read a message's operations in order; those on attributes that are not stored are ignored."""
    sent = _get(body, "Operations")
    if not isinstance(sent, list) or not sent:
        raise InvalidSyntax("Operations must be a list with at least one operation")
    if len(sent) > MOST_OPERATIONS:
        raise InvalidSyntax(f"Operations must have at most {MOST_OPERATIONS} operations")
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
