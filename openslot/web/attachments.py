"""Files to save: the header that names them."""

import re
from urllib.parse import quote

PLAIN = re.compile(r"[A-Za-z0-9._-]+")


def as_attachment(name: str) -> str:
    """Write the header of a file to save; any name can be sent, and none can add to the header."""
    if PLAIN.fullmatch(name):
        return f"attachment; filename={name}"
    return f"attachment; filename*=UTF-8''{quote(name, safe='', errors='replace')}"
