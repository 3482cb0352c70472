"""Who does something: the same words for every door."""

from enum import StrEnum
from uuid import UUID

from msgspec import Struct


class ActorKind(StrEnum):
    """The ways to come in."""

    KEY = "key"
    SESSION = "session"
    PUBLIC = "public"
    SCIM = "scim"
    AGENT = "agent"
    OPERATOR = "operator"
    SYSTEM = "system"


class Actor(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who acts, for whom, and by which credential; events keep it as it was."""

    kind: ActorKind
    user_id: UUID | None = None
    organization_id: UUID | None = None
    agent: str | None = None
    credential_id: UUID | None = None
    is_demo: bool = False
    """Whether demo data is made: what follows from it stays inside."""


SYSTEM = Actor(kind=ActorKind.SYSTEM)
OPERATOR = Actor(kind=ActorKind.OPERATOR)
DEMO = Actor(kind=ActorKind.OPERATOR, is_demo=True)
PUBLIC = Actor(kind=ActorKind.PUBLIC)
