"""Names of people and things can be seen, and turn nothing beside them."""

import re

import pytest

from openslot.platform.core.text import INVISIBLE, Name, defuse, is_visible, without_direction_marks

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
    assert without_direction_marks("a\u202eb\u2067c\u200fd שלום") == "abcd שלום"


HOSTILE = [
    "Pay now at http://evil.example/pay",
    "HTTPS://EVIL.EXAMPLE",
    "www.evil.com",
    "evil.com/pay?now=1",
    "Your account is closed, see evil.io",
    "sub.domain.evil.co.uk",
    "http://127.0.0.1/evil",
    "h2://evil",
    "mailto:x@evil.com",
    "tel:1900evil",
    "write to pay@evil.com now",
    "evil\u3002com evil\uff0ecom evil\uff61com",
    "xn--evil.xn--p1ai",
    "\U0001f600.evil",
    "[evil](http://evil.example)",
]
HARMLESS = [
    "Mara Lindqvist",
    "Dr. Smith",
    "J.R.R. Tolkien",
    "St. John, 10:30",
    "Version 2.0",
    "203.0.113.9",
    "a: b",
    "王さん。",
    "mara@lindqvist.example",
    "…",
]
# What mail programs and messengers recognise: a scheme, a domain with a last part of letters, an address.
LINK = re.compile(r"[a-z0-9]:(?=[^\s\u2060])|\S[.\u3002\uff0e\uff61][^\W\d_]\w|\S@\w", re.IGNORECASE)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_program_makes_a_link_of_a_name(name: str) -> None:
    defused = defuse(name)

    assert LINK.search(name)
    assert not LINK.search(defused), ascii(defused)
    assert defused.replace("\u2060", "") == name
    assert defuse(defused) == defused


@pytest.mark.parametrize("name", HARMLESS)
def test_other_names_stay_as_they_are(name: str) -> None:
    assert defuse(name) == name
