"""Pages: one contact, with all meetings, conversations and calls."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from uuid import UUID

from openslot.accounts.models import User
from openslot.bookings.models import Status
from openslot.calls import history
from openslot.calls.history import CallsFilter
from openslot.calls.models import KnownCall
from openslot.contacts import operations as contacts
from openslot.contacts.models import Contact, Meeting
from openslot.conversations import operations as conversations
from openslot.conversations.models import Conversation
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Request, Response, get
from openslot.web import words
from openslot.web.dashboard import phrases
from openslot.web.dashboard.calls import call_row
from openslot.web.dashboard.conversations import thread_row
from openslot.web.dashboard.curl import curl
from openslot.web.dashboard.entries import BookingRow, DayOfRows, status_badge
from openslot.web.pages import page

MOST_TALKS = 10
NOTICES = {"added": Text("The contact was added."), "changed": Text("The contact was changed.")}


@get("/contacts/{contact_id}")
async def show_contact(request: Request, work: Work, user: User, contact_id: UUID) -> Response:
    """Show a contact and what there was and will be with this person."""
    known = await contacts.get_with_meetings(work, user, contact_id)
    contact = known.contact
    threads: list[Conversation] = []
    calls: list[KnownCall] = []
    if contact.phone:
        threads, _ = await conversations.list_conversations(work, user, phone=contact.phone, limit=MOST_TALKS)
        calls, _ = await history.list_calls(work, user, CallsFilter(phone=contact.phone), limit=MOST_TALKS)
    return page(
        "dashboard/contacts/contact.html",
        user,
        here="/contacts",
        contact=contact,
        facts=list(_list_facts(contact, user)),
        meetings=known.meeting_count,
        upcoming=_by_day(known.upcoming, user, now=work.now),
        past=_by_day(known.past, user, now=work.now),
        threads=[thread_row(each, user, now=work.now) for each in threads],
        calls=[call_row(each, user, now=work.now) for each in calls],
        notice=NOTICES.get(request.query.get("done", "")),
        curl=curl(work, user, f"/contacts/{contact_id}"),
    )


def _list_facts(contact: Contact, user: User) -> Iterator[tuple[str, object]]:
    """List what is known about a person, each under its label; what nobody has said is left out."""
    if contact.company:
        yield Text("Company"), contact.company
    if contact.phone:
        yield Text("Phone number"), contact.phone
    if contact.tags:
        yield Text("Tags"), ", ".join(contact.tags)
    if contact.notes:
        yield Text("Notes"), contact.notes
    yield Text("Added on"), words.day(contact.created_at, user.zone)


def _by_day(meetings: Sequence[Meeting], user: User, *, now: datetime) -> list[DayOfRows]:
    today = words.day(now, user.zone)
    return [
        DayOfRows(phrases.day_heading(on, today=today), tuple(_row(each, user, now=now) for each in group))
        for on, group in groupby(meetings, key=lambda each: words.day(each.starts_at, user.zone))
    ]


def _row(meeting: Meeting, user: User, *, now: datetime) -> BookingRow:
    badge, tone = status_badge(Status(meeting.status), is_over=meeting.ends_at <= now)
    return BookingRow(
        id=meeting.id,
        hours=phrases.hours(meeting.starts_at, meeting.ends_at, user.zone),
        name=meeting.event_type_name,
        details=(),
        badge=badge,
        tone=tone,
    )
