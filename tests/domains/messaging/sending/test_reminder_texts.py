"""What reminders and follow-ups by message say: text or template, in whose language, where it is, and how to cancel."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.conversations.models import Channel, MessageDirection
from openslot.domains.conversations.operations import record_message
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.locations import WantedLocation
from openslot.domains.event_types.models import Location, LocationAsks, LocationKind
from openslot.domains.event_types.rules import edition_of
from openslot.domains.messaging.connections import store as connection_store
from openslot.domains.messaging.models import OutboundMessage
from openslot.domains.reminders import operations as reminders
from openslot.domains.reminders.models import Audience
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime
from tests.domains.messaging.sending.carrier import Carrier
from tests.domains.messaging.sending.reminders import (
    AGREED,
    PHONE,
    THANKS,
    WEDNESDAY,
    Numbers,
    choose,
    dropped,
    find_type,
    follow_up,
    kept,
    until,
)
from tests.support.clocks import MovingClock
from tests.support.host import Book, book

__all__ = ["book"]


async def test_what_is_agreed_to_is_kept_as_it_was_shown(
    runtime: Runtime, user: User, numbers: Numbers, book: Book
) -> None:
    booking = await book(WEDNESDAY, message_consent=replace(AGREED, phone="+49 151 12345678"))
    row = await runtime.pool.fetchrow(
        "select host_id, phone, given_at, text, source, booking_id, withdrawn_at from message_consents"
    )
    assert row is not None
    told = (user.id, PHONE, booking.created_at, "Send me messages", "booking_page", booking.id, None)
    assert tuple(row.values()) == told
    with pytest.raises(Invalid) as refused:
        await book(WEDNESDAY + timedelta(hours=1), message_consent=replace(AGREED, phone="12345"))
    assert list(refused.value.details or {}) == ["messageConsent.phone"]


async def whatsapp_sent(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, book: Book
) -> list[OutboundMessage]:
    await choose(runtime, user, "whatsapp")
    await book(WEDNESDAY, message_consent=AGREED)
    await until(runtime, clock, minutes=-60)
    return carrier.sent


async def test_whatsapp_gets_a_reminder_as_text_within_a_day_of_the_invitees_last_message(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers, book: Book
) -> None:
    clock.now = WEDNESDAY - timedelta(hours=20)
    async with runtime.transaction(OPERATOR) as work:
        await record_message(
            work,
            owner_id=user.id,
            phone=PHONE,
            channel=Channel.WHATSAPP,
            direction=MessageDirection.INBOUND,
            content="Hello",
            at=work.now,
        )
    (sent,) = await whatsapp_sent(runtime, clock, user, carrier, book)

    assert sent.body is not None
    assert (sent.template, sent.body.startswith("Reminder: ")) == (None, True)


async def test_whatsapp_gets_a_reminder_as_a_template_otherwise(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers, book: Book
) -> None:
    await connection_store.update(runtime.pool, replace(numbers["whatsapp"], template="HX1"))
    (sent,) = await whatsapp_sent(runtime, clock, user, carrier, book)

    assert sent.template is not None
    assert sent.template.id == "HX1"
    assert sent.template.variables == {
        "1": "30 minute meeting",
        "2": "Mara Lindqvist",
        "3": "Wed 18 Mar, 11:00 (Lagos time)",
        "4": "-",
    }
    assert (await kept(runtime))[0][2] == "sent"


async def test_whatsapp_gets_no_reminder_without_a_template_and_the_reason_is_told(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers, book: Book
) -> None:
    assert await whatsapp_sent(runtime, clock, user, carrier, book) == []
    (reason,) = await dropped(runtime)
    assert reason.startswith("WhatsApp takes it only as a template")


async def test_a_reminder_is_in_the_invitees_language_and_says_where_and_how_to_cancel(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers, book: Book
) -> None:
    await connection_store.update(runtime.pool, replace(numbers["sms"], can_cancel=True))
    async with runtime.transaction(OPERATOR) as work:
        found = await find_type(runtime, user)
        place = Location(kind=LocationKind.VIDEO_LINK, value="https://meet.example/mara")
        await event_types.edit_event_type(work, user, replace(found, location=place), edition=edition_of(found))
    await choose(runtime, user, "sms")
    booking = await book(WEDNESDAY, message_consent=AGREED)
    await runtime.pool.execute("update bookings set invitee_locale = 'en-US' where id = $1", booking.id)
    other = replace(AGREED, phone="+4915187654321")
    german = await book(WEDNESDAY + timedelta(minutes=30), message_consent=other)
    await runtime.pool.execute("update bookings set invitee_locale = 'de-DE' where id = $1", german.id)
    for minutes in (-60, -30):
        await until(runtime, clock, minutes=minutes)

    english, german_text = (each.body or "" for each in carrier.sent)
    assert english == (
        "Reminder: 30 minute meeting with Mara Lindqvist, Wed, Mar 18, 11:00 AM (Lagos time)\n"
        "https://meet.example/mara\n"
        "Reply C to cancel, STOP to get no messages."
    )
    assert english.isascii()
    assert "Mi., 18. März, 11:30" in german_text
    assert "STOP" in german_text


@pytest.mark.parametrize(
    ("kind", "asks", "typed", "told"),
    [
        (LocationKind.TEXT, LocationAsks.PLACE, "Money at evil.example", "The place that was named in the booking"),
        (LocationKind.PHONE, LocationAsks.PHONE, "+493012345678", "Mara Lindqvist will call you at +493012345678"),
    ],
)
async def test_a_reminder_says_the_number_to_call_and_no_place_that_somebody_has_typed(
    runtime: Runtime,
    clock: MovingClock,
    user: User,
    carrier: Carrier,
    numbers: Numbers,
    book: Book,
    kind: LocationKind,
    asks: LocationAsks,
    typed: str,
    told: str,
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        found = await find_type(runtime, user)
        place = Location(kind, asks=asks)
        await event_types.edit_event_type(work, user, replace(found, location=place), edition=edition_of(found))
    await choose(runtime, user, "sms")
    # The host's own words tell no more of it.
    await follow_up(runtime, user, "We met here: {location}")
    await book(WEDNESDAY, message_consent=AGREED, location=WantedLocation(value=typed))
    await until(runtime, clock, minutes=-60)
    await until(runtime, clock, hours=3)

    reminder, thanks = (each.body or "" for each in carrier.sent)
    assert reminder.splitlines()[1] == told
    assert thanks == f"We met here: {told}"
    assert "evil" not in reminder + thanks


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"minutes": 4}, "minutes"),
        ({"minutes": 14 * 24 * 60 + 1}, "minutes"),
        ({"to": Audience.BOTH}, "to"),
        ({"subject": "Thanks"}, "subject"),
        ({"text": "x" * 481}, "text"),
        ({"text": "Hello {invitee}"}, "text"),
        ({"text": "Hello \x00"}, "text"),
    ],
)
async def test_a_follow_up_that_cannot_be_sent_is_refused_by_its_field(
    runtime: Runtime, user: User, changes: dict[str, Any], field: str
) -> None:
    wanted = replace(THANKS, **changes)
    with pytest.raises(Invalid) as refused:
        async with runtime.transaction(OPERATOR) as work:
            await reminders.save_reminder_entry(work, user, None, None, wanted)
    assert list(refused.value.details or {}) == [field]
