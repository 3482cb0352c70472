"""What is wrong with a value, in words: the converter's messages as a person would say them."""

import re
from collections.abc import Iterator
from enum import Enum
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

WORDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"Expected `(?:str|array|object)` of length >= 1$", "must not be empty"),
        (r"Expected `str` of length >= (\d+)$", r"must have at least \1 characters"),
        (r"Expected `str` of length <= (\d+)$", r"must have at most \1 characters"),
        (r"Expected `(?:array|object)` of length >= (\d+)$", r"must have at least \1 entries"),
        (r"Expected `(?:array|object)` of length <= (\d+)$", r"must have at most \1 entries"),
        (r"Expected `array` of length (\d+), got \d+$", r"must have exactly \1 entries"),
        (r"Expected `str` matching regex ", "has characters that are not allowed"),
        (r"Expected `(?:int|float)` >= (\S+)$", r"must be at least \1"),
        (r"Expected `(?:int|float)` <= (\S+)$", r"must be at most \1"),
        (r"Expected `float` > (\S+)$", r"must be more than \1"),
        (r"Expected `float` < (\S+)$", r"must be less than \1"),
        (r"Expected `(?:int|float)` that's a multiple of (\S+)$", r"must be a multiple of \1"),
        (r"(?:Number|Integer value) out of range$", "is a number out of range"),
        (r"Expected `datetime` with a timezone component$", "must carry an offset, such as Z"),
        (r"Invalid RFC3339 encoded datetime$", "must be an ISO 8601 date-time, such as 2026-03-16T09:00:00Z"),
        (r"Invalid RFC3339 encoded date$", "must be a date, such as 2026-03-16"),
        (r"Invalid RFC3339 encoded time$", "must be a time of day, such as 09:00:00"),
        (r"Invalid UUID$", "is not an id"),
        (r"Invalid enum value ", "is not one of the allowed values"),
        (r"Object missing required field ", "misses a field"),
        (r"Object contains unknown field ", "has an unknown field"),
    )
)
EXPECTED = re.compile(r"Expected `([^`]+)`, got `(\w+)`$")
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
    "time": "a time of day",
    "uuid": "an id",
}


def in_words(message: str, kind: Any = None) -> str:
    """Say a converter's message as a person would; with the type at hand, list what it allows."""
    message = message.partition(" - at `")[0]
    if message.startswith("Invalid enum value ") and (choices := list(_choices(kind))):
        return f"must be one of {', '.join(choices)}"
    if match := EXPECTED.match(message):
        wanted = [name for name in match[1].split(" | ") if name != "null"] or ["null"]
        return f"must be {' or '.join(NAMES.get(name, name) for name in wanted)}, not {NAMES.get(match[2], match[2])}"
    for pattern, words in WORDS:
        if match := pattern.match(message):
            return match.expand(words)
    return message[:1].lower() + message[1:]


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
