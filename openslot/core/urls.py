"""Addresses of web pages, as people give them."""

import re
from urllib.parse import urlsplit

from openslot.i18n import Text

LONGEST = 2048
NOT_A_URL = Text("must be a link that begins with https:// or http://")

_SHAPE = re.compile(r"https?://[^\s/?#]+(?:[/?#]\S*)?", re.ASCII | re.IGNORECASE)


def find_setting_fault(text: str, *, has_query: bool = False, has_path: bool = False) -> str | None:
    """Return what is wrong with a web address that an operator has set, without repeating it; None if nothing is."""
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        return "it is not a valid URL"
    is_web = text.lower().startswith(("http://", "https://"))
    extras = "a fragment (#)" if has_query else "a query (?) or a fragment (#)"
    faults = (
        (not text.isprintable() or " " in text or "\\" in text, "it must not contain spaces or backslashes"),
        (not is_web, "it must begin with http:// or https://"),
        (not url.hostname or port == 0, "it must have a host name and, if any, a port from 1 to 65535"),
        ("@" in url.netloc, "it must not contain a user name or a password"),
        ("#" in text or ("?" in text and not has_query), f"it must not contain {extras}"),
        (url.path.strip("/") and not has_path, "it must not contain a path; Openslot needs a host name of its own"),
    )
    return next((fault for is_wrong, fault in faults if is_wrong), None)


def is_web_url(text: str) -> bool:
    """Return whether a text is the address of a web page."""
    return len(text) <= LONGEST and text.isprintable() and _SHAPE.fullmatch(text) is not None
