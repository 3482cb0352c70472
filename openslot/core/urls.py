"""Addresses of web pages, as people give them."""

import re
from typing import ClassVar

from openslot.core.checked import CheckedText
from openslot.i18n import Text

LONGEST = 2048
NOT_A_URL = Text("must be a link that begins with https:// or http://")

_SHAPE = re.compile(r"https?://[^\s/?#]+(?:[/?#]\S*)?", re.ASCII | re.IGNORECASE)


class WebUrl(CheckedText):
    """The address of a web page; whether anyone answers there is not asked."""

    __slots__ = ()

    schema: ClassVar[dict[str, object]] = {
        "type": "string",
        "format": "uri",
        "maxLength": LONGEST,
        "examples": ["https://meet.example/mara"],
    }

    @classmethod
    def parse(cls, text: str) -> str:
        """Strip spaces from both ends."""
        given = text.strip()
        if not is_web_url(given):
            raise ValueError(NOT_A_URL)
        return given


def is_web_url(text: str) -> bool:
    """Return whether a text is the address of a web page."""
    return len(text) <= LONGEST and text.isprintable() and _SHAPE.fullmatch(text) is not None
