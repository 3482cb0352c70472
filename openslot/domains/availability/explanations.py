"""The nouns of an explanation: why a start or a day is open or closed, for all and for each host."""

from datetime import date, datetime

from msgspec import Struct

from openslot.domains.availability.models import Code, SlotContext


class Reason(Struct, frozen=True, rename="camel"):
    """One rule that closes a start, or some starts of a day."""

    code: Code
    sentence: str
    remedy: str
    """The change that would open it."""

    starts_at: datetime | None = None
    ends_at: datetime | None = None
    """The span that the rule closes, where it has one."""

    closes: int = 1
    """How many starts it closes."""


class HostExplained(Struct, frozen=True, rename="camel"):
    """Whether a host of a team can be chosen for a start."""

    name: str
    can_be_chosen: bool
    sentence: str
    """Why, or why not: `Ana is in a meeting`, `Jim is 3 ahead`."""


class GroupExplained(Struct, frozen=True, rename="camel"):
    """The candidates of a group for a start, and whether enough of them can be chosen."""

    pick: int
    can_be_chosen: int
    """How many of its hosts."""

    sentence: str
    hosts: tuple[HostExplained, ...]


class StartExplained(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Why a start is open or closed, the most telling reason first."""

    starts_at: datetime
    code: Code
    reasons: tuple[Reason, ...]
    groups: tuple[GroupExplained, ...] = ()
    """Only set for team event types."""


class HostOfDay(Struct, frozen=True, rename="camel"):
    """At how many starts of a day a host of a team is free."""

    name: str
    free: int


class DayExplained(Struct, frozen=True, rename="camel", omit_defaults=True):
    """How many starts a day's hours give, how many are open, and what closes the others."""

    on: date
    starts: int
    open: int
    reasons: tuple[Reason, ...]
    hosts: tuple[HostOfDay, ...] = ()
    """Only set for team event types."""


class WholeDayExplained(Struct, frozen=True, kw_only=True):
    """A day of the host's calendar with every start of it, and one start that was asked for."""

    found: SlotContext
    day: DayExplained
    starts: tuple[StartExplained, ...]
    asked: StartExplained | None
