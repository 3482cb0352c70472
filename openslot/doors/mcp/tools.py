"""How a tool is declared by its function, read, described and answered; a door adds what its gates need to know."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from inspect import Parameter, getdoc, signature
from itertools import islice
from typing import Annotated, Any, TypeVar, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, defstruct, field
from msgspec.structs import asdict

from openslot.doors.http.bodies import MAX_FAULTS, find_faults, find_unfit
from openslot.doors.mcp.quotes import without_hidden
from openslot.platform.core.errors import Invalid, NotFound, Refusal
from openslot.platform.core.moments import Moment, Span, read_span
from openslot.platform.core.text import describe_checked, read_checked
from openslot.platform.core.work import Work
from openslot.platform.routing import described_type
from openslot.platform.routing.listings import Limit, Listing, PageNumber, paginate

T = TypeVar("T")
ToolT = TypeVar("ToolT", bound="Tool")
JsonSchema = dict[str, Any]

REFERENCES = "#/$defs/{name}"
INJECTED = frozenset({"work", "call", "arguments"})
encode = msgspec.json.Encoder().encode


class Tool(Struct, frozen=True, kw_only=True):
    """One tool of a server."""

    name: str
    description: str
    """When to use it, what it costs, and what it changes: a model decides by it."""
    arguments: type[Struct]
    """The arguments of the tool; a door may read others beside them."""
    result: type[Struct]
    run: Callable[[Work, Any, Any], Awaitable[object]]
    """Runs it with the work, the door's own description of the call, and its arguments."""
    is_read_only: bool
    is_idempotent: bool
    is_destructive: bool
    reaches_outside: bool
    page: str | None = None
    """The address of the resource with which a chat shows its result; others show the text."""


class ToolArguments(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Arguments of a tool; unknown ones are refused."""


def define_tool(function: Callable[..., Awaitable[object]], kind: type[ToolT], **declared: Any) -> ToolT:
    """Make a tool of a function: `async def list_flags(work: Work, *, search: str = "") -> FlagList`.

    Its name is the function's, its description the docstring, its arguments are the parameters; `arguments` is a Struct
    of those that it shares with others, and `call` what the door says about the call. `declared` is what else the kind
    of tool has.
    """
    hints = get_type_hints(function, include_extras=True)
    result = described_type(hints.pop("return"))
    shared = hints.get("arguments", ToolArguments)
    if not shared.__struct_config__.forbid_unknown_fields:
        raise TypeError(f"{function.__name__} must refuse arguments that it does not have")

    async def run(work: Work, call: object, arguments: Any) -> object:
        injected = {"work": work, "call": call, "arguments": arguments}
        given = {name: injected[name] if name in injected else getattr(arguments, name) for name in hints}
        return await function(**given)

    return kind(
        name=function.__name__,
        description=_describe(function),
        arguments=_define_arguments(function, hints, shared),
        result=result,
        run=run,
        **declared,
    )


def _define_arguments(function: Callable[..., Awaitable[object]], hints: dict[str, Any], shared: type) -> type[Struct]:
    """Make a Struct of a function's own parameters, behind those that it shares."""
    parameters = signature(function).parameters
    fields = [
        (name, hint) if parameters[name].default is Parameter.empty else (name, hint, parameters[name].default)
        for name, hint in hints.items()
        if name not in INJECTED
    ]
    options: dict[str, Any] = {"frozen": True, "kw_only": True, "rename": "camel", "forbid_unknown_fields": True}
    return defstruct(function.__name__, fields, bases=(shared,), **options) if fields else shared


def _describe(function: Callable[..., Awaitable[object]]) -> str:
    paragraphs = (getdoc(function) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def describe_tool(tool: Tool, input_schema: JsonSchema, output_schema: JsonSchema | None = None) -> Raw:
    """Write a tool as tools/list shows it; its result is described as it is declared unless a door changes it."""
    described: dict[str, object] = {
        "name": tool.name,
        "title": tool.name.replace("_", " ").capitalize(),
        "description": tool.description,
        "inputSchema": input_schema,
        "outputSchema": schema_of(tool.result) if output_schema is None else output_schema,
        "annotations": {
            "readOnlyHint": tool.is_read_only,
            "destructiveHint": tool.is_destructive,
            "idempotentHint": tool.is_idempotent,
            "openWorldHint": tool.reaches_outside,
        },
    }
    if tool.page is not None:
        described["_meta"] = {"ui": {"resourceUri": tool.page}}
    return Raw(encode(described))


def schema_of(kind: type[Struct]) -> JsonSchema:
    """Write the schema of a Struct with an object at its root, as the protocol asks for, and its parts beside it."""
    (root,), parts = msgspec.json.schema_components([kind], schema_hook=describe_checked, ref_template=REFERENCES)
    named = parts.pop(root["$ref"].rpartition("/")[2])
    whole = {key: value for key, value in named.items() if key not in {"title", "description"}}
    return whole | ({"$defs": parts} if parts else {})


def without_patterns(schema: Any) -> Any:
    """Leave out regular expressions: some clients read all of a schema with an engine that does not know ours."""
    if isinstance(schema, list):
        return [without_patterns(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: without_patterns(each) for name, each in schema.items() if name != "pattern" or not isinstance(each, str)
    }


def read_arguments(given: Mapping[str, object], kind: type[Struct]) -> Any:
    """Read arguments, or refuse them with every fault; fields that the tool does not have are faults."""
    try:
        read = msgspec.convert(given, kind, dec_hook=read_checked)
        if next(find_unfit(read), None) is None:
            return read
    except msgspec.ValidationError:
        pass
    raise Invalid("The arguments are invalid", details=dict(islice(find_faults(given, kind), MAX_FAULTS)))


class ToolResponse(Struct, frozen=True, kw_only=True):
    """What a call is answered with: the tool's result, or why it failed."""

    content: Raw
    is_error: bool = False


def respond(result: object, *, is_error: bool = False) -> ToolResponse:
    """Write what a tool answers, without hidden characters, whoever has typed them and wherever they stand."""
    written = encode(result)
    shown = written if written.isascii() else without_hidden(written.decode()).encode()
    return ToolResponse(content=Raw(shown), is_error=is_error)


def error_body(refusal: Refusal) -> dict[str, dict[str, object]]:
    return {"error": {"code": refusal.code, "message": refusal.message, "details": refusal.details or {}}}


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
