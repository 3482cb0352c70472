"""JSON bodies, read strictly: every wrong field is named at once, in words."""

import re
from datetime import datetime
from functools import lru_cache
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
from litestar import Request
from msgspec import NODEFAULT, Struct

from openslot.core.errors import Invalid
from openslot.http.doors import visit_of

DEEPEST = 64
NOT_JSON = "The body is not valid JSON"
FIRST_YEAR, LAST_YEAR = 1970, 2199

WORDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"Expected `(?:str|array)` of length >= 1$", "must not be empty"),
        (r"Expected `str` of length >= (\d+)$", r"must have at least \1 characters"),
        (r"Expected `str` of length <= (\d+)$", r"must have at most \1 characters"),
        (r"Expected `array` of length <= (\d+)$", r"must have at most \1 entries"),
        (r"Expected `str` matching regex .*", "has characters that are not allowed"),
        (r"Expected `(?:int|float)` >= (\S+)$", r"must be at least \1"),
        (r"Expected `(?:int|float)` <= (\S+)$", r"must be at most \1"),
        (r"Expected `datetime` with a timezone component", "must carry an offset, such as Z"),
        (r"Invalid RFC3339 encoded datetime", "must be an ISO 8601 date-time, such as 2026-03-16T09:00:00Z"),
        (r"Invalid RFC3339 encoded date", "must be a date, such as 2026-03-16"),
        (r"Invalid enum value .*", "is not one of the allowed values"),
        (r"Invalid UUID", "is not an id"),
        (r"Expected `(\w+)(?: \| null)?`, got `(\w+)`.*", r"must be \1, not \2"),
        (r"Expected `(.+)`, got `(\w+)`.*", r"must be one of \1, not \2"),
    )
)
NAMES = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
    "datetime": "a date-time",
    "date": "a date",
}


class StrictRequest(Request[Any, Any, Any]):
    """A request whose JSON body is decoded into exactly the type that the handler names."""

    async def json(self) -> Any:
        """Decode the body, or refuse it with every fault."""
        wanted = self.route_handler.parsed_fn_signature.parameters.get("data")
        body = visit_of(self.scope).body
        check_depth(body)
        return decode(body, wanted.raw if wanted is not None else object)


def decode(body: bytes, kind: Any) -> Any:
    """Decode JSON into a type, or refuse it with every fault."""
    try:
        value = _decoder(kind).decode(body)
    except msgspec.ValidationError as fault:
        faults = find_faults(msgspec.json.decode(body), kind) or dict([_place(fault)])
        raise Invalid(details=faults) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Invalid(NOT_JSON, details={"body": "is not valid JSON"}) from None
    if faults := _times_out_of_range(value):
        raise Invalid(details=faults)
    return value


def check_depth(body: bytes) -> None:
    """Refuse JSON that is nested deeper than anyone needs; most bodies are too small to be counted."""
    if body.count(b"[") + body.count(b"{") <= DEEPEST:
        return
    depth = 0
    for bracket in re.findall(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', body):
        depth += (bracket in b"[{") - (bracket in b"]}") if len(bracket) == 1 else 0
        if depth > DEEPEST:
            raise Invalid(NOT_JSON, details={"body": f"is nested deeper than {DEEPEST}"})


def find_faults(value: object, kind: Any, *, path: str = "") -> dict[str, str]:
    """Convert field by field and name every fault by its dotted path."""
    struct = _struct_of(kind)
    if struct is None or not isinstance(value, dict):
        return _convert(value, kind, path)
    fields = msgspec.structs.fields(struct)
    faults: dict[str, str] = {}
    for field in fields:
        place = f"{path}{field.encode_name}"
        if field.encode_name in value:
            faults |= find_faults(value[field.encode_name], field.type, path=f"{place}.")
        elif field.default is NODEFAULT and field.default_factory is NODEFAULT:
            faults[place] = "is required"
    if struct.__struct_config__.forbid_unknown_fields:
        known = {field.encode_name for field in fields}
        faults |= {f"{path}{_shown(name)}": "is not a known field" for name in value if name not in known}
    return faults


def in_words(message: str) -> str:
    """Say a converter's message as a person would."""
    for pattern, words in WORDS:
        match = pattern.match(message)
        if match:
            said = match.expand(words)
            return re.sub(r"\b(?:str|int|float|bool|object|array|null|datetime|date)\b", lambda m: NAMES[m[0]], said)
    return message[:1].lower() + message[1:]


def _convert(value: object, kind: Any, path: str) -> dict[str, str]:
    try:
        msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as fault:
        place, words = _place(fault, path)
        return {place: words}
    return {}


def _place(fault: msgspec.ValidationError, path: str = "") -> tuple[str, str]:
    message, _, place = str(fault).partition(" - at `$")
    inner = place.rstrip("`").lstrip(".").replace("[", ".").replace("]", "").lstrip(".")
    return (f"{path}{inner}".rstrip(".") or "body"), in_words(message)


def _times_out_of_range(value: object, path: str = "") -> dict[str, str]:
    if isinstance(value, datetime) and not FIRST_YEAR <= value.year <= LAST_YEAR:
        return {path: f"must lie between {FIRST_YEAR} and {LAST_YEAR}"}
    if not isinstance(value, Struct):
        return {}
    faults: dict[str, str] = {}
    for field in msgspec.structs.fields(value):
        place = f"{path}.{field.encode_name}" if path else field.encode_name
        faults |= _times_out_of_range(getattr(value, field.name), place)
    return faults


def _struct_of(kind: Any) -> type[Struct] | None:
    if get_origin(kind) in {Union, UnionType}:
        structs = [inner for inner in map(_struct_of, get_args(kind)) if inner is not None]
        return structs[0] if len(structs) == 1 else None
    return kind if isinstance(kind, type) and issubclass(kind, Struct) else None


def _shown(name: str) -> str:
    return name if len(name) <= 100 else name[:100] + "…"


@lru_cache(maxsize=512)
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)
