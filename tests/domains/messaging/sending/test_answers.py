"""C cancels what the last reminder named, and nothing else does; what may mean it is answered with a link, once."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.bookings.links import manage_token, manage_url
from openslot.domains.bookings.models import Booking, BookingRef
from openslot.domains.messaging import answers, store
from openslot.domains.messaging.connections import store as connection_store
from openslot.domains.messaging.connections.models import MessagingConnection, OptOutSource
from openslot.domains.messaging.models import MediaRef, OptOut
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from openslot.platform.flags.switches.operations import resume_messaging, stop_messaging
from tests.domains.messaging.sending.carrier import Carrier
from tests.domains.messaging.sending.support import PHONE, remind, status_of, tell
from tests.hostile.support import find_in_dump
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import ELEVEN, TEN, TWELVE, Book, cancel, move
from tests.support.messaging import write_reminder


async def hear(
    runtime: Runtime, clock: MovingClock, number: MessagingConnection, body: str, *, id_: str = "SMin1", **more: object
) -> None:
    """Let the invitee write, and all follow from it."""
    await tell(runtime, number, body, id_=id_, **more)
    await work_off(runtime, clock)


async def test_c_cancels_what_the_last_reminder_named_and_says_so(
    runtime: Runtime, clock: MovingClock, carrier: Carrier, number: MessagingConnection, booking: Booking
) -> None:
    await hear(runtime, clock, number, "C")

    cancelled = ("CANCELLED", "invitee", "bookings.replied")
    assert await status_of(runtime, booking) == cancelled
    (sent,) = carrier.sent
    assert sent.recipient == PHONE
    assert sent.body == "30 minute meeting with Mara Lindqvist, Mon 16 Mar, 12:00, is now cancelled."
    told = await runtime.pool.fetch("select reaction from effects where reaction = 'mail.send' and state = 'done'")
    assert len(told) >= 2
    row = await runtime.pool.fetchrow("select purpose, sent_by, status from messages where content = $1", sent.body)
    assert row is not None
    assert (row["purpose"], row["sent_by"], row["status"]) == ("answer", None, "sent")


@pytest.mark.parametrize("text", ["c", " C\n", "\u3000C", "\uff23", "\uff43"])
async def test_c_may_be_small_or_wide_and_have_space_around_it(
    runtime: Runtime, clock: MovingClock, number: MessagingConnection, booking: Booking, text: str
) -> None:
    await hear(runtime, clock, number, text)

    assert (await status_of(runtime, booking))[0] == "CANCELLED"


@pytest.mark.parametrize(
    "text",
    [
        "C.",
        "C!",
        "\u201cC\u201d",
        "\u0421",
        "Cancel.",
        "Could we move it to Friday",
        "cancel my meeting please",
        "Can we RESCHEDULE?",
        "Ich muss leider absagen",
        "Können wir verschieben?",
        "J'aimerais annuler",
        "On peut décaler ?",
        "Je voudrais reporter le rendez-vous",
        "Quiero cancelar la cita",
        "¿Podemos aplazarla?",
        "Preciso remarcar",
        "予約をキャンセルしたい",
        "日時を変更できますか",
        "أريد إلغاء الموعد",
        "هل يمكن تغيير الموعد",
    ],
)
async def test_what_may_mean_it_is_answered_with_the_link_and_cancels_nothing(
    runtime: Runtime, clock: MovingClock, carrier: Carrier, number: MessagingConnection, booking: Booking, text: str
) -> None:
    await hear(runtime, clock, number, text)

    assert await status_of(runtime, booking) == ("CONFIRMED", None, None)
    link = (
        f"To cancel or reschedule 30 minute meeting with Mara Lindqvist, Mon 16 Mar, 12:00: {link_of(runtime, booking)}"
    )
    assert carrier.bodies == [link]


def link_of(runtime: Runtime, booking: Booking) -> str:
    return manage_url(runtime, booking.id)


async def test_the_manage_link_is_for_the_invitee_alone(
    runtime: Runtime, clock: MovingClock, carrier: Carrier, user: User, number: MessagingConnection, booking: Booking
) -> None:
    # Whatever is called like a link of another meeting is no link.
    other = f"x {runtime.settings.public_url}/bookings/{new_id()}"
    await runtime.pool.execute("update event_types set name = $1", other)
    await hear(runtime, clock, number, "please cancel")

    (body,) = carrier.bodies
    assert body is not None
    assert body.endswith(f": {link_of(runtime, booking)}")
    assert body.count("/manage/") == 1
    kept = await runtime.pool.fetchval("select content from messages where purpose = 'answer'")
    assert kept.endswith(f": {runtime.settings.public_url}/bookings/{booking.id}")
    assert await find_in_dump(runtime, {manage_token(runtime, booking.id)}) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hello",
        "c u tomorrow",
        "C C",
        "Vitamin C",
        "I like movies",
        "It was removed",
        "Where do we meet?",
        "I am late",
        "CC",
        "Ć",
        "1",
    ],
)
async def test_other_words_are_for_the_host_and_get_no_answer(
    runtime: Runtime, clock: MovingClock, carrier: Carrier, number: MessagingConnection, booking: Booking, text: str
) -> None:
    await hear(runtime, clock, number, text)

    assert (await status_of(runtime, booking))[0] == "CONFIRMED"
    assert carrier.sent == []
    assert await runtime.pool.fetchval("select count(*) from effects where reaction = 'messaging.answer'") == 0


@pytest.mark.parametrize("text", ["CANCEL", "cancel", "STOP", "START", "yes"])
async def test_a_word_of_the_provider_is_no_wish(
    runtime: Runtime, clock: MovingClock, carrier: Carrier, number: MessagingConnection, booking: Booking, text: str
) -> None:
    await hear(runtime, clock, number, text)

    assert (await status_of(runtime, booking))[0] == "CONFIRMED"
    assert carrier.sent == []


async def test_what_the_provider_has_understood_itself_is_no_wish(
    runtime: Runtime, clock: MovingClock, carrier: Carrier, number: MessagingConnection, booking: Booking
) -> None:
    await hear(runtime, clock, number, "C", opt_out=OptOut.STOP)

    assert (await status_of(runtime, booking))[0] == "CONFIRMED"
    assert carrier.sent == []


async def test_c_with_a_picture_gets_the_link(
    runtime: Runtime, clock: MovingClock, carrier: Carrier, number: MessagingConnection, booking: Booking
) -> None:
    await hear(runtime, clock, number, "C", media=(MediaRef(ref="x", content_type="image/png"),))

    assert (await status_of(runtime, booking))[0] == "CONFIRMED"
    assert link_of(runtime, booking) in str(carrier.bodies)


async def test_c_gets_the_link_where_the_owner_has_not_switched_it_on(
    runtime: Runtime, clock: MovingClock, carrier: Carrier, number: MessagingConnection, booking: Booking
) -> None:
    await connection_store.update(runtime.pool, replace(number, can_cancel=False))
    await hear(runtime, clock, number, "C")

    assert (await status_of(runtime, booking))[0] == "CONFIRMED"
    assert link_of(runtime, booking) in str(carrier.bodies)


async def test_a_cancelled_a_begun_and_a_rescheduled_meeting_get_the_link(
    runtime: Runtime, clock: MovingClock, carrier: Carrier, number: MessagingConnection, booking: Booking
) -> None:
    clock.now += timedelta(minutes=1)
    await move(runtime, booking, TWELVE, actor=OPERATOR)
    await hear(runtime, clock, number, "C", id_="SMin1")
    assert (await status_of(runtime, booking))[0] == "CONFIRMED"
    await remind(runtime, number, booking)
    clock.now = TWELVE
    await hear(runtime, clock, number, "C", id_="SMin2")
    assert (await status_of(runtime, booking))[0] == "CONFIRMED"
    await cancel(runtime, booking, actor=OPERATOR)
    await hear(runtime, clock, number, "C", id_="SMin3")

    link = link_of(runtime, booking)
    assert carrier.bodies == [
        f"To cancel or reschedule 30 minute meeting with Mara Lindqvist, Mon 16 Mar, 13:00: {link}",
        f"30 minute meeting with Mara Lindqvist, Mon 16 Mar, 13:00, has begun or is over: {link}",
        f"30 minute meeting with Mara Lindqvist, Mon 16 Mar, 13:00, is already cancelled: {link}",
    ]


async def test_the_last_reminder_counts_and_those_close_together_are_ambiguous(
    runtime: Runtime, clock: MovingClock, carrier: Carrier, number: MessagingConnection, book: Book
) -> None:
    first, second, third = [await book(at, email=f"{at.hour}@okafor.example") for at in (TEN, ELEVEN, TWELVE)]
    await remind(runtime, number, first)
    clock.now += timedelta(hours=1)
    await remind(runtime, number, second)
    await hear(runtime, clock, number, "C", id_="SMin1")
    assert [(await status_of(runtime, each))[0] for each in (first, second)] == ["CONFIRMED", "CANCELLED"]

    clock.now += timedelta(seconds=1)
    await remind(runtime, number, first)
    clock.now += timedelta(minutes=1)
    await remind(runtime, number, third)
    carrier.sent.clear()
    await hear(runtime, clock, number, "C", id_="SMin2")

    assert [(await status_of(runtime, each))[0] for each in (first, third)] == ["CONFIRMED", "CONFIRMED"]
    (body,) = carrier.bodies
    assert body is not None
    assert [line.rpartition(": ")[2] for line in body.split("\n")] == [
        link_of(runtime, each) for each in (third, first)
    ]


@pytest.mark.parametrize("status", ["queued", "failed", "undelivered", "canceled"])
async def test_a_reminder_that_nobody_has_read_names_nothing(
    runtime: Runtime,
    clock: MovingClock,
    carrier: Carrier,
    number: MessagingConnection,
    booking: Booking,
    book: Book,
    status: str,
) -> None:
    other = await book(TWELVE, email="other@okafor.example")
    await remind(runtime, number, other, status=status)
    await hear(runtime, clock, number, "C")

    assert [(await status_of(runtime, each))[0] for each in (booking, other)] == ["CANCELLED", "CONFIRMED"]


async def test_a_reminder_that_went_out_after_the_message_is_not_meant(
    runtime: Runtime, clock: MovingClock, number: MessagingConnection, booking: Booking, book: Book
) -> None:
    await tell(runtime, number, "C")
    clock.now += timedelta(hours=1, minutes=30)
    other = await book(TWELVE, email="other@okafor.example")
    await remind(runtime, number, other)
    await work_off(runtime, clock)

    assert [(await status_of(runtime, each))[0] for each in (booking, other)] == ["CANCELLED", "CONFIRMED"]


async def test_a_thread_without_a_named_meeting_waits_for_the_host(
    runtime: Runtime, clock: MovingClock, carrier: Carrier, number: MessagingConnection, book: Book
) -> None:
    booking = await book(ELEVEN)
    await hear(runtime, clock, number, "C")
    await hear(runtime, clock, number, "please cancel", id_="SMin2")

    assert (await status_of(runtime, booking))[0] == "CONFIRMED"
    assert carrier.sent == []


async def test_another_hosts_booking_is_not_cancelled(
    runtime: Runtime,
    clock: MovingClock,
    carrier: Carrier,
    user: User,
    stranger: User,
    number: MessagingConnection,
    book: Book,
) -> None:
    theirs = await book(ELEVEN, host=stranger)
    await write_reminder(runtime, number, BookingRef(theirs.id, user.id), phone=PHONE)
    await hear(runtime, clock, number, "C")

    assert (await status_of(runtime, theirs))[0] == "CONFIRMED"
    assert carrier.sent == []


async def test_a_repeated_notice_cancels_and_answers_once(
    runtime: Runtime, clock: MovingClock, carrier: Carrier, number: MessagingConnection, booking: Booking
) -> None:
    for _ in range(3):
        await hear(runtime, clock, number, "C")

    assert len(carrier.sent) == 1


async def test_two_robots_stop_after_some_answers_and_c_still_cancels(
    runtime: Runtime, clock: MovingClock, carrier: Carrier, number: MessagingConnection, booking: Booking
) -> None:
    for count in range(answers.MAX_ANSWERS + 3):
        await hear(runtime, clock, number, "I want to cancel", id_=f"SMin{count}")
    assert len(carrier.sent) == answers.MAX_ANSWERS
    await hear(runtime, clock, number, "C", id_="SMinC")
    assert (await status_of(runtime, booking))[0] == "CANCELLED"
    assert len(carrier.sent) == answers.MAX_ANSWERS

    clock.now += timedelta(days=1, seconds=1)
    await hear(runtime, clock, number, "I want to cancel", id_="SMinD")
    assert len(carrier.sent) == answers.MAX_ANSWERS + 1


@pytest.mark.parametrize(
    "limit",
    [{"limit_messages": 4}, {"limit_messages_number": 2}, {"limit_messages_recipient": 2}],
    ids=str,
)
async def test_answers_count_in_the_limits(
    runtime: Runtime,
    clock: MovingClock,
    carrier: Carrier,
    number: MessagingConnection,
    booking: Booking,
    limit: dict[str, int],
) -> None:
    # The reminder has counted already, and half of what a host sends is for messages by hand.
    runtime.settings = replace(runtime.settings, **limit)
    for count in range(3):
        await hear(runtime, clock, number, "I want to cancel", id_=f"SMin{count}")

    assert len(carrier.sent) == 1


async def test_nobody_who_replied_stop_is_answered_but_c_cancels(
    runtime: Runtime, clock: MovingClock, carrier: Carrier, number: MessagingConnection, booking: Booking
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await store.opt_out(work.db, number, PHONE, source=OptOutSource.MESSAGE, vendor_id="SM9", now=work.now)
    await hear(runtime, clock, number, "C")

    assert (await status_of(runtime, booking))[0] == "CANCELLED"
    assert carrier.sent == []


async def test_answers_wait_while_messages_are_stopped(
    runtime: Runtime, clock: MovingClock, carrier: Carrier, number: MessagingConnection, booking: Booking
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await stop_messaging(work, "sms", reason="A loop")
    await hear(runtime, clock, number, "C")
    assert (await status_of(runtime, booking))[0] == "CANCELLED"
    assert carrier.sent == []

    async with runtime.transaction(OPERATOR) as work:
        await resume_messaging(work, "sms", reason="Mended")
    await work_off(runtime, clock)
    assert len(carrier.sent) == 1


async def test_the_answer_is_in_the_invitees_language(
    runtime: Runtime, clock: MovingClock, carrier: Carrier, number: MessagingConnection, booking: Booking
) -> None:
    await runtime.pool.execute("update bookings set invitee_locale = 'de' where id = $1", booking.id)
    await hear(runtime, clock, number, "C")

    assert carrier.bodies == ["30 minute meeting mit Mara Lindqvist, Mo., 16. März, 12:00, ist jetzt abgesagt."]


async def test_a_deleted_thread_and_a_disconnected_number_are_left_alone(
    runtime: Runtime, clock: MovingClock, carrier: Carrier, user: User, number: MessagingConnection, booking: Booking
) -> None:
    await tell(runtime, number, "C", id_="SMin1")
    await connection_store.update(runtime.pool, replace(number, token=None, disconnected_at=clock.now))
    await work_off(runtime, clock)
    await connection_store.update(runtime.pool, number)
    await runtime.pool.execute("delete from conversations where id = $1", await tell(runtime, number, "C", id_="SMin2"))
    await work_off(runtime, clock)

    assert (await status_of(runtime, booking))[0] == "CONFIRMED"
    assert carrier.sent == []
