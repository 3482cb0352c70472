"""A link that is made for a booking: in its mails, calendar entries and reminders, as long as it takes place."""

from collections.abc import AsyncIterator
from datetime import timedelta
from email.message import EmailMessage
from typing import Any

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import Location
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.domains.mail.conftest import TEN, TWELVE, Book, cancel, invitation, messages, move, part
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.fake_conferences import BY_JITSI, BY_SLOW, SERVER, SlowConference, install

INVITEE, GUEST, HOST = "jonas@okafor.example", "li@okafor.example", "mara@lindqvist.example"
FOLLOWS = "Video call. The link follows by email."
SOON = timedelta(seconds=10)


@pytest.fixture
def slow() -> SlowConference:
    return SlowConference()


@pytest.fixture
async def runtime(settings: Settings, clock: MovingClock, slow: SlowConference) -> AsyncIterator[Runtime]:
    async with open_runtime(settings, clock=clock, fakes=install(slow)) as opened:
        yield opened


async def offer(runtime: Runtime, user: User, location: Location) -> None:
    """Let the host's meetings take place there."""
    async with runtime.transaction(OPERATOR) as work:
        found = await event_types.get_event_type_by_slug(work, user, "30min")
        await event_types.change_event_type(work, replace(found, location=location))


async def find_link(runtime: Runtime, booking: Booking) -> str:
    details = await bookings.get_booking(runtime.work(OPERATOR), BookingRef(booking.id, None))
    return details.booking.location.value


def read_entry(message: EmailMessage) -> tuple[str, Any]:
    """Read the method of an invitation, and its event."""
    return invitation(message)


async def test_the_confirmation_has_a_link_that_is_computed(
    runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await offer(runtime, user, BY_JITSI)
    link = (await book(guests=(GUEST,))).location.value
    await work_off(runtime, clock)

    for to in (INVITEE, GUEST, user.email):
        (message,) = await messages(runtime, to)
        assert link.startswith(SERVER)
        assert f"Join: {link}" in part(message, "text/plain")
        assert f'href="{link}"' in part(message, "text/html")
        assert read_entry(message)[1]["LOCATION"] == link


async def test_a_link_that_is_not_ready_follows_by_a_mail_of_its_own(
    runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await offer(runtime, user, BY_SLOW)
    booking = await book(guests=(GUEST,))
    await work_off(runtime, clock)
    clock.now += SOON
    await work_off(runtime, clock)
    link = await find_link(runtime, booking)

    for to in (INVITEE, GUEST, user.email):
        first, second = await messages(runtime, to)
        assert FOLLOWS in part(first, "text/plain")
        assert f'href="{FOLLOWS}' not in part(first, "text/html")
        assert "LOCATION" not in read_entry(first)[1]
        assert str(second["Subject"]).strip().startswith("Link to join: ")
        assert f"Join: {link}" in part(second, "text/plain")
        (_, before), (method, after) = read_entry(first), read_entry(second)
        assert (method, after["LOCATION"], after["UID"]) == ("REQUEST", link, before["UID"])
        assert (after["SEQUENCE"], after["DTSTAMP"].dt > before["DTSTAMP"].dt) == (before["SEQUENCE"], True)


async def test_reminders_have_the_link_and_stay_planned(
    runtime: Runtime, user: User, clock: MovingClock, slow: SlowConference, book: Book
) -> None:
    await offer(runtime, user, BY_SLOW)
    planned = "select id, next_try_at from effects where reaction = 'mail.remind' and state = 'queued' order by id"
    booking = await book(TEN + timedelta(days=1))
    await work_off(runtime, clock)
    before = await runtime.pool.fetch(planned)
    clock.now += SOON
    await work_off(runtime, clock)
    assert before
    assert await runtime.pool.fetch(planned) == before

    clock.now = booking.starts_at - timedelta(minutes=60)
    await work_off(runtime, clock)
    reminder = (await messages(runtime, INVITEE))[-1]
    assert str(reminder["Subject"]).startswith("Reminder: ")
    assert f"Join: {await find_link(runtime, booking)}" in part(reminder, "text/plain")


async def test_a_rescheduled_meeting_has_its_link_and_a_cancelled_one_none(
    runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await offer(runtime, user, BY_JITSI)
    booking = await book(guests=(GUEST,))
    await move(runtime, booking, TWELVE)
    await cancel(runtime, booking)
    await work_off(runtime, clock)

    for to in (INVITEE, GUEST, user.email):
        _, moved, cancelled = await messages(runtime, to)
        assert f"Join: {booking.location.value}" in part(moved, "text/plain")
        for kind in ("text/plain", "text/html", "text/calendar"):
            assert SERVER not in part(cancelled, kind)
            assert FOLLOWS not in part(cancelled, kind)


async def test_a_meeting_that_is_cancelled_before_its_link_is_there_gets_no_mail_about_it(
    runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await offer(runtime, user, BY_SLOW)
    booking = await book()
    await work_off(runtime, clock)
    await cancel(runtime, booking)
    clock.now += SOON
    await work_off(runtime, clock)

    subjects = [str(each["Subject"]).partition(":")[0] for each in await messages(runtime, INVITEE)]
    assert subjects == ["Confirmed", "Cancelled"]


async def test_links_count_among_the_mails_that_the_public_may_cause(
    runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await offer(runtime, user, BY_SLOW)
    await book(guests=(GUEST,))
    await work_off(runtime, clock)
    clock.now += SOON
    await work_off(runtime, clock)

    rows = await runtime.pool.fetch("select role, is_public from mail_messages where kind = 'link' order by role")
    assert [(row["role"], row["is_public"]) for row in rows] == [("guest", True), ("host", False), ("invitee", True)]


async def test_the_host_reads_why_there_is_no_link(
    runtime: Runtime, user: User, clock: MovingClock, slow: SlowConference, book: Book
) -> None:
    await offer(runtime, user, BY_SLOW)
    slow.answer, slow.ready_at = "no link", 1
    booking = await book()
    await work_off(runtime, clock)

    (told,) = [each for each in await messages(runtime, user.email) if "no link" in str(each["Subject"])]
    text = part(told, "text/plain")
    assert "Send a link to the invitee yourself" in text
    assert "the service has answered with something that is no link" in text
    assert f"/bookings/{booking.id}" in text
    assert INVITEE in text
    assert [each for each in await messages(runtime, INVITEE) if "no link" in str(each["Subject"])] == []
