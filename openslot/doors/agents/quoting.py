"""Which texts in results people outside have typed: agents get them quoted, as other tool servers show them."""

from collections.abc import Mapping
from functools import cache
from typing import Any, get_origin

import msgspec
from msgspec import Struct, inspect
from msgspec.structs import fields

from openslot.domains.accounts.schemas import Me
from openslot.domains.bookings.hosts.schemas import ShownBookingHost
from openslot.domains.bookings.schemas import BookingFields, EmailLog
from openslot.domains.contacts.schemas import EmbeddedContact, ListedContact, MeetingEventType
from openslot.domains.event_types.models import Location, Question, ShowIf
from openslot.domains.event_types.schemas import EmbeddedEventType, ListedEventType
from openslot.doors.agents.registry import AgentTool
from openslot.doors.agents.tools import TOOLS
from openslot.doors.agents.tools.analytics_shapes import TopType, TrafficSource
from openslot.doors.agents.tools.audit import WaitingCall
from openslot.doors.agents.tools.infrastructure import SystemFinding
from openslot.doors.agents.tools.users import ShownSettings
from openslot.doors.mcp.quotes import Quote, QuotedFrom, quote
from openslot.doors.mcp.tools import REFERENCES, JsonSchema, encode, schema_of

CONTACT: dict[str, QuotedFrom] = {"name": "host or invitee", "company": "host", "notes": "host", "tags": "host"}
TYPED: dict[type[Struct], dict[str, QuotedFrom]] = {
    BookingFields: {
        "invitee_name": "invitee",
        "notes": "invitee",
        "answers": "invitee",
        "cancel_reason": "host or invitee",
    },
    Location: {"value": "host or invitee"},
    EmbeddedContact: CONTACT,
    ListedContact: CONTACT,
    EmailLog: {"subject": "host or invitee", "error": "mail server"},
    EmbeddedEventType: {"name": "host"},
    ListedEventType: {"name": "host", "description": "host"},
    MeetingEventType: {"name": "host"},
    Question: {"label": "host", "options": "host"},
    ShowIf: {"values": "host"},
    ShownBookingHost: {"name": "host"},
    Me: {"name": "host"},
    ShownSettings: {"name": "host"},
    TopType: {"name": "host"},
    TrafficSource: {"source": "visitor"},
    # Another agent's words, who may have read those of strangers.
    WaitingCall: {"arguments": "agent"},
    # It quotes errors of single items, whose words can be anybody's.
    SystemFinding: {"meaning": "error"},
}
"""The author of each field that a person has typed, by shape; it holds for shapes that extend it."""
QUOTE = REFERENCES.format(name=Quote.__name__)
# What an example or a bound says of a text is not so of a quotation.
OF_BOTH = frozenset({"description", "title"})


def typed_fields(kind: type) -> dict[str, QuotedFrom]:
    """Return the fields of a Struct that people type, and who."""
    return {name: by for base in kind.__mro__ for name, by in TYPED.get(base, {}).items()}


def mark(result: object) -> object:
    """Quote what people have typed in a result; hidden characters are taken out of it."""
    return _mark(result, msgspec.json.decode(encode(result))) if isinstance(result, Struct) else result


def _mark(value: object, written: Any) -> Any:
    if isinstance(value, Struct) and isinstance(written, dict):
        typed = typed_fields(type(value))
        for field in fields(value):
            if (name := field.encode_name) in written:
                by, inner = typed.get(field.name), written[name]
                written[name] = _quote(inner, by) if by else _mark(getattr(value, field.name), inner)
    elif isinstance(value, Mapping) and isinstance(written, dict):
        return {name: _mark(inner, written[name]) for name, inner in value.items()}
    elif isinstance(value, list | tuple) and isinstance(written, list):
        return [_mark(inner, each) for inner, each in zip(value, written, strict=True)]
    return written


def _quote(written: Any, by: QuotedFrom) -> Any:
    if isinstance(written, str):
        return msgspec.to_builtins(quote(written, by))
    if isinstance(written, list):
        return [_quote(each, by) for each in written]
    return {name: _quote(each, by) for name, each in written.items()} if isinstance(written, dict) else written


# benchmarks/caches.py: list what a result consists of, in every call of a tool, 510 times
@cache
def list_shapes(kind: type) -> frozenset[type[Struct]]:
    """List the Structs that a result consists of."""
    found: set[type[Struct]] = set()
    waiting: list[object] = [inspect.type_info(kind)]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list | tuple):
            waiting += each
        elif isinstance(each, inspect.StructType) and each.cls not in found:
            found.add(get_origin(each.cls) or each.cls)
            waiting += [field.type for field in each.fields]
        elif isinstance(each, inspect.Type) and not isinstance(each, inspect.StructType):
            waiting += [getattr(each, name) for name in each.__struct_fields__]
    return frozenset(found)


def shows_typed(tool: AgentTool) -> bool:
    """Return whether a tool can answer with what people outside have typed."""
    return any(typed_fields(each) for each in list_shapes(tool.result))


SHOWING_TYPED = frozenset(tool.name for tool in TOOLS if shows_typed(tool))


def output_schema(tool: AgentTool) -> JsonSchema:
    """Write the schema of a tool's results, with quotations where people have typed."""
    schema = schema_of(tool.result)
    if not shows_typed(tool):
        return schema
    parts = {name: dict(part) for name, part in schema.get("$defs", {}).items()}
    (_,), quotation = msgspec.json.schema_components([Quote], ref_template=REFERENCES)
    whole = {**schema, "$defs": parts | quotation}
    for shape in list_shapes(tool.result):
        described = whole if shape is tool.result else parts.get(shape.__name__)
        if described is not None:
            described.update(_with_quotes(shape, described))
    return whole


def _with_quotes(shape: type[Struct], described: JsonSchema) -> JsonSchema:
    typed = typed_fields(shape)
    names = {field.encode_name for field in fields(shape) if field.name in typed}
    if not names:
        return {}
    shown = described["properties"]
    return {"properties": {name: _quoted(each) if name in names else each for name, each in shown.items()}}


def _quoted(schema: Any) -> Any:
    """Replace the texts of a schema by quotations."""
    if isinstance(schema, list):
        return [_quoted(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: each for name, each in schema.items() if name in OF_BOTH}
    if schema.get("type") == "string":
        return {**kept, "$ref": QUOTE}
    inner = {name: _quoted(schema[name]) for name in ("anyOf", "items", "additionalProperties") if name in schema}
    return {**kept, **{name: schema[name] for name in ("type",) if name in schema}, **inner}
