"""Filters: the whole grammar is read, and whatever is not is refused in words."""

from contextlib import suppress
from random import Random

import pytest
from hypothesis import given

from openslot.doors.scim.attributes import CORE, ENTERPRISE
from openslot.doors.scim.errors import InvalidFilter
from openslot.doors.scim.filters import (
    DEEPEST,
    LONGEST,
    MAX_TERMS,
    And,
    AttributePath,
    Comparison,
    Filter,
    Not,
    Or,
    Present,
    ValuePath,
    parse_filter,
)
from openslot.doors.scim.store import Condition
from tests.doors.scim.strategies import FILTERS, SUPPORTED
from tests.doors.scim.writing import write
from tests.support.hangs import within_a_second

A = Comparison(AttributePath(CORE, "a"), "eq", "1")
B = Comparison(AttributePath(CORE, "b"), "eq", "2")
C = Comparison(AttributePath(CORE, "c"), "eq", "3")


@given(FILTERS)
def test_what_is_written_is_read_back(term: Filter) -> None:
    text = write(term)
    with within_a_second(text):
        assert parse_filter(text) == term


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ('userName eq "x"', Comparison(AttributePath(CORE, "userName"), "eq", "x")),
        ('USERNAME EQ "x"', Comparison(AttributePath(CORE, "USERNAME"), "eq", "x")),
        ('name.familyName co "O\\u0027M"', Comparison(AttributePath(CORE, "name", "familyName"), "co", "O'M")),
        ("active eq TRUE", Comparison(AttributePath(CORE, "active"), "eq", True)),
        ("a eq null", Comparison(AttributePath(CORE, "a"), "eq", None)),
        ("a gt -1.5e2", Comparison(AttributePath(CORE, "a"), "gt", -150.0)),
        ("title PR", Present(AttributePath(CORE, "title"))),
        ('a eq "1" or b eq "2" and c eq "3"', Or((A, And((B, C))))),
        ('(a eq "1" or b eq "2") and c eq "3"', And((Or((A, B)), C))),
        ('not (a eq "1")', Not(A)),
        (f'{CORE}:userName eq "x"', Comparison(AttributePath(CORE, "userName"), "eq", "x")),
        (f'{ENTERPRISE.upper()}:department sw "x"', Comparison(AttributePath(ENTERPRISE, "department"), "sw", "x")),
        ('urn:other:2.0:Thing:a eq "1"', Comparison(AttributePath(None, "a"), "eq", "1")),
        ('emails[a eq "1" and b eq "2"]', ValuePath(AttributePath(CORE, "emails"), And((A, B)))),
        ('emails[a eq "1"].b eq "2"', ValuePath(AttributePath(CORE, "emails"), And((A, B)))),
        ('  a eq "1"  ', A),
        ('a eq "] and ("', Comparison(AttributePath(CORE, "a"), "eq", "] and (")),
    ],
)
def test_the_grammar_is_read(text: str, term: Filter) -> None:
    assert parse_filter(text) == term


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has the end where an attribute is expected"),
        ("userName", "has the end where an operator is expected"),
        ("userName eq", "has the end where a value is expected"),
        ("userName is 1", "is is not an operator"),
        ("userName eq x", "has x where a value in double quotes"),
        ("userName eq 'x'", "can't be read from character 12 on"),
        ('userName eq "x', "can't be read from character 12 on"),
        ('userName eq "\\q"', "is not a JSON string"),
        ('(userName eq "x"', "has the end where ) is expected"),
        ('userName eq "x")', "has ) where and, or, or the end is expected"),
        ('userName eq "x" and', "has the end where an attribute is expected"),
        ('userName eq "x" "y"', 'has "y" where and, or, or the end is expected'),
        ('not userName eq "x"', "is not an operator"),
        ('a.b.c eq "x"', "a.b.c is not an attribute"),
        ("(" * (DEEPEST + 2) + 'a eq "1"' + ")" * (DEEPEST + 2), "deeper than"),
        (" and ".join(['a eq "1"'] * (MAX_TERMS + 1)), "more than"),
        ("a" * (LONGEST + 1), "longer than"),
    ],
)
def test_what_is_no_filter_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(InvalidFilter, match="^.*" + "".join(f"\\{c}" if c in '()[].\\"' else c for c in words)):
        parse_filter(text)


def draw_text(chance: Random) -> str:
    """Draw something like a filter, or any text."""
    if chance.random() < 0.5:
        return "".join(chance.choices('abc eqandornot()[]".:\\01-pr\x00é', k=chance.randint(0, 60)))
    return "".join(chr(chance.randrange(chance.choice([128, 0x110000]))) for _ in range(chance.randint(0, 40)))


def test_no_text_does_anything_but_parse_or_be_refused() -> None:
    chance = Random(7)
    for _ in range(1000):
        text = draw_text(chance)
        with within_a_second(text), suppress(InvalidFilter):
            assert isinstance(Condition(parse_filter(text)).sql, str), text


SIGNS = [*'()[]"\\ \t.:-$1aé', '\\"', "1e9", "a.", "a["]
PIECES = [*SIGNS, "a eq ", "not ", "not (", "a pr and ", 'a eq "x" or ', "(a pr) and ", "urn:a:", f"{CORE}:"]


@pytest.mark.parametrize("beginning", ["", "a eq ", 'a eq "', "a eq 1", "a pr and (", "emails[", f"{CORE}:"])
def test_no_filter_however_long_is_read_for_more_than_a_second(beginning: str) -> None:
    for piece in PIECES:
        text = (beginning + piece * LONGEST)[:LONGEST]
        with within_a_second(text), suppress(InvalidFilter):
            Condition(parse_filter(text))


@given(SUPPORTED)
def test_no_value_of_a_filter_is_ever_part_of_its_sql(term: Filter) -> None:
    assert Condition(term).sql == Condition(with_other_values(term)).sql


def with_other_values(term: Filter) -> Filter:
    match term:
        case And(terms):
            return And(tuple(map(with_other_values, terms)))
        case ValuePath(path, inner):
            return ValuePath(path, with_other_values(inner))
        case Comparison(path, operator, value):
            return Comparison(path, operator, not value if isinstance(value, bool) else "'); drop table users --")
    raise AssertionError(term)


@pytest.mark.parametrize(
    "text",
    [
        'userName ne "x"',
        'userName ew "x"',
        "userName pr",
        'userName gt "x"',
        'userName eq "x" or userName eq "y"',
        'not (userName eq "x")',
        'title eq "x"',
        'name.givenName eq "x"',
        'emails.type eq "work"',
        'phoneNumbers[type eq "work"]',
        'emails[type eq "work" or type eq "home"]',
        "active co true",
        'active eq "perhaps"',
        "userName eq 1",
        "userName eq null",
        f'{ENTERPRISE}:department eq "x"',
        'urn:other:User:userName eq "x"',
        'meta.lastModified gt "2026-01-01T00:00:00Z"',
    ],
)
def test_what_is_read_and_not_supported_is_refused(text: str) -> None:
    with pytest.raises(InvalidFilter):
        Condition(parse_filter(text))
