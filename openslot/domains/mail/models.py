"""The nouns of mail: who is written to, what the letter says, the mail that carries it, and what hosts want."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import Brand
from openslot.platform.core.errors import NotFound
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import Locale


class MailKind(StrEnum):
    CONFIRMATION = "confirmation"
    RESCHEDULE = "reschedule"
    CANCELLATION = "cancellation"
    REMINDER = "reminder"
    FOLLOW_UP = "follow_up"
    """A mail to the invitee after the meeting."""
    REQUEST = "request"
    """An invitee asks for a time: to the host, who confirms or declines it, and to the invitee."""
    DECLINE = "decline"
    LAPSE = "lapse"
    LINK = "link"
    """The link of a video call that was not ready when it was booked."""
    HOSTS = "hosts"
    """A team's meeting has other hosts: to those who take part in it."""
    HANDOVER = "handover"
    """A team's meeting has other hosts: to a host who was replaced."""
    WAIT_LIST = "wait_list"
    """Somebody is asked to confirm an entry of a wait list, or is offered a time."""
    NOTICE = "notice"
    INVITATION = "invitation"
    AGENT = "agent"


class MailPot(StrEnum):
    """A part of the mail that the public may set off for one host in a day; no kind of mail can use another's part."""

    CONFIRMATIONS = "confirmations"
    GUESTS = "guests"
    REMINDERS = "reminders"
    RESCHEDULES = "reschedules"
    CANCELLATIONS = "cancellations"
    WAIT_LIST = "wait_list"


class RecipientRole(StrEnum):
    INVITEE = "invitee"
    GUEST = "guest"
    HOST = "host"
    NONE = "none"
    """A recipient for another reason."""


class Recipient(Struct, frozen=True, kw_only=True):
    """Who is written to, in which language and zone."""

    role: RecipientRole
    email: str
    name: str | None
    zone: str
    locale: str | None
    """A language tag; None if not known."""
    user_id: UUID | None = None
    """Set if the recipient is a host."""


class Fact(Struct, frozen=True, kw_only=True):
    """One thing that a letter tells at a glance: when, where, who."""

    label: str
    lines: tuple[str, ...]
    url: str | None = None
    """Where the first line leads to."""
    is_verbatim: bool = False
    """Whether the lines are shown as they were entered, such as a place or an answer, and are no names."""


class Link(Struct, frozen=True, kw_only=True):
    label: str
    url: str


class LetterBody(Struct, frozen=True, kw_only=True):
    """What somebody else has written: as text, and as HTML that is safe to show."""

    text: str
    html: str


class Letter(Struct, frozen=True, kw_only=True):
    """What a mail says, before it has a language and a look; one shape for every mail of the product."""

    subject: str
    heading: str = ""
    """The subject, if there is none."""
    logged_subject: str = ""
    """The subject in the log, if the subject itself has a secret."""
    paragraphs: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    quote: str | None = None
    """The text that a person has written, as they wrote it."""

    body: LetterBody | None = None
    button: Link | None = None
    actions: tuple[Link, ...] = ()
    """Further actions, below the button."""

    links_label: str | None = None
    links: tuple[Link, ...] = ()
    footer: tuple[str, ...] = ()


def compose(subject: str, *paragraphs: str, footer: str, **parts: Any) -> Letter:
    """Write a letter of sentences, with the reason for it at its end."""
    return Letter(subject=subject, paragraphs=paragraphs, footer=(footer,), **parts)


class Method(StrEnum):
    """What a calendar is asked to do."""

    REQUEST = "REQUEST"
    CANCEL = "CANCEL"
    PUBLISH = "PUBLISH"
    """Several entries at once, which the other two can't have."""


class Attachment(Struct, frozen=True, kw_only=True):
    method: Method
    content: bytes


class MailAddress(Struct, frozen=True):
    email: str
    name: str = ""


class Mail(Struct, frozen=True, kw_only=True):
    """A mail, ready to be written as a message."""

    id: UUID
    sender: MailAddress
    to: MailAddress
    reply_to: MailAddress | None
    subject: str
    text: str
    html: str
    language: str
    written_at: datetime
    thread: str | None = None
    """The id that mails about the same thing share."""

    calendar: Attachment | None = None
    unsubscribe_url: str | None = None
    """Where a mail program unsubscribes its reader with one POST."""


class Draft(Struct, frozen=True, kw_only=True):
    """A letter to one person, before it is written down."""

    id: UUID
    kind: MailKind
    letter: Letter
    recipient: Recipient
    brand: Brand
    locale: Locale
    host_id: UUID | None
    booking_id: UUID | None = None
    reply_to: MailAddress | None = None
    calendar: Attachment | None = None
    unsubscribe_url: str | None = None
    is_public: bool = False
    is_reserved: bool = False
    """Whether it is sent although others have used up the part of their host."""
    is_security: bool = False
    """Whether it is sent even if email is stopped: to sign in, to verify an address, or about security."""

    @property
    def is_by_host(self) -> bool:
        """Whether a host, or somebody on their behalf, has it sent to those who take part in a meeting."""
        return not self.is_public and self.recipient.role in {RecipientRole.INVITEE, RecipientRole.GUEST}

    @property
    def is_repeated(self) -> bool:
        """Whether it is sent again and again, so that what was spent for the booking is not enough."""
        return self.kind in {MailKind.REMINDER, MailKind.FOLLOW_UP}


# The transport of installations without a mail server.
MAILBOX = "mailbox"


class MailStatus(StrEnum):
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"


class KeptMail(Struct, frozen=True, kw_only=True):
    id: UUID
    kind: MailKind
    role: RecipientRole | None
    recipient: str
    subject: str
    status: MailStatus
    transport: str | None
    booking_id: UUID | None
    host_id: UUID | None
    created_at: datetime
    sent_at: datetime | None
    error: str | None

    @property
    def is_stored(self) -> bool:
        """Whether it went to the embedded mailbox, and so to nobody."""
        return self.status is MailStatus.SENT and self.transport == MAILBOX


class CountedMail(Struct, frozen=True, kw_only=True):
    """What the public has set off within a day: to one person, and of one pot of a host."""

    to_recipient: int
    by_event_type: tuple[int, ...]
    of_own: int | None
    """How many mails were about the same event type; None if the mail belongs to no booking."""


class ToldInvitee(Struct, frozen=True, kw_only=True):
    """What has become of an email to an invitee; if nobody knows yet, what its limits are compared with."""

    status: MailStatus | None
    is_reserved: bool
    counted: CountedMail


class MailNotFound(NotFound):
    """No such email, or it is no longer stored."""

    code = "mail_not_found"
    message = Text("Email not found")


class MailTopic(StrEnum):
    """A kind of mail to a host that can be switched on and off."""

    BOOKED = "booked"
    RESCHEDULED = "rescheduled"
    CANCELLED = "cancelled"
    CALENDAR = "calendar"
    WEBHOOK = "webhook"


DEFAULT_TOPICS = frozenset(MailTopic)
TOPICS_OF_MEETINGS = {
    MailKind.CONFIRMATION: MailTopic.BOOKED,
    MailKind.RESCHEDULE: MailTopic.RESCHEDULED,
    MailKind.CANCELLATION: MailTopic.CANCELLED,
    MailKind.LINK: MailTopic.BOOKED,
    MailKind.HOSTS: MailTopic.RESCHEDULED,
    MailKind.HANDOVER: MailTopic.CANCELLED,
}


def decide_topics(choices: Mapping[str, bool]) -> frozenset[MailTopic]:
    """Return which mails a host gets, from what they have chosen."""
    return frozenset(topic for topic in MailTopic if choices.get(topic, topic in DEFAULT_TOPICS))


def list_choices(wanted: frozenset[MailTopic]) -> dict[str, bool]:
    """Keep only what differs from the default, so that a default which changes later holds for everyone else."""
    return {topic: topic in wanted for topic in MailTopic if (topic in wanted) != (topic in DEFAULT_TOPICS)}
