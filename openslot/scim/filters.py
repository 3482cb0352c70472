"""Filters: the whole grammar of RFC 7644 section 3.4.2.2, read into a small tree, and matching elements with it."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, NoReturn, cast

import msgspec
from msgspec import Struct

from openslot.scim.attributes import CORE, Attribute, split_schema
from openslot.scim.errors import InvalidFilter, InvalidPath

LONGEST = 4000
DEEPEST = 20
MAX_TERMS = 50

Operator = Literal["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"]
Value = str | bool | int | float | None

_OPERATORS = frozenset({"eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"})
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
    """One of our schemas; None: another one."""
    name: str
    part: str | None = None


class Comparison(Struct, frozen=True):
    """An attribute compared with a value."""

    path: AttributePath
    operator: Operator
    value: Value


class Present(Struct, frozen=True):
    """An attribute that has a value."""

    path: AttributePath


class And(Struct, frozen=True):
    """All of several."""

    terms: "tuple[Filter, ...]"


class Or(Struct, frozen=True):
    """Any of several."""

    terms: "tuple[Filter, ...]"


class Not(Struct, frozen=True):
    """The opposite."""

    term: "Filter"


class ValuePath(Struct, frozen=True):
    """One element of a multi-valued attribute for which all of this is true."""

    path: AttributePath
    term: "Filter"


Filter = Comparison | Present | And | Or | Not | ValuePath


class _Token(Struct, frozen=True):
    kind: str
    text: str


def parse_filter(text: str) -> Filter:
    """Read a filter, or refuse it with what is wrong."""
    if len(text) > LONGEST:
        raise InvalidFilter(f"The filter must not be longer than {LONGEST} characters")
    parser = _Parser(_split(text))
    found = parser.read_or(0)
    parser.check_at_end()
    return found


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
    tokens, place, text = [], 0, text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise InvalidFilter(f"The filter can't be read from character {place + 1} on")
        tokens.append(_Token(cast("str", match.lastgroup), match[match.lastgroup or 0]))
        place = match.end()
    return tokens


class _Parser:
    """Reads tokens from left to right; `or` binds weaker than `and`."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._place = 0
        self._terms = 0

    def read_or(self, depth: int) -> Filter:
        terms = [self._read_and(depth)]
        while self._takes_word("or"):
            terms.append(self._read_and(depth))
        return terms[0] if len(terms) == 1 else Or(tuple(terms))

    def check_at_end(self) -> None:
        if self._place < len(self._tokens):
            self._refuse("and, or, or the end")

    def _read_and(self, depth: int) -> Filter:
        terms = [self._read_term(depth)]
        while self._takes_word("and"):
            terms.append(self._read_term(depth))
        return terms[0] if len(terms) == 1 else And(tuple(terms))

    def _read_term(self, depth: int) -> Filter:
        self._terms += 1
        if depth > DEEPEST or self._terms > MAX_TERMS:
            raise InvalidFilter(f"The filter must not have more than {MAX_TERMS} terms or be deeper than {DEEPEST}")
        if self._is_word("not") and self._is_sign("(", ahead=1):
            self._place += 1
            return Not(self._read_group("(", ")", depth))
        if self._is_sign("("):
            return self._read_group("(", ")", depth)
        return self._read_comparison(depth)

    def _read_group(self, begin: str, end: str, depth: int) -> Filter:
        self._take_sign(begin)
        inside = self.read_or(depth + 1)
        self._take_sign(end)
        return inside

    def _read_comparison(self, depth: int) -> Filter:
        path = parse_attribute_path(self._take("word", "an attribute"))
        if path is None:
            raise InvalidFilter(f"{self._tokens[self._place - 1].text[:100]} is not an attribute")
        if self._is_sign("["):
            return self._read_value_path(path, depth)
        operator = self._take("word", "an operator").lower()
        if operator == "pr":
            return Present(path)
        if operator not in _OPERATORS:
            raise InvalidFilter(f"{operator[:100]} is not an operator")
        return Comparison(path, cast("Operator", operator), self._take_value())

    def _read_value_path(self, path: AttributePath, depth: int) -> Filter:
        term = self._read_group("[", "]", depth)
        if not self._is_kind("part"):
            return ValuePath(path, term)
        # Entra sends this form, although no grammar allows it: emails[type eq "work"].value eq "mara@harbor.example".
        inner = AttributePath(CORE, self._take("part", "")[1:])
        operator = self._take("word", "an operator").lower()
        if operator == "pr":
            return ValuePath(path, And((term, Present(inner))))
        if operator not in _OPERATORS:
            raise InvalidFilter(f"{operator[:100]} is not an operator")
        compared = Comparison(inner, cast("Operator", operator), self._take_value())
        return ValuePath(path, And((term, compared)))

    def _take_value(self) -> Value:
        token = self._next("a value")
        if token.kind == "text":
            try:
                return msgspec.json.decode(token.text, type=str)
            except msgspec.DecodeError:
                raise InvalidFilter(f"{token.text[:100]} is not a JSON string") from None
        if token.kind == "number":
            return float(token.text) if set(token.text) & set(".eE") else int(token.text)
        if token.kind == "word" and token.text.lower() in _WORDS:
            return _WORDS[token.text.lower()]
        self._place -= 1
        return self._refuse("a value in double quotes, a number, true, false or null")

    def _take(self, kind: str, what: str) -> str:
        token = self._next(what)
        if token.kind != kind:
            self._place -= 1
            self._refuse(what)
        return token.text

    def _take_sign(self, sign: str) -> None:
        if not self._is_sign(sign):
            self._refuse(sign)
        self._place += 1

    def _takes_word(self, word: str) -> bool:
        found = self._is_word(word)
        self._place += found
        return found

    def _is_word(self, word: str) -> bool:
        return self._is_kind("word") and self._tokens[self._place].text.lower() == word

    def _is_sign(self, sign: str, *, ahead: int = 0) -> bool:
        return self._is_kind("sign", ahead=ahead) and self._tokens[self._place + ahead].text == sign

    def _is_kind(self, kind: str, *, ahead: int = 0) -> bool:
        place = self._place + ahead
        return place < len(self._tokens) and self._tokens[place].kind == kind

    def _next(self, what: str) -> _Token:
        if self._place >= len(self._tokens):
            self._refuse(what)
        self._place += 1
        return self._tokens[self._place - 1]

    def _refuse(self, wanted: str) -> NoReturn:
        found = self._tokens[self._place].text[:100] if self._place < len(self._tokens) else "the end"
        raise InvalidFilter(f"The filter has {found} where {wanted} is expected")


Element = Mapping[str, Any]

_COMPARES: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda found, wanted: bool(found == wanted),
    "ne": lambda found, wanted: bool(found != wanted),
    "gt": lambda found, wanted: bool(found > wanted),
    "ge": lambda found, wanted: bool(found >= wanted),
    "lt": lambda found, wanted: bool(found < wanted),
    "le": lambda found, wanted: bool(found <= wanted),
    "co": lambda found, wanted: wanted in found,
    "sw": lambda found, wanted: found.startswith(wanted),
    "ew": lambda found, wanted: found.endswith(wanted),
}


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
        case Comparison(path, operator, value):
            part = part_of(attribute, path)
            return _compare(element.get(part.name), operator, value, part)
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
    """Read a boolean, also one that is written as a string; None where it is neither."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return None


def _compare(found: object, operator: str, wanted: object, part: Attribute) -> bool:
    if part.kind == "boolean":
        # An element without `primary` is not the primary one.
        found, wanted = bool(found), to_boolean(wanted)
        return operator in {"eq", "ne"} and wanted is not None and _COMPARES[operator](found, wanted)
    if not isinstance(found, str) or not isinstance(wanted, str):
        return operator == "ne"
    if not part.case_exact:
        found, wanted = found.lower(), wanted.lower()
    return _COMPARES[operator](found, wanted)
