"""Error messages for people: the converter's messages in plain words."""

import re
from collections.abc import Callable, Iterator
from enum import Enum
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from openslot.core.text import EMPTY, NOT_ALLOWED, at_most_characters
from openslot.http.values import NO_OFFSET, OUT_OF_RANGE
from openslot.i18n import PluralText, Text

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
EXPECTED = re.compile(r"Expected `([^`]+)`, got `(\w+)`$")
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
    if match := EXPECTED.match(message):
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
