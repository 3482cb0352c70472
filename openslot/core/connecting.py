"""Open a connection to PostgreSQL, and say why that failed."""

import re

from openslot.core.errors import StartupError
from openslot.core.outages import reason


def unreachable(url: str, fault: Exception) -> StartupError:
    """Say why a database can't be used; a pooler is known by what it refuses."""
    why = reason(fault)
    if "unsupported startup parameter" in str(fault):
        why = (
            "it is a pooler; set OPENSLOT_DATABASE_POOLER=true, and OPENSLOT_DIRECT_DATABASE_URL to the database itself"
        )
    return StartupError(f"The database can't be reached at {hide_password(url)}: {why}.")


def hide_password(url: str) -> str:
    """Write a database address without its password."""
    scheme, separator, rest = url.partition("://")
    credentials, at, place = rest.rpartition("@")
    user, colon, _ = credentials.partition(":")
    place = re.sub(r"([?&]password=)[^&]*", r"\1…", place)
    return f"{scheme}{separator}{user}{':…' if colon and credentials != user + ':' else ''}{at}{place}"
