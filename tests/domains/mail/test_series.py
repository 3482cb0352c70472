"""What people are told of a series: one mail with every date and one calendar file, and reminders as usual."""

from datetime import timedelta
from email.message import EmailMessage
from typing import Any

import icalendar
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import BySlug
from openslot.domains.bookings.models import BookingRef, BookingWanted, Invitee
from openslot.domains.bookings.series import operations as series
from openslot.domains.bookings.series.models import BookedSeries, OnConflict, Recurrence
from openslot.domains.event_types.locations import WantedLocation
from openslot.domains.mail.models import MailKind
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from openslot.platform.i18n.languages import LANGUAGES, Language
from tests.domains.mail.conftest import TEN, Book, cancel, mails, messages, part, work_off
from tests.support.clocks import MovingClock
from tests.support.fake_conferences import SERVER

JONAS, LI, MARA = "jonas@okafor.example", "li@okafor.example", "mara@lindqvist.example"
WEEK = timedelta(weeks=1)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, jitsi_url=SERVER)


async def book_series(
    runtime: Runtime, user: User, *, locale: str | None = None, location: str = "", **how: Any
) -> BookedSeries:
    """Book four weeks with the host, as the public does."""
    await runtime.pool.execute("update event_types set recurring_weeks = 12, name = 'Yoga'")
    wanted = BookingWanted(
        which=BySlug(user.id, "30min"),
        starts_at=TEN,
        invitee=Invitee(name="Jonas Okafor", email=JONAS, zone="America/New_York", locale=locale),
        guests=(LI,),
        notes="Piano",
        location=WantedLocation(value=location),
    )
    async with runtime.transaction(PUBLIC) as work:
        return await series.create_series(work, wanted, Recurrence(**{"weeks": 4, **how}))


async def cancel_all(runtime: Runtime, made: BookedSeries, *, reason: str | None = None) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await series.cancel_series(work, BookingRef(made.bookings[0].id, None), reason=reason)


def read_calendar(message: EmailMessage) -> tuple[str, list[Any]]:
    found = next(each for each in message.walk() if each.get_content_type() == "text/calendar")
    calendar = icalendar.Calendar.from_ical(found.get_content())
    assert calendar["method"] == found.get_param("method")
    return str(calendar["method"]), calendar.walk("VEVENT")


async def test_one_mail_tells_each_of_every_date(runtime: Runtime, clock: MovingClock, user: User) -> None:
    made = await book_series(runtime, user, locale="en-US")
    await work_off(runtime, clock)

    for address in (JONAS, LI, MARA):
        (message,) = await messages(runtime, address)
        method, events = read_calendar(message)
        assert method == "PUBLISH"
        assert [event["uid"] for event in events] == [f"{each.id}@openslot" for each in made.bookings]
        assert [event.decoded("dtstart") for event in events] == [TEN + WEEK * week for week in range(4)]
        assert {str(event["status"]) for event in events} == {"CONFIRMED"}
        assert all("attendee" not in event for event in events)
        assert "4 dates from" in message["subject"]
        assert ("Piano" in part(message, "text/plain")) is (address == MARA)
    (to_invitee,) = await messages(runtime, JONAS)
    text = part(to_invitee, "text/plain").replace("\r\n", " ")
    # New York's clock is the invitee's; the host's is not turned in these weeks.
    for date in ("March 16, 2026", "March 23, 2026", "March 30, 2026", "April 6, 2026"):
        assert f"{date}, 6:00\u202fAM – 6:30\u202fAM" in text
    assert "New York time" in text
    assert "reschedule or cancel one of them, or cancel all" in text


async def test_the_weeks_that_were_not_free_are_told(
    runtime: Runtime, clock: MovingClock, user: User, book: Book
) -> None:
    await book(TEN + WEEK, email="other@wei.example")
    await work_off(runtime, clock)
    await book_series(runtime, user, on_conflict=OnConflict.SKIP)
    await work_off(runtime, clock)
    (message,) = await messages(runtime, JONAS)
    assert "3 dates from" in message["subject"]
    text = part(message, "text/plain")
    assert "23 Mar" in text[text.index("Not free and not booked") :]
    assert len(read_calendar(message)[1]) == 3


async def test_a_series_of_one_is_told_as_a_booking(
    runtime: Runtime, clock: MovingClock, user: User, book: Book
) -> None:
    await book(TEN + WEEK, email="other@wei.example")
    await work_off(runtime, clock)
    await book_series(runtime, user, weeks=2, on_conflict=OnConflict.SKIP)
    await work_off(runtime, clock)
    (message,) = await messages(runtime, JONAS)
    assert "dates from" not in message["subject"]
    assert read_calendar(message)[0] == "REQUEST"


async def test_every_date_has_its_reminder(runtime: Runtime, clock: MovingClock, user: User) -> None:
    await book_series(runtime, user)
    await work_off(runtime, clock)
    for week in range(4):
        clock.now = TEN + WEEK * week - timedelta(hours=23)
        await work_off(runtime, clock)
    reminders = [each for each in await mails(runtime, JONAS) if each.kind is MailKind.REMINDER]
    # The first one is booked on its own day.
    assert len({each.booking_id for each in reminders}) == 3


async def test_one_mail_tells_that_all_are_cancelled(runtime: Runtime, clock: MovingClock, user: User) -> None:
    made = await book_series(runtime, user)
    await work_off(runtime, clock)
    await cancel(runtime, made.bookings[2])
    await cancel_all(runtime, made, reason="Moved away")
    await work_off(runtime, clock)

    for address in (JONAS, LI, MARA):
        _, one, all_ = await messages(runtime, address)
        assert "dates from" not in one["subject"]
        assert read_calendar(one)[0] == "CANCEL"
        assert all_["subject"].startswith("Cancelled: Yoga with")
        assert "3 dates from" in all_["subject"]
        method, events = read_calendar(all_)
        left = [made.bookings[place] for place in (0, 1, 3)]
        assert (method, [event["uid"] for event in events]) == ("PUBLISH", [f"{each.id}@openslot" for each in left])
        assert {(str(event["status"]), event["sequence"]) for event in events} == {("CANCELLED", 1)}
        assert "Moved away" in part(all_, "text/plain")
        assert "None of these meetings will take place" in part(all_, "text/plain")
    clock.now = TEN + WEEK * 5
    await work_off(runtime, clock)
    assert not [each for each in await mails(runtime) if each.kind is MailKind.REMINDER]


async def test_what_is_told_later_never_overtakes_the_confirmation(
    runtime: Runtime, clock: MovingClock, user: User
) -> None:
    made = await book_series(runtime, user)
    await cancel(runtime, made.bookings[3])
    await cancel_all(runtime, made)
    await work_off(runtime, clock)
    for address in (JONAS, LI, MARA):
        kinds = [each.kind for each in await mails(runtime, address)]
        assert kinds == [MailKind.CONFIRMATION, MailKind.CANCELLATION, MailKind.CANCELLATION]


async def test_links_that_differ_are_not_told_as_one(runtime: Runtime, clock: MovingClock, user: User) -> None:
    place = '{"kind": "video_link", "conference": "jitsi"}'
    await runtime.pool.execute("update event_types set location = $1::text::jsonb", place)
    made = await book_series(runtime, user)
    await work_off(runtime, clock)
    (message,) = await messages(runtime, JONAS)
    assert "Each date has a link of its own" in part(message, "text/plain").replace("\n", " ")
    assert [event["location"] for event in read_calendar(message)[1]] == [each.location.value for each in made.bookings]


@pytest.mark.parametrize(
    ("asking", "typed", "told"),
    [
        ('{"kind": "text", "asks": "place"}', "Cheap watches at watches.example", {MARA}),
        ('{"kind": "phone", "asks": "phone"}', "+493012345678", {JONAS, MARA}),
    ],
    ids=["place", "phone"],
)
async def test_what_an_invitee_types_as_the_location_is_told_once_and_not_to_everyone(
    runtime: Runtime, clock: MovingClock, user: User, asking: str, typed: str, told: set[str]
) -> None:
    await runtime.pool.execute("update event_types set location = $1::text::jsonb", asking)
    await book_series(runtime, user, location=typed)
    await work_off(runtime, clock)
    for address in (JONAS, LI, MARA):
        (message,) = await messages(runtime, address)
        for kind in ("text/plain", "text/html"):
            assert part(message, kind).count(typed) == (address in told), (address, kind)
        places = [str(event.get("location", "")) for event in read_calendar(message)[1]]
        assert places == [typed if address in told else ""] * 4, address


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=lambda language: language.tag)
async def test_it_is_told_in_the_readers_language(
    runtime: Runtime, clock: MovingClock, user: User, book: Book, language: Language
) -> None:
    await runtime.pool.execute("update users set locale = $2 where id = $1", user.id, language.tag)
    await book(TEN + WEEK, email="other@wei.example")
    await work_off(runtime, clock)
    made = await book_series(runtime, user, on_conflict=OnConflict.SKIP, locale=language.tag)
    await work_off(runtime, clock)
    await cancel_all(runtime, made)
    await work_off(runtime, clock)
    is_english = language.tag == "en"
    english = ("dates from", "Your meetings", "new bookings", "one a week", "None of these", "View the", "Not free")
    for address in (JONAS, LI, MARA):
        sent = [each for each in await messages(runtime, address) if "Yoga" in each["subject"]][-2:]
        assert len(sent) == 2
        for message in sent:
            whole = message["subject"] + part(message, "text/plain") + part(message, "text/html")
            assert message["Content-Language"] == language.tag
            assert any(words in whole for words in english) is is_english
            assert "%(" not in whole
