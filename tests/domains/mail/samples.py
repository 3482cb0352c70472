"""A calendar entry and a mail, and texts that people could type."""

from datetime import UTC, datetime
from uuid import UUID

from openslot.domains.mail.calendar_entry import Attendee, CalendarEntry, write_calendar
from openslot.domains.mail.models import Attachment, Mail, MailAddress, Method

ID = UUID("01997c2e-6a52-7c1e-9d0a-3f4b5c6d7ea1")
NOW = datetime(2026, 3, 16, 9, 0, 0, 123456, tzinfo=UTC)
ENTRY = CalendarEntry(
    uid="01997c2e-6a52-7c1e-9d0a-3f4b5c6d7ea1@openslot",
    sequence=2,
    starts_at=datetime(2026, 3, 20, 9, 0, tzinfo=UTC),
    ends_at=datetime(2026, 3, 20, 9, 30, tzinfo=UTC),
    summary="Intro call with Mara Lindqvist",
    description="First line\nSecond; line, with marks",
    location="Sveavägen 1, Stockholm",
    url="https://book.example/manage/x",
    organizer=MailAddress("mara@lindqvist.example", "Mara Lindqvist"),
    attendees=(
        Attendee(address=MailAddress("jonas@okafor.example", "Jonas Okafor")),
        Attendee(address=MailAddress("li@okafor.example"), is_asked=True),
    ),
    created_at=NOW,
    updated_at=NOW,
)
MAIL = Mail(
    id=ID,
    sender=MailAddress("bookings@here.example", "Mara Lindqvist"),
    to=MailAddress("jonas@okafor.example", "Jonas Okafor"),
    reply_to=MailAddress("mara@lindqvist.example", "Mara Lindqvist"),
    subject="Confirmed: Intro call",
    text="It is confirmed.",
    html="<p>It is confirmed.</p>",
    language="en",
    written_at=NOW,
    thread="booking",
    calendar=Attachment(method=Method.REQUEST, content=write_calendar(ENTRY, Method.REQUEST)),
)
INJECTIONS = (
    "x\r\nBcc: victim@else.example",
    "x\nBcc: victim@else.example",
    "x\rBcc: victim@else.example",
    "x\r\n\r\nA body of my own",
    "x\x00y",
    "x\x0bBcc: a\x0c\x1c\x1d\x1e\x85y",
    "x\u2028Bcc: victim@else.example\u2029",
    "=?utf-8?q?x=0D=0ABcc:_victim=40else.example?=",
    "=\u202e?utf-8?q?x=0D=0ABcc:_victim=40else.example?=",
    "=?utf-8?b?eA0KQmNjOiB2aWN0aW1AZWxzZS5leGFtcGxl?=",
    '"quoted" <victim@else.example>, other',
    "x\ud800y",
    "\u202ecod.exe",
    "名前 ✨ مرحبا",
    "x" * 1_000_000,
    "é\r\n" * 300_000,
)
TEXTS = {
    "long lines": "word " * 400 + "\n" + "x" * 3000,
    "beyond ASCII": "Grüße aus Zürich, 山田 太郎 ✨ مرحبا\n" * 20,
    "spaces at the end": "a \nb\t\n  c  \n",
    "dots alone": "one\n.\n..\n.x\n",
    "what looks encoded": "=3D =?utf-8?q?x?= = =\n",
    "what looks like a header or a boundary": f"Bcc: victim@else.example\nFrom here\n--=_{ID.hex}_0\n--=_{ID.hex}_1--",
    "other line breaks": "a\r\nb\rc\n\nd",
    "nothing": "",
}
