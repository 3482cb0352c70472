"""Reminders and follow-ups in a host's words, over SMTP: who gets which, when, and what nobody can bring into them."""

from collections.abc import AsyncIterator
from datetime import timedelta
from email.message import EmailMessage

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.domains.mail.kinds.reminders import plan_test_reminder
from openslot.domains.mail.models import MailStatus
from openslot.domains.reminders import operations as reminders
from openslot.domains.reminders.models import Audience, ReminderEntry, ReminderMoment
from openslot.domains.reminders.rules import DEFAULT_REMINDERS
from openslot.domains.timeline import operations as timeline
from openslot.doors.web.dashboard.rows import describe_step
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.smtp import MailFrom, SmtpUrl
from openslot.platform.core.work import Runtime
from openslot.platform.i18n import say
from openslot.platform.i18n.languages import LANGUAGES, Language
from openslot.runtime import open_runtime
from tests.domains.mail.conftest import Book, cancel, mails, move, part, read_message, work_off
from tests.domains.mail.support import EVIL, check_message
from tests.support.clocks import MONDAY, MovingClock
from tests.support.smtp_server import ScriptedServer, smtp_server

JONAS, LI, MARA = "jonas@okafor.example", "li@okafor.example", "mara@lindqvist.example"
WEDNESDAY = MONDAY.replace(hour=10) + timedelta(days=2)
BEFORE = ReminderEntry(minutes=60)
AFTER = ReminderEntry(moment=ReminderMoment.AFTER, minutes=120)
WORDS = "Hello {invitee_name}, {event_name} with {host_name} {start} ({time_zone}), {duration}: {manage_link}"


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with smtp_server() as opened:
        yield opened


@pytest.fixture
async def runtime(settings: Settings, clock: MovingClock, server: ScriptedServer) -> AsyncIterator[Runtime]:
    chosen = replace(
        settings,
        smtp_url=SmtpUrl.parse(f"smtp://127.0.0.1:{server.port}"),
        mail_from=MailFrom.parse("bookings@here.example"),
    )
    async with open_runtime(chosen, clock=clock) as opened:
        yield opened


async def choose(runtime: Runtime, user: User, *entries: ReminderEntry) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await reminders.set_reminder_entries(work, user, None, entries)


async def find_type(runtime: Runtime, user: User) -> EventType:
    found, _ = await event_types.list_event_types(runtime.work(OPERATOR), user, limit=10)
    return next(each for each in found if each.slug == "30min")


async def until(runtime: Runtime, clock: MovingClock, **after: float) -> None:
    """Let time pass until so long after Wednesday's meeting begins."""
    await work_off(runtime, clock)
    clock.now = WEDNESDAY + timedelta(**after)
    await work_off(runtime, clock)


def read(server: ScriptedServer, to: str) -> list[EmailMessage]:
    """Read what came to an address after its confirmation."""
    return [read_message(each.content) for each in server.received if each.recipient == to][1:]


async def skipped(runtime: Runtime) -> list[str]:
    rows = await runtime.pool.fetch(
        "select last_error from effects where reaction in ('mail.remind', 'mail.follow_up') and state = 'skipped'"
    )
    return [say(row["last_error"]) for row in rows]


async def test_each_gets_the_words_with_their_own_links_zone_and_language(
    runtime: Runtime, clock: MovingClock, user: User, book: Book, server: ScriptedServer
) -> None:
    await choose(runtime, user, replace(BEFORE, to=Audience.BOTH, subject="{event_name}: {start}", text=WORDS))
    await book(WEDNESDAY, guests=(LI,), locale="de")
    await until(runtime, clock, minutes=-60)

    (invitee,), (host,), (guest,) = (read(server, each) for each in (JONAS, MARA, LI))
    assert invitee["Subject"] == "30 minute meeting: Mi., 18. März, 11:00"
    text = part(invitee, "text/plain")
    assert "Hello Jonas Okafor, 30 minute meeting with Mara Lindqvist Mi., 18. März, 11:00 (Ortszeit Lagos)" in text
    assert "30 Minuten: http://127.0.0.1:8000/manage/" in text
    assert 'href="http://127.0.0.1:8000/manage/' in part(invitee, "text/html")
    assert "Wann" in text
    assert host["Subject"] == "30 minute meeting: Wed 18 Mar, 10:00"
    assert "/manage/" not in part(host, "text/plain")
    assert "http://127.0.0.1:8000/bookings/" in part(host, "text/plain")
    # A guest gets our words where the host's name the invitee or have a link that changes the booking.
    assert guest["Subject"] == invitee["Subject"]
    for kind in ("text/plain", "text/html"):
        assert "/manage/" not in part(guest, kind)
        assert "Hello" not in part(guest, kind)


async def test_a_name_carries_nothing_to_anybody(
    runtime: Runtime, clock: MovingClock, user: User, book: Book, server: ScriptedServer
) -> None:
    words = {"subject": "{invitee_name}: {event_name}", "text": "Hello {invitee_name}"}
    await choose(runtime, user, *(replace(each, to=Audience.BOTH, **words) for each in (BEFORE, AFTER)))
    await book(WEDNESDAY, guests=(LI,), name=EVIL)
    await book(WEDNESDAY + timedelta(hours=1), email="eve@else.example", name="{manage_link} & \u202eEve")
    await until(runtime, clock, hours=5)

    for message in (*read(server, MARA), *read(server, JONAS), *read(server, LI)):
        if "evil" in part(message, "text/plain"):
            check_message(message)
    assert all("evil" not in part(each, "text/plain") for each in (*read(server, JONAS), *read(server, LI)))
    eve = read(server, "eve@else.example")
    assert len(eve) == 1
    assert "Hello {manage_link} & Eve" in part(eve[0], "text/plain")
    assert "Hello <bdi>{manage_link} &amp; Eve</bdi>" in part(eve[0], "text/html")
    assert eve[0]["Subject"] == "{manage_link} & Eve: 30 minute meeting"


async def test_nobody_in_a_group_reads_the_name_of_another(
    runtime: Runtime, clock: MovingClock, user: User, book: Book, server: ScriptedServer
) -> None:
    await runtime.pool.execute("update event_types set seats = 5")
    await choose(runtime, user, replace(BEFORE, text=WORDS), replace(AFTER, text=WORDS, subject="Bye {invitee_name}"))
    people = {"jonas@okafor.example": "Jonas Okafor", "ana@else.example": "Ana Silva", "bo@else.example": "Bo Larsen"}
    for email, name in people.items():
        await book(WEDNESDAY, email=email, name=name, notes=f"Secret of {name}")
    await until(runtime, clock, minutes=-60)
    await until(runtime, clock, hours=3)

    for email, name in people.items():
        told = read(server, email)
        assert len(told) == 2, email
        for message in told:
            everything = message.as_string() + part(message, "text/plain") + part(message, "text/html")
            assert name in everything
            for other in set(people.values()) - {name}:
                assert other not in everything
            assert "Secret" not in everything


async def test_a_follow_up_comes_after_the_end_to_the_invitee_and_not_to_guests(
    runtime: Runtime, clock: MovingClock, user: User, book: Book, server: ScriptedServer
) -> None:
    await choose(runtime, user, replace(AFTER, to=Audience.BOTH))
    booking = await book(WEDNESDAY, guests=(LI,))
    await until(runtime, clock, hours=2, minutes=29)
    assert [len(read(server, each)) for each in (JONAS, LI, MARA)] == [0, 0, 0]

    await until(runtime, clock, hours=2, minutes=30)

    (invitee,), (host,) = read(server, JONAS), read(server, MARA)
    assert read(server, LI) == []
    assert invitee["Subject"].startswith("Thank you: 30 minute meeting with Mara Lindqvist")
    assert [each.get_content_type() for each in invitee.walk()] == ["multipart/alternative", "text/plain", "text/html"]
    assert "/manage/" not in part(invitee, "text/plain")
    assert host["Subject"].strip().startswith("After the meeting: 30 minute meeting with Jonas Okafor")
    kinds = {each.kind.value for each in await mails(runtime, JONAS) if each.status is MailStatus.SENT}
    assert kinds == {"confirmation", "follow_up"}
    effects = await timeline.list_timeline(runtime.work(OPERATOR), user, booking.id)
    titles = {str(describe_step(each, user, now=clock.now).title) for each in effects}
    assert {f"Follow-up to {JONAS}", "Follow-up to you"} <= titles


async def test_follow_ups_move_with_the_booking_and_end_with_it(
    runtime: Runtime, clock: MovingClock, user: User, book: Book, server: ScriptedServer
) -> None:
    await choose(runtime, user, AFTER)
    moved, cancelled = await book(WEDNESDAY), await book(WEDNESDAY + timedelta(hours=1), email="ana@else.example")
    missed = await book(WEDNESDAY - timedelta(hours=1), email="bo@else.example")
    await work_off(runtime, clock)
    await move(runtime, moved, WEDNESDAY + timedelta(hours=4))
    await cancel(runtime, cancelled)
    await until(runtime, clock, minutes=1)
    async with runtime.transaction(OPERATOR) as work:
        await bookings.mark_no_show(work, BookingRef(missed.id, None))
    await until(runtime, clock, hours=4)
    follow_ups = [each for each in await mails(runtime) if each.kind.value == "follow_up"]
    assert follow_ups == []
    assert set(await skipped(runtime)) == {"the booking is cancelled", "the invitee did not come"}

    await until(runtime, clock, hours=6, minutes=30)

    assert [each.recipient for each in await mails(runtime) if each.kind.value == "follow_up"] == [JONAS]


async def test_a_request_has_none_until_it_is_confirmed(
    runtime: Runtime, clock: MovingClock, user: User, book: Book, server: ScriptedServer
) -> None:
    await choose(runtime, user, BEFORE, AFTER)
    await runtime.pool.execute("update event_types set requires_confirmation = true")
    await book(WEDNESDAY)
    await until(runtime, clock, hours=5)

    assert {each.kind.value for each in await mails(runtime)}.isdisjoint({"reminder", "follow_up"})


async def test_the_words_are_those_of_the_moment_it_is_sent_and_one_that_was_deleted_is_not(
    runtime: Runtime, clock: MovingClock, user: User, book: Book, server: ScriptedServer
) -> None:
    await choose(runtime, user, BEFORE, replace(AFTER, text="First"), replace(AFTER, minutes=180))
    await book(WEDNESDAY)
    await work_off(runtime, clock)
    await choose(runtime, user, BEFORE, replace(AFTER, text="Second"))
    await until(runtime, clock, minutes=-60)
    await until(runtime, clock, hours=8)

    reminder, follow_up = read(server, JONAS)
    assert reminder["Subject"].startswith("Reminder: ")
    assert "Second" in part(follow_up, "text/plain")
    assert await skipped(runtime) == ["this reminder is no longer wanted"]


async def test_an_event_type_has_its_own_until_it_returns_to_the_usual(
    runtime: Runtime, clock: MovingClock, user: User, book: Book, server: ScriptedServer
) -> None:
    await choose(runtime, user, replace(BEFORE, text="For all"))
    intro = await find_type(runtime, user)
    async with runtime.transaction(OPERATOR) as work:
        await reminders.set_reminder_entries(work, user, intro, [replace(BEFORE, text="For this one")])
    await book(WEDNESDAY)
    await until(runtime, clock, minutes=-60)
    assert "For this one" in part(read(server, JONAS)[0], "text/plain")
    async with runtime.transaction(OPERATOR) as work:
        assert await reminders.set_reminder_entries(work, user, intro, None) == (replace(BEFORE, text="For all"),)


async def test_follow_ups_are_counted_with_reminders(
    runtime: Runtime, clock: MovingClock, user: User, book: Book, server: ScriptedServer
) -> None:
    runtime.settings = replace(runtime.settings, limit_mail_host=12)
    await choose(runtime, user, BEFORE, AFTER)
    for hour in range(3):
        await book(WEDNESDAY + timedelta(hours=hour), email=f"i{hour}@else.example")
    await until(runtime, clock, hours=1)
    await until(runtime, clock, hours=8)

    kept = [each for each in await mails(runtime) if each.kind.value in {"reminder", "follow_up"}]
    assert sum(each.status is MailStatus.SENT for each in kept) == 3
    assert all("mails of this kind (reminders)" in (each.error or "") for each in kept if each.error)


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=lambda language: language.tag)
async def test_both_are_written_in_each_language(
    runtime: Runtime, clock: MovingClock, user: User, book: Book, server: ScriptedServer, language: Language
) -> None:
    await runtime.pool.execute("update users set locale = $2 where id = $1", user.id, language.tag)
    await runtime.pool.execute("update event_types set name = 'Yoga'")
    await choose(runtime, user, *(replace(each, to=Audience.BOTH) for each in (BEFORE, AFTER)))
    await book(WEDNESDAY)
    await until(runtime, clock, minutes=-60)
    await until(runtime, clock, hours=3)

    english = ("Thank you", "Your meeting", "reply to this email", "no-show", "When", "You received")
    for address in (JONAS, MARA):
        told = read(server, address)
        assert len(told) == 2
        for message in told:
            assert message["Content-Language"] == language.tag
            text = part(message, "text/plain")
            assert "Yoga" in text
            assert any(word in text for word in english) is (language.tag == "en"), text


async def test_a_test_goes_to_the_host_alone_and_says_that_it_is_one(
    runtime: Runtime, clock: MovingClock, user: User, server: ScriptedServer
) -> None:
    entry = replace(BEFORE, subject="Hi {invitee_name}", text="Change it: {reschedule_link}")
    async with runtime.transaction(OPERATOR) as work:
        await plan_test_reminder(work, user, await find_type(runtime, user), entry, "fr")
    await work_off(runtime, clock)

    (received,) = server.received
    assert received.recipient == MARA
    message = read_message(received.content)
    assert message["Subject"] == "Test : Hi Alex Morgan"
    assert "Ceci est un test" in part(message, "text/plain")
    assert "/manage/example/reschedule" in part(message, "text/plain")
    assert await runtime.pool.fetchval("select count(*) from bookings") == 0
    assert await reminders.get_reminders(runtime.work(OPERATOR), user.id) == DEFAULT_REMINDERS


async def test_what_looks_like_a_link_in_a_value_is_none(
    runtime: Runtime, clock: MovingClock, user: User, book: Book, server: ScriptedServer
) -> None:
    await runtime.pool.execute("update event_types set name = 'Yoga www.evil.com'")
    await choose(runtime, user, replace(BEFORE, subject="{event_name}", text="About {event_name}"))
    await book(WEDNESDAY)
    await until(runtime, clock, minutes=-60)

    (message,) = read(server, JONAS)
    assert "About Yoga" in part(message, "text/plain")
    check_message(message)
