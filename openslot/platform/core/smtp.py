"""Outgoing mail as an operator configures it: a server with its security and login, and the sender."""

from email.utils import parseaddr
from enum import StrEnum
from urllib.parse import parse_qs, unquote, urlsplit

from msgspec import Struct

from openslot.platform.core.text import is_line

SHAPE = "smtp://USER:PASSWORD@HOST:PORT or smtps://USER:PASSWORD@HOST:PORT"


class Security(StrEnum):
    TLS = "tls"
    ALWAYS = "always"
    AUTO = "auto"
    NEVER = "never"


class SmtpServer(Struct, frozen=True, kw_only=True):
    host: str
    port: int
    security: Security
    username: str | None = None
    password: str | None = None


class SmtpUrl:
    """An SMTP server as an operator writes it; its printed form contains no password."""

    __slots__ = ("server",)

    def __init__(self, server: SmtpServer) -> None:
        self.server = server

    def __repr__(self) -> str:
        return f"{self.server.host}:{self.server.port}"

    @classmethod
    def parse(cls, text: str) -> "SmtpUrl":
        """Read `smtp://` (STARTTLS) or `smtps://` (TLS from the first byte), with or without a login.

        With a login, STARTTLS is required, so that no password is sent in the clear; without one, it is used if the
        server offers it. `?starttls=always`, `auto` or `never` overrides this.
        """
        try:
            url = urlsplit(text)
            port, query = url.port, parse_qs(url.query, strict_parsing=bool(url.query))
        except ValueError:
            raise ValueError(f"must be {SHAPE}") from None
        if url.scheme not in {"smtp", "smtps"} or not url.hostname or url.path not in {"", "/"} or not _is_plain(text):
            raise ValueError(f"must be {SHAPE}")
        if (url.username is None) != (url.password is None):
            raise ValueError("must have a user and a password, or neither")
        security = _read_security(url.scheme, query, has_login=url.username is not None)
        server = SmtpServer(
            host=url.hostname,
            port=port or (465 if security is Security.TLS else 587 if url.username else 25),
            security=security,
            username=unquote(url.username) if url.username else None,
            password=unquote(url.password) if url.password else None,
        )
        return cls(server)


def _is_plain(text: str) -> bool:
    """Return whether a text has no spaces and no fragment; in a password they are written as %20 and %23."""
    return is_line(text) and not any(character.isspace() or character in "#\\" for character in text)


class MailFrom:
    __slots__ = ("email", "name")

    def __init__(self, email: str, name: str = "") -> None:
        self.email = email
        self.name = name

    @classmethod
    def parse(cls, text: str) -> "MailFrom":
        """Read `bookings@example.com` or `Openslot <bookings@example.com>`."""
        name, email = parseaddr(text)
        local, _, domain = email.partition("@")
        if not is_line(text) or not local or not domain or not email.isascii() or " " in email or "@" in domain:
            raise ValueError("must be an address such as bookings@example.com or Openslot <bookings@example.com>")
        return cls(email, name)


def _read_security(scheme: str, query: dict[str, list[str]], *, has_login: bool) -> Security:
    chosen = query.pop("starttls", [None])[0]
    if query or chosen not in {None, "always", "auto", "never"}:
        raise ValueError("must have no parameters but starttls=always, auto or never")
    if scheme == "smtps":
        if chosen is not None:
            raise ValueError("must not have starttls with smtps://, which is encrypted from the beginning")
        return Security.TLS
    if chosen is not None:
        return Security(chosen)
    return Security.ALWAYS if has_login else Security.AUTO
