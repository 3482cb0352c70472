"""Sentences of ours that are stored in English, so that each reader gets them in their own language."""

import re
from functools import cache

from openslot.i18n.texts import Text

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
