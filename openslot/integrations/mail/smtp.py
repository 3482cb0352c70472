"""Mail over SMTP: with STARTTLS, TLS and login, and a limit on how long a server may take."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from ipaddress import ip_address
from urllib.parse import urlsplit

import aiosmtplib
from aiosmtplib import SMTP

from openslot.core.config import Settings
from openslot.core.smtp import Security, SmtpServer
from openslot.core.text import is_line
from openslot.integrations.mail.ports import MailDeferred, MailRefused, OutgoingMail

ANSWER_WITHIN = timedelta(seconds=30)
SENT_WITHIN = timedelta(seconds=90)
QUIT_WITHIN = timedelta(seconds=2)
START_TLS = {Security.TLS: False, Security.ALWAYS: True, Security.AUTO: None, Security.NEVER: False}
# A code that says "not now": RFC 5321, 4.2.1. Everything from 500 on is final.
FIRST_FINAL = 500
CLOSING = 421


class SmtpMailer:
    """Sends messages to one SMTP server, with one connection each.

    `greeting` is how it calls itself; without it the machine's name is looked up each time.
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

    async def send(self, mail: OutgoingMail) -> None:
        """Send one message to one recipient; the server's answer decides whether it is tried again."""
        client = self._client()
        try:
            async with asyncio.timeout(self._sent_within.total_seconds()):
                await self._connect(client)
                await _transmit(client, mail)
        except TimeoutError as fault:
            took = f"{self._sent_within.total_seconds():.0f} seconds"
            raise MailDeferred(f"The mail server took longer than {took}.") from fault
        else:
            # The server has accepted the message, so it must not be sent again, whatever happens now.
            await _leave(client)
        finally:
            client.close()

    async def check(self) -> None:
        """Connect and log in, without sending anything; raise `MailDeferred` where that fails."""
        client = self._client()
        try:
            async with asyncio.timeout(self._answer_within.total_seconds()):
                await self._connect(client)
        except TimeoutError as fault:
            raise MailDeferred("The mail server does not respond.") from fault
        else:
            await _leave(client)
        finally:
            client.close()

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


@asynccontextmanager
async def open_mailer(settings: Settings) -> AsyncIterator[SmtpMailer | None]:
    """Open the mailer for the server that the settings name, if they name one."""
    host = urlsplit(settings.public_url).hostname or "localhost"
    yield SmtpMailer(settings.smtp_url.server, greeting=_greeting(host)) if settings.smtp_url else None


def _greeting(host: str) -> str:
    """Write a name or an address for the SMTP greeting; addresses are put in brackets."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    return f"[{'IPv6:' if address.version == 6 else ''}{address}]"


async def _transmit(client: SMTP, mail: OutgoingMail) -> None:
    if not is_line(mail.recipient) or set(mail.recipient) & set(" <>"):
        raise MailRefused("This is an invalid recipient address.")
    try:
        options = await _choose_options(client, mail)
        await client.sendmail(mail.sender, [mail.recipient], mail.content, mail_options=options)
    except aiosmtplib.SMTPRecipientsRefused as fault:
        raise _judge(fault.recipients[0]) from fault
    except aiosmtplib.SMTPResponseException as fault:
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


async def _leave(client: SMTP) -> None:
    with suppress(aiosmtplib.SMTPException, OSError, TimeoutError):
        await client.quit(timeout=QUIT_WITHIN.total_seconds())


def _judge(fault: aiosmtplib.SMTPResponseException) -> MailDeferred | MailRefused:
    words = f"The mail server answered {fault.code}: {_words(fault)}"
    return MailRefused(words) if fault.code >= FIRST_FINAL else MailDeferred(words, answered=fault.code != CLOSING)


def _words(fault: aiosmtplib.SMTPException) -> str:
    return " ".join(str(fault.message).split())[:300]
