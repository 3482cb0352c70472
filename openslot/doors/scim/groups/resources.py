"""A group as a provider sends it or changes it, and as the provider sees it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from openslot.doors.scim.attributes import GROUP, MEMBERS
from openslot.doors.scim.errors import InvalidPath, InvalidSyntax, InvalidValue, NoTarget, NotMutable
from openslot.doors.scim.filters import Filter, is_match, parse_filter
from openslot.doors.scim.resources import LONGEST, Resource, Shown, etag
from openslot.platform.core.db import Row

MAX_MEMBERS = 2000
MAX_OPERATIONS = 100
KINDS = frozenset({"add", "replace", "remove"})
READ_ONLY = frozenset({"id", "meta", "schemas"})
ALWAYS = frozenset({"schemas", "id"})
_MEMBERS_PATH = re.compile(r"members\[(?P<filter>.*)\](?:\.[a-z$]+)?", re.DOTALL | re.IGNORECASE)


class GroupState(Struct, frozen=True, kw_only=True):
    """What a provider says of a group."""

    name: str
    external_id: str | None = None
    members: tuple[str, ...] | None = None
    """The ids of users; None if the provider says nothing about them."""


def read_group(body: Mapping[str, Any]) -> GroupState:
    """Read a whole group; unknown and read-only attributes are ignored."""
    sent = {_name_of(key): value for key, value in body.items()}
    name = _read_text("displayName", sent.get("displayname"))
    if name is None or not name.strip():
        raise InvalidValue("displayName is required")
    members = _read_members(sent["members"]) if "members" in sent else None
    return GroupState(name=name, external_id=_read_text("externalId", sent.get("externalid")), members=members)


def patch_group(state: GroupState, body: Mapping[str, Any]) -> GroupState:
    """Apply all operations of a message, or refuse them all."""
    operations = _get(body, "Operations")
    if not isinstance(operations, list) or not operations:
        raise InvalidSyntax("Operations must be a list with at least one operation")
    if len(operations) > MAX_OPERATIONS:
        raise InvalidSyntax(f"Operations must have at most {MAX_OPERATIONS} operations")
    for each in operations:
        if not isinstance(each, Mapping):
            raise InvalidSyntax("Each of Operations must be an object")
        for kind, path, value in _read_operation(each):
            state = _apply(state, kind, path, value)
    return state


def _read_operation(sent: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    op, path, value = (_get(sent, name) for name in ("op", "path", "value"))
    kind = op.lower() if isinstance(op, str) else ""
    if kind not in KINDS:
        raise InvalidSyntax("op must be add, replace or remove")
    if path is not None and not isinstance(path, str):
        raise InvalidPath("path must be a string")
    if path and path.strip():
        if kind != "remove" and "value" not in {key.lower() for key in sent}:
            raise InvalidValue(f"value is required to {kind} {path[:100]}")
        if _name_of(path) in READ_ONLY:
            raise NotMutable(f"{path.strip()[:100]} is read-only")
        yield kind, path.strip(), value
        return
    if kind == "remove":
        raise NoTarget("path is required to remove something")
    if not isinstance(value, Mapping):
        raise InvalidValue("value must be an object where there is no path")
    # Okta sends the id with the name.
    yield from ((kind, key, inner) for key, inner in value.items() if _name_of(key) not in READ_ONLY)


def _apply(state: GroupState, kind: str, path: str, value: Any) -> GroupState:
    name = _name_of(path)
    if name == "displayname":
        if kind == "remove":
            raise NotMutable("displayName is required")
        text = _read_text("displayName", value)
        if text is None or not text.strip():
            raise InvalidValue("displayName is required")
        return replace(state, name=text)
    if name == "externalid":
        return replace(state, external_id=None if kind == "remove" else _read_text("externalId", value))
    if name == "members":
        return replace(state, members=_change_members(state.members or (), kind, value))
    if "[" in name:
        return replace(state, members=_change_chosen(state.members or (), kind, path))
    return state


def _change_members(current: tuple[str, ...], kind: str, value: Any) -> tuple[str, ...]:
    if kind == "remove":
        gone = set(current) if value is None else set(_read_members(value))
        return tuple(each for each in current if each not in gone)
    sent = _read_members(value)
    return sent if kind == "replace" else tuple(dict.fromkeys((*current, *sent)))


def _change_chosen(current: tuple[str, ...], kind: str, path: str) -> tuple[str, ...]:
    """Remove the members that a path such as `members[value eq "…"]` chooses; they can't be changed otherwise."""
    shape = _MEMBERS_PATH.fullmatch(_without_schema(path)) if len(path) <= LONGEST else None
    if shape is None:
        raise InvalidPath(f"{path[:100]} is not a path")
    term: Filter = parse_filter(shape["filter"])
    chosen = {each for each in current if is_match({"value": each, "type": "User"}, term, MEMBERS)}
    if kind != "remove":
        if not chosen:
            raise NoTarget("No member matches the filter of the path")
        return current
    return tuple(each for each in current if each not in chosen)


def _read_members(value: object) -> tuple[str, ...]:
    values = [] if value is None else value if isinstance(value, list) else [value]
    if len(values) > MAX_MEMBERS:
        raise InvalidValue(f"members must have at most {MAX_MEMBERS} values at once")
    return tuple(dict.fromkeys(_read_member(each) for each in values))


def _read_member(value: object) -> str:
    found = _get(value, "value") if isinstance(value, Mapping) else value
    if not isinstance(found, str) or not found.strip():
        raise InvalidValue("members must have the id of a user as value")
    kind = _get(value, "type") if isinstance(value, Mapping) else None
    if isinstance(kind, str) and kind.lower() not in {"", "user"}:
        raise InvalidValue("members must be users: groups inside groups are not supported")
    return found.strip().lower()


def _read_text(name: str, value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidValue(f"{name} must be a string")
    if len(value) > LONGEST or "\x00" in value:
        raise InvalidValue(f"{name} must have at most {LONGEST} characters, and only such as are allowed")
    return value


def _name_of(path: str) -> str:
    return _without_schema(path).lower()


def _without_schema(path: str) -> str:
    path = path.strip()
    return path[len(GROUP) + 1 :] if path.lower().startswith(f"{GROUP.lower()}:") else path


def _get(sent: object, name: str) -> Any:
    """Read a member of a message by its name in any letter case."""
    if not isinstance(sent, Mapping):
        return None
    return next((value for key, value in sent.items() if key.lower() == name.lower()), None)


class GroupProjection(Struct, frozen=True):
    """Which attributes of a group to show: these alone, or all but these."""

    only: frozenset[str] | None = None
    without: frozenset[str] = frozenset()

    def has(self, name: str) -> bool:
        wanted = name.lower()
        return wanted in ALWAYS or (wanted in self.only if self.only is not None else wanted not in self.without)


def read_group_projection(attributes: str | None, excluded: str | None) -> GroupProjection:
    if attributes and excluded:
        raise InvalidValue("attributes and excludedAttributes must not be used together")
    return GroupProjection(_read_names(attributes) if attributes else None, _read_names(excluded or ""))


def _read_names(text: str) -> frozenset[str]:
    return frozenset(_name_of(name).partition(".")[0] for name in text.split(",") if name.strip())


def show_group(row: Row, base: str, projection: GroupProjection) -> str:
    group_id = str(row["id"])
    shown: Shown = {"schemas": [GROUP], "id": group_id}
    if row["external_id"] is not None:
        shown["externalId"] = row["external_id"]
    shown["displayName"] = row["name"]
    members: list[Resource] = msgspec.json.decode(row["members"]) if row["members"] else []
    if members:
        shown["members"] = [{**each, "$ref": f"{base}/Users/{each['value']}"} for each in members]
    shown["meta"] = {
        "resourceType": "Group",
        "created": row["created_at"],
        "lastModified": row["updated_at"],
        "location": f"{base}/Groups/{group_id}",
        "version": etag(row["version"]),
    }
    return msgspec.json.encode({name: value for name, value in shown.items() if projection.has(name)}).decode()
