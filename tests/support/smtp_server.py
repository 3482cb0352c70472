"""A real SMTP server that answers as a test tells it."""

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any, cast

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from msgspec import Struct

HANG, DROP = "hang", "drop"


class Received(Struct, frozen=True):
    """A message that has arrived."""

    sender: str
    recipient: str
    content: bytes
    was_encrypted: bool
    options: tuple[str, ...]


class ScriptedServer:
    """Says what it is told to, in turn, and `250` after that."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.at_mail: deque[str] = deque()
        self.at_rcpt: deque[str] = deque()
        self.at_data: deque[str] = deque()
        self.logins: list[tuple[str, str]] = []
        self.login = ("", "")
        self.connections = 0
        self.protocols: list[SMTP] = []
        self.port = 0
        self._tasks: set[asyncio.Task[Any]] = set()

    async def handle_MAIL(  # noqa: N802 - named by the library
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if answer := self.at_mail.popleft() if self.at_mail else None:
            return answer
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(  # noqa: N802 - named by the library
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if answer := self.at_rcpt.popleft() if self.at_rcpt else None:
            return await self._answer(server, answer)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        if answer := self.at_data.popleft() if self.at_data else None:
            return await self._answer(server, answer)
        content = envelope.original_content or b""
        self.received.append(
            Received(
                envelope.mail_from or "",
                envelope.rcpt_tos[0],
                content,
                session.ssl is not None,
                tuple(envelope.mail_options),
            )
        )
        return "250 OK"

    def authenticate(self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        assert isinstance(data, LoginPassword)
        given = data.login.decode(), data.password.decode()
        self.logins.append(given)
        return AuthResult(success=given == self.login, handled=False)

    @property
    def open_connections(self) -> int:
        """How many connections are open."""
        return sum(each.transport is not None and not each.transport.is_closing() for each in self.protocols)

    def hang_up(self) -> None:
        """Close every connection, as a server does with those that are idle."""
        for each in self.protocols:
            if each.transport is not None:
                each.transport.close()

    async def _answer(self, server: SMTP, answer: str) -> str:
        if answer == DROP:
            # It has what is sent, whichever event loop it is of.
            cast("asyncio.WriteTransport", server.transport).abort()
            return "421 gone"
        if answer == HANG:
            await asyncio.sleep(3600)
        return answer


@asynccontextmanager
async def smtp_server(
    *,
    tls: ssl.SSLContext | None = None,
    implicit: bool = False,
    login: tuple[str, str] | None = None,
    utf8: bool = True,
) -> AsyncIterator[ScriptedServer]:
    """Run a server on a free port of this machine."""
    scripted = ScriptedServer()
    scripted.login = login or ("", "")

    def accept() -> SMTP:
        scripted.connections += 1
        protocol = SMTP(
            scripted,
            hostname="mail.test",
            enable_SMTPUTF8=utf8,
            tls_context=None if implicit else tls,
            authenticator=scripted.authenticate if login else None,
            auth_require_tls=tls is not None and not implicit,
        )
        scripted.protocols.append(protocol)
        return protocol

    loop = asyncio.get_running_loop()
    server = await loop.create_server(accept, "127.0.0.1", 0, ssl=tls if implicit else None)
    scripted.port = server.sockets[0].getsockname()[1]
    try:
        yield scripted
    finally:
        server.close()


def certificate(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Make a certificate for 127.0.0.1; give the server's context, and one that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - timedelta(days=1))
        .not_valid_after(datetime.now(UTC) + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    path = folder / "mail.pem"
    path.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + made.public_bytes(Encoding.PEM)
    )
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(path)
    return serving, ssl.create_default_context(cadata=made.public_bytes(Encoding.PEM).decode())
