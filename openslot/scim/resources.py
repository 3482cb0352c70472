"""A user as a provider sends it, read into the attributes that we keep: canonical names, checked types."""

from collections.abc import Mapping
from typing import Any

from openslot.core.text import is_visible, parse_email
from openslot.scim.attributes import CORE, ENTERPRISE, Attribute, find_attribute
from openslot.scim.errors import InvalidValue
from openslot.scim.filters import to_boolean

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
    """Read what the enterprise extension holds."""
    if not isinstance(value, Mapping):
        raise InvalidValue(f"{ENTERPRISE} must be an object")
    found: Resource = {}
    for key, inner in value.items():
        attribute = find_attribute(ENTERPRISE, str(key))
        if attribute is not None and not is_empty(inner):
            found[attribute.name] = read_value(attribute, inner)
    return found


def read_value(attribute: Attribute, value: object) -> Any:
    """Read the value of an attribute, or refuse one of a wrong type."""
    if not attribute.multi_valued:
        return read_one(attribute, value)
    values = value if isinstance(value, list) else [value]
    if len(values) > MAX_VALUES:
        raise InvalidValue(f"{attribute.name} must have at most {MAX_VALUES} values")
    return with_one_primary([each for each in (read_one(attribute, one) for one in values) if each])


def read_one(attribute: Attribute, value: object) -> Any:
    """Read one value of an attribute."""
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
    found = {}
    for key, inner in value.items():
        part = attribute.part(str(key))
        if part is not None and inner is not None:
            found[part.name] = read_one(part, inner)
    return found


def is_empty(value: object) -> bool:
    """Return whether a value is empty."""
    return value is None or value in ([], {})


def without_empty(resource: Resource) -> Resource:
    """Leave out attributes that have nothing in them."""
    return {name: value for name, value in resource.items() if not is_empty(value)}


def with_one_primary(values: list[Resource]) -> list[Resource]:
    """Make the first value that is marked as primary the only primary one."""
    primaries = [place for place, each in enumerate(values) if each.get("primary")]
    return [{**each, "primary": False} if place in primaries[1:] else each for place, each in enumerate(values)]


def check_user(resource: Resource) -> Resource:
    """Refuse a user without a name or an email address."""
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
