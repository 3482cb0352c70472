"""Who does something, in the same terms for every entry point, and to whom what follows from it is sent."""

from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from msgspec import Struct


class ActorKind(StrEnum):
    KEY = "key"
    SESSION = "session"
    PUBLIC = "public"
    SCIM = "scim"
    AGENT = "agent"
    ASSISTANT = "assistant"
    """Read from this release on, and written by the next; until then, `assistant` of a key's actor tells it."""
    OPERATOR = "operator"
    SYSTEM = "system"


class Actor(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who acts, on whose behalf, and with which credential; events store it unchanged."""

    kind: ActorKind
    user_id: UUID | None = None
    organization_id: UUID | None = None
    agent: str | None = None
    credential_id: UUID | None = None
    assistant: str | None = None
    """The name of the program through which the user acts, if the credential is that of an assistant."""
    is_demo: bool = False
    """Whether it creates demo data, whose effects are not sent to the outside."""


SYSTEM = Actor(kind=ActorKind.SYSTEM)
OPERATOR = Actor(kind=ActorKind.OPERATOR)
DEMO = Actor(kind=ActorKind.OPERATOR, is_demo=True)
PUBLIC = Actor(kind=ActorKind.PUBLIC)


class EffectAttempt(NamedTuple):
    """One attempt of one effect."""

    effect_id: UUID
    round: int


class Destination(Struct, frozen=True):
    """Where an effect goes, and on whose behalf; a worker divides its capacity between destinations."""

    target: str
    owner_id: UUID | None
    is_operators: bool = False
    """Whether it is a server of the operator's own, which is sent as much as it keeps up with."""
