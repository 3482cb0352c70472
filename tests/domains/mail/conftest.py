"""A host whose mail goes to the embedded mailbox or to a server on loopback, on a clock that tests move."""

from collections.abc import Awaitable, Callable
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import cast
from uuid import UUID

import icalendar
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import BySlug
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef, BookingWanted, Invitee
from openslot.domains.mail import operations as mail
from openslot.domains.mail.models import KeptMail
from openslot.platform.core.actor import PUBLIC, Actor
from openslot.platform.core.work import Runtime
from tests.support.clocks import MONDAY, clock
from tests.support.effects import work_off

TEN, ELEVEN, TWELVE = (MONDAY.replace(hour=hour) for hour in (10, 11, 12))

Book = Callable[..., Awaitable[Booking]]


@pytest.fixture
def book(runtime: Runtime, user: User) -> Book:
    """Book with the host as the public does."""

    async def book_one(
        starts_at: object = TEN,
        *,
        email: str = "jonas@okafor.example",
        name: str = "Jonas Okafor",
        zone: str = "Africa/Lagos",
        locale: str | None = None,
        guests: tuple[str, ...] = (),
        notes: str | None = None,
        actor: Actor = PUBLIC,
    ) -> Booking:
        wanted = BookingWanted(
            which=BySlug(user.id, "30min"),
            starts_at=starts_at,  # type: ignore[arg-type]
            invitee=Invitee(name=name, email=email, zone=zone, locale=locale),
            guests=guests,
            notes=notes,
        )
        async with runtime.transaction(actor) as work:
            return await bookings.create_booking(work, wanted)

    return book_one


async def move(
    runtime: Runtime, booking: Booking, starts_at: object, *, actor: Actor = PUBLIC, reason: str = ""
) -> None:
    """Move a booking."""
    async with runtime.transaction(actor) as work:
        await bookings.reschedule_booking(work, BookingRef(booking.id, None), starts_at, reason=reason or None)  # type: ignore[arg-type]


async def cancel(runtime: Runtime, booking: Booking, *, actor: Actor = PUBLIC, reason: str = "") -> None:
    """Cancel a booking."""
    async with runtime.transaction(actor) as work:
        await bookings.cancel_booking(work, BookingRef(booking.id, None), reason=reason or None)


async def mails(runtime: Runtime, to: str | None = None, *, booking_id: UUID | None = None) -> list[KeptMail]:
    """List what is in the log, the first first."""
    async with runtime.transaction(PUBLIC) as work:
        return (await mail.list_kept_mails(work, recipient=to, booking_id=booking_id, limit=1000))[::-1]


async def messages(runtime: Runtime, to: str) -> list[EmailMessage]:
    """Read what the mailbox has for an address, the first first."""
    found = []
    for each in await mails(runtime, to):
        async with runtime.transaction(PUBLIC) as work:
            _, content = await mail.get_mail(work, each.id)
        if content is not None:
            found.append(read_message(content))
    return found


def read_message(content: bytes) -> EmailMessage:
    """Read a message as a mail program does."""
    return message_from_bytes(content, policy=policy.default)


def part(message: EmailMessage, kind: str) -> str:
    """Read the text of one part of a message."""
    return next(str(each.get_content()) for each in message.walk() if each.get_content_type() == kind)


def invitation(message: EmailMessage) -> tuple[str, icalendar.Event]:
    """Read the invitation of a message: its method, and the event."""
    found = next(each for each in message.walk() if each.get_content_type() == "text/calendar")
    calendar = icalendar.Calendar.from_ical(found.get_content())
    assert calendar["method"] == found.get_param("method")
    (event,) = calendar.walk("VEVENT")
    return str(calendar["method"]), cast("icalendar.Event", event)


__all__ = ["clock", "work_off"]
