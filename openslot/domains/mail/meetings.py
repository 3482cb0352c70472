"""A meeting as mail describes it: the same facts for every kind of letter, and who is told of it."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import BrandedHost
from openslot.domains.bookings.models import Booking
from openslot.domains.bookings.series.models import SeriesDate
from openslot.domains.bookings.words import ListOfNames, format_location, format_told_location, without_typed
from openslot.domains.event_types.models import EventType, Location, LocationAsks, LocationKind
from openslot.domains.mail import store
from openslot.domains.mail.models import (
    DEFAULT_TOPICS,
    TOPICS_OF_MEETINGS,
    Link,
    MailKind,
    MailTopic,
    Recipient,
    RecipientRole,
)
from openslot.domains.payments.models import StoredPayment
from openslot.domains.payments.store import find_stored_payment
from openslot.platform.core.text import defuse, find_name, fold_ascii, one_line
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text


class MailHost(BrandedHost, frozen=True, kw_only=True):
    """A host, and which mails they want."""

    id: UUID
    topics: frozenset[MailTopic] = DEFAULT_TOPICS


class InvitedBy(StrEnum):
    """What puts a meeting into the calendars of those who take part."""

    MAIL = "mail"
    CALENDAR = "calendar"
    """The host's calendar, which sends mails of its own."""
    MAIL_INSTEAD = "mail instead"
    """Our mail, because the host's calendar has not done it."""


class MailedMeeting(Struct, frozen=True, kw_only=True):
    """A booking with all that its mails tell, as it was when something happened to it."""

    booking: Booking
    event_type: EventType
    hosts: tuple[MailHost, ...]
    """The hosts, the organizer first."""
    manage_url: str
    calendar_url: str
    booking_url: str
    """The booking's page in the dashboard, for the host alone."""

    previous_starts_at: datetime | None = None
    previous_ends_at: datetime | None = None
    reason: str | None = None
    is_reason_of_host: bool = False
    payment: StoredPayment | None = None
    """The payment for it; None if nothing was paid."""
    invited_by: InvitedBy = InvitedBy.MAIL
    dates: tuple[SeriesDate, ...] = ()
    """All dates of its series, if the mail is about all of them."""
    skipped: tuple[datetime, ...] = ()
    """The weeks of its series that were not free."""
    shows_addresses: bool = False
    """Whether links that its host has chosen show where they lead: the account is new."""

    @property
    def host(self) -> MailHost:
        """Who organizes it: in whose name its mails are sent, and who gets the replies."""
        return self.hosts[0]

    @property
    def host_names(self) -> str | ListOfNames:
        """The name of its host, or of all of them; none of them becomes a link."""
        if len(self.hosts) == 1:
            return one_line(self.host.name)
        return ListOfNames(tuple(defuse(one_line(each.name)) for each in self.hosts))

    @property
    def invitee_name(self) -> str:
        """The invitee's name, or the address if the name is none."""
        return find_name(self.booking.invitee_name) or self.booking.invitee_email

    def has_entry_for(self, recipient: Recipient) -> bool:
        """Return whether its mails put it into a reader's calendar, which the host's calendar may do instead."""
        return recipient.role is RecipientRole.HOST or self.invited_by is not InvitedBy.CALENDAR


def list_recipients(booking: Booking, hosts: Sequence[MailHost]) -> tuple[Recipient, ...]:
    """Name everyone who is told of a booking, each once: the invitee, the guests, the hosts."""
    locale = booking.invitee_locale or hosts[0].locale
    invitee = Recipient(
        role=RecipientRole.INVITEE,
        email=booking.invitee_email,
        name=find_name(booking.invitee_name),
        zone=booking.invitee_zone,
        locale=locale,
    )
    guests = [
        Recipient(role=RecipientRole.GUEST, email=guest, name=None, zone=booking.invitee_zone, locale=locale)
        for guest in booking.guests
    ]
    as_hosts = [to_host(each) for each in hosts]
    by_address = {fold_ascii(each.email): each for each in reversed((invitee, *as_hosts, *guests))}
    return tuple(each for each in (invitee, *guests, *as_hosts) if by_address[fold_ascii(each.email)] is each)


def to_host(host: MailHost) -> Recipient:
    return Recipient(
        role=RecipientRole.HOST,
        email=host.email,
        name=host.name,
        zone=host.zone,
        locale=host.locale,
        user_id=host.id,
    )


def name_recipient(recipient: Recipient) -> str:
    return f"{recipient.role}:{recipient.email}"


def find_recipient(
    recipients: Sequence[Recipient], target: str | None, *, user_id: UUID | None = None
) -> Recipient | None:
    """Find a recipient: the host with this id, or the only host or the invitee by role, also at a changed address."""
    role = (target or "").partition(":")[0]
    of_role = [each for each in recipients if each.role == role and each.role is not RecipientRole.GUEST]
    if user_id is not None and role == RecipientRole.HOST:
        return next((each for each in of_role if each.user_id == user_id), None)
    named = next((each for each in recipients if name_recipient(each) == target), None)
    return named or (of_role[0] if len(of_role) == 1 else None)


def is_wanted(hosts: Iterable[MailHost], recipient: Recipient, kind: MailKind) -> bool:
    """Return whether a mail about a meeting is sent: always to invitees and guests, to each host by their choice.

    To whom a reminder or a follow-up goes is chosen with it.
    """
    topic = TOPICS_OF_MEETINGS.get(kind)
    if recipient.role is not RecipientRole.HOST or topic is None:
        return True
    return any(topic in each.topics for each in hosts if each.id == recipient.user_id)


async def with_payment(work: Work, meeting: MailedMeeting) -> MailedMeeting:
    """Add what was paid for a meeting; most cost nothing, and need no look."""
    told = meeting.booking.payment
    if told is None or told.status in {"not_required", "pending"}:
        return meeting
    payment = await find_stored_payment(work.db, meeting.booking.id)
    # What had gone back by then, not what has since.
    known = payment and replace(payment, refunded_amount=told.refunded_amount or 0)
    return replace(meeting, payment=known)


async def with_inviter(work: Work, meeting: MailedMeeting) -> MailedMeeting:
    """Add whether the host's calendar has invited to a meeting as it was then, or is about to."""
    if meeting.invited_by is not InvitedBy.MAIL:
        return meeting
    is_invited = await store.is_invited_by_calendar(work.db, meeting.booking.id, meeting.booking.updated_at)
    return replace(meeting, invited_by=InvitedBy.CALENDAR) if is_invited else meeting


def find_location(location: Location, recipient: Recipient) -> Location:
    """Find a location as one of those who take part may read it; what an invitee has typed goes to the host alone."""
    is_own_number = recipient.role is RecipientRole.INVITEE and location.asks is LocationAsks.PHONE
    is_told = recipient.role is RecipientRole.HOST or is_own_number
    return location if is_told else without_typed(location)


def format_where(location: Location, recipient: Recipient, host_name: str) -> str | None:
    location = find_location(location, recipient)
    if recipient.role is not RecipientRole.HOST:
        return format_told_location(location, host_name)
    if location.asks is LocationAsks.PHONE and location.value:
        return Text("You call %(phone)s", phone=location.value)
    return format_location(location, host_name)


def find_join(meeting: MailedMeeting) -> Link | None:
    """Find the way into a video call, which is what everyone needs first."""
    location = meeting.booking.location
    is_call = location.kind is LocationKind.VIDEO_LINK and location.value.startswith(("https://", "http://"))
    label = location.value if meeting.shows_addresses else Text("Join")
    return Link(label=label, url=location.value) if is_call else None
