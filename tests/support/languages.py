"""Pages in a language: nothing of theirs is left in English."""

import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path

import httpx2
from babel.messages.pofile import read_po

import openslot
from openslot.platform.i18n.languages import LANGUAGES
from tests.support.parts import is_daily, shortened

LOCALES = Path(openslot.__file__).parent / "platform/i18n/locales"
# What hosts have named, and names of fields and operations of the API.
NOT_OURS = {"30 minute meeting", "Group", "Group – Mara Lindqvist", "Your phone number", "error"} | {
    *("Create a booking", "Cancel a booking", "Reschedule a booking", "Create a booking link"),
    *("Create a contact", "Delete a contact"),
}
ENGLISH_PART = re.compile(r'<(section|li)[^>]* lang="en".*?</\1>', re.DOTALL)
VALUE = re.compile(r"%\\?\((\w+)\\?\)s")
# The end of a key or a link: four letters that may well be a word.
MADE_BY_CHANCE = re.compile(r"<code[^>]*>.*?</code>", re.DOTALL)
SHOWN = re.compile(r'(?:aria-label|data-label|data-copied|data-failed|alt|placeholder)="([^"]+)"|>([^<>]+)<')


# Latin letters, the other direction, and no gaps between words.
FOR_LAYOUT = ("en", "ar", "ja")


@shortened
def list_for_layout() -> tuple[str, ...]:
    """List the languages whose layout is looked at: three of them in `make test`."""
    return FOR_LAYOUT if is_daily() else tuple(LANGUAGES)


class EnglishTexts:
    """What must not be on a page in another language: English texts, and the pieces between their tags."""

    def __init__(self, pieces: set[str]) -> None:
        # Most texts have no values in them, and pages repeat what they say: neither needs thousands of patterns again.
        self._plain = {piece.lower() for piece in pieces if not VALUE.search(piece)}
        patterns = (VALUE.sub(".+?", re.escape(piece)) for piece in pieces if VALUE.search(piece))
        self._pattern = re.compile("|".join(patterns) or "(?!)", re.IGNORECASE)
        self._known: dict[str, bool] = {}

    def __contains__(self, text: str) -> bool:
        if text not in self._known:
            self._known[text] = text.lower() in self._plain or self._pattern.fullmatch(text) is not None
        return self._known[text]


@cache
def english_texts(language: str) -> EnglishTexts:
    """List the English texts that a language has other words for."""
    if language == "en":
        return EnglishTexts(set())
    with (LOCALES / language / "LC_MESSAGES/openslot.po").open("rb") as source:
        catalog = read_po(source, locale=language)
    singles = [(each.id, str(each.string)) for each in catalog if isinstance(each.id, str) and each.id]
    pieces = {piece.strip() for text, other in singles if text != other for piece in re.split("<[^>]+>", text)}
    same = {piece.strip() for _, other in singles for piece in re.split("<[^>]+>", other)}
    return EnglishTexts({piece for piece in pieces - same if re.search(r"[a-z]{3}", VALUE.sub("", piece))})


def shown_texts(page: str) -> Iterator[str]:
    for attribute, text in SHOWN.findall(MADE_BY_CHANCE.sub("<i></i>", ENGLISH_PART.sub("", page))):
        words = " ".join(unescape(attribute or text).split())
        if words:
            yield words


def check_language(answer: httpx2.Response, language: str, english: EnglishTexts) -> None:
    direction = LANGUAGES[language].direction

    assert f'<html lang="{language}" dir="{direction}">' in answer.text, (language, answer.url, answer.status_code)
    texts = [text for text in shown_texts(answer.text) if text not in NOT_OURS]
    left = [text for text in texts if text in english]
    assert left == [], (left, language, answer.url, answer.status_code)
