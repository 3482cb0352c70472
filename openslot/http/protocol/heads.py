"""Checks of a request's head: required fields, and fields that must not be repeated."""

import urllib.parse
from collections.abc import Mapping

import httptools

from openslot.core.errors import Invalid

Fields = list[tuple[bytes, bytes]]

VERSIONS = frozenset({"1.0", "1.1"})
# A proxy in front of us might use the first of two, and we the last.
ONLY_ONCE = (
    b"authorization",
    b"content-length",
    b"content-type",
    b"host",
    b"idempotency-key",
    b"transfer-encoding",
)


def check_fields(fields: Fields, by_name: Mapping[bytes, bytes], version: str) -> None:
    """Refuse a head that two parsers could interpret differently."""
    if version not in VERSIONS:
        raise Invalid("The request must be HTTP/1.1 or HTTP/1.0")
    if len(by_name) != len(fields):
        _check_only_once([name for name, _ in fields])
    if b"host" not in by_name and version == "1.1":
        raise Invalid("Host must be sent exactly once")
    coding = by_name.get(b"transfer-encoding")
    if coding is not None and (coding.lower() != b"chunked" or version == "1.0"):
        raise Invalid("Transfer-Encoding must be chunked, and only over HTTP/1.1")


def read_target(target: bytes) -> tuple[str, bytes, bytes]:
    """Return the decoded path, the path as it was written, and the query."""
    if b"#" in target:
        raise Invalid("The request target must not have a fragment")
    try:
        parsed = httptools.parse_url(target)
        path = parsed.path.decode("ascii")
    except (httptools.HttpParserInvalidURLError, UnicodeDecodeError, AttributeError):
        raise Invalid("The request target must be a path in ASCII") from None
    if "%" in path:
        path = urllib.parse.unquote(path)
    return path, parsed.path, parsed.query or b""


def _check_only_once(names: list[bytes]) -> None:
    for name in ONLY_ONCE:
        if names.count(name) > 1:
            raise Invalid(f"{name.decode().title()} must be sent exactly once")
