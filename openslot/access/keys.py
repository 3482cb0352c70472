"""What credentials look like, so that a mistyped one is refused without a look-up."""

import re
import secrets
import string
from enum import StrEnum
from typing import ClassVar
from zlib import crc32

from openslot.core.text import Label

BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
AGENTS = (
    "support",
    "cto",
    "data",
    "devops",
    "orchestrator",
    "seo",
    "growth",
    "outbound",
    "customer_success",
    "content",
)
AGENT_KEY = re.compile(rf"svc_agent_({'|'.join(AGENTS)})_[0-9a-f]{{64}}")
CHECKED_KEY = re.compile(r"(svc_(?:live|scim)_[0-9A-Za-z]{32})([0-9A-Za-z]{6})")


class CredentialKind(StrEnum):
    """The three kinds of credentials for programs; each opens only its own door."""

    API_KEY = "api_key"
    SCIM_TOKEN = "scim_token"  # noqa: S105 - a kind, not a token
    AGENT_KEY = "agent_key"


class KeyName(Label):
    """The name of a key or token: what it is for."""

    __slots__ = ()

    longest: ClassVar[int] = 100
    schema: ClassVar[dict[str, object]] = {**Label.schema, "maxLength": longest}


PREFIXES = {CredentialKind.API_KEY: "svc_live_", CredentialKind.SCIM_TOKEN: "svc_scim_"}


def new_key(kind: CredentialKind, *, agent: str | None = None) -> str:
    """Make a fresh credential: shown once, never stored."""
    if kind is CredentialKind.AGENT_KEY:
        return f"svc_agent_{agent}_{secrets.token_hex(32)}"
    stem = PREFIXES[kind] + "".join(secrets.choice(BASE62) for _ in range(32))
    return stem + checksum(stem)


def is_wellformed(key: str, kind: CredentialKind) -> bool:
    """Return whether this could be a credential of that kind."""
    if kind is CredentialKind.AGENT_KEY:
        return AGENT_KEY.fullmatch(key) is not None
    match = CHECKED_KEY.fullmatch(key)
    return match is not None and key.startswith(PREFIXES[kind]) and checksum(match[1]) == match[2]


def agent_of(key: str) -> str | None:
    match = AGENT_KEY.fullmatch(key)
    return match[1] if match is not None else None


def checksum(stem: str) -> str:
    """Compute six base62 characters that reveal a typing mistake."""
    value = crc32(stem.encode())
    digits = ""
    for _ in range(6):
        value, place = divmod(value, 62)
        digits = BASE62[place] + digits
    return digits
