"""What the arguments of several tools have in common."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any
from uuid import UUID

from msgspec import UNSET, Meta, Struct, field
from msgspec.structs import asdict

from openslot.agents.registry import CallTarget
from openslot.core.errors import Invalid, NotFound, Refusal
from openslot.core.moments import Moment, Span, read_span
from openslot.core.text import LINE, PROSE
from openslot.routing.declarations import Limit, PageNumber

UserId = Annotated[UUID, Meta(description="The user's id")]
BookingId = Annotated[UUID, Meta(description="The booking's id")]
ContactId = Annotated[UUID, Meta(description="The contact's id")]
EventTypeId = Annotated[UUID, Meta(description="The event type's id")]
Search = Annotated[str, Meta(pattern=LINE, max_length=254)]
RequiredReason = Annotated[
    str, Meta(pattern=PROSE, min_length=1, max_length=500, description="Reason, stored with the change")
]

_WORDS = "a date or a date-time, in UTC unless it has an offset"


class ToolArguments(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Arguments of a tool; unknown ones are refused."""


class Paging(ToolArguments, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which page of a list."""

    page: PageNumber = 1
    limit: Limit = 20


class RangePaging(Paging, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which page of a list, in which time range."""

    from_: Annotated[Moment | None, Meta(description=f"Earliest time: {_WORDS}")] = field(default=None, name="from")
    to: Annotated[Moment | None, Meta(description=f"Latest time: {_WORDS}; a date includes the whole day")] = None

    @property
    def span(self) -> Span:
        """The time range, or a refusal that names what is wrong with it."""
        return read_span(self.from_, self.to)


class UserArguments(ToolArguments, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which user."""

    user_id: UserId


def user_target(arguments: UserArguments) -> CallTarget:
    """Name the user that a call is about."""
    return CallTarget("user", str(arguments.user_id))


@contextmanager
def naming(argument: str) -> Iterator[None]:
    """Name the argument in the refusal if what it stands for is not found."""
    try:
        yield
    except NotFound as refusal:
        refusal.details = {argument: "does not exist"}
        raise


def read_given(given: Struct, *, argument: str) -> dict[str, Any]:
    """Read the fields that are given, and refuse none at all."""
    fields = {name: value for name, value in asdict(given).items() if value is not UNSET}
    if not fields:
        raise Invalid(details={argument: "must have at least one field"})
    return fields


@contextmanager
def inside(argument: str) -> Iterator[None]:
    """Name the fields of a refusal by their path inside an argument."""
    try:
        yield
    except Refusal as refusal:
        refusal.details = {f"{argument}.{name}": fault for name, fault in (refusal.details or {}).items()} or None
        raise
