"""A message to send, and names that look like links."""

import re
from email.message import EmailMessage
from html import unescape

from openslot.core.ids import new_id
from openslot.integrations.mail.ports import OutgoingMail

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
