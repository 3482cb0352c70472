"""Page: one booking with everything that happened to it."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.bookings import queries, rules
from openslot.domains.bookings.events import (
    BookingCancelled,
    BookingCreated,
    BookingInvitationFailed,
    BookingLinkAdded,
    BookingLinkFailed,
    BookingNoShowMarked,
    BookingNoShowRemoved,
    BookingReassigned,
    BookingRequested,
    BookingRequestReassigned,
    BookingRescheduled,
)
from openslot.domains.bookings.models import AnswerValue, Booking, BookingChange, BookingDetails, HostNotes
from openslot.domains.bookings.operations import get_host_notes, list_booking_changes
from openslot.domains.bookings.rules import CALENDAR
from openslot.domains.bookings.series.operations import list_series
from openslot.domains.bookings.words import LINK_SHOWN_HERE, ListOfNames
from openslot.domains.bookings.words import list_answers as list_by_question
from openslot.domains.contacts.fields import PROSE
from openslot.domains.contacts.models import FIELDS_IN_BOOKINGS
from openslot.domains.event_types.models import LocationKind
from openslot.domains.timeline.models import TimelineEffect
from openslot.domains.timeline.operations import list_timeline, retry_effect
from openslot.doors.web.dashboard.payments import describe_payment
from openslot.doors.web.dashboard.rows import Step, describe_step
from openslot.doors.web.shared import words
from openslot.doors.web.shared.booking_notices import NOTICES
from openslot.doors.web.shared.curl import curl
from openslot.doors.web.shared.days import name_location, status_badge
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.actor import Actor, ActorKind
from openslot.platform.core.events import EffectState
from openslot.platform.core.text import Prose, defuse
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text, recall
from openslot.platform.routing import Form, Response, get, post

ACTORS: dict[ActorKind, str] = {
    ActorKind.SCIM: Text("Your organization"),
    ActorKind.AGENT: Text("An agent"),
    ActorKind.ASSISTANT: Text("Your assistant"),
    ActorKind.OPERATOR: Text("The administrator"),
    ActorKind.SYSTEM: "Openslot",
}
YOURS = {
    BookingRequested.type: Text("You requested this booking"),
    BookingCreated.type: Text("You created this booking"),
    BookingRescheduled.type: Text("You rescheduled this booking"),
    BookingReassigned.type: Text("You handed this booking over"),
    BookingRequestReassigned.type: Text("You handed this request over"),
    BookingCancelled.type: Text("You cancelled this booking"),
    BookingNoShowMarked.type: Text("You marked a no-show"),
    BookingNoShowRemoved.type: Text("You took the no-show back"),
    BookingLinkAdded.type: Text("The link of the video call is ready"),
    BookingLinkFailed.type: Text("No link could be made for the video call"),
    BookingInvitationFailed.type: Text("Your calendar could not invite. We send the invitation by email"),
}
# Each has the name of whoever did it.
THEIRS = {
    BookingRequested.type: Text("%(who)s requested this booking"),
    BookingCreated.type: Text("%(who)s created this booking"),
    BookingRescheduled.type: Text("%(who)s rescheduled this booking"),
    BookingReassigned.type: Text("%(who)s handed this booking over"),
    BookingRequestReassigned.type: Text("%(who)s handed this request over"),
    BookingCancelled.type: Text("%(who)s cancelled this booking"),
    BookingNoShowMarked.type: Text("%(who)s marked a no-show"),
    BookingNoShowRemoved.type: Text("%(who)s took the no-show back"),
}
# Long texts stand on the page of the contact.
SHORT_CONTACT_FIELDS = tuple(each for each in FIELDS_IN_BOOKINGS if each.kind is not PROSE)
OURS = frozenset({BookingLinkAdded.type, BookingLinkFailed.type, BookingInvitationFailed.type})
WITH_REASON = frozenset(
    {BookingRescheduled.type, BookingReassigned.type, BookingRequestReassigned.type, BookingCancelled.type}
)


class HistoryRow(Struct, frozen=True, kw_only=True):
    title: Text
    at: Text | None
    was: Text | None
    """When the meeting was before."""
    hosts: Text | None = None
    """The new hosts, and those whom they replaced."""
    reason: str | None
    steps: tuple[Step, ...]


def tell_history(
    details: BookingDetails,
    changes: Sequence[BookingChange],
    effects: Sequence[TimelineEffect],
    user: User,
    *,
    now: datetime,
) -> list[HistoryRow]:
    """List every change with its steps, followed by what is planned."""
    was_asked_for = any(change.type == BookingRequested.type for change in changes)
    rows = [
        _tell(details, change, effects, user, was_asked_for=was_asked_for, now=now)
        for change in changes
        if change.type in YOURS
    ]
    known = {change.event_id for change in changes if change.type in YOURS}
    others = tuple(describe_step(each, user, now=now) for each in effects if each.event_id not in known - {None})
    if others:
        rows.append(HistoryRow(title=Text("Reminders and other steps"), at=None, was=None, reason=None, steps=others))
    return rows


def _tell(
    details: BookingDetails,
    change: BookingChange,
    effects: Sequence[TimelineEffect],
    user: User,
    *,
    was_asked_for: bool,
    now: datetime,
) -> HistoryRow:
    own = change.event_id is not None
    steps = [describe_step(each, user, now=now) for each in effects if own and each.event_id == change.event_id]
    before = change.previous_starts_at
    return HistoryRow(
        title=_format_who(details, change, user, was_asked_for=was_asked_for),
        at=words.at(change.at, user.zone, now=now),
        was=Text("It was %(when)s", when=words.at(before, user.zone, now=now)) if before else None,
        hosts=_name_new_hosts(change),
        reason=recall(change.reason) if change.reason and change.type in WITH_REASON else None,
        steps=tuple(steps),
    )


def _name_new_hosts(change: BookingChange) -> Text | None:
    if not change.previous_hosts:
        return None
    now, before = ({each.user_id: each.name for each in hosts} for hosts in (change.hosts, change.previous_hosts))
    new, old = (
        ListOfNames(tuple(defuse(name) for user_id, name in these.items() if user_id not in others))
        for these, others in ((now, before), (before, now))
    )
    return Text("New: %(new)s, instead of %(old)s", new=new, old=old)


def _format_who(details: BookingDetails, change: BookingChange, user: User, *, was_asked_for: bool) -> Text:
    is_confirmed = was_asked_for and change.type == BookingCreated.type
    if change.type in OURS or _is_own(change.actor, user):
        return Text("You confirmed this request") if is_confirmed else YOURS[change.type]
    who = ACTORS.get(change.actor.kind) or _name_person(details, change)
    if change.actor.assistant is not None:
        who = Text("Your assistant %(name)s", name=defuse(change.actor.assistant))
    if change.actor.organization_id is not None:
        who = ACTORS[ActorKind.SCIM]
    if is_confirmed:
        return Text("%(who)s confirmed this request", who=who)
    return THEIRS[change.type].fill(who=who)


def _name_person(details: BookingDetails, change: BookingChange) -> str:
    """Name who has done something: the invitee, or another host of a team, who may have handed it over."""
    if not details.hosts or change.actor.kind is ActorKind.PUBLIC:
        return details.booking.invitee_name
    known = (*details.hosts, *change.hosts, *change.previous_hosts)
    found = (each.name for each in known if each.user_id == change.actor.user_id)
    return next(found, Text("Somebody of the team"))


def _is_own(actor: Actor, user: User) -> bool:
    if actor.agent == CALENDAR:
        return actor.user_id in {None, user.id}
    is_users = actor.kind in {ActorKind.SESSION, ActorKind.KEY} and actor.user_id == user.id
    return is_users and actor.assistant is None


class PrivateNotesForm(Struct, frozen=True, kw_only=True):
    private_notes: Prose = ""


@get("/bookings/{booking_id}")
async def show_booking(work: Work, user: User, booking_id: UUID, form: Form[Any] = Form()) -> Response:
    found = await queries.get_hosted(work, user, booking_id)
    details, booking = found.details, found.details.booking
    changes = await list_booking_changes(work, booking)
    # What is sent and noted is the owner's.
    is_owner = booking.host_id == user.id
    effects = await list_timeline(work, user, booking_id) if is_owner else []
    stored = await get_host_notes(work, user, booking_id)
    notes = form.of(PrivateNotesForm).begin({"private_notes": stored.private_notes})
    failed = sum(effect.state is EffectState.DEAD for effect in effects)
    is_over = rules.is_over(booking, now=work.now)
    badge, tone = status_badge(booking.status, is_over=is_over, no_show=booking.no_show, failed=failed)
    return page(
        "dashboard/booking.html",
        user,
        here="/bookings",
        form=form,
        notes=notes,
        status=409 if form.faults and notes.kind is None else None,
        booking=booking,
        contact=details.contact,
        hours=words.hours(booking.starts_at, booking.ends_at, user.zone),
        heading=words.day_heading(words.day(booking.starts_at, user.zone), today=words.day(work.now, user.zone)),
        theirs=_write_theirs(booking, user, now=work.now),
        join=booking.location.value if booking.location.kind is LocationKind.VIDEO_LINK else None,
        phone=_find_phone(details),
        badge=badge,
        tone=tone,
        zone=words.elsewhere(booking.invitee_zone, user.zone, at_time=booking.starts_at),
        event_type=details.event_type,
        facts=list(_list_facts(details, stored)),
        money=await describe_payment(work, booking),
        chapters=tell_history(details, changes, effects, user, now=work.now),
        can_change=found.can_change and rules.can_change(booking, now=work.now),
        can_mark=found.can_change and rules.can_mark_no_show(booking, now=work.now),
        dates=await list_series(work, booking),
        notices=NOTICES,
        is_owner=is_owner,
        has_team=bool(details.hosts),
        curl=curl(work, user, f"/bookings/{booking_id}") if is_owner else None,
    )


@post("/bookings/{booking_id}/retry/{effect_id}", transaction="none")
async def retry_step(work: Work, user: User, booking_id: UUID, effect_id: UUID) -> Response:
    """Try a failed step of a booking again."""
    revival = await retry_effect(work, user, effect_id, booking_id=booking_id)
    return redirect(f"/bookings/{booking_id}?done={revival.verdict}")


def _write_theirs(booking: Booking, user: User, *, now: datetime) -> Text | None:
    """Write when it is for the invitee, if their clock shows another time."""
    if not words.is_elsewhere(booking.invitee_zone, user.zone, at_time=booking.starts_at):
        return None
    when = words.day_and_hours(booking.starts_at, booking.ends_at, booking.invitee_zone, now=now)
    return Text("For the invitee: %(when)s", when=when)


def _find_phone(details: BookingDetails) -> str | None:
    """Return the number to call for a meeting by phone: the one agreed on, or the contact's."""
    location, contact = details.booking.location, details.contact
    if location.kind is not LocationKind.PHONE:
        return None
    return location.value or (contact.phone if contact else None)


def _list_facts(details: BookingDetails, notes: HostNotes) -> Iterator[tuple[str, object]]:
    """List what is known about a meeting, each under its label; what nobody has said is left out."""
    booking = details.booking
    if where := name_location(booking.location):
        follows = LINK_SHOWN_HERE if booking.location.awaits_link else where
        yield Text("Where"), booking.location.value or follows
    yield from list_hosts(details)
    if booking.guests:
        yield Text("Guests"), ", ".join(booking.guests)
    for field in SHORT_CONTACT_FIELDS:
        if value := getattr(details.contact, field.name, None):
            yield field.label, value
    yield from list_link(notes)
    yield from list_answers(details)


def list_hosts(details: BookingDetails) -> Iterator[tuple[str, object]]:
    """Name who hosts a booking of a team."""
    if details.hosts:
        yield Text("Hosts"), ListOfNames(tuple(each.name for each in details.hosts))


def list_link(notes: HostNotes) -> Iterator[tuple[str, object]]:
    """Name the link through which a meeting was booked, if it was one for a number of bookings."""
    if notes.link_id is not None:
        yield Text("Booked through"), notes.link_note or Text("One of your links")


def list_answers(details: BookingDetails) -> Iterator[tuple[str, object]]:
    """List what the invitee has written, each under its label."""
    booking = details.booking
    if booking.notes:
        yield Text("Notes"), booking.notes
    for label, answer in list_by_question(booking, details.event_type):
        yield label, show_answer(answer)


def show_answer(answer: AnswerValue) -> object:
    if isinstance(answer, bool):
        return Text("Yes") if answer else Text("No")
    return answer if isinstance(answer, str) else ", ".join(answer)
