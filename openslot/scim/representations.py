"""A user as a provider sees it: the attributes that were asked for, its version, and lists."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from openslot.accounts.models import InvitationLimit
from openslot.core.db import Row
from openslot.scim.attributes import CORE, ENTERPRISE, LIST, find_attribute, split_schema
from openslot.scim.errors import InvalidValue
from openslot.scim.filters import parse_attribute_path
from openslot.scim.resources import derive_user

Shown = dict[str, Any]
SelectedPath = tuple[str, str | None, str | None]
"""A schema, an attribute of it or all, a part of that or all."""
_ALWAYS = frozenset({"schemas", "id"})


class Projection(Struct, frozen=True):
    """What to show, or what to leave out."""

    only: frozenset[SelectedPath] | None = None
    without: frozenset[SelectedPath] = frozenset()

    @property
    def shows_all(self) -> bool:
        """Return whether nothing is left out."""
        return self.only is None and not self.without

    def apply(self, user: Shown) -> Shown:
        """Show the part that is wanted."""
        shown: Shown = {}
        for name, value in user.items():
            if name == ENTERPRISE:
                inner = {
                    key: kept for key, one in value.items() if (kept := self._keep(ENTERPRISE, key, one)) is not None
                }
                if inner:
                    shown[name] = inner
            elif name in _ALWAYS:
                shown[name] = value
            elif (kept := self._keep(CORE, name, value)) is not None:
                shown[name] = kept
        return shown

    def _keep(self, schema: str, name: str, value: Any) -> Any:
        if self.only is not None:
            parts = _parts(self.only, schema, name)
            return value if None in parts else _choose(value, lambda key: key in parts)
        gone = _parts(self.without, schema, name)
        return None if None in gone else _choose(value, lambda key: key not in gone) if gone else value


def read_projection(attributes: str | None, excluded: str | None) -> Projection:
    """Read both lists, of which a request may have one."""
    if attributes and excluded:
        raise InvalidValue("attributes and excludedAttributes must not be used together")
    return Projection(_read(attributes) if attributes else None, _read(excluded or ""))


def join_names(names: Iterable[str] | None) -> str | None:
    """Write a list of names as a query has it."""
    return ",".join(names) if names else None


def _read(text: str) -> frozenset[SelectedPath]:
    return frozenset(found for name in text.split(",") if (found := _read_name(name.strip())) is not None)


def _read_name(name: str) -> SelectedPath | None:
    split = split_schema(name)
    if split is not None and not split[1]:
        return split[0], None, None
    path = parse_attribute_path(name)
    attribute = find_attribute(path.schema, path.name) if path is not None and path.schema is not None else None
    if path is None or path.schema is None or attribute is None:
        return None
    part = attribute.part(path.part) if path.part else None
    return None if path.part and part is None else (path.schema, attribute.name, part.name if part else None)


def _parts(wanted: frozenset[SelectedPath], schema: str, name: str) -> set[str | None]:
    if (schema, None, None) in wanted:
        return {None}
    return {part for of, attribute, part in wanted if (of, attribute) == (schema, name)}


def _choose(value: Any, is_wanted: Any) -> Any:
    if isinstance(value, list):
        return [kept for each in value if (kept := _choose(each, is_wanted))] or None
    if isinstance(value, dict):
        return {key: inner for key, inner in value.items() if is_wanted(key)} or None
    return None


_TAG = re.compile(r'(?:W/)?"([^"]*)"')


def etag(version: int) -> str:
    """Write a version as an ETag."""
    return f'W/"{version}"'


def is_named(version: int, header: str) -> bool:
    """Return whether a header names this version, compared weakly; `*` names every one."""
    return header.strip() == "*" or str(version) in _TAG.findall(header)


NOTICE = "x-notice"
UNINVITED = {
    InvitationLimit.ORGANIZATION: "The invitation was not sent: the organization has sent too many within a day",
    InvitationLimit.RECIPIENT: "The invitation was not sent: this address was sent as many as allowed",
}

_SCHEMAS = {
    False: msgspec.json.encode([CORE]).decode(),
    True: msgspec.json.encode([CORE, ENTERPRISE]).decode(),
}
# Only a key is followed by a bare quote and a colon: in a value, both quotes are escaped.
_HAS_EXTENSION = f'"{ENTERPRISE}":'
_ACTIVE = {True: ',"active":true', False: ',"active":false', None: ""}


def show_user(row: Row, base: str, projection: Projection) -> str:
    """Write one user as JSON."""
    profile = row["profile"] or msgspec.json.encode(derive_user(email=row["email"], name=row["name"])).decode()
    user_id = str(row["id"])
    text = (
        f'{{"schemas":{_SCHEMAS[_HAS_EXTENSION in profile]},"id":"{user_id}",{profile[1:-1]}{_ACTIVE[row["active"]]},'
        f'"meta":{{"resourceType":"User","created":"{row["created_at"]}","lastModified":"{row["changed_at"]}",'
        f'"location":"{base}/Users/{user_id}","version":"W/\\"{row["version"]}\\""}}}}'
    )
    if projection.shows_all:
        return text
    return msgspec.json.encode(projection.apply(msgspec.json.decode(text))).decode()


def show_list(users: Sequence[str], *, total: int, start: int) -> bytes:
    """Write one page of a list as JSON."""
    head = f'{{"schemas":["{LIST}"],"totalResults":{total},"startIndex":{start},"itemsPerPage":{len(users)}'
    return f'{head},"Resources":[{",".join(users)}]}}'.encode()


def headers_of(row: Row, base: str) -> dict[str, str]:
    """Write where a user is, its version, and whether the invitation was not sent."""
    headers = {"location": f"{base}/Users/{row['id']}", "etag": etag(row["version"])}
    refused = row["invitation_refused"]
    return headers | ({NOTICE: UNINVITED[InvitationLimit(refused)]} if refused else {})
