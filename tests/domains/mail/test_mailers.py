"""The port: whatever carries mail passes the same tests."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from msgspec import Struct

from openslot.domains.accounts.models import PRODUCT
from openslot.domains.mail import operations, store
from openslot.domains.mail.models import Draft, Letter, MailKind, MailStatus, Recipient, RecipientRole
from openslot.domains.mail.operations import Mailbox
from openslot.domains.mail.ports import MailDeferred, Mailer, MailRefused, OutgoingMail
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.ids import new_id
from openslot.platform.core.smtp import SmtpUrl
from openslot.platform.core.work import Runtime
from openslot.platform.i18n.languages import DEFAULT
from openslot.vendors.smtp import SmtpMailer
from tests.domains.mail.fake_mailer import FakeMailer
from tests.support.smtp_server import smtp_server

CONTENT = b"Subject: Hello\r\n\r\nA line.\r\n.A dot, and \xe2\x9c\x93.\r\n"


class Tried(Struct, frozen=True):
    """A mailer, and what it has taken so far."""

    mailer: Mailer
    read: Callable[[], Awaitable[list[bytes]]]


@pytest.fixture(params=["smtp", "mailbox", "fake"])
async def tried(request: pytest.FixtureRequest, runtime: Runtime) -> AsyncIterator[Tried]:
    """Give one mailer after the other."""
    if request.param == "fake":
        fake = FakeMailer()

        async def read_fake() -> list[bytes]:
            return [each.content for each in fake.sent]

        yield Tried(fake, read_fake)
    elif request.param == "mailbox":

        async def read_box() -> list[bytes]:
            rows = await runtime.pool.fetch("select id from mail_messages where content is not null")
            found = [(await operations.get_mail(runtime.work(SYSTEM), row["id"]))[1] for row in rows]
            return [content for content in found if content is not None]

        yield Tried(Mailbox(runtime), read_box)
    else:
        async with smtp_server() as server:

            async def read_server() -> list[bytes]:
                return [each.content for each in server.received]

            mailer = SmtpMailer(SmtpUrl.parse(f"smtp://127.0.0.1:{server.port}").server)
            yield Tried(mailer, read_server)
            mailer.close()


async def begin(runtime: Runtime) -> OutgoingMail:
    """Write a mail down, as it is before it is sent."""
    draft = Draft(
        id=new_id(),
        kind=MailKind.NOTICE,
        letter=Letter(subject="Hello"),
        recipient=Recipient(
            role=RecipientRole.HOST, email="mara@lindqvist.example", name=None, zone="UTC", locale=None
        ),
        brand=PRODUCT,
        locale=DEFAULT,
        host_id=None,
    )
    await store.log_mail(
        runtime.pool,
        draft,
        subject="Hello",
        status=MailStatus.SENDING,
        transport="any",
        error=None,
        now=runtime.clock(),
    )
    return OutgoingMail(id=draft.id, sender="bookings@here.example", recipient=draft.recipient.email, content=CONTENT)


async def test_what_is_taken_arrives_byte_for_byte(tried: Tried, runtime: Runtime) -> None:
    await tried.mailer.send(await begin(runtime))
    assert await tried.read() == [CONTENT]


async def test_what_is_taken_twice_is_the_same_message(tried: Tried, runtime: Runtime) -> None:
    mail = await begin(runtime)
    await tried.mailer.send(mail)
    await tried.mailer.send(mail)
    assert set(await tried.read()) == {CONTENT}


async def test_every_mailer_has_a_name_for_the_log(tried: Tried) -> None:
    assert tried.mailer.name


async def test_the_fake_fails_as_it_is_told(runtime: Runtime) -> None:
    fake = FakeMailer()
    fake.faults.extend([MailDeferred("later"), MailRefused("never"), None])
    mail = await begin(runtime)
    for fault in (MailDeferred, MailRefused):
        with pytest.raises(fault):
            await fake.send(mail)
    await fake.send(mail)
    assert len(fake.sent) == 1
