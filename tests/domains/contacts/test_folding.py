"""Folding and trigrams, as tables."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openslot.domains.contacts.models import cover, fold, fold_contact


@pytest.mark.parametrize(
    ("stored", "typed"),
    [
        ("Noor", "NOOR"),
        ("Straße", "STRASSE"),
        ("İstanbul", "istanbul"),
        ("İstanbul", "I\u0307STANBUL"),
        ("Café", "CAFE\u0301"),
        ("ΟΔΥΣΣΕΥΣ", "οδυσσευς"),
        ("\uff21\uff23\uff2d\uff25", "acme"),
        ("o\ufb03ce", "OFFICE"),
    ],
)
def test_letter_case_and_code_points_do_not_matter(stored: str, typed: str) -> None:
    assert fold(stored) == fold(typed)


@pytest.mark.parametrize(("one", "other"), [("Café", "Cafe"), ("\u0131", "i"), ("Ø", "O"), ("100%", "100_")])
def test_different_letters_stay_different(one: str, other: str) -> None:
    assert fold(one) != fold(other)


def test_a_search_never_matches_across_two_fields() -> None:
    assert fold_contact(name="An", email="Na@x.example", company=None) == "an\nna@x.example\n"


# The first text in a new checkout takes seconds: Hypothesis lists all characters and keeps the list.
@settings(deadline=None)
@given(st.text(max_size=40))
def test_the_cover_touches_every_character_and_takes_only_what_is_there(text: str) -> None:
    folded = fold(text).replace("\n", "")
    grams = cover(folded)

    assert all(len(gram) == 3 and gram in folded for gram in grams)
    assert (len(folded) < 3) == (not grams)
    assert len(grams) == (-(-len(folded) // 3) if len(folded) >= 3 else 0)


@pytest.mark.parametrize(
    ("text", "grams"), [("ab", []), ("abc", ["abc"]), ("abcd", ["abc", "bcd"]), ("abcdef", ["abc", "def"]), ("", [])]
)
def test_the_cover_is_as_small_as_it_can_be(text: str, grams: list[str]) -> None:
    assert cover(text) == grams
