"""The recorded requests, each in one line with its answer: `200 GET /api/v1/me by=key → id email name`.

Words between angle brackets stand for what the scene knows. To add a request, write a line with any answer, and record
anew.
"""

import json
import re

from msgspec import Struct

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
NOBODY = "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f"
LINE = re.compile(r"\d+ ((\S+) (\S+)(?: by=(\w+))?(?: headers=(\{.*?\}))?(?: body=(.*?))?) → ")


class Case(Struct, frozen=True, kw_only=True):
    """One request, and how it is written."""

    text: str
    method: str
    target: str
    who: str
    headers: dict[str, str]
    body: bytes


def read_case(line: str) -> Case:
    """Read the request of a line; a body is JSON if it looks like it, else a form, unless a header says otherwise."""
    found = LINE.match(line)
    assert found is not None, f"no request: {line}"
    text, method, target, who, headers, body = found.groups(default="")
    media_type = JSON if re.match(r'[{\["]|null$', body) else FORM
    return Case(
        text=text,
        method=method,
        target=target.replace("<nobody>", NOBODY),
        who=who,
        headers=({"content-type": media_type} if body else {}) | json.loads(headers or "{}"),
        body=body.encode(),
    )
