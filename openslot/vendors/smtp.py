"""Mail over SMTP: with STARTTLS, TLS and login, over connections that are kept, and with limits on every wait."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from ipaddress import ip_address
from time import monotonic
from typing import cast
from urllib.parse import urlsplit

import aiosmtplib
from aiosmtplib import SMTP
from msgspec import Struct

from openslot.domains.mail.ports import MailDeferred, MailRefused, OutgoingMail
from openslot.platform.core.config import Settings
from openslot.platform.core.smtp import Security, SmtpServer
from openslot.platform.core.text import is_line

ANSWER_WITHIN = timedelta(seconds=30)
SENT_WITHIN = timedelta(seconds=90)
CHECKED_WITHIN = timedelta(seconds=10)
# A connection is used again while mails follow each other, but not for long: servers limit both.
KEPT_FOR = timedelta(seconds=10)
READY_WITHIN = timedelta(seconds=5)
MAILS_EACH = 100
START_TLS = {Security.TLS: False, Security.ALWAYS: True, Security.AUTO: None, Security.NEVER: False}
# A code that says "not now": RFC 5321, 4.2.1. Everything from 500 on is final.
FIRST_FINAL = 500
CLOSING = 421
# The server itself can't go on, whoever the message is for: it closes, has an error, or is full.
OF_THE_SERVER = (CLOSING, 451, 452)


class SmtpConnection(Struct, eq=False):
    """A connection to the server, how many mails it has carried, and since when it is not in use."""

    client: SMTP
    sent: int = 0
    idle_since: float = 0.0

    def end(self) -> None:
        """Say goodbye without waiting for an answer: the server has accepted what it was sent."""
        if self.client.is_connected:
            cast("asyncio.WriteTransport", self.client.transport).write(b"QUIT\r\n")
        self.client.close()


class ConnectionClosing(Exception):
    """A connection that was used before takes no further mail; nothing of this one has been sent."""


class SmtpMailer:
    """Sends messages to one SMTP server, as many at a time as it is asked to, and keeps the connections for a while.

    `greeting` is how it calls itself; without it the machine's name is looked up for each connection.
    """

    name = "smtp"

    def __init__(
        self,
        server: SmtpServer,
        *,
        answer_within: timedelta = ANSWER_WITHIN,
        sent_within: timedelta = SENT_WITHIN,
        tls: ssl.SSLContext | None = None,
        greeting: str | None = None,
    ) -> None:
        self._server = server
        self._answer_within = answer_within
        self._sent_within = sent_within
        self._tls = tls
        self._greeting = greeting
        self._idle: list[SmtpConnection] = []
        self._ending: asyncio.TimerHandle | None = None

    async def send(self, mail: OutgoingMail) -> None:
        """Send one message to one recipient; the server's answer decides whether it is tried again."""
        if not is_line(mail.recipient) or set(mail.recipient) & set(" <>"):
            raise MailRefused("This is an invalid recipient address.")
        try:
            async with asyncio.timeout(self._sent_within.total_seconds()):
                used = await self._send(mail)
        except TimeoutError as fault:
            took = f"{self._sent_within.total_seconds():.0f} seconds"
            raise MailDeferred(f"The mail server took longer than {took}.") from fault
        # The server has accepted the message, so it must not be sent again, whatever happens now.
        self._keep(used)

    async def check(self) -> None:
        """Connect and log in, without sending anything; raise `MailDeferred` if that fails."""
        client = self._client()
        try:
            async with asyncio.timeout(self._answer_within.total_seconds()):
                await self._connect(client)
        except TimeoutError as fault:
            raise MailDeferred("The mail server does not respond.") from fault
        finally:
            SmtpConnection(client).end()

    def close(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
        while self._idle:
            self._idle.pop().end()

    async def _send(self, mail: OutgoingMail) -> SmtpConnection:
        """Send over a connection that is kept and still answers, or else over a new one; return which."""
        while self._idle:
            kept = self._idle.pop()
            with suppress(ConnectionClosing):
                return await _send_over(kept, mail)
        client = self._client()
        try:
            await self._connect(client)
        except BaseException:
            client.close()
            raise
        return await _send_over(SmtpConnection(client), mail)

    def _keep(self, used: SmtpConnection) -> None:
        used.sent += 1
        if used.sent >= MAILS_EACH:
            used.end()
            return
        used.idle_since = monotonic()
        self._idle.append(used)
        if self._ending is None:
            self._end_later()

    def _end_later(self) -> None:
        wait = self._idle[0].idle_since + KEPT_FOR.total_seconds() - monotonic()
        self._ending = asyncio.get_running_loop().call_later(max(wait, 0), self._end_unused)

    def _end_unused(self) -> None:
        """End connections that nobody has needed for a while; the least recently used come first."""
        self._ending = None
        while self._idle and monotonic() - self._idle[0].idle_since >= KEPT_FOR.total_seconds():
            self._idle.pop(0).end()
        if self._idle:
            self._end_later()

    def _client(self) -> SMTP:
        server = self._server
        return SMTP(
            hostname=server.host,
            port=server.port,
            username=server.username,
            password=server.password,
            use_tls=server.security is Security.TLS,
            start_tls=START_TLS[server.security],
            tls_context=self._tls,
            local_hostname=self._greeting,
            timeout=self._answer_within.total_seconds(),
        )

    async def _connect(self, client: SMTP) -> None:
        """Connect, protect the connection and log in; a failure here says nothing about the message."""
        try:
            await client.connect()
        except aiosmtplib.SMTPAuthenticationError as fault:
            raise MailDeferred(f"The mail server refused the login: {_words(fault)}") from fault
        except aiosmtplib.SMTPTimeoutError as fault:
            raise MailDeferred("The mail server does not respond.") from fault
        except aiosmtplib.SMTPException as fault:
            raise MailDeferred(f"The mail server can't be used: {_words(fault)}") from fault
        except (OSError, ValueError) as fault:
            raise MailDeferred(f"The mail server can't be reached: {fault}") from fault


class SmtpServers:
    """Implements the port `MailServers`."""

    async def check(self, server: SmtpServer) -> None:
        await SmtpMailer(server, answer_within=CHECKED_WITHIN).check()


@asynccontextmanager
async def open_mail_servers(_: Settings) -> AsyncIterator[SmtpServers]:
    yield SmtpServers()


@asynccontextmanager
async def open_mailer(settings: Settings) -> AsyncIterator[SmtpMailer | None]:
    host = urlsplit(settings.public_url).hostname or "localhost"
    if settings.smtp_url is None:
        yield None
        return
    mailer = SmtpMailer(settings.smtp_url.server, greeting=_greeting(host))
    try:
        yield mailer
    finally:
        mailer.close()


def _greeting(host: str) -> str:
    """Write a name or an address for the SMTP greeting; addresses are put in brackets."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    return f"[{'IPv6:' if address.version == 6 else ''}{address}]"


async def _send_over(connection: SmtpConnection, mail: OutgoingMail) -> SmtpConnection:
    """Send over a connection, and close it if that fails; one that was used before must answer first."""
    try:
        if connection.sent:
            try:
                await connection.client.rset(timeout=READY_WITHIN.total_seconds())
            except (aiosmtplib.SMTPException, OSError) as fault:
                raise ConnectionClosing from fault
        await _transmit(connection, mail)
    except BaseException:
        connection.client.close()
        raise
    return connection


async def _transmit(connection: SmtpConnection, mail: OutgoingMail) -> None:
    client = connection.client
    try:
        options = await _choose_options(client, mail)
        await client.sendmail(mail.sender, [mail.recipient], mail.content, mail_options=options)
    except aiosmtplib.SMTPRecipientsRefused as fault:
        raise _judge(fault.recipients[0]) from fault
    except aiosmtplib.SMTPResponseException as fault:
        if connection.sent and fault.code == CLOSING and isinstance(fault, aiosmtplib.SMTPSenderRefused):
            raise ConnectionClosing from fault
        raise _judge(fault) from fault
    except aiosmtplib.SMTPTimeoutError as fault:
        raise MailDeferred("The mail server stopped responding.") from fault
    except aiosmtplib.SMTPException as fault:
        raise MailDeferred(f"The connection to the mail server was lost: {_words(fault)}") from fault
    except OSError as fault:
        raise MailDeferred(f"The connection to the mail server was lost: {fault}") from fault


async def _choose_options(client: SMTP, mail: OutgoingMail) -> list[str]:
    if not mail.needs_utf8:
        return []
    if client.last_ehlo_response is None:
        await client.ehlo()
    if not client.supports_extension("smtputf8"):
        raise MailRefused("The mail server does not support non-ASCII addresses.")
    return ["SMTPUTF8", "BODY=8BITMIME"]


def _judge(fault: aiosmtplib.SMTPResponseException) -> MailDeferred | MailRefused:
    words = f"The mail server answered {fault.code}: {_words(fault)}"
    if fault.code >= FIRST_FINAL:
        return MailRefused(words)
    return MailDeferred(words, answered=fault.code not in OF_THE_SERVER)


def _words(fault: aiosmtplib.SMTPException) -> str:
    return " ".join(str(fault.message).split())[:300]
