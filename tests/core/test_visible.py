"""Names of people and things can be seen, and turn nothing beside them."""

import pytest

from openslot.core.text import INVISIBLE, Name, is_visible, without_turns

UNSEEN = [
    "\u200b",
    "\u202e\u202c",
    "\u2066\u2069",
    "\u2060\ufeff",
    "\u00ad",
    "\u3164",
    "\u115f\u1160",
    "\uffa0",
    "\u2800",
    "\U000e0041\U000e007f",
    "\u0301",
    "\u034f",
    "\ufe0f",
    "\u180e",
    "\u3000\u200b",
]
SEEN = ["x", "王", "שלום", "محمد", "👩🏽‍💻", "क्षि", "é", "–", "7", "a\u202e", "☃", "\U0001f468\u200d\U0001f469", "ᄀ"]


@pytest.mark.parametrize("text", UNSEEN, ids=ascii)
def test_a_name_that_can_not_be_seen_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=str(INVISIBLE)):
        Name.parse(text)


@pytest.mark.parametrize("text", SEEN, ids=ascii)
def test_any_script_and_any_sign_is_a_name(text: str) -> None:
    assert Name.parse(text) == text
    assert is_visible(text)


def test_marks_that_turn_the_direction_are_taken_out() -> None:
    assert without_turns("a\u202eb\u2067c\u200fd שלום") == "abcd שלום"
