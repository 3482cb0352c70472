"""Reminders and follow-ups by message: only to those who agreed, moved and dropped with the booking, never too late."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef
from openslot.domains.conversations.models import Channel
from openslot.domains.messaging import store
from openslot.domains.messaging.connections import store as connection_store
from openslot.domains.messaging.connections.models import OptOutSource
from openslot.domains.messaging.models import DropReason, RefusalReason
from openslot.domains.messaging.ports import MessageRefused, MessagesUnavailable
from openslot.domains.messaging.words import REFUSALS
from openslot.domains.reminders import operations as reminders
from openslot.domains.timeline import operations as timeline
from openslot.doors.web.dashboard.rows import describe_step
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.work import Runtime
from openslot.platform.flags.switches import operations as switches
from tests.domains.messaging.sending.carrier import Carrier
from tests.domains.messaging.sending.reminders import (
    AGREED,
    PHONE,
    THANKS,
    WEDNESDAY,
    Numbers,
    choose,
    dropped,
    follow_up,
    kept,
    planned,
    until,
)
from tests.support.clocks import MONDAY, MovingClock
from tests.support.effects import work_off
from tests.support.host import Book, book, cancel, move
from tests.support.switches import resume, stop

__all__ = ["book"]


async def test_a_reminder_goes_to_an_invitee_who_agreed_in_their_own_zone(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers, book: Book
) -> None:
    await choose(runtime, user, "email", "sms")
    booking = await book(WEDNESDAY, message_consent=AGREED)
    await until(runtime, clock, minutes=-61)
    assert (carrier.sent, await planned(runtime)) == ([], ["60:sms"])

    await until(runtime, clock, minutes=-60)

    (sent,) = carrier.sent
    assert (sent.channel, sent.recipient, sent.sender) == (Channel.SMS, PHONE, numbers["sms"].number)
    assert sent.body == (
        "Reminder: 30 minute meeting with Mara Lindqvist, Wed 18 Mar, 11:00 (Lagos time)\n"
        "Reply STOP to get no messages."
    )
    assert sent.validity == timedelta(minutes=60)
    assert await kept(runtime) == [("reminder", booking.id, "sent", None)]
    contact = await runtime.pool.fetchval("select phone from contacts where id = $1", booking.contact_id)
    assert contact == PHONE


@pytest.mark.parametrize("consent", [None, "withdrawn", "another number"])
async def test_nobody_who_has_not_agreed_gets_a_message(
    runtime: Runtime,
    clock: MovingClock,
    user: User,
    carrier: Carrier,
    numbers: Numbers,
    book: Book,
    consent: str | None,
) -> None:
    await choose(runtime, user, "sms")
    await follow_up(runtime, user)
    booking = await book(WEDNESDAY, message_consent=AGREED if consent else None)
    await work_off(runtime, clock)
    if consent == "withdrawn":
        async with runtime.transaction(PUBLIC) as work:
            await bookings.withdraw_message_consent(work, BookingRef(booking.id, None))
    if consent == "another number":
        await runtime.pool.execute("update message_consents set phone = '+4915100000000'")
    # A phone that is known from elsewhere is no consent.
    await runtime.pool.execute("update contacts set phone = $1", PHONE)
    await until(runtime, clock, days=1)

    assert carrier.sent == []
    assert set(await dropped(runtime)) == (
        {"the invitee does not agree to messages, or no longer"} if consent else set()
    )


async def test_consent_is_for_one_booking_and_not_for_the_next_one(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers, book: Book
) -> None:
    await choose(runtime, user, "sms")
    await book(WEDNESDAY, message_consent=AGREED)
    await book(WEDNESDAY + timedelta(hours=2))
    for minutes in (-60, 60):
        await until(runtime, clock, minutes=minutes)

    assert len(carrier.sent) == 1


async def test_messages_move_with_the_booking_and_are_dropped_with_it(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers, book: Book
) -> None:
    await choose(runtime, user, "sms", "whatsapp", minutes=(1440, 60))
    await follow_up(runtime, user)
    booking = await book(WEDNESDAY, message_consent=AGREED)
    await work_off(runtime, clock)
    assert sorted(await planned(runtime)) == ["1440:sms", "1440:whatsapp", "60:sms", "60:whatsapp", "after-120:sms"]

    await move(runtime, booking, MONDAY.replace(hour=15))
    await work_off(runtime, clock)
    assert sorted(await planned(runtime)) == ["60:sms", "60:whatsapp", "after-120:sms"]
    assert await dropped(runtime) == ["the booking was rescheduled"] * 2

    await cancel(runtime, booking)
    await work_off(runtime, clock)
    assert await planned(runtime) == []
    assert (await dropped(runtime))[2:] == ["the booking is cancelled"] * 3
    await until(runtime, clock, days=1)
    assert carrier.sent == []


async def test_a_follow_up_says_what_the_host_wrote_and_not_to_those_who_did_not_come(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers, book: Book
) -> None:
    await follow_up(runtime, user, "Thanks for “{event_name}”, {invitee_name}! {host_name}")
    await book(WEDNESDAY, message_consent=AGREED)
    missed = await book(WEDNESDAY - timedelta(hours=1), message_consent=AGREED)
    spam = await book(WEDNESDAY + timedelta(hours=1), name="Buy at evil.example", message_consent=AGREED)
    await until(runtime, clock, minutes=1)
    async with runtime.transaction(OPERATOR) as work:
        await bookings.mark_no_show(work, BookingRef(missed.id, None))
    await until(runtime, clock, hours=2, minutes=29)
    assert carrier.sent == []

    await until(runtime, clock, hours=5)

    assert [each.body for each in carrier.sent] == [
        'Thanks for "30 minute meeting", Jonas Okafor! Mara Lindqvist',
        'Thanks for "30 minute meeting", ! Mara Lindqvist',
    ]
    assert await dropped(runtime) == ["the invitee did not come"]
    assert {row[0] for row in await kept(runtime)} == {"follow_up"}
    assert spam.id in {row[1] for row in await kept(runtime)}


async def test_a_message_that_is_switched_off_or_overtaken_is_not_sent(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers, book: Book
) -> None:
    await choose(runtime, user, "sms", minutes=(120, 60, 30))
    await follow_up(runtime, user)
    await book(WEDNESDAY, message_consent=AGREED)
    await work_off(runtime, clock)
    # No worker was running for a while.
    await until(runtime, clock, minutes=-50)
    assert len(carrier.sent) == 1
    assert await dropped(runtime) == ["a later reminder was due already"]

    await choose(runtime, user, "email", minutes=(120, 60, 30))
    async with runtime.transaction(OPERATOR) as work:
        await reminders.delete_reminder_entry(work, user, None, THANKS.name)
    for minutes in (-30, 180):
        await until(runtime, clock, minutes=minutes)

    assert len(carrier.sent) == 1
    assert (await dropped(runtime))[1:] == ["you have switched these messages off"] * 2


async def test_reminders_only_by_message_send_no_mail(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers, book: Book
) -> None:
    await choose(runtime, user, "sms")
    await book(WEDNESDAY, message_consent=AGREED)
    await until(runtime, clock, minutes=-60)

    assert len(carrier.sent) == 1
    assert await runtime.pool.fetchval("select count(*) from mail_messages where kind = 'reminder'") == 0


async def test_reminders_wait_while_messages_are_stopped_and_one_of_a_past_meeting_is_dropped(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers, book: Book
) -> None:
    await choose(runtime, user, "sms")
    past = await book(WEDNESDAY, message_consent=AGREED)
    await book(WEDNESDAY + timedelta(hours=2), message_consent=AGREED)
    await stop(runtime, "all")
    for minutes in (-60, 70):
        await until(runtime, clock, minutes=minutes)
    assert carrier.sent == []
    assert [each.waiting for each in await switches.get_status(runtime.work(OPERATOR))][:2] == [2, 0]

    await resume(runtime, "all")
    await work_off(runtime, clock)

    assert len(carrier.sent) == 1
    assert carrier.sent[0].validity == timedelta(minutes=50)
    (lost,) = await switches.list_dropped(runtime.work(OPERATOR))
    assert (lost.channel, lost.recipient, lost.reason) == ("sms", PHONE, "messages.too_late")
    assert past.id not in {row[1] for row in await kept(runtime)}


@pytest.mark.parametrize(
    ("change", "reason"),
    [("cancel", "booking_cancelled"), ("move", "booking_moved"), ("wait", "too_late"), ("withdraw", "not_agreed")],
)
async def test_a_reminder_that_waits_in_its_thread_is_checked_again_before_it_is_sent(
    runtime: Runtime,
    clock: MovingClock,
    user: User,
    carrier: Carrier,
    numbers: Numbers,
    book: Book,
    change: str,
    reason: str,
) -> None:
    await choose(runtime, user, "sms")
    booking = await book(WEDNESDAY, message_consent=AGREED)
    carrier.faults = [MessagesUnavailable("no route", may_have_arrived=False)]
    await until(runtime, clock, minutes=-60)
    assert (await kept(runtime))[0][2] == "queued"
    await change_booking(runtime, booking, change)
    await until(runtime, clock, minutes=0 if change == "wait" else -50)

    assert carrier.sent == []
    assert await kept(runtime) == [("reminder", booking.id, "canceled", reason)]


async def change_booking(runtime: Runtime, booking: Booking, change: str) -> None:
    if change == "cancel":
        await cancel(runtime, booking)
    if change == "move":
        await move(runtime, booking, WEDNESDAY + timedelta(hours=3))
    if change == "withdraw":
        async with runtime.transaction(PUBLIC) as work:
            await bookings.withdraw_message_consent(work, BookingRef(booking.id, None))


async def test_a_lost_answer_to_a_reminder_is_looked_up_and_it_is_never_sent_twice(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers, book: Book
) -> None:
    await choose(runtime, user, "sms")
    await book(WEDNESDAY, message_consent=AGREED)
    carrier.is_deaf, carrier.faults = True, [MessagesUnavailable("cut", may_have_arrived=True)]
    for minutes in (-60, -59, -57, -30, 1):
        await until(runtime, clock, minutes=minutes)
        carrier.lost.clear()

    assert len(carrier.sent) == 1
    assert (await kept(runtime))[0][2] == "unknown"


async def test_a_worker_that_died_after_it_had_queued_a_reminder_queues_it_once(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers, book: Book
) -> None:
    await choose(runtime, user, "sms")
    await book(WEDNESDAY, message_consent=AGREED)
    await until(runtime, clock, minutes=-60)
    await runtime.pool.execute(
        "update effects set state = 'queued', round = round + 1 where reaction = 'messaging.remind'"
    )
    await until(runtime, clock, minutes=-59)

    assert len(carrier.sent) == len(await kept(runtime)) == 1


async def test_limits_and_opt_outs_hold_for_reminders(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers, book: Book
) -> None:
    runtime.settings = replace(runtime.settings, limit_messages_recipient=1)
    await choose(runtime, user, "sms", minutes=(120,))
    other = replace(AGREED, phone="+4915187654321")
    for number, consent in enumerate((AGREED, AGREED, other)):
        await book(WEDNESDAY + timedelta(minutes=30 * number), message_consent=consent)
    async with runtime.transaction(OPERATOR) as work:
        await store.opt_out(
            work.db, numbers["whatsapp"], other.phone, source=OptOutSource.MESSAGE, vendor_id="SM9", now=work.now
        )
    await until(runtime, clock, minutes=-5)

    assert [each.recipient for each in carrier.sent] == [PHONE]
    assert await dropped(runtime) == ["the limit of messages in 24 hours was reached", "this person has replied STOP"]


async def test_a_number_that_was_disconnected_sends_no_reminder(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers, book: Book
) -> None:
    await choose(runtime, user, "sms")
    await book(WEDNESDAY, message_consent=AGREED)
    await work_off(runtime, clock)
    gone = replace(numbers["sms"], token=None, disconnected_at=clock.now)
    await connection_store.update(runtime.pool, gone)
    await until(runtime, clock, minutes=-60)

    assert carrier.sent == []
    assert await dropped(runtime) == ["the number was disconnected"]


async def test_the_booking_tells_what_became_of_each_message(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers, book: Book
) -> None:
    await choose(runtime, user, "sms", "whatsapp", minutes=(1440, 60))
    await follow_up(runtime, user)
    booking = await book(WEDNESDAY, message_consent=AGREED)
    await until(runtime, clock, days=-1)
    carrier.faults = [MessageRefused("no", reason=RefusalReason.INVALID_NUMBER)]
    await stop(runtime, "whatsapp")
    await until(runtime, clock, hours=-1)

    steps = [
        describe_step(each, user, now=clock.now)
        for each in await timeline.list_timeline(runtime.work(OPERATOR), user, booking.id)
    ]
    told = sorted(
        (str(each.title), str(each.status), str(each.note or "")) for each in steps if PHONE in str(each.title)
    )
    assert [each[::2] for each in told] == [
        (f"Follow-up by SMS to {PHONE}", ""),
        (f"Reminder by SMS to {PHONE}", ""),
        (f"Reminder by SMS to {PHONE}", "the number can't get messages"),
        (f"Reminder by WhatsApp to {PHONE}", "the administrator has stopped messages; it will be sent later"),
        (f"Reminder by WhatsApp to {PHONE}", str(REFUSALS[DropReason.NO_TEMPLATE])),
    ]
    assert [each[1] for each in told][2] == "skipped"
