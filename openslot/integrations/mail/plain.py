"""Makes texts of strangers safe for headers, calendars and the first line of a mail."""

import re
import unicodedata

from openslot.core.text import without_turns

LONGEST_LINE = 200
LONGEST_NAME = 60
# Control characters, surrogates, line and paragraph separators.
BREAKS = frozenset({"Cc", "Cs", "Zl", "Zp"})
# Text that a mail program would show as a link, or that does not look like a name.
LINK_LIKE = re.compile(r"[/:@<>\\]|www\.|\w\.\w{2,}", re.IGNORECASE)


def one_line(text: str, *, most: int = LONGEST_LINE) -> str:
    """Write a text on one line of at most so many characters, without anything that a header must not have."""
    # A longer text is cut first, so that a megabyte is not scanned.
    kept = text[: most * 4]
    # Most texts are plain, and looking at each character is slow.
    if not (kept.isascii() and kept.isprintable()):
        kept = "".join(" " if unicodedata.category(each) in BREAKS else each for each in without_turns(kept))
    line = " ".join(kept.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def paragraph(text: str, *, most: int = 5000) -> str:
    """Keep the line breaks of a text, and remove all other invisible characters."""
    lines = text[: most * 2].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(one_line(line, most=most) for line in lines)[:most].strip()


def find_name(text: str) -> str | None:
    """Read a name that somebody entered; None if it looks like an advertisement.

    Anyone who books enters a name and other people's addresses; their text must not be sent in our name.
    """
    name = one_line(text, most=LONGEST_NAME + 1)
    return None if not name or len(name) > LONGEST_NAME or LINK_LIKE.search(name) else name
