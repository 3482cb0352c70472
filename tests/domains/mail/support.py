"""Messages to send, and names that look like links."""

import re
from datetime import datetime, timedelta
from email.message import EmailMessage
from html import unescape

from openslot.domains.accounts.models import Brand, User
from openslot.domains.mail import operations as mail
from openslot.domains.mail.models import Draft, Letter, MailKind, Recipient, RecipientRole
from openslot.domains.mail.ports import OutgoingMail
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from openslot.platform.i18n.languages import DEFAULT
from tests.domains.mail.fake_mailer import FakeMailer
from tests.support.clocks import MONDAY

CONTENT = b"Subject: Hello\r\n\r\nA line.\r\n.A line that begins with a dot.\r\n"
EVIL = "Pay http://evil.example/x www.evil.com evil.io/x pay@evil.com"
RAW = re.compile(r"://evil|\.evil|evil\.\w|@evil", re.IGNORECASE)


def make(recipient: str = "jonas@okafor.example", *, needs_utf8: bool = False) -> OutgoingMail:
    return OutgoingMail(
        id=new_id(), sender="bookings@here.example", recipient=recipient, content=CONTENT, needs_utf8=needs_utf8
    )


def check_message(message: EmailMessage) -> None:
    """Fail if a part or a header that people read has a name that a program makes a link of."""
    read = [str(message["Subject"]), *(str(message[name] or "") for name in ("From", "To", "Reply-To"))]
    for each in message.walk():
        if each.get_content_maintype() == "text":
            read.append(unescape(str(each.get_content())).replace("\r\n ", ""))
    assert any("evil" in each for each in read)
    for text in read:
        assert not RAW.search(text), ascii(text)


def start(number: int) -> datetime:
    """Return one of the host's starts."""
    return MONDAY.replace(hour=9) + timedelta(days=number // 16, minutes=30 * (number % 16))


def draft_of(user: User, kind: MailKind, role: RecipientRole, email: str | None = None) -> Draft:
    """Write a letter that the public has set off."""
    return Draft(
        id=new_id(),
        kind=kind,
        letter=Letter(subject="Hello", heading="Hello"),
        recipient=Recipient(role=role, email=email or f"{new_id()}@x.example", name=None, zone="UTC", locale=None),
        brand=Brand(name="Mara", color="#3155d9"),
        locale=DEFAULT,
        host_id=user.id,
        is_public=True,
    )


async def begin(runtime: Runtime, draft: Draft) -> bool:
    """Begin a mail as a worker does, and return whether it may be sent."""
    async with runtime.transaction(SYSTEM) as work:
        return isinstance(await mail.begin_mail(work, draft, FakeMailer()), OutgoingMail)
