"""A message to send."""

from openslot.core.ids import new_id
from openslot.integrations.mail.ports import OutgoingMail

CONTENT = b"Subject: Hello\r\n\r\nA line.\r\n.A line that begins with a dot.\r\n"


def make(recipient: str = "jonas@okafor.example", *, needs_utf8: bool = False) -> OutgoingMail:
    return OutgoingMail(
        id=new_id(), sender="bookings@here.example", recipient=recipient, content=CONTENT, needs_utf8=needs_utf8
    )
