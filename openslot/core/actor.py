"""Actors: who does something, in the same terms for every entry point."""

from enum import StrEnum
from uuid import UUID

from msgspec import Struct


class ActorKind(StrEnum):
    KEY = "key"
    SESSION = "session"
    PUBLIC = "public"
    SCIM = "scim"
    AGENT = "agent"
    OPERATOR = "operator"
    SYSTEM = "system"


class Actor(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who acts, on whose behalf, and with which credential; events store it unchanged."""

    kind: ActorKind
    user_id: UUID | None = None
    organization_id: UUID | None = None
    agent: str | None = None
    credential_id: UUID | None = None
    is_demo: bool = False
    """Whether it creates demo data, whose effects are not sent to the outside."""


SYSTEM = Actor(kind=ActorKind.SYSTEM)
OPERATOR = Actor(kind=ActorKind.OPERATOR)
DEMO = Actor(kind=ActorKind.OPERATOR, is_demo=True)
PUBLIC = Actor(kind=ActorKind.PUBLIC)
