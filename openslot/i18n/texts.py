"""Texts: English for programs and logs, and in every language of the catalogs for people."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Self


class Text(str):
    """An English text that keeps what a translation needs: the text as the catalogs have it, and its values.

    `make messages` collects every text that is written as the first argument.
    """

    __slots__ = ("msgid", "values")

    msgid: str
    values: Mapping[str, object]

    def __new__(cls, msgid: str, /, **values: object) -> Self:
        """Fill in each `%(name)s`; a text without values is taken as it is."""
        text = super().__new__(cls, msgid % values if values else msgid)
        text.msgid, text.values = msgid, values
        return text

    def fill(self, **values: object) -> "Text":
        """Return the same text with these values."""
        return Text(self.msgid, **values)


class PluralText(Text):
    """A text whose words depend on `count`, which is one of its values."""

    __slots__ = ("number", "plural")

    number: int
    plural: str

    def __new__(cls, singular: str, plural: str, /, *, count: int, **values: object) -> Self:
        """Choose between the two forms that English has."""
        all_values = {"count": count, **values}
        text = str.__new__(cls, (singular if count == 1 else plural) % all_values)
        text.msgid, text.plural, text.number, text.values = singular, plural, count, all_values
        return text


_VALUE = re.compile(r"%\((\w+)\)s")


def recall(stored: str, known: tuple[Text, ...]) -> str:
    """Return the known text that was stored, with its values; what is not one of them stays as it is."""
    # A value can be anything, also the rest of another text: those without values come first.
    for text in sorted(known, key=lambda each: "%(" in each.msgid):
        found = _pattern(text.msgid).fullmatch(stored)
        if found is not None:
            return text.fill(**found.groupdict())
    return stored


@cache
def _pattern(msgid: str) -> re.Pattern[str]:
    # Split by the names of the values: every second part is a name.
    parts = _VALUE.split(msgid)
    return re.compile("".join(f"(?P<{part}>.+)" if place % 2 else re.escape(part) for place, part in enumerate(parts)))
