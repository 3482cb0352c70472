"""What each host of a team's booking is told, in their own language and zone; the invitee learns who hosts it."""

from email.message import EmailMessage
from typing import Any

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.bookings import handovers
from openslot.domains.bookings.models import Booking, BookingRef
from openslot.domains.bookings.series import operations as series
from openslot.domains.event_types.models import EventType
from openslot.domains.mail import operations as mail
from openslot.domains.mail.models import DEFAULT_TOPICS, MailTopic
from openslot.domains.reminders.models import Audience, ReminderEntry, ReminderMoment
from openslot.domains.reminders.operations import set_reminder_entries
from openslot.platform.core.actor import OPERATOR, EffectAttempt
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import ELEVEN, TEN, cancel, invitation, mails, messages, move, part, work_off
from tests.support.clocks import MovingClock
from tests.support.effects import run_attempt
from tests.support.team_bookings import add_people, book_with, hand_over, offer_as_team
from tests.support.teams import HostedTeam, book_alone, book_team, book_weeks, list_hosts, open_team

JONAS, LI, MARA = "jonas@okafor.example", "li@okafor.example", "mara@lindqvist.example"
ANA, JIM, KIM = "ana@team.example", "jim@team.example", "kim@team.example"


@pytest.fixture
async def hosts(runtime: Runtime) -> list[User]:
    return await add_people(runtime, "Ana", "Jim", "Kim")


@pytest.fixture
async def demo(runtime: Runtime, user: User) -> EventType:
    """A team's event type that belongs to Mara, who hosts none of it."""
    return await offer_as_team(runtime, user)


def entry(message: EmailMessage) -> Any:
    return invitation(message)[1]


def attendees(message: EmailMessage) -> set[str]:
    return {str(each).removeprefix("mailto:") for each in entry(message)["attendee"]}


async def fan_out(runtime: Runtime) -> None:
    """Find out who is written to, and write to nobody yet."""
    row = await runtime.pool.fetchrow("select id, round from effects where reaction = 'mail.fan_out'")
    assert row
    await run_attempt(runtime, EffectAttempt(row["id"], row["round"]))


async def empty(runtime: Runtime) -> None:
    await runtime.pool.execute("delete from mail_messages")


async def test_every_host_is_told_and_the_owner_who_does_not_host_is_not(
    runtime: Runtime, clock: MovingClock, hosts: list[User], demo: EventType
) -> None:
    booking = await book_with(runtime, demo, hosts[:2], TEN, guests=(LI,))
    await work_off(runtime, clock)

    for address in (ANA, JIM):
        (told,) = await messages(runtime, address)
        assert told["subject"].startswith("Confirmed: Demo with Jonas Okafor")
        assert "Jonas Okafor has booked a meeting with you." in part(told, "text/plain")
        assert told["reply-to"] == "Jonas Okafor <jonas@okafor.example>"
        method, event = invitation(told)
        assert (method, str(event["uid"])) == ("REQUEST", booking.uid)
        assert attendees(told) == {ANA, JIM, JONAS, LI}
    assert await mails(runtime, MARA) == []
    assert await mails(runtime, KIM) == []


async def test_the_invitee_and_guests_learn_who_hosts(
    runtime: Runtime, clock: MovingClock, hosts: list[User], demo: EventType
) -> None:
    await book_with(runtime, demo, hosts[:2], TEN, guests=(LI,))
    await work_off(runtime, clock)

    for address in (JONAS, LI):
        (told,) = await messages(runtime, address)
        assert told["subject"].startswith("Confirmed: Demo with Ana and Jim")
        assert told["reply-to"] == "Ana <ana@team.example>"
        assert "Hosts:\n  Ana\n  Jim" in part(told, "text/plain").replace("\r\n", "\n")
        assert str(invitation(told)[1]["organizer"]) == f"mailto:{ANA}"


async def test_each_host_reads_it_in_their_own_language_and_zone(
    runtime: Runtime, clock: MovingClock, hosts: list[User], demo: EventType
) -> None:
    await runtime.pool.execute("update users set locale = 'de', zone = 'Europe/Berlin' where name = 'Jim'")
    await runtime.pool.execute("update users set locale = 'en-US', zone = 'America/New_York' where name = 'Ana'")
    await book_with(runtime, demo, hosts[:2], TEN)
    await work_off(runtime, clock)

    (ana,), (jim,) = await messages(runtime, ANA), await messages(runtime, JIM)
    assert "Mon, Mar 16, 6:00" in ana["subject"]
    assert "11:00" in jim["subject"]
    assert "Jonas Okafor hat" in part(jim, "text/plain")


async def test_each_host_gets_the_mails_that_they_want(
    runtime: Runtime, clock: MovingClock, hosts: list[User], demo: EventType
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await mail.set_mail_topics(work, hosts[0], DEFAULT_TOPICS - {MailTopic.BOOKED})
    await book_with(runtime, demo, hosts[:2], TEN)
    await work_off(runtime, clock)

    assert (len(await messages(runtime, ANA)), len(await messages(runtime, JIM))) == (0, 1)


async def test_a_mail_follows_the_changed_address_of_its_host(
    runtime: Runtime, clock: MovingClock, hosts: list[User], demo: EventType
) -> None:
    booking = await book_with(runtime, demo, hosts[:2], TEN)
    await fan_out(runtime)
    await runtime.pool.execute("update users set email = 'james@team.example' where name = 'Jim'")
    await work_off(runtime, clock)

    assert (await mails(runtime, JIM), len(await mails(runtime, "james@team.example"))) == ([], 1)
    assert len(await mails(runtime, booking_id=booking.id)) == 3


async def test_a_handover_is_told_to_everybody_once(
    runtime: Runtime, clock: MovingClock, hosts: list[User], demo: EventType
) -> None:
    ana, jim, kim = hosts
    booking = await book_with(runtime, demo, [ana, jim], TEN)
    await work_off(runtime, clock)
    await empty(runtime)

    await hand_over(runtime, booking, [ana, kim], reason="Jim is ill")
    await work_off(runtime, clock)

    (to_jim,), (to_kim,), (to_ana,), (to_jonas,) = [await messages(runtime, each) for each in (JIM, KIM, ANA, JONAS)]
    event = entry(to_jim)
    assert (invitation(to_jim)[0], event["uid"], event["sequence"]) == ("CANCEL", booking.uid, 1)
    assert to_jim["subject"].startswith("Handed over: Demo with Jonas Okafor")
    text = part(to_jim, "text/plain")
    assert "It is now hosted by Ana and Kim." in text
    assert "Jim is ill" in text
    assert to_kim["subject"].startswith("Confirmed: Demo with Jonas Okafor")
    assert invitation(to_kim)[0] == "REQUEST"
    assert to_ana["subject"].startswith("New host: Demo")
    assert to_jonas["subject"].startswith("New host: Demo with Ana and Kim")
    text = part(to_jonas, "text/plain")
    assert "It is now hosted by Ana and Kim. Its time stays the same." in text.replace("\r\n", " ").replace("\n", " ")
    assert "Jim is ill" not in text
    assert str(invitation(to_jonas)[1]["uid"]) == booking.uid
    assert invitation(to_jonas)[0] == "REQUEST"


async def test_a_new_organizer_is_the_organizer_of_the_same_entry(
    runtime: Runtime, clock: MovingClock, hosts: list[User], demo: EventType
) -> None:
    ana, jim, _ = hosts
    booking = await book_with(runtime, demo, [ana], TEN)
    await hand_over(runtime, booking, [jim])
    await hand_over(runtime, booking, [ana])
    await work_off(runtime, clock)

    events = [entry(each) for each in await messages(runtime, JONAS)]
    assert [str(event["organizer"]) for event in events] == [f"mailto:{each}" for each in (ANA, JIM, ANA)]
    assert [event["sequence"] for event in events] == [0, 1, 2]
    assert {event["uid"] for event in events} == {booking.uid}
    assert [invitation(each)[0] for each in await messages(runtime, ANA)] == ["REQUEST", "CANCEL", "REQUEST"]
    assert [invitation(each)[0] for each in await messages(runtime, JIM)] == ["REQUEST", "CANCEL"]


async def test_reminders_and_follow_ups_for_the_host_go_to_every_host(
    runtime: Runtime, clock: MovingClock, user: User, hosts: list[User], demo: EventType
) -> None:
    entries = [
        ReminderEntry(minutes=60, to=Audience.BOTH),
        ReminderEntry(moment=ReminderMoment.AFTER, minutes=30, to=Audience.HOST),
    ]
    async with runtime.transaction(OPERATOR) as work:
        await set_reminder_entries(work, user, demo, entries)
    booking = await book_with(runtime, demo, hosts[:2], ELEVEN)
    await work_off(runtime, clock)
    await hand_over(runtime, booking, [hosts[0], hosts[2]])
    await work_off(runtime, clock)
    await empty(runtime)

    clock.now = TEN
    await work_off(runtime, clock)
    clock.now = ELEVEN.replace(hour=12)
    await work_off(runtime, clock)

    got = {address: [each.kind for each in await mails(runtime, address)] for address in (JONAS, ANA, JIM, KIM, MARA)}
    both = ["reminder", "follow_up"]
    assert got == {JONAS: ["reminder"], ANA: both, JIM: [], KIM: both, MARA: []}


async def test_rescheduling_and_cancelling_are_told_to_every_host(runtime: Runtime, clock: MovingClock) -> None:
    team = await open_team(runtime, 2, groups=[(1, [0]), (1, [1])])
    booking = await book_team(runtime, team.event_type, TEN)
    await move(runtime, booking, ELEVEN, actor=OPERATOR)
    await cancel(runtime, booking, actor=OPERATOR)
    await work_off(runtime, clock)

    for address in (*(each.email for each in team.hosts), booking.invitee_email):
        subjects = [str(each["subject"]).partition(":")[0] for each in await messages(runtime, address)]
        assert subjects == ["Confirmed", "Rescheduled", "Cancelled"]
    assert await mails(runtime, team.owner.email) == []


async def test_a_new_time_with_another_host_is_one_mail_to_each(runtime: Runtime, clock: MovingClock) -> None:
    team = await open_team(runtime, 3, groups=[(1, [0]), (1, [1, 2])])
    stays, leaves, comes = team.hosts
    booking = await book_team(runtime, team.event_type, TEN)
    assert await list_hosts(runtime, booking.id) == [stays.id, leaves.id]
    await book_alone(runtime, leaves, ELEVEN)
    await work_off(runtime, clock)
    await empty(runtime)

    await move(runtime, booking, ELEVEN, actor=OPERATOR)
    await work_off(runtime, clock)

    told = {}
    for address in (leaves.email, comes.email, stays.email, booking.invitee_email):
        (message,) = await messages(runtime, address)
        method, event = invitation(message)[0], entry(message)
        told[address] = (str(message["subject"]).partition(":")[0], method)
        # The same entry, later: the one who leaves loses it, the others have it at the new time.
        assert (str(event["uid"]), event["sequence"]) == (booking.uid, 1)
        if method == "REQUEST":
            assert event["dtstart"].dt == ELEVEN
            assert {comes.email, stays.email} <= attendees(message)
            assert leaves.email not in attendees(message)
    assert told == {
        leaves.email: ("Handed over", "CANCEL"),
        comes.email: ("Confirmed", "REQUEST"),
        stays.email: ("Rescheduled", "REQUEST"),
        booking.invitee_email: ("Rescheduled", "REQUEST"),
    }
    assert await mails(runtime, team.owner.email) == []


async def hand_request_over(runtime: Runtime) -> tuple[HostedTeam, Booking]:
    """Ask two hosts for a time, hand it over from the second to a third, and throw the mails before that away."""
    team = await open_team(runtime, 3, groups=[(1, [0]), (1, [1, 2])], requires_confirmation=True)
    asked = await book_team(runtime, team.event_type, TEN)
    await runtime.pool.execute("delete from effects")
    # The time to answer was changed since then.
    await runtime.pool.execute("update booking_requests set lapses_at = $1", TEN.replace(hour=8))
    async with runtime.transaction(OPERATOR) as work:
        ref = BookingRef(asked.id, None)
        await handovers.reassign_booking(work, ref, from_user=team.hosts[1].id, reason="Ill")
    return team, asked


async def test_who_is_no_longer_asked_is_told_who_hosts_a_request(runtime: Runtime, clock: MovingClock) -> None:
    team, asked = await hand_request_over(runtime)
    stays, leaves, comes = team.hosts
    await work_off(runtime, clock)

    (told,) = await messages(runtime, leaves.email)
    text = " ".join(part(told, "text/plain").split())
    assert told["subject"].startswith("Request handed over: Team with Li")
    assert "You no longer need to answer this request" in text
    assert f"If it is confirmed, it will be hosted by {stays.name} and {comes.name}." in text
    assert "Ill" in text
    assert [each.get_content_type() for each in told.walk() if not each.is_multipart()] == ["text/plain", "text/html"]
    for unchanged in (stays.email, asked.invitee_email, team.owner.email):
        assert await mails(runtime, unchanged) == []


async def test_who_takes_a_request_over_reads_until_when_it_can_be_answered(
    runtime: Runtime, clock: MovingClock
) -> None:
    team, _ = await hand_request_over(runtime)
    await work_off(runtime, clock)

    (told,) = await messages(runtime, team.hosts[2].email)
    text = " ".join(part(told, "text/plain").split())
    assert told["subject"].startswith("Request: Team with Li")
    assert "Answer until Monday, 16 March 2026, 08:00" in text
    assert "Ill" not in text


async def test_who_gets_no_mails_of_cancellations_gets_none_of_a_request_that_is_handed_over(
    runtime: Runtime, clock: MovingClock
) -> None:
    team, _ = await hand_request_over(runtime)
    async with runtime.transaction(OPERATOR) as work:
        for host in team.hosts:
            await mail.set_mail_topics(work, host, DEFAULT_TOPICS - {MailTopic.CANCELLED})
    await work_off(runtime, clock)
    assert [len(await mails(runtime, each.email)) for each in team.hosts] == [0, 0, 1]


async def test_the_hosts_of_a_series_get_one_mail_with_every_date(runtime: Runtime, clock: MovingClock) -> None:
    team = await open_team(runtime, 3, groups=[(1, [0]), (1, [1, 2])], recurring_weeks=12)
    made = await book_weeks(runtime, team.event_type, TEN, weeks=3)
    await work_off(runtime, clock)

    for host in team.hosts[:2]:
        (told,) = await messages(runtime, host.email)
        assert told["subject"].startswith("Confirmed: Team with Li, 3 dates")
    assert await mails(runtime, team.hosts[2].email) == []
    (told,) = await messages(runtime, made.bookings[0].invitee_email)
    assert "Confirmed: Team with Host 0 and Host 1, 3 dates" in told["subject"]


async def test_who_has_one_date_of_a_series_is_told_when_all_are_cancelled(
    runtime: Runtime, clock: MovingClock
) -> None:
    team = await open_team(runtime, 2, recurring_weeks=12)
    made = await book_weeks(runtime, team.event_type, TEN, weeks=3)
    async with runtime.transaction(OPERATOR) as work:
        ref = BookingRef(made.bookings[1].id, None)
        await handovers.reassign_booking(work, ref, from_user=team.hosts[0].id)
    await work_off(runtime, clock)
    await empty(runtime)
    async with runtime.transaction(OPERATOR) as work:
        await series.cancel_series(work, BookingRef(made.bookings[0].id, None))
    await work_off(runtime, clock)

    (first,) = await messages(runtime, team.hosts[0].email)
    assert "2 dates" in first["subject"]
    (other,) = await messages(runtime, team.hosts[1].email)
    assert other["subject"].startswith("Cancelled: Team with Li")
    assert len(await mails(runtime, made.bookings[0].invitee_email)) == 2
