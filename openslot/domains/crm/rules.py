"""Decisions about CRMs: what a booking is there, and when something is tried again."""

import re
from datetime import timedelta

from openslot.domains.bookings.models import Booking, BookingDetails, Status
from openslot.domains.bookings.words import list_answers, write_answer
from openslot.domains.contacts.models import FIELDS_IN_CRM
from openslot.domains.crm.models import CrmMeeting, CrmPerson, CrmTarget, MeetingOutcome
from openslot.platform.i18n import say

MAX_CONNECTIONS = 5
# The first try is made at once: eleven in all, over four days.
DELAYS = tuple(
    timedelta(seconds=s) for s in (5, 30, 120, 600, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600, 48 * 3600)
)
MANAGE_LINK = re.compile(r"[a-z][a-z0-9+.-]*://[^\s<>\"']*/manage/[^\s<>\"']+", re.IGNORECASE)


def decide_outcome(booking: Booking) -> MeetingOutcome:
    if booking.status is Status.CANCELLED:
        return MeetingOutcome.CANCELLED
    if booking.no_show:
        return MeetingOutcome.NO_SHOW
    return MeetingOutcome.RESCHEDULED if booking.reschedule_count else MeetingOutcome.SCHEDULED


def describe_person(details: BookingDetails) -> CrmPerson:
    booking, contact = details.booking, details.contact
    return CrmPerson(
        email=booking.invitee_email,
        name=booking.invitee_name,
        **{each.name: getattr(contact, each.name, None) for each in FIELDS_IN_CRM},
        zone=booking.invitee_zone,
        language=booking.invitee_locale,
        answers={key: write_answer(value) for key, value in booking.answers.items()},
    )


def describe_meeting(details: BookingDetails, target: CrmTarget, *, url: str) -> CrmMeeting:
    """Describe a booking for all who may read the CRM: they get its page in the dashboard, never a manage link."""
    booking, event_type = details.booking, details.event_type

    def clean(text: str) -> str:
        return MANAGE_LINK.sub(url, text)

    return CrmMeeting(
        booking_id=booking.id,
        title=f"{event_type.name}: {booking.invitee_name}",
        starts_at=booking.starts_at,
        ends_at=booking.ends_at,
        outcome=decide_outcome(booking),
        url=url,
        location=clean(booking.location.value) if booking.location.value else None,
        notes=clean(booking.notes) if booking.notes else None,
        answers={label: clean(write_answer(value)) for label, value in list_answers(booking, event_type)},
        event_type=event_type.name,
        host_name=target.host_name,
        host_email=target.host_email,
        guests=booking.guests,
        cancel_reason=clean(say(booking.cancel_reason)) if booking.cancel_reason else None,
        changed_at=booking.updated_at,
    )
