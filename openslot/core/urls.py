"""Addresses of web pages, as people give them."""

import re

from openslot.i18n import Text

LONGEST = 2048
NOT_A_URL = Text("must be a link that begins with https:// or http://")

_SHAPE = re.compile(r"https?://[^\s/?#]+(?:[/?#]\S*)?", re.ASCII | re.IGNORECASE)


def is_web_url(text: str) -> bool:
    """Return whether a text is the address of a web page."""
    return len(text) <= LONGEST and text.isprintable() and _SHAPE.fullmatch(text) is not None
