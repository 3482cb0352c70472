"""ETags: a user's version, and what `If-Match` and `If-None-Match` say about it."""

import re

_TAG = re.compile(r'(?:W/)?"([^"]*)"')


def etag(version: int) -> str:
    """Write a version as an ETag."""
    return f'W/"{version}"'


def is_named(version: int, header: str) -> bool:
    """Return whether a header names this version, compared weakly; `*` names every one."""
    return header.strip() == "*" or str(version) in _TAG.findall(header)
