"""A user as a provider sends it, read into the attributes that we keep, and as the provider sees it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from openslot.domains.accounts.models import InvitationLimit
from openslot.doors.scim.attributes import CORE, ENTERPRISE, LIST, Attribute, find_attribute, split_schema
from openslot.doors.scim.errors import InvalidValue
from openslot.doors.scim.filters import parse_attribute_path, to_boolean
from openslot.platform.core.db import Row
from openslot.platform.core.text import is_visible, parse_email

LONGEST = 1000
MAX_VALUES = 50

Resource = dict[str, Any]
"""Attributes by their canonical names; those of the enterprise extension inside its URN."""


def read_user(body: Mapping[str, Any]) -> Resource:
    """Read a whole user; unknown and read-only attributes and nulls are ignored."""
    resource: Resource = {}
    for key, value in body.items():
        if key.lower() == ENTERPRISE.lower():
            if value is not None:
                resource[ENTERPRISE] = read_extension(value)
            continue
        attribute = find_attribute(CORE, key)
        if attribute is not None and attribute.mutability != "readOnly" and not is_empty(value):
            resource[attribute.name] = read_value(attribute, value)
    return without_empty(resource)


def read_extension(value: object) -> Resource:
    if not isinstance(value, Mapping):
        raise InvalidValue(f"{ENTERPRISE} must be an object")
    found = ((find_attribute(ENTERPRISE, str(key)), inner) for key, inner in value.items() if not is_empty(inner))
    return {attribute.name: read_value(attribute, inner) for attribute, inner in found if attribute is not None}


def read_value(attribute: Attribute, value: object) -> Any:
    if not attribute.multi_valued:
        return read_one(attribute, value)
    values = value if isinstance(value, list) else [value]
    if len(values) > MAX_VALUES:
        raise InvalidValue(f"{attribute.name} must have at most {MAX_VALUES} values")
    return with_one_primary([each for each in (read_one(attribute, one) for one in values) if each])


def read_one(attribute: Attribute, value: object) -> Any:
    if isinstance(value, list) and len(value) == 1:
        # Some providers send every value in a list: [{"value": "Sales"}].
        value = value[0]
        value = value.get("value") if attribute.kind != "complex" and isinstance(value, Mapping) else value
    if attribute.kind == "complex":
        return _read_complex(attribute, value)
    if attribute.kind == "boolean":
        found = to_boolean(value)
        if found is None:
            raise InvalidValue(f"{attribute.name} must be true or false")
        return found
    if not isinstance(value, str):
        raise InvalidValue(f"{attribute.name} must be a string")
    if len(value) > LONGEST:
        raise InvalidValue(f"{attribute.name} must have at most {LONGEST} characters")
    return value


def _read_complex(attribute: Attribute, value: object) -> Resource:
    # Providers may send only the value: a manager's id, an address in a list.
    if isinstance(value, str) and attribute.part("value") is not None:
        value = {"value": value}
    if not isinstance(value, Mapping):
        raise InvalidValue(f"{attribute.name} must be an object")
    parts = ((attribute.part(str(key)), inner) for key, inner in value.items() if inner is not None)
    return {part.name: read_one(part, inner) for part, inner in parts if part is not None}


def is_empty(value: object) -> bool:
    return value is None or value in ([], {})


def without_empty(resource: Resource) -> Resource:
    return {name: value for name, value in resource.items() if not is_empty(value)}


def with_one_primary(values: list[Resource]) -> list[Resource]:
    """Make the first value that is marked as primary the only primary one."""
    first = next((index for index, each in enumerate(values) if each.get("primary")), None)
    return [each if index == first else without_primary(each) for index, each in enumerate(values)]


def without_primary(value: Resource) -> Resource:
    """Mark a value as not the primary one, if it is marked."""
    return {**value, "primary": False} if value.get("primary") else value


def check_user(resource: Resource) -> Resource:
    if not resource.get("userName", "").strip():
        raise InvalidValue("userName is required")
    get_email(resource)
    return resource


def get_email(resource: Resource) -> str:
    """Choose the account's address: the primary one, else the first of type work, else the first, else userName."""
    emails = [each for each in resource.get("emails", ()) if each.get("value", "").strip()]
    emails.sort(key=lambda each: (not each.get("primary"), each.get("type", "").lower() != "work"))
    chosen = emails[0]["value"] if emails else resource["userName"]
    try:
        return parse_email(chosen.strip())
    except ValueError:
        if emails:
            raise InvalidValue(f"emails: {chosen[:100]} is not a valid email address") from None
        raise InvalidValue("emails is required where userName is not an email address") from None


def get_name(resource: Resource) -> str:
    """Choose the account's name: the provider's, or else the local part of the address."""
    name = resource.get("name", {})
    both = f"{name.get('givenName', '')} {name.get('familyName', '')}"
    for choice in (name.get("formatted", ""), both, resource.get("displayName", "")):
        line = " ".join(choice.split())
        if is_visible(line):
            return line[:200].strip()
    return get_email(resource).partition("@")[0]


def find_new_name(current: Resource, wanted: Resource) -> str | None:
    """Find the name that a provider has changed; a full name that stays while its parts change is outdated."""
    before, after = current.get("name", {}), wanted.get("name", {})
    parts_changed = any(before.get(part) != after.get(part) for part in ("givenName", "familyName"))
    if parts_changed and before.get("formatted") == after.get("formatted"):
        wanted = {**wanted, "name": {part: value for part, value in after.items() if part != "formatted"}}
    name = get_name(wanted)
    return name if name != get_name(current) else None


def derive_user(*, email: str, name: str) -> Resource:
    """Show an account that no provider has described."""
    given, _, family = name.rpartition(" ")
    parts = {"formatted": name, "givenName": given or family, "familyName": family if given else ""}
    return {
        "userName": email,
        "name": {key: value for key, value in parts.items() if value},
        "displayName": name,
        "emails": [{"value": email, "type": "work", "primary": True}],
    }


Shown = dict[str, Any]
SelectedPath = tuple[str, str | None, str | None]
"""A schema, an attribute of it or all, a part of that or all."""


class Projection(Struct, frozen=True):
    """What to show, or what to leave out."""

    only: frozenset[SelectedPath] | None = None
    without: frozenset[SelectedPath] = frozenset()

    def apply(self, user: Shown) -> Shown:
        shown: Shown = {}
        for name, value in user.items():
            if name == ENTERPRISE:
                inner = {
                    key: kept for key, one in value.items() if (kept := self._keep(ENTERPRISE, key, one)) is not None
                }
                if inner:
                    shown[name] = inner
            elif name in {"schemas", "id"}:
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
    if attributes and excluded:
        raise InvalidValue("attributes and excludedAttributes must not be used together")
    return Projection(_read(attributes) if attributes else None, _read(excluded or ""))


def join_names(names: Iterable[str] | None) -> str | None:
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
    return f'W/"{version}"'


def is_named(version: int, header: str) -> bool:
    """Return whether a header names this version, compared weakly; `*` names every one."""
    return header.strip() == "*" or str(version) in _TAG.findall(header)


NOTICE = "x-notice"
UNINVITED = {
    InvitationLimit.ORGANIZATION: "The invitation was not sent: the organization has sent too many within a day",
    InvitationLimit.RECIPIENT: "The invitation was not sent: this address was sent as many as allowed",
}

_SCHEMAS = {False: msgspec.json.encode([CORE]).decode(), True: msgspec.json.encode([CORE, ENTERPRISE]).decode()}
# Only a key is followed by a bare quote and a colon: in a value, both quotes are escaped.
_HAS_EXTENSION = f'"{ENTERPRISE}":'
_ACTIVE = {True: ',"active":true', False: ',"active":false', None: ""}


def show_user(row: Row, base: str, projection: Projection) -> str:
    profile = row["profile"] or msgspec.json.encode(derive_user(email=row["email"], name=row["name"])).decode()
    user_id = str(row["id"])
    groups = f',"groups":{row["groups"]}' if row["groups"] else ""
    text = (
        f'{{"schemas":{_SCHEMAS[_HAS_EXTENSION in profile]},"id":"{user_id}",'
        f"{profile[1:-1]}{_ACTIVE[row['active']]}{groups},"
        f'"meta":{{"resourceType":"User","created":"{row["created_at"]}","lastModified":"{row["changed_at"]}",'
        f'"location":"{base}/Users/{user_id}","version":"W/\\"{row["version"]}\\""}}}}'
    )
    if projection.only is None and not projection.without:
        return text
    return msgspec.json.encode(projection.apply(msgspec.json.decode(text))).decode()


def show_list(users: Sequence[str], *, total: int, start: int) -> bytes:
    head = f'{{"schemas":["{LIST}"],"totalResults":{total},"startIndex":{start},"itemsPerPage":{len(users)}'
    return f'{head},"Resources":[{",".join(users)}]}}'.encode()


def headers_of(row: Row, base: str) -> dict[str, str]:
    """Write where a user is, its version, and whether the invitation was not sent."""
    headers = {"location": f"{base}/Users/{row['id']}", "etag": etag(row["version"])}
    refused = row["invitation_refused"]
    return headers | ({NOTICE: UNINVITED[InvitationLimit(refused)]} if refused else {})
