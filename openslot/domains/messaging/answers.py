"""Answers that nobody writes: C cancels what the last reminder named, and what else may mean it gets a link."""

from datetime import timedelta
from functools import partial
from uuid import UUID

import structlog
from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.accounts.operations import list_users_by_id
from openslot.domains.bookings.errors import BookingNotFound
from openslot.domains.bookings.events import BookingRescheduled
from openslot.domains.bookings.links import booking_url
from openslot.domains.bookings.models import REPLIED, BookingDetails, BookingRef, Status
from openslot.domains.bookings.operations import (
    cancel_booking,
    get_booking,
    get_booking_for_change,
    list_booking_history,
)
from openslot.domains.bookings.words import format_short
from openslot.domains.conversations.models import MessagePurpose
from openslot.domains.conversations.operations import get_thread
from openslot.domains.conversations.outbox.operations import count_own_answers, find_inbound_text, list_named_bookings
from openslot.domains.conversations.outbox.store import InboundText, NamedBooking
from openslot.domains.messaging import rules, sending
from openslot.domains.messaging.connections.models import MessagingConnection
from openslot.domains.messaging.connections.store import find_messaging_connection
from openslot.domains.messaging.errors import CountryNotAllowed, MessageLimitReached, RecipientOptedOut
from openslot.domains.messaging.inbound import ANSWER
from openslot.domains.messaging.rules import Wish
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.events import Effect
from openslot.platform.core.text import one_line
from openslot.platform.core.work import Done, Outcome, Reaction, Work
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import negotiate
from openslot.platform.i18n.localization import localize

# Two robots must not write to each other without end.
MAX_ANSWERS = 5
"""The most answers in one thread within 24 hours."""
# Of reminders that come so close together, nobody knows which one is answered.
TOGETHER = timedelta(hours=1)
MAX_LINKS = 3

IS_CANCELLED = Text("%(meeting)s with %(host)s, %(when)s, is now cancelled.")
CHANGE_HERE = Text("To cancel or reschedule %(meeting)s with %(host)s, %(when)s: %(url)s")
CANCELLED_BEFORE = Text("%(meeting)s with %(host)s, %(when)s, is already cancelled: %(url)s")
HAS_BEGUN = Text("%(meeting)s with %(host)s, %(when)s, has begun or is over: %(url)s")

log = structlog.get_logger()


class Asked(Struct, frozen=True, kw_only=True):
    """What somebody wants, on which number, and the bookings that they may mean, those named last first."""

    text: InboundText
    host: User
    connection: MessagingConnection
    named: tuple[NamedBooking, ...]


async def answer_message(work: Work, effect: Effect) -> Outcome:
    """Do what a message wants, or answer it with a link: once, in the transaction that says so."""
    return Done(write=partial(_answer, message_id=effect.plan(UUID)))


async def _answer(work: Work, *, message_id: UUID) -> None:
    asked = await _find(work, message_id)
    # Without a booking that was named to this number there is nothing to cancel and no link: the host reads it.
    if asked is None or not asked.named:
        return
    wish = rules.find_wish(asked.text.content, has_files=asked.text.has_files)
    cancelled = await _cancel(work, asked) if wish is Wish.CANCEL and asked.connection.can_cancel else None
    if cancelled is not None:
        content = _write(work, asked.host, cancelled, IS_CANCELLED)
    else:
        content = "\n".join([_write_link(work, asked.host, each) for each in await _list_meant(work, asked)])
    if content:
        await _send(work, asked, content)


async def _find(work: Work, message_id: UUID) -> Asked | None:
    text = await find_inbound_text(work, message_id)
    if text is None or text.connection_id is None:
        return None
    host = (await list_users_by_id(work, [text.owner_id])).get(text.owner_id)
    connection = await find_messaging_connection(work.db, text.connection_id)
    if host is None or connection is None or connection.token is None:
        return None
    named = await list_named_bookings(work, text.conversation_id, before=text.received_at)
    return Asked(text=text, host=host, connection=connection, named=tuple(named))


async def _cancel(work: Work, asked: Asked) -> BookingDetails | None:
    """Cancel what the last reminder named, as the invitee; None if it is not certain that this is meant."""
    reminded = [each for each in asked.named if each.is_reminder]
    if not reminded:
        return None
    last = reminded[0]
    ref = BookingRef(last.booking_id, asked.host.id)
    close = {each.booking_id for each in reminded if last.sent_at - each.sent_at < TOGETHER} - {last.booking_id}
    try:
        details = await get_booking_for_change(work, ref)
    except BookingNotFound:
        return None
    if not _is_upcoming(work, details) or any([await _find_upcoming(work, asked, each) for each in close]):
        return None
    history = await list_booking_history(work, ref)
    if any(each.type == BookingRescheduled.type and each.at >= last.written_at for each in history):
        # The reminder has named another time.
        return None
    await cancel_booking(work.acting_as(PUBLIC), ref, reason=REPLIED)
    return details


async def _list_meant(work: Work, asked: Asked) -> list[BookingDetails]:
    """List the bookings whose links are the answer: all that are still to come, else the one that was named last."""
    ids = list(dict.fromkeys(each.booking_id for each in asked.named))
    found = [details for each in ids if (details := await _find_booking(work, asked, each)) is not None]
    return [each for each in found if _is_upcoming(work, each)][:MAX_LINKS] or found[:1]


async def _find_booking(work: Work, asked: Asked, booking_id: UUID) -> BookingDetails | None:
    try:
        return await get_booking(work, BookingRef(booking_id, asked.host.id))
    except BookingNotFound:
        return None


async def _find_upcoming(work: Work, asked: Asked, booking_id: UUID) -> BookingDetails | None:
    found = await _find_booking(work, asked, booking_id)
    return found if found is not None and _is_upcoming(work, found) else None


def _is_upcoming(work: Work, details: BookingDetails) -> bool:
    return details.booking.status is Status.CONFIRMED and details.booking.starts_at > work.now


def _write_link(work: Work, host: User, details: BookingDetails) -> str:
    if _is_upcoming(work, details):
        return _write(work, host, details, CHANGE_HERE)
    is_cancelled = details.booking.status is Status.CANCELLED
    return _write(work, host, details, CANCELLED_BEFORE if is_cancelled else HAS_BEGUN)


def _write(work: Work, host: User, details: BookingDetails, text: Text) -> str:
    """Fill a text in, in the invitee's language and zone; nothing of it is what an invitee has typed.

    The manage link is the invitee's alone: what is kept has the host's link, until it is sent.
    """
    booking = details.booking
    locale = negotiate(booking.invitee_locale, host.locale)
    filled = text.fill(
        meeting=one_line(details.event_type.name, max_=60),
        host=one_line(host.name, max_=60),
        when=format_short(booking.starts_at, booking.invitee_zone, locale),
        url=booking_url(work.runtime, booking.id),
    )
    return str(localize(filled, locale))


async def _send(work: Work, asked: Asked, content: str) -> None:
    """Let an answer be sent, unless there were too many, or no messages are wanted."""
    if await count_own_answers(work, asked.text) >= MAX_ANSWERS:
        log.info("a message was not answered: too many answers in this thread", connection=str(asked.connection.id))
        return
    thread = await get_thread(work, asked.host, asked.text.conversation_id)
    try:
        await sending.queue(work, thread, asked.connection, content, purpose=MessagePurpose.ANSWER)
    except (RecipientOptedOut, MessageLimitReached, CountryNotAllowed) as refused:
        log.info("a message was not answered", connection=str(asked.connection.id), reason=refused.code)


ANSWER_REACTIONS = (Reaction(name=ANSWER, run=answer_message),)
