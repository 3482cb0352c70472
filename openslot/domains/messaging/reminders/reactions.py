"""Reminders and follow-ups by SMS and WhatsApp: planned with the booking, and checked again when each is due."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from openslot.domains.bookings.errors import BookingNotFound
from openslot.domains.bookings.events import BookingCancelled, BookingCreated, BookingRescheduled
from openslot.domains.bookings.links import booking_url
from openslot.domains.bookings.models import Booking, BookingDetails, BookingRef, Status
from openslot.domains.bookings.operations import find_message_consent, get_booking
from openslot.domains.bookings.takeovers import find_taken_over, follow_takeover
from openslot.domains.bookings.words import ListOfNames
from openslot.domains.conversations.models import Channel, MessagePurpose
from openslot.domains.conversations.operations import find_or_draft_thread
from openslot.domains.conversations.outbox.operations import BookingMessage
from openslot.domains.messaging import sending
from openslot.domains.messaging.connections.models import ConnectionChannel
from openslot.domains.messaging.connections.store import find_messaging_connection_for
from openslot.domains.messaging.errors import CountryNotAllowed, MessageLimitReached, RecipientOptedOut
from openslot.domains.messaging.models import DropReason
from openslot.domains.messaging.reminders import store
from openslot.domains.messaging.reminders.rules import (
    find_lost_meaning,
    find_unwanted_reason,
    find_wanted_entry,
    plan_due_messages,
)
from openslot.domains.messaging.words import (
    DROPPED,
    MeetingWords,
    describe_meeting,
    fill_template,
    write_follow_up,
    write_reminder,
)
from openslot.domains.reminders.models import Entries, ReminderEntry
from openslot.domains.reminders.operations import get_reminders
from openslot.domains.teams.events import EventTypeTakenOver
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.effects import list_planned
from openslot.platform.core.events import Effect
from openslot.platform.core.work import Done, Outcome, Reaction, Skipped, Work
from openslot.platform.flags.models import OutgoingChannel
from openslot.platform.flags.switches.operations import find_stop
from openslot.platform.i18n.languages import choose_locale

PLAN, REMIND_BY_MESSAGE, FOLLOW_UP_BY_MESSAGE = "messaging.plan", "messaging.remind", "messaging.follow_up"
REACTION_OF = {MessagePurpose.REMINDER: REMIND_BY_MESSAGE, MessagePurpose.FOLLOW_UP: FOLLOW_UP_BY_MESSAGE}
EVENTS = {each.type: each for each in (BookingCreated, BookingRescheduled, BookingCancelled)}


class PlannedMessage(Struct, frozen=True, kw_only=True):
    """A message that is due at a time, about a booking as it was when it was planned."""

    booking_id: UUID
    purpose: MessagePurpose
    channel: Channel
    phone: str
    valid_until: datetime
    minutes: int | None = None
    """How long before the meeting, or after it; None if it is any, as follow-ups were once planned."""
    recipient: str
    """The channel and the number, as lists of effects show it."""


async def plan_reminders(work: Work, effect: Effect) -> Outcome:
    """Plan the messages of a booking as it is now, and drop those that it no longer has."""
    booking = effect.event(EVENTS[effect.event_type]).booking
    return await _plan(work, booking, since=effect.event_at, now=effect.event_at, reason=DropReason.MOVED)


async def plan_again(work: Work, effect: Effect) -> Outcome:
    """Plan the messages of a booking by what its new owner has chosen, and drop all others.

    One that is due already stays as it is if the new owner has it too.
    """
    details = await find_taken_over(work, effect)
    if details is None:
        return _skip(DropReason.CANCELLED)
    booking = details.booking
    return await _plan(work, booking, since=booking.created_at, now=work.now, reason=DropReason.NOT_WANTED)


async def _plan(work: Work, booking: Booking, *, since: datetime, now: datetime, reason: DropReason) -> Outcome:
    """Plan what is due after now, and drop what is not wanted; what was due since a time stays as it is."""
    consent = await find_message_consent(work, booking.id)
    entries = await get_reminders(work, booking.host_id, booking.event_type_id)
    is_on = booking.status is Status.CONFIRMED
    wanted = (
        plan_due_messages(entries, starts_at=booking.starts_at, ends_at=booking.ends_at, now=since)
        if consent and is_on
        else []
    )
    dropped = DROPPED[reason if is_on else DropReason.CANCELLED]

    async def write(work: Work) -> None:
        planned = {}
        for each in wanted:
            moment = "" if each.purpose is MessagePurpose.REMINDER else "after-"
            key = f"{booking.id}:{moment}{each.minutes}:{each.channel}"
            planned[REACTION_OF[each.purpose], key] = each
        for reaction, key in await list_planned(work.db, REACTION_OF.values(), str(booking.id)):
            if (reaction, key) not in planned:
                await work.drop_planned(reaction, key, reason=dropped)
        for (reaction, key), each in planned.items():
            if each.due_at <= now:
                continue
            phone = consent.phone if consent else ""
            payload = PlannedMessage(
                booking_id=booking.id,
                purpose=each.purpose,
                channel=each.channel,
                phone=phone,
                valid_until=each.valid_until,
                minutes=each.minutes,
                recipient=f"{each.channel}:{phone}",
            )
            await work.plan(reaction, key, due_at=each.due_at, payload=payload, tenant_id=booking.host_id)

    return Done(write=write)


async def send_planned(work: Work, effect: Effect) -> Outcome:
    """Let a message be sent that is due, unless it has lost its meaning or must not be sent; the reason is kept."""
    planned = effect.plan(PlannedMessage)
    try:
        details = await get_booking(work, BookingRef(planned.booking_id, None))
    except BookingNotFound:
        return _skip(DropReason.CANCELLED)
    if await store.is_queued(work.db, effect.id):
        # A worker has died after it had done this.
        return Done()
    entries = await get_reminders(work, details.booking.host_id, details.booking.event_type_id)
    entry = find_wanted_entry(entries, planned.purpose, planned.channel, planned.minutes)
    lost = await _find_lost_meaning(work, details.booking, planned, entry, entries)
    if lost is not None or entry is None:
        return _skip(lost or DropReason.NOT_WANTED)
    stop = await find_stop(work, OutgoingChannel(planned.channel.value))
    if stop is not None:
        return stop
    return await _queue(work, effect, planned, details, entry)


def _skip(reason: DropReason) -> Skipped:
    return Skipped(DROPPED[reason])


async def _find_lost_meaning(
    work: Work, booking: Booking, planned: PlannedMessage, entry: ReminderEntry | None, entries: Entries
) -> DropReason | None:
    facts = await store.find_booking_facts(work.db, planned.booking_id, planned.phone)
    lost = find_lost_meaning(facts, planned.purpose, valid_until=planned.valid_until, now=work.now)
    return lost or find_unwanted_reason(entry, entries, starts_at=booking.starts_at, now=work.now)


async def _queue(
    work: Work, effect: Effect, planned: PlannedMessage, details: BookingDetails, entry: ReminderEntry
) -> Outcome:
    booking = details.booking
    connection = await find_messaging_connection_for(work.db, booking.host_id, ConnectionChannel(planned.channel.value))
    if connection is None:
        return _skip(DropReason.NOT_CONNECTED)
    thread = await find_or_draft_thread(work, booking.host_id, planned.phone, planned.channel)
    meeting = await _describe(work, details)
    if planned.purpose is MessagePurpose.REMINDER:
        content = write_reminder(meeting, entry.text, can_cancel=connection.can_cancel)
        template_id = connection.template
    else:
        content, template_id = write_follow_up(meeting, entry.text), None
    needs_template = sending.is_window_closed(work, thread)
    if needs_template and template_id is None:
        return _skip(DropReason.NO_TEMPLATE)
    about = BookingMessage(
        id=effect.id,
        booking_id=booking.id,
        valid_until=planned.valid_until,
        template=fill_template(template_id, meeting) if needs_template and template_id else None,
    )
    try:
        async with work.runtime.transaction(SYSTEM) as inside:
            await sending.queue(inside, thread, connection, content, purpose=planned.purpose, about=about)
    except RecipientOptedOut:
        return _skip(DropReason.OPTED_OUT)
    except MessageLimitReached:
        return _skip(DropReason.LIMIT)
    except CountryNotAllowed:
        return _skip(DropReason.COUNTRY)
    return Done()


async def _describe(work: Work, details: BookingDetails) -> MeetingWords:
    booking = details.booking
    organizer_id = details.hosts[0].user_id if details.hosts else booking.host_id
    name, tag = await store.find_host(work.db, organizer_id)
    locale = choose_locale(booking.invitee_locale, tag)
    if details.hosts:
        name = ListOfNames(tuple(each.name for each in details.hosts)).localize(locale)
    url = booking_url(work.runtime, booking.id)
    return describe_meeting(booking, details.event_type, host_name=name, url=url, locale=locale)


PLAN_AGAIN = Reaction(name="messaging.plan_again", run=plan_again, lane="messaging")


async def follow_owner(_: Work, effect: Effect) -> Outcome:
    """Plan the messages of all upcoming bookings again whose event type has another owner."""
    return follow_takeover(effect, PLAN_AGAIN)


REMINDER_REACTIONS = (
    Reaction(
        name=PLAN,
        on=tuple(EVENTS.values()),
        run=plan_reminders,
        lane="messaging",
        wanted_if=store.HAS_NUMBERS,
    ),
    Reaction(name="messaging.follow_owner", on=(EventTypeTakenOver,), run=follow_owner, wanted_if=store.HAS_NUMBERS),
    PLAN_AGAIN,
    Reaction(name=REMIND_BY_MESSAGE, run=send_planned),
    Reaction(name=FOLLOW_UP_BY_MESSAGE, run=send_planned),
)
