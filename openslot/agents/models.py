"""The nouns of the tool server: agents, their levels and categories, and one call of a tool."""

from enum import IntEnum, StrEnum
from uuid import UUID

from msgspec import Struct


class Tier(StrEnum):
    """How much a tool may change, and what a call of it needs."""

    T1 = "T1"
    """Reads only; needs nothing."""
    T2 = "T2"
    """Writes that can be undone; needs `confirm`."""
    T3 = "T3"
    """Writes that can't be undone or matter much; needs `confirm` and an approval."""


class Level(IntEnum):
    """How far an agent acts on its own, and separately how much it may send."""

    L0 = 0
    L1 = 1


class EmailCategory(StrEnum):
    """What an e-mail of an agent is for."""

    SUPPORT = "support"
    TRANSACTIONAL = "transactional"
    MARKETING = "marketing"
    INTERNAL = "internal"


class Agent(Struct, frozen=True, kw_only=True):
    """One of the ten agents as the operator has set it up."""

    slug: str
    autonomy_level: Level
    email_level: Level


class Caller(Struct, frozen=True, kw_only=True):
    """The agent behind a request, and the key that it used."""

    agent: Agent
    key_id: UUID
    scopes: frozenset[str]
    """The key's scopes, with the read scope that each write scope implies."""


class ToolCall(Struct, frozen=True, kw_only=True):
    """One call of a tool: what a tool knows about it besides its arguments."""

    id: UUID
    """The id of its audit record."""
    caller: Caller
    """On whose behalf the tool runs: the requester, also if another agent has approved the call."""
    request_id: str
