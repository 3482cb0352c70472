"""How a tool is declared: one function, its scope, its tier, what a gate needs to know of it; and shared arguments."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from inspect import Parameter, getdoc, signature
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_type_hints
from uuid import UUID

from msgspec import UNSET, Meta, Struct, defstruct, field
from msgspec.structs import asdict

from openslot.accounts import operations as accounts
from openslot.accounts.models import User
from openslot.agents.models import Tier, ToolCall
from openslot.core.config import Settings
from openslot.core.errors import Invalid, NotFound, Refusal
from openslot.core.moments import Moment, Span, read_span
from openslot.core.text import LINE, PROSE
from openslot.core.work import Work
from openslot.routing import described_type
from openslot.routing.listings import Limit, Listing, PageNumber, paginate

T = TypeVar("T")


class CallTarget(NamedTuple):
    """What a call is about, for the audit record."""

    type: str
    id: str


FindTarget = Callable[[Any], CallTarget | None]


class Tool(Struct, frozen=True, kw_only=True):
    """One tool of the server."""

    name: str
    scope: str
    tier: Tier
    description: str
    """When to use it, what it costs, and what it changes: an agent decides by it."""
    arguments: type[Struct]
    """Its own arguments; `confirm`, `approvalId` and `decision` belong to the gates."""
    result: type[Struct]
    run: Callable[[Work, ToolCall, Any], Awaitable[object]]
    target: FindTarget
    cost: Callable[[Settings], int]
    """What one call costs, in micro-dollars."""
    check: Callable[[Work, ToolCall, Any], Awaitable[None]] | None
    """A gate of its own, asked before the budget."""
    transaction: Literal["one", "none"]
    """With none it may wait for other services; what it stages is written with its cost and its record."""
    is_idempotent: bool
    is_destructive: bool
    reaches_outside: bool


class ToolArguments(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Arguments of a tool; unknown ones are refused."""


def tool(
    *,
    scope: str,
    tier: Tier = Tier.T1,
    target: FindTarget = lambda _: None,
    cost: Callable[[Settings], int] = lambda _: 0,
    check: Callable[[Work, ToolCall, Any], Awaitable[None]] | None = None,
    transaction: Literal["one", "none"] = "one",
    is_idempotent: bool = True,
    is_destructive: bool = False,
    reaches_outside: bool = False,
) -> Callable[[Callable[..., Awaitable[object]]], Tool]:
    """Declare a tool by its function: `async def list_flags(work: Work, *, search: str = "") -> FlagList`.

    Its name is the function's, its description the docstring, its arguments are the parameters; `arguments` is a Struct
    of those that it shares with others, and `call` the call itself. A tool of tier T1 runs without a transaction, every
    other in one unless it declares none.
    """
    if transaction == "none" and tier is Tier.T3:
        raise TypeError("a call that was approved runs in the transaction that uses the approval up")

    def declare(function: Callable[..., Awaitable[object]]) -> Tool:
        hints = get_type_hints(function, include_extras=True)
        result = described_type(hints.pop("return"))
        shared = hints.get("arguments", ToolArguments)
        if not shared.__struct_config__.forbid_unknown_fields:
            raise TypeError(f"{function.__name__} must refuse arguments that it does not have")

        async def run(work: Work, call: ToolCall, arguments: Any) -> object:
            injected = {"work": work, "call": call, "arguments": arguments}
            given = {name: injected[name] if name in injected else getattr(arguments, name) for name in hints}
            return await function(**given)

        return Tool(
            name=function.__name__,
            scope=scope,
            tier=tier,
            description=_describe(function),
            arguments=_define_arguments(function, hints, shared),
            result=result,
            run=run,
            target=target,
            cost=cost,
            check=check,
            transaction=transaction,
            is_idempotent=is_idempotent,
            is_destructive=is_destructive,
            reaches_outside=reaches_outside,
        )

    return declare


def _define_arguments(function: Callable[..., Awaitable[object]], hints: dict[str, Any], shared: type) -> type[Struct]:
    """Make a Struct of a function's own parameters, behind those that it shares."""
    parameters = signature(function).parameters
    fields = [
        (name, hint) if parameters[name].default is Parameter.empty else (name, hint, parameters[name].default)
        for name, hint in hints.items()
        if name not in {"work", "call", "arguments"}
    ]
    options: dict[str, Any] = {"frozen": True, "kw_only": True, "rename": "camel", "forbid_unknown_fields": True}
    return defstruct(function.__name__, fields, bases=(shared,), **options) if fields else shared


def _describe(function: Callable[..., Awaitable[object]]) -> str:
    paragraphs = (getdoc(function) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


UserId = Annotated[UUID, Meta(description="The user's id")]
Search = Annotated[str, Meta(pattern=LINE, max_length=254)]
RequiredReason = Annotated[
    str, Meta(pattern=PROSE, min_length=1, max_length=500, description="Reason, stored with the change")
]

_WORDS = "a date or a date-time, in UTC unless it has an offset"


class Paging(ToolArguments, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which page of a list."""

    page: PageNumber = 1
    limit: Limit = 20

    def show(self, shown: list[T], total: int) -> Listing[T]:
        return Listing(data=shown, pagination=paginate(self.page, self.limit, total))


class RangePaging(Paging, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which page of a list, in which time range."""

    from_: Annotated[Moment | None, Meta(description=f"Earliest time: {_WORDS}")] = field(default=None, name="from")
    to: Annotated[Moment | None, Meta(description=f"Latest time: {_WORDS}; a date includes the whole day")] = None

    @property
    def span(self) -> Span:
        """The time range, or a refusal that names what is wrong with it."""
        return read_span(self.from_, self.to)


def about(kind: str, argument: str) -> FindTarget:
    """Name what a call is about by one of its arguments, if that is given."""

    def find(arguments: Any) -> CallTarget | None:
        value = getattr(arguments, argument)
        return CallTarget(kind, str(value)) if value is not None else None

    return find


USER = about("user", "user_id")


async def get_user(work: Work, user_id: UUID) -> User:
    with naming("userId"):
        return await accounts.get_user(work, user_id)


@contextmanager
def naming(argument: str) -> Iterator[None]:
    """Name the argument in the refusal if what it stands for is not found."""
    try:
        yield
    except NotFound as refusal:
        refusal.details = {argument: "does not exist"}
        raise


@contextmanager
def inside(argument: str) -> Iterator[None]:
    """Name the fields of a refusal by their path inside an argument."""
    try:
        yield
    except Refusal as refusal:
        refusal.details = {f"{argument}.{name}": fault for name, fault in (refusal.details or {}).items()} or None
        raise


def read_given(given: Struct, *, argument: str) -> dict[str, Any]:
    """Read the fields that are given, and refuse none at all."""
    fields = {name: value for name, value in asdict(given).items() if value is not UNSET}
    if not fields:
        raise Invalid(details={argument: "must have at least one field"})
    return fields
