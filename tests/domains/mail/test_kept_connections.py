"""Connections to the mail server: used again while mails follow each other, and never a reason to send one twice."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from openslot.domains.mail.ports import MailDeferred, MailRefused
from openslot.platform.core.smtp import SmtpUrl
from openslot.vendors import smtp
from openslot.vendors.smtp import SmtpMailer
from tests.domains.mail.support import make
from tests.support.smtp_server import DROP, ScriptedServer, smtp_server


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    """Run a mail server that takes everything, until told otherwise."""
    async with smtp_server() as opened:
        yield opened


@pytest.fixture
async def mailer(server: ScriptedServer) -> AsyncIterator[SmtpMailer]:
    """Open a mailer for it."""
    opened = SmtpMailer(SmtpUrl.parse(f"smtp://127.0.0.1:{server.port}?starttls=never").server, greeting="here")
    yield opened
    opened.close()


async def until_open(server: ScriptedServer, count: int) -> None:
    async with asyncio.timeout(60):
        while server.open_connections != count:
            await asyncio.sleep(0.01)


async def test_mails_that_follow_each_other_use_one_connection(server: ScriptedServer, mailer: SmtpMailer) -> None:
    for number in range(5):
        await mailer.send(make(f"r{number}@okafor.example"))
    assert [each.recipient for each in server.received] == [f"r{number}@okafor.example" for number in range(5)]
    assert server.connections == 1


async def test_mails_at_the_same_time_have_a_connection_each(server: ScriptedServer, mailer: SmtpMailer) -> None:
    for _ in range(2):
        await asyncio.gather(*(mailer.send(make()) for _ in range(4)))
    assert len(server.received) == 8
    assert server.connections == 4


async def test_a_connection_that_the_server_has_closed_is_replaced(server: ScriptedServer, mailer: SmtpMailer) -> None:
    await mailer.send(make())
    server.hang_up()
    await mailer.send(make())
    assert len(server.received) == 2
    assert server.connections == 2


async def test_a_connection_on_which_the_server_takes_no_more_mail_is_replaced(
    server: ScriptedServer, mailer: SmtpMailer
) -> None:
    await mailer.send(make())
    server.at_mail.append("421 Too many messages on this connection")
    await mailer.send(make())
    assert len(server.received) == 2
    assert server.connections == 2


@pytest.mark.parametrize("answer", [DROP, "421 Closing", "451 Local error"])
@pytest.mark.parametrize("when", ["at_rcpt", "at_data"])
async def test_a_mail_that_may_have_arrived_is_not_sent_over_another_connection(
    server: ScriptedServer, mailer: SmtpMailer, when: str, answer: str
) -> None:
    await mailer.send(make())
    getattr(server, when).append(answer)
    with pytest.raises(MailDeferred):
        await mailer.send(make())
    assert len(server.received) == 1
    assert server.connections == 1


async def test_a_connection_that_has_failed_is_not_used_again(server: ScriptedServer, mailer: SmtpMailer) -> None:
    server.at_rcpt.append("550 No such user")
    with pytest.raises(MailRefused):
        await mailer.send(make())
    await mailer.send(make())
    assert server.connections == 2
    await until_open(server, 1)


async def test_a_connection_carries_so_many_mails(
    server: ScriptedServer, mailer: SmtpMailer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp, "MAILS_EACH", 2)
    for _ in range(5):
        await mailer.send(make())
    assert len(server.received) == 5
    assert server.connections == 3
    await until_open(server, 1)


async def test_a_connection_that_nobody_needs_is_ended(
    server: ScriptedServer, mailer: SmtpMailer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp, "KEPT_FOR", timedelta(milliseconds=50))
    await asyncio.gather(*(mailer.send(make()) for _ in range(3)))
    await until_open(server, 0)
    await mailer.send(make())
    assert len(server.received) == 4


async def test_closing_the_mailer_ends_its_connections(server: ScriptedServer, mailer: SmtpMailer) -> None:
    await asyncio.gather(*(mailer.send(make()) for _ in range(3)))
    assert server.open_connections == 3
    mailer.close()
    await until_open(server, 0)
