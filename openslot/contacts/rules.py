"""Decisions about contacts: what every field must look like, and how it is kept."""

from collections.abc import Callable
from typing import Any

from msgspec import UNSET
from msgspec.structs import asdict

from openslot.contacts.schemas import ContactChanges, ContactWanted
from openslot.core.errors import Invalid
from openslot.core.phones import parse_phone
from openslot.core.text import parse_email


def check_fields(given: ContactWanted | ContactChanges) -> dict[str, Any]:
    """Normalise every field that is given, or refuse them with every fault."""
    kept: dict[str, Any] = {}
    faults: dict[str, str] = {}
    for name, value in asdict(given).items():
        if value is UNSET:
            continue
        try:
            kept[name] = _KEEP[name](value)
        except ValueError as fault:
            faults[name] = str(fault)
    if faults:
        raise Invalid(details=faults)
    return kept


def find_phone(text: str | None) -> str | None:
    """Read a phone number that someone else has entered; None if it is not valid."""
    try:
        return _keep_phone(text)
    except ValueError:
        return None


def _keep_name(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text.strip()


def _keep_email(text: str) -> str:
    given = text.strip()
    normal = parse_email(given)
    # The owner's letter case is kept; any other difference in spelling would hide that two addresses are the same.
    return given if given.casefold() == normal.casefold() else normal


def _keep_phone(text: str | None) -> str | None:
    given = (text or "").strip()
    return parse_phone(given) if given else None


def _keep_line(text: str | None) -> str | None:
    return (text or "").strip() or None


def _keep_prose(text: str | None) -> str | None:
    return text if text and text.strip() else None


def _keep_tags(tags: tuple[str, ...] | None) -> tuple[str, ...]:
    trimmed = tuple(dict.fromkeys(tag.strip() for tag in tags or ()))
    if not all(trimmed):
        raise ValueError("must not have an empty entry")
    return trimmed


_KEEP: dict[str, Callable[[Any], object]] = {
    "name": _keep_name,
    "email": _keep_email,
    "phone": _keep_phone,
    "company": _keep_line,
    "notes": _keep_prose,
    "tags": _keep_tags,
}
