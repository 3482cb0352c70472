"""Filters: the whole grammar of RFC 7644 section 3.4.2.2, read into a small tree, and matching elements with it."""

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

import msgspec
from msgspec import Struct

from openslot.doors.scim.attributes import CORE, Attribute, split_schema
from openslot.doors.scim.errors import InvalidFilter, InvalidPath

LONGEST = 4000
DEEPEST = 20
MAX_TERMS = 50

Value = str | bool | int | float | None

_COMPARES: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
    "co": operator.contains,
    "sw": str.startswith,
    "ew": str.endswith,
}
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>"(?:[^"\\]|\\.)*")
      | (?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![\w.:$-])
      | (?P<word>[A-Za-z$][\w.:$-]*)
      | (?P<sign>[()\[\]])
      | (?P<part>\.[A-Za-z$][\w$-]*)
    )""",
    re.VERBOSE | re.ASCII | re.DOTALL,
)
_NAME = re.compile(r"[A-Za-z$][\w$-]*", re.ASCII)
_WORDS: dict[str, Value] = {"true": True, "false": False, "null": None}


class AttributePath(Struct, frozen=True):
    """An attribute, or one part of a complex one, as it was written."""

    schema: str | None
    """One of our schemas; None if it is another one."""
    name: str
    part: str | None = None


class Comparison(Struct, frozen=True):
    path: AttributePath
    operator: str
    value: Value


class Present(Struct, frozen=True):
    path: AttributePath


class And(Struct, frozen=True):
    terms: "tuple[Filter, ...]"


class Or(Struct, frozen=True):
    terms: "tuple[Filter, ...]"


class Not(Struct, frozen=True):
    term: "Filter"


class ValuePath(Struct, frozen=True):
    """One element of a multi-valued attribute for which all of this is true."""

    path: AttributePath
    term: "Filter"


Filter = Comparison | Present | And | Or | Not | ValuePath


class _Token(NamedTuple):
    kind: str
    text: str


def parse_filter(text: str) -> Filter:
    if len(text) > LONGEST:
        raise InvalidFilter(f"The filter must not be longer than {LONGEST} characters")
    return _Parser(_split(text)).read()


def parse_attribute_path(text: str) -> AttributePath | None:
    """Read `name`, `name.part` or either after a schema; None if it is not an attribute path."""
    split = split_schema(text)
    schema: str | None = CORE
    if split is not None:
        schema, text = split
    elif ":" in text:
        schema, text = None, text.rpartition(":")[2]
    name, dot, part = text.partition(".")
    if not _NAME.fullmatch(name) or (dot and not _NAME.fullmatch(part)):
        return None
    return AttributePath(schema, name, part or None)


def _split(text: str) -> list[_Token]:
    tokens, start, text = [], 0, text.rstrip()
    while start < len(text):
        match = _TOKEN.match(text, start)
        if match is None:
            raise InvalidFilter(f"The filter can't be read from character {start + 1} on")
        tokens.append(_Token(match.lastgroup or "", match[match.lastgroup or 0]))
        start = match.end()
    return [*tokens, _Token("end", "the end")]


class _Parser:
    """Reads tokens from left to right; `or` binds weaker than `and`."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._index = 0
        self._terms = 0

    def read(self) -> Filter:
        found = self._read_or(0)
        self._take("end", "and, or, or the end")
        return found

    def _read_or(self, depth: int) -> Filter:
        terms = [self._read_and(depth)]
        while self._skip("or"):
            terms.append(self._read_and(depth))
        return terms[0] if len(terms) == 1 else Or(tuple(terms))

    def _read_and(self, depth: int) -> Filter:
        terms = [self._read_term(depth)]
        while self._skip("and"):
            terms.append(self._read_term(depth))
        return terms[0] if len(terms) == 1 else And(tuple(terms))

    def _read_term(self, depth: int) -> Filter:
        self._terms += 1
        if depth > DEEPEST or self._terms > MAX_TERMS:
            raise InvalidFilter(f"The filter must not have more than {MAX_TERMS} terms or be deeper than {DEEPEST}")
        if self._next.text.lower() == "not" and self._tokens[self._index + 1].text == "(":
            self._index += 2
            return Not(self._read_group(")", depth))
        if self._skip("("):
            return self._read_group(")", depth)
        name = self._take("word", "an attribute")
        path = parse_attribute_path(name)
        if path is None:
            raise InvalidFilter(f"{name[:100]} is not an attribute")
        return self._read_value_path(path, depth) if self._skip("[") else self._read_test(path)

    def _read_group(self, end: str, depth: int) -> Filter:
        inside = self._read_or(depth + 1)
        if not self._skip(end):
            self._refuse(end)
        return inside

    def _read_value_path(self, path: AttributePath, depth: int) -> Filter:
        term = self._read_group("]", depth)
        if self._next.kind == "part":
            # No grammar allows it, but Entra sends it: emails[type eq "work"].value eq "mara@harbor.example".
            inner = AttributePath(CORE, self._take("part", "")[1:])
            term = And((term, self._read_test(inner)))
        return ValuePath(path, term)

    def _read_test(self, path: AttributePath) -> Comparison | Present:
        name = self._take("word", "an operator").lower()
        if name == "pr":
            return Present(path)
        if name not in _COMPARES:
            raise InvalidFilter(f"{name[:100]} is not an operator")
        return Comparison(path, name, self._take_value())

    def _take_value(self) -> Value:
        token = self._next
        if token.kind == "end":
            self._refuse("a value")
        if token.kind not in {"text", "number"} and token.text.lower() not in _WORDS:
            self._refuse("a value in double quotes, a number, true, false or null")
        self._index += 1
        if token.kind == "number":
            return float(token.text) if set(token.text) & set(".eE") else int(token.text)
        if token.kind == "word":
            return _WORDS[token.text.lower()]
        try:
            return msgspec.json.decode(token.text, type=str)
        except msgspec.DecodeError:
            raise InvalidFilter(f"{token.text[:100]} is not a JSON string") from None

    @property
    def _next(self) -> _Token:
        return self._tokens[self._index]

    def _take(self, kind: str, what: str) -> str:
        token = self._next
        if token.kind != kind:
            self._refuse(what)
        self._index += 1
        return token.text

    def _skip(self, word: str) -> bool:
        found = self._next.text.lower() == word
        self._index += found
        return found

    def _refuse(self, wanted: str) -> NoReturn:
        raise InvalidFilter(f"The filter has {self._next.text[:100]} where {wanted} is expected")


Element = Mapping[str, Any]


def is_match(element: Element, term: Filter, attribute: Attribute) -> bool:
    """Return whether a filter is true for one element of a multi-valued attribute."""
    match term:
        case And(terms):
            return all(is_match(element, each, attribute) for each in terms)
        case Or(terms):
            return any(is_match(element, each, attribute) for each in terms)
        case Not(inner):
            return not is_match(element, inner, attribute)
        case Present(path):
            return element.get(part_of(attribute, path).name) not in {None, ""}
        case Comparison(path, name, value):
            part = part_of(attribute, path)
            return _compare(element.get(part.name), name, value, part)
        case ValuePath():
            raise InvalidPath("A path must not have a filter inside a filter")


def part_of(attribute: Attribute, path: AttributePath) -> Attribute:
    """Find the part of a complex attribute that a filter names: `type`, or `emails.type`."""
    name = path.name
    if path.part is not None:
        if name.lower() != attribute.name.lower():
            raise InvalidFilter(f"{name}.{path.part} is not a part of {attribute.name}")
        name = path.part
    part = attribute.part(name)
    if part is None:
        raise InvalidFilter(f"{attribute.name} has no part {name[:100]}")
    return part


def to_boolean(value: object) -> bool | None:
    """Read a boolean, also one that is written as a string; None if it is neither."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return None


def _compare(found: object, name: str, wanted: object, part: Attribute) -> bool:
    if part.kind == "boolean":
        # An element without `primary` is not the primary one.
        found, wanted = bool(found), to_boolean(wanted)
        return name in {"eq", "ne"} and wanted is not None and _COMPARES[name](found, wanted)
    if not isinstance(found, str) or not isinstance(wanted, str):
        return name == "ne"
    if not part.case_exact:
        found, wanted = found.lower(), wanted.lower()
    return _COMPARES[name](found, wanted)
