"""Bodies as they are read strictly: limits for every value, and every fault at once, in plain words."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from enum import Enum
from itertools import islice
from math import isfinite
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Struct

from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import EMPTY, NOT_ALLOWED, at_most_characters, is_prose, read_checked
from openslot.platform.core.times import FIRST_YEAR, LAST_YEAR
from openslot.platform.i18n import PluralText, Text

FIRST = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC)
END = datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC)
# The range of a bigint; larger numbers are refused by the driver, not by the database.
SMALLEST, LARGEST = -(2**63), 2**63 - 1

OUT_OF_TIME = Text("must be between %(first)s and %(last)s", first=FIRST_YEAR, last=LAST_YEAR)
OUT_OF_RANGE = Text("is a number out of range")
NO_OFFSET = Text("must have an offset, such as Z")

Fault = tuple[str, str]


def find_unfit(value: object, path: str = "") -> Iterator[Fault]:
    """Yield a fault for every text, number and time inside a value that can't be stored or calculated with."""
    if isinstance(value, str):
        if not is_prose(value):
            yield path, NOT_ALLOWED
    elif isinstance(value, Struct):
        for name, encoded in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
            yield from find_unfit(getattr(value, name), join(path, encoded))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from find_unfit(key, join(path, shown(str(key))))
            yield from find_unfit(inner, join(path, shown(str(key))))
    elif isinstance(value, list | tuple | set | frozenset):
        for index, inner in enumerate(value):
            yield from find_unfit(inner, join(path, str(index)))
    elif (fault := _fault_of_scalar(value)) is not None:
        yield path, fault


def join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def shown(name: str) -> str:
    """Escape and shorten a name that the caller has chosen, so that it can be sent back."""
    short = name if len(name) <= 100 else name[:100] + "…"
    return short if short.isprintable() else short.encode("unicode_escape").decode()


def _fault_of_scalar(value: object) -> str | None:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            return NO_OFFSET
        return None if FIRST <= value < END else OUT_OF_TIME
    if isinstance(value, date):
        return None if FIRST_YEAR <= value.year <= LAST_YEAR else OUT_OF_TIME
    if isinstance(value, int):
        return None if SMALLEST <= value <= LARGEST else OUT_OF_RANGE
    if isinstance(value, float):
        return None if isfinite(value) else OUT_OF_RANGE
    return None


REQUIRED = Text("is required")
UNKNOWN = Text("is not a known field")


def _at_least_characters(count: str) -> Text:
    return PluralText(
        "must have at least %(count)s character", "must have at least %(count)s characters", count=int(count)
    )


def _at_least_entries(count: str) -> Text:
    return PluralText("must have at least %(count)s entry", "must have at least %(count)s entries", count=int(count))


def _at_most_entries(count: str) -> Text:
    return PluralText("must have at most %(count)s entry", "must have at most %(count)s entries", count=int(count))


def _exactly_entries(count: str) -> Text:
    return PluralText("must have exactly %(count)s entry", "must have exactly %(count)s entries", count=int(count))


# The converter's messages, and the functions that reword them; groups in parentheses become arguments.
WORDS: tuple[tuple[re.Pattern[str], Callable[..., Text]], ...] = tuple(
    (re.compile(pattern), say)
    for pattern, say in (
        (r"Expected `(?:str|array|object)` of length >= 1$", lambda: EMPTY),
        (r"Expected `str` of length >= (\d+)$", _at_least_characters),
        (r"Expected `str` of length <= (\d+)$", lambda count: at_most_characters(int(count))),
        (r"Expected `(?:array|object)` of length >= (\d+)$", _at_least_entries),
        (r"Expected `(?:array|object)` of length <= (\d+)$", _at_most_entries),
        (r"Expected `array` of length (\d+), got \d+$", _exactly_entries),
        (r"Expected `str` matching regex ", lambda: NOT_ALLOWED),
        (r"Expected `(?:int|float)` >= (\S+)$", lambda bound: Text("must be at least %(bound)s", bound=bound)),
        (r"Expected `(?:int|float)` <= (\S+)$", lambda bound: Text("must be at most %(bound)s", bound=bound)),
        (r"Expected `float` > (\S+)$", lambda bound: Text("must be more than %(bound)s", bound=bound)),
        (r"Expected `float` < (\S+)$", lambda bound: Text("must be less than %(bound)s", bound=bound)),
        (
            r"Expected `(?:int|float)` that's a multiple of (\S+)$",
            lambda step: Text("must be a multiple of %(step)s", step=step),
        ),
        (r"(?:Number|Integer value) out of range$", lambda: OUT_OF_RANGE),
        (r"Expected `datetime` with a timezone component$", lambda: NO_OFFSET),
        (
            r"Invalid RFC3339 encoded datetime$",
            lambda: Text("must be an ISO 8601 date-time, such as 2026-03-16T09:00:00Z"),
        ),
        (r"Invalid RFC3339 encoded date$", lambda: Text("must be a date, such as 2026-03-16")),
        (r"Invalid RFC3339 encoded time$", lambda: Text("must be a time of day, such as 09:00:00")),
        (r"Invalid UUID$", lambda: Text("must be a UUID")),
        (r"Invalid enum value ", lambda: Text("is not one of the allowed values")),
        (r"Object missing required field ", lambda: Text("is missing a field")),
        (r"Object contains unknown field ", lambda: Text("has an unknown field")),
    )
)
NAMES = {
    "str": Text("a string"),
    "int": Text("an integer"),
    "float": Text("a number"),
    "bool": Text("true or false"),
    "object": Text("an object"),
    "array": Text("a list"),
    "null": Text("null"),
    "datetime": Text("a date-time"),
    "date": Text("a date"),
    "time": Text("a time of day"),
    "uuid": Text("a UUID"),
}


def in_words(fault: Exception | None, kind: Any = None, *, given: bool = True) -> str:
    """Reword a converter's error for people; if the type is given, list the values that it allows."""
    cause = fault.__cause__ if fault is not None else None
    if isinstance(cause, ValueError) and cause.args:
        # A checked text has raised a readable message; the converter's copy of it can't be translated.
        return str(cause) if not isinstance(cause.args[0], str) else cause.args[0]
    message = str(fault).partition(" - at `")[0]
    if message.startswith("Invalid enum value ") and (choices := list(_choices(kind))):
        return Text("must be one of %(choices)s", choices=", ".join(choices))
    if match := re.match(r"Expected `([^`]+)`, got `(\w+)`$", message):
        return _wrong_kind(match[1].split(" | "), match[2] if given else None)
    for pattern, say in WORDS:
        if match := pattern.match(message):
            return say(*match.groups())
    return message[:1].lower() + message[1:]


def _wrong_kind(expected: list[str], given: str | None) -> Text:
    names = [NAMES.get(name, name) for name in expected if name != "null"] or [NAMES["null"]]
    wanted = names[0]
    for name in names[1:]:
        wanted = Text("%(one)s or %(other)s", one=wanted, other=name)
    if given is None:
        return Text("must be %(wanted)s", wanted=wanted)
    return Text("must be %(wanted)s, not %(given)s", wanted=wanted, given=NAMES.get(given, given))


def _choices(kind: Any) -> Iterator[str]:
    if isinstance(kind, type) and issubclass(kind, Enum):
        yield from (str(member.value) for member in kind)
    elif get_origin(kind) is Literal:
        yield from (str(value) for value in get_args(kind))
    elif get_origin(kind) in {Union, UnionType}:
        for inner in get_args(kind):
            yield from _choices(inner)
    elif hasattr(kind, "__metadata__"):
        yield from _choices(get_args(kind)[0])


DEEPEST = 64
MAX_FAULTS = 100
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
# Possessive, and closed or not, so that a body of quotes and backslashes is not scanned again from each of them.
TOKENS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
STEPS = {b"[": 1, b"{": 1, b"]": -1, b"}": -1}


def decode(body: bytes, kind: Any) -> Any:
    """Decode JSON into a type, or refuse it with every fault."""
    check_depth(body)
    fault = None
    try:
        value = _decoder(kind).decode(body)
    except msgspec.ValidationError as found:
        fault = found
    except UNREADABLE:
        raise _not_json() from None
    if fault is None and next(find_unfit(value), None) is None:
        return value
    raise Invalid(details=_details(body, kind, fault))


def check_depth(body: bytes) -> None:
    """Refuse JSON that is nested deeper than any valid body; most bodies are too small to need counting."""
    if body.count(b"[") + body.count(b"{") <= DEEPEST:
        return
    depth = 0
    for token in TOKENS.finditer(body):
        depth += STEPS.get(token[0], 0)
        if depth > DEEPEST:
            raise _not_json(f"is nested deeper than {DEEPEST}")


def find_faults(value: object, kind: Any, path: str = "", *, strict: bool = True) -> Iterator[Fault]:
    """Convert part by part and yield every fault with its dotted path; if not strict, texts may stand for numbers."""
    try:
        yield from find_unfit(msgspec.convert(value, kind, strict=strict, dec_hook=read_checked), path)
    except msgspec.ValidationError as fault:
        inside = False
        for found in _faults_inside(value, kind, path, strict=strict):
            inside = True
            yield found
        if not inside:
            yield path or "body", in_words(fault, kind, given=strict)


def _faults_inside(value: object, kind: Any, path: str, *, strict: bool) -> Iterator[Fault]:
    whole = _container(kind, value)
    if isinstance(value, dict) and isinstance(whole, type) and issubclass(whole, Struct):
        yield from _faults_of_fields(value, whole, path, strict=strict)
    elif isinstance(value, dict) and get_origin(whole) is dict:
        for key, inner in value.items():
            yield from find_faults(inner, get_args(whole)[1], join(path, shown(key)), strict=strict)
    elif isinstance(value, list) and _is_list(whole):
        for index, inner in enumerate(value):
            yield from find_faults(inner, get_args(whole)[0], join(path, str(index)), strict=strict)


def _faults_of_fields(value: dict[str, object], struct: type[Struct], path: str, *, strict: bool) -> Iterator[Fault]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    for name, field in fields.items():
        if name in value:
            yield from find_faults(value[name], field.type, join(path, name), strict=strict)
        elif field.default is NODEFAULT and field.default_factory is NODEFAULT:
            yield join(path, name), REQUIRED
    if struct.__struct_config__.forbid_unknown_fields:
        yield from ((join(path, shown(name)), UNKNOWN) for name in value if name not in fields)


def _container(kind: Any, value: object) -> Any:
    """Remove annotations, and reduce a union to the one member that this value can be meant for."""
    if hasattr(kind, "__metadata__"):
        return _container(get_args(kind)[0], value)
    if get_origin(kind) not in {Union, UnionType}:
        return kind
    members = [_container(member, value) for member in get_args(kind)]
    fitting = [member for member in members if _is_for(member, value)]
    return fitting[0] if len(fitting) == 1 else None


def _is_list(kind: Any) -> bool:
    origin = get_origin(kind)
    return origin in {list, set, frozenset} or (origin is tuple and get_args(kind)[-1] is Ellipsis)


def _is_for(kind: Any, value: object) -> bool:
    is_object = get_origin(kind) is dict or (isinstance(kind, type) and issubclass(kind, Struct))
    return is_object if isinstance(value, dict) else isinstance(value, list) and get_origin(kind) is not None


def _details(body: bytes, kind: Any, fault: msgspec.ValidationError | None) -> dict[str, str]:
    try:
        details = dict(islice(find_faults(msgspec.json.decode(body), kind), MAX_FAULTS))
    except msgspec.ValidationError as found:
        # A number that no type can hold: only the first decoding tells where it is.
        details = {_path_of(fault or found): in_words(fault or found)}
    except UNREADABLE:
        raise _not_json() from None
    # If a name is given twice, only its last value is read: a fault in the first one is found nowhere else.
    return details or {_path_of(fault): in_words(fault)}


def _path_of(fault: msgspec.ValidationError | None) -> str:
    path = str(fault).rpartition(" - at `$")[2].rstrip("`") if " - at `$" in str(fault) else ""
    return path.replace("[", ".").replace("]", "").strip(".") or "body"


def _not_json(fault: str = "is not valid JSON") -> Invalid:
    return Invalid("The body is not valid JSON", details={"body": fault})


def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind, dec_hook=read_checked)
