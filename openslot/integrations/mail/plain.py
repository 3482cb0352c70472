"""Texts of strangers, made safe for headers, calendars and the first line of a mail."""

import re
import unicodedata

LONGEST_LINE = 200
LONGEST_NAME = 60
# Control characters, surrogates, line and paragraph separators, and marks that turn the direction of what follows.
BREAKS = frozenset({"Cc", "Cs", "Zl", "Zp"})
TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# What a mail program would show as a link, or what reads like an order rather than a name.
LINK_LIKE = re.compile(r"[/:@<>\\]|www\.|\w\.\w{2,}", re.IGNORECASE)


def one_line(text: str, *, most: int = LONGEST_LINE) -> str:
    """Write a text on one line of at most so many characters, without anything that a header must not have."""
    # A longer text is cut first: nobody waits for a megabyte to be looked at.
    kept = (" " if unicodedata.category(each) in BREAKS else each for each in text[: most * 4] if each not in TURNS)
    line = " ".join("".join(kept).split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def paragraph(text: str, *, most: int = 5000) -> str:
    """Keep the line breaks of a text, and nothing else that is not to be seen."""
    lines = text[: most * 2].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(one_line(line, most=most) for line in lines)[:most].strip()


def find_name(text: str) -> str | None:
    """Read a name that somebody gave; None where it looks like an advertisement instead.

    Whoever books types a name and other people's addresses: what they write must not travel under our own.
    """
    name = one_line(text, most=LONGEST_NAME + 1)
    return None if not name or len(name) > LONGEST_NAME or LINK_LIKE.search(name) else name
