"""Requests: what a handler can read besides its own arguments."""

from collections.abc import Mapping
from urllib.parse import parse_qsl

MOST_PARAMETERS = 50


class Request:
    """One request: its target, its content, and its sender."""

    __slots__ = ("address", "body", "headers", "method", "path", "peer", "query_string")

    def __init__(
        self,
        *,
        method: str,
        path: str,
        query_string: bytes = b"",
        headers: Mapping[str, str],
        address: str,
        peer: str | None = None,
    ) -> None:
        self.method = method
        self.path = path
        self.query_string = query_string
        self.headers = headers
        """By lower-case name."""
        self.address = address
        """The client's address behind any proxies, as limits count it."""
        self.peer = peer
        """The other end of the connection, which may be a proxy."""
        self.body = b""
        """The unparsed body; empty if the method has none."""

    @property
    def chosen_locale(self) -> str | None:
        """The language that the sender has chosen, if the sender is known and has chosen one."""
        return None

    @property
    def query(self) -> dict[str, str]:
        """The query, parsed leniently, with the last of equal names; declare parameters that must be valid instead."""
        text = self.query_string.decode("latin-1")
        try:
            return dict(parse_qsl(text, keep_blank_values=True, errors="replace", max_num_fields=MOST_PARAMETERS))
        except ValueError:
            return {}

    @property
    def cookies(self) -> dict[str, str]:
        """The cookies, with the first of equal names; malformed ones do not affect the others."""
        found: dict[str, str] = {}
        for part in self.headers.get("cookie", "").split(";"):
            name, _, value = part.strip().partition("=")
            if value:
                found.setdefault(name, value)
        return found
