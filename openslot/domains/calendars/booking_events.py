"""Bookings as calendars keep them: one event each, without invitations; and a user's own as a feed at a secret link."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from openslot.domains.accounts.models import User
from openslot.domains.accounts.operations import get_user
from openslot.domains.bookings.links import booking_url
from openslot.domains.bookings.models import BookingDetails, Status
from openslot.domains.bookings.store import list_confirmed
from openslot.domains.bookings.words import list_answers, without_typed, write_answer
from openslot.domains.calendars import store
from openslot.domains.mail.calendar_entry import Attendee, CalendarEntry, write_entries
from openslot.domains.mail.models import MailAddress
from openslot.platform.core.errors import NotFound
from openslot.platform.core.ids import fingerprint, new_token
from openslot.platform.core.text import defuse, one_line
from openslot.platform.core.work import Work
from openslot.platform.flags.models import FlagKey
from openslot.platform.flags.operations import is_enabled

FEED_NAME = "Openslot"
# Notes and 20 answers, each as long as it may be.
LONGEST_DESCRIPTION = 120_000


def write_feed(bookings: Iterable[tuple[BookingDetails, str]], *, host_name: str, host_email: str) -> bytes:
    """Write some bookings, each with the address of its page, as a feed."""
    host = MailAddress(host_email, host_name)
    entries = (describe_booking(details, host, url) for details, url in bookings)
    return write_entries(entries, properties={"x-wr-calname": FEED_NAME, "x-published-ttl": "PT15M"})


def describe_booking(
    details: BookingDetails, host: MailAddress, booking_url: str, *, is_shared: bool = False
) -> CalendarEntry:
    """Describe a booking as the event that its host's calendar keeps, for all who may read that calendar.

    If it is shared with those who take part, what the invitee has typed for the host alone is left out.
    """
    booking = details.booking
    invitee = MailAddress(booking.invitee_email, booking.invitee_name)
    return CalendarEntry(
        uid=booking.uid,
        sequence=booking.sequence,
        starts_at=booking.starts_at,
        ends_at=booking.ends_at,
        summary=_name_shared(details, host) if is_shared else f"{details.event_type.name}: {booking.invitee_name}",
        description="" if is_shared else _describe_answers(details, booking_url),
        location=(without_typed(booking.location) if is_shared else booking.location).value,
        url=booking_url or None,
        organizer=host,
        attendees=tuple(Attendee(address=each) for each in (invitee, *map(MailAddress, booking.guests))),
        created_at=booking.created_at,
        updated_at=booking.updated_at,
        is_cancelled=booking.status is Status.CANCELLED,
        is_kept_by_server=True,
        longest_description=LONGEST_DESCRIPTION,
    )


def _name_shared(details: BookingDetails, host: MailAddress) -> str:
    """Name an event for both sides; what an invitee is called is mailed to guests, and must not become a link."""
    invitee = defuse(one_line(details.booking.invitee_name)) or details.booking.invitee_email
    return f"{one_line(details.event_type.name)}: {invitee} · {one_line(host.name)}"


def _describe_answers(details: BookingDetails, booking_url: str) -> str:
    booking = details.booking
    answers = [f"{label}: {write_answer(value)}" for label, value in list_answers(booking, details.event_type)]
    hosts = " · ".join(each.name for each in details.hosts)
    parts = [f"{booking.invitee_name} <{booking.invitee_email}>", hosts, booking.notes, *answers, booking_url]
    return "\n".join(part for part in parts if part)


MAX_BOOKINGS = 2_000
BEHIND = timedelta(days=90)


async def renew_feed(work: Work, owner: User) -> str:
    """Make the secret link to a user's own bookings, replacing the previous one, and return it only this once."""
    token = new_token()
    await store.upsert_feed(work.db, owner.id, fingerprint(token), now=work.now)
    return f"{work.runtime.settings.public_url}/feed/{token}.ics"


async def find_feed(work: Work, owner: User) -> datetime | None:
    """Return when a user's secret link was made; None if there is none."""
    return await store.find_feed(work.db, owner.id)


async def revoke_feed(work: Work, owner: User) -> bool:
    """Revoke a user's secret link; False if there was none."""
    return await store.delete_feed(work.db, owner.id)


async def get_feed_owner(work: Work, token: str) -> User:
    """Return the user who made a secret link."""
    owner_id = await store.find_feed_owner(work.db, fingerprint(token))
    if owner_id is None or not await is_enabled(work, FlagKey.CALENDAR_FEEDS, user_id=owner_id):
        raise NotFound
    return await get_user(work, owner_id)


async def write_bookings(work: Work, owner: User) -> bytes:
    """Write the confirmed bookings of a user, starting 90 days ago, as iCalendar."""
    found = await list_confirmed(work.db, owner.id, since=work.now - BEHIND, limit=MAX_BOOKINGS)
    linked = ((details, booking_url(work.runtime, details.booking.id)) for details in found)
    return write_feed(linked, host_name=owner.name, host_email=owner.email)
