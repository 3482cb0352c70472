"""Mail over SMTP: what is tried again, what is final, and what never travels in the clear."""

import asyncio
import ssl
from collections import deque
from datetime import timedelta
from pathlib import Path

import pytest

from openslot.domains.mail.ports import MailDeferred, MailRefused
from openslot.platform.core.smtp import SmtpUrl
from openslot.vendors.smtp import SmtpMailer
from tests.domains.mail.support import CONTENT, make
from tests.support.ports import held_port
from tests.support.smtp_server import DROP, HANG, ScriptedServer, certificate, smtp_server


def mailer(
    server: ScriptedServer,
    scheme: str = "smtp",
    *,
    login: str = "",
    options: str = "?starttls=never",
    tls: ssl.SSLContext | None = None,
    answer_within: timedelta = timedelta(seconds=20),
    sent_within: timedelta = timedelta(seconds=20),
) -> SmtpMailer:
    url = f"{scheme}://{login}127.0.0.1:{server.port}{options}"
    return SmtpMailer(SmtpUrl.parse(url).server, tls=tls, answer_within=answer_within, sent_within=sent_within)


async def test_a_message_arrives_byte_for_byte() -> None:
    async with smtp_server() as server:
        await mailer(server).send(make())
    (received,) = server.received
    assert received.content == CONTENT
    assert (received.sender, received.recipient) == ("bookings@here.example", "jonas@okafor.example")


@pytest.mark.parametrize("answer", ["421 Try again later", "450 Mailbox busy", "451 Greylisted", "452 Full"])
@pytest.mark.parametrize("when", ["at_mail", "at_rcpt", "at_data"])
async def test_a_4xx_is_worth_another_try(answer: str, when: str) -> None:
    async with smtp_server() as server:
        getattr(server, when).append(answer)
        with pytest.raises(MailDeferred, match=answer[:3]):
            await mailer(server).send(make())
        await mailer(server).send(make())
    assert len(server.received) == 1


@pytest.mark.parametrize("answer", ["550 No such user", "552 Too large", "554 Looks like spam"])
@pytest.mark.parametrize("when", ["at_mail", "at_rcpt", "at_data"])
async def test_a_5xx_is_final(answer: str, when: str) -> None:
    async with smtp_server() as server:
        getattr(server, when).append(answer)
        with pytest.raises(MailRefused, match=answer[4:]):
            await mailer(server).send(make())
    assert server.received == []


@pytest.mark.parametrize("when", ["at_rcpt", "at_data"])
async def test_a_connection_that_is_dropped_is_worth_another_try(when: str) -> None:
    async with smtp_server() as server:
        getattr(server, when).append(DROP)
        with pytest.raises(MailDeferred, match="connection"):
            await mailer(server).send(make())


@pytest.mark.rest("waits for seconds")
@pytest.mark.parametrize(("limit", "words"), [("answer_within", "stopped"), ("sent_within", "took longer")])
@pytest.mark.parametrize("when", ["at_rcpt", "at_data"])
async def test_a_tarpit_is_left_and_tried_again(when: str, limit: str, words: str) -> None:
    async with smtp_server() as server:
        setattr(server, when, deque([HANG]))
        with pytest.raises(MailDeferred, match=words):
            await mailer(server, **{limit: timedelta(seconds=1)}).send(make())  # type: ignore[arg-type]


async def test_a_server_that_says_nothing_is_left() -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    silent = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    url = SmtpUrl.parse(f"smtp://127.0.0.1:{port}").server
    with pytest.raises(MailDeferred, match=r"respond|longer"):
        await SmtpMailer(url, answer_within=timedelta(milliseconds=200)).send(make())
    silent.close()


async def test_a_server_that_takes_the_message_and_no_goodbye_has_taken_it() -> None:
    async with smtp_server() as server:
        original = server.handle_DATA

        async def take_and_hang(protocol: object, session: object, envelope: object) -> str:
            answer = await original(protocol, session, envelope)  # type: ignore[arg-type]
            protocol._smtp_methods["QUIT"] = lambda *_: asyncio.sleep(3600)  # type: ignore[attr-defined]
            return answer

        server.handle_DATA = take_and_hang  # type: ignore[method-assign,assignment]
        await mailer(server).send(make())
    assert len(server.received) == 1


async def test_no_server_is_worth_another_try() -> None:
    with held_port() as port, pytest.raises(MailDeferred, match=r"reached|used"):
        await SmtpMailer(SmtpUrl.parse(f"smtp://127.0.0.1:{port}?starttls=never").server).send(make())


async def test_a_login_goes_over_starttls_alone(tmp_path: Path) -> None:
    serving, trusting = certificate(tmp_path)
    async with smtp_server(tls=serving, login=("post", "p/w:x")) as server:
        await mailer(server, login="post:p%2Fw%3Ax@", options="", tls=trusting).send(make())
    assert server.logins == [("post", "p/w:x")]
    assert server.received[0].was_encrypted


async def test_no_password_travels_in_the_clear() -> None:
    async with smtp_server(login=("post", "secret")) as server:
        with pytest.raises(MailDeferred):
            await mailer(server, login="post:secret@", options="").send(make())
    assert server.logins == []
    assert server.received == []


async def test_a_certificate_that_nobody_trusts_is_refused(tmp_path: Path) -> None:
    serving, _ = certificate(tmp_path)
    async with smtp_server(tls=serving) as server:
        with pytest.raises(MailDeferred, match="certificate"):
            await mailer(server, options="?starttls=always").send(make())
    assert server.received == []


async def test_tls_from_the_first_byte(tmp_path: Path) -> None:
    serving, trusting = certificate(tmp_path)
    async with smtp_server(tls=serving, implicit=True, login=("post", "secret")) as server:
        await mailer(server, "smtps", login="post:secret@", options="", tls=trusting).send(make())
    assert len(server.received) == 1


async def test_a_refused_login_is_the_operators_fault_and_loses_no_mail(tmp_path: Path) -> None:
    serving, trusting = certificate(tmp_path)
    async with smtp_server(tls=serving, login=("post", "secret")) as server:
        with pytest.raises(MailDeferred, match="login"):
            await mailer(server, login="post:wrong@", options="", tls=trusting).send(make())


async def test_letters_beyond_ascii_need_a_server_that_knows_them() -> None:
    letter = make("jörg@okafor.example", needs_utf8=True)
    async with smtp_server() as server:
        await mailer(server).send(letter)
    assert server.received[0].recipient == "jörg@okafor.example"
    assert "SMTPUTF8" in server.received[0].options
    async with smtp_server(utf8=False) as old:
        with pytest.raises(MailRefused, match="ASCII"):
            await mailer(old).send(letter)


async def test_an_address_with_a_line_break_never_reaches_the_server() -> None:
    async with smtp_server() as server:
        with pytest.raises(MailRefused):
            await mailer(server).send(make("jonas@okafor.example>\r\nRCPT TO:<victim@else.example"))
    assert server.received == []


async def test_a_check_connects_and_sends_nothing(tmp_path: Path) -> None:
    serving, trusting = certificate(tmp_path)
    async with smtp_server(tls=serving, login=("post", "secret")) as server:
        await mailer(server, login="post:secret@", options="", tls=trusting).check()
        with pytest.raises(MailDeferred, match="login"):
            await mailer(server, login="post:wrong@", options="", tls=trusting).check()
    assert server.received == []
