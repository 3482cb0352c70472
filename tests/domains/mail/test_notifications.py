"""A host chooses which mails they get; nobody else's mail depends on it."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.invitations.operations import make_invitation
from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.pictures.operations import Picture
from openslot.domains.accounts.plans import Plan
from openslot.domains.accounts.profiles.operations import set_user_photo
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.calendars.events import CalendarBroken, CalendarChangeRefused
from openslot.domains.mail.models import DEFAULT_TOPICS, MailTopic
from openslot.domains.mail.notices import NOTICES
from openslot.domains.mail.operations import get_mail_topics, set_mail_topics
from openslot.domains.mail.reasons import UNWANTED
from openslot.domains.reminders.models import Audience
from openslot.domains.reminders.operations import set_reminder_entries
from openslot.domains.reminders.rules import DEFAULT_REMINDERS
from openslot.domains.webhooks.events import WebhookDisabled
from openslot.domains.webhooks.models import IS_GONE
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.events import Event
from openslot.platform.core.ids import new_id
from openslot.platform.core.outbound.targets import NO_ADDRESS
from openslot.platform.core.work import Runtime
from openslot.platform.i18n import keep
from tests.domains.mail.conftest import TEN, Book, cancel, mails, messages, move, part, work_off
from tests.support.clocks import MovingClock

JONAS, LI = "jonas@okafor.example", "li@okafor.example"
WEDNESDAY = TEN + timedelta(days=2)
OF_MEETINGS = {
    "confirmation": MailTopic.BOOKED,
    "reschedule": MailTopic.RESCHEDULED,
    "cancellation": MailTopic.CANCELLED,
}


async def choose(runtime: Runtime, user: User, *wanted: MailTopic) -> None:
    """Choose as the page does."""
    async with runtime.transaction(OPERATOR) as work:
        await set_mail_topics(work, user, frozenset(wanted))


async def remind_both(runtime: Runtime, user: User) -> None:
    """Choose that the host is reminded too."""
    async with runtime.transaction(OPERATOR) as work:
        await set_reminder_entries(work, user, None, [replace(each, to=Audience.BOTH) for each in DEFAULT_REMINDERS])


async def live(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    """Book, move, be reminded twice, and cancel."""
    booking = await book(WEDNESDAY, guests=(LI,))
    await work_off(runtime, clock)
    await move(runtime, booking, WEDNESDAY + timedelta(hours=1))
    await work_off(runtime, clock)
    for before in (timedelta(hours=24), timedelta(hours=1)):
        clock.now = WEDNESDAY + timedelta(hours=1) - before
        await work_off(runtime, clock)
    await cancel(runtime, booking)
    await work_off(runtime, clock)


async def kinds(runtime: Runtime, to: str) -> list[str]:
    """Name the mails that were sent to an address."""
    return [each.kind.value for each in await mails(runtime, to) if each.status.value == "sent"]


async def test_nothing_changes_for_who_has_chosen_nothing(
    runtime: Runtime, clock: MovingClock, user: User, book: Book
) -> None:
    await live(runtime, clock, book)

    assert await kinds(runtime, user.email) == ["confirmation", "reschedule", "cancellation"]
    for invitee in (JONAS, LI):
        assert await kinds(runtime, invitee) == ["confirmation", "reschedule", "reminder", "reminder", "cancellation"]
    planned = await runtime.pool.fetch(
        "select payload ->> 'recipient' as who from effects where reaction = 'mail.remind'"
    )
    assert {row["who"] for row in planned} == {f"invitee:{JONAS}", f"guest:{LI}"}
    assert await runtime.pool.fetchval("select count(*) from notification_choices") == 0


@pytest.mark.parametrize("kind", OF_MEETINGS)
async def test_each_mail_about_meetings_has_its_own_switch(
    runtime: Runtime, clock: MovingClock, user: User, book: Book, kind: str
) -> None:
    await choose(runtime, user, *(frozenset(MailTopic) - {OF_MEETINGS[kind]}))
    await live(runtime, clock, book)

    assert set(await kinds(runtime, user.email)) == set(OF_MEETINGS) - {kind}
    for invitee in (JONAS, LI):
        assert await kinds(runtime, invitee) == ["confirmation", "reschedule", "reminder", "reminder", "cancellation"]


async def test_mail_to_invitees_is_never_switched_off(
    runtime: Runtime, clock: MovingClock, user: User, book: Book
) -> None:
    await choose(runtime, user)
    await live(runtime, clock, book)

    assert await kinds(runtime, user.email) == []
    for invitee in (JONAS, LI):
        assert await kinds(runtime, invitee) == ["confirmation", "reschedule", "reminder", "reminder", "cancellation"]
    left = await runtime.pool.fetch("select last_error from effects where target like 'host:%'")
    assert [row["last_error"] for row in left] == [UNWANTED.kept] * 3


async def test_a_host_who_books_with_themselves_is_the_invitee(
    runtime: Runtime, clock: MovingClock, user: User, book: Book
) -> None:
    await choose(runtime, user)
    await book(WEDNESDAY, email=user.email)
    await work_off(runtime, clock)

    assert await kinds(runtime, user.email) == ["confirmation"]


async def test_a_reminder_that_is_switched_off_meanwhile_is_not_sent(
    runtime: Runtime, clock: MovingClock, user: User, book: Book
) -> None:
    await remind_both(runtime, user)
    await book(WEDNESDAY)
    await work_off(runtime, clock)
    async with runtime.transaction(OPERATOR) as work:
        await set_reminder_entries(work, user, None, DEFAULT_REMINDERS)
    clock.now = WEDNESDAY - timedelta(hours=24)
    await work_off(runtime, clock)

    assert await kinds(runtime, user.email) == ["confirmation"]
    assert await kinds(runtime, JONAS) == ["confirmation", "reminder"]


async def test_a_host_who_asks_for_reminders_reads_who_is_coming(
    runtime: Runtime, clock: MovingClock, user: User, book: Book
) -> None:
    await remind_both(runtime, user)
    await book(WEDNESDAY)
    await work_off(runtime, clock)
    clock.now = WEDNESDAY - timedelta(hours=24)
    await work_off(runtime, clock)
    reminder = (await messages(runtime, user.email))[-1]

    assert reminder["Subject"].startswith("Reminder: 30 minute meeting with Jonas Okafor")
    assert JONAS in part(reminder, "text/plain")
    assert "/manage/" not in part(reminder, "text/plain")


def broken(user: User) -> Event:
    return CalendarBroken(
        connection_id=new_id(), owner_id=user.id, label="Work", reason="Wrong password", since=TEN, closes_at=None
    )


def switched_off(user: User) -> Event:
    return WebhookDisabled(endpoint_id=new_id(), owner_id=user.id, url="https://x.example/in", reason="It is gone.")


@pytest.mark.parametrize(("make", "topic"), [(broken, MailTopic.CALENDAR), (switched_off, MailTopic.WEBHOOK)])
async def test_problems_are_told_unless_they_are_switched_off(
    runtime: Runtime, clock: MovingClock, user: User, make: object, topic: MailTopic
) -> None:
    assert callable(make)
    for wanted in (DEFAULT_TOPICS, frozenset(MailTopic) - {topic}, frozenset({topic})):
        await choose(runtime, user, *wanted)
        async with runtime.transaction(OPERATOR) as work:
            await work.record(make(user))
        await work_off(runtime, clock)

    assert await kinds(runtime, user.email) == ["notice", "notice"]


async def test_why_something_no_longer_works_is_told_in_the_hosts_language(
    runtime: Runtime, clock: MovingClock, user: User
) -> None:
    await runtime.pool.execute("update users set locale = 'de' where id = $1", user.id)
    async with runtime.transaction(OPERATOR) as work:
        await work.record(
            CalendarBroken(
                connection_id=new_id(),
                owner_id=user.id,
                label="Work",
                reason=NO_ADDRESS.fill(host="dav.example").kept,
                since=TEN,
                closes_at=None,
            )
        )
        await work.record(
            CalendarChangeRefused(
                connection_id=new_id(),
                owner_id=user.id,
                label="Work",
                booking_id=new_id(),
                wanted_start=TEN,
                reason=keep(SlotUnavailable().sentence),
            )
        )
        await work.record(
            WebhookDisabled(endpoint_id=new_id(), owner_id=user.id, url="https://x.example/in", reason=IS_GONE.kept)
        )
    await work_off(runtime, clock)
    told = "\n".join([part(each, "text/plain") for each in await messages(runtime, user.email)])

    assert "dav.example hat keine Adresse." in told
    assert "Diese Zeit ist nicht mehr verfügbar" in told
    assert "Er hat mit 410 geantwortet" in told


async def test_mail_about_the_account_is_always_sent(runtime: Runtime, clock: MovingClock, user: User) -> None:
    await choose(runtime, user)
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Harbor Studio", slug="harbor", plan=Plan.BUSINESS)
        await add_organization_member(work, organization, user)
        await make_invitation(work, organization, user)
    await work_off(runtime, clock)

    assert await kinds(runtime, user.email) == ["invitation"]


def test_only_problems_of_connections_can_be_switched_off() -> None:
    assert {name: notice.topic for name, notice in NOTICES.items() if notice.topic is not None} == {
        "webhook.disabled": MailTopic.WEBHOOK,
        "calendar.broken": MailTopic.CALENDAR,
        "calendar.change_refused": MailTopic.CALENDAR,
        "calendar.events_missing": MailTopic.CALENDAR,
    }


async def test_what_is_chosen_is_kept_and_the_default_needs_no_row(runtime: Runtime, user: User) -> None:
    for wanted in ((), tuple(MailTopic), (MailTopic.CALENDAR,), tuple(DEFAULT_TOPICS)):
        await choose(runtime, user, *wanted)
        async with runtime.transaction(OPERATOR) as work:
            assert await get_mail_topics(work, user) == frozenset(wanted)
    assert await runtime.pool.fetchval("select count(*) from notification_choices") == 0


async def test_the_photo_stands_beside_the_name_unless_there_is_a_logo(
    runtime: Runtime, clock: MovingClock, user: User, book: Book
) -> None:
    await book()
    await work_off(runtime, clock)
    assert "/photos/" not in part((await messages(runtime, JONAS))[-1], "text/html")
    async with runtime.transaction(OPERATOR) as work:
        name = await set_user_photo(work, user, Picture(b"x"))
    await book(TEN + timedelta(hours=1))
    await work_off(runtime, clock)
    assert f'src="http://127.0.0.1:8000/photos/{name}.jpg"' in part((await messages(runtime, JONAS))[-1], "text/html")
    await runtime.pool.execute(
        "insert into brands (id, user_id, logo_url, updated_at) values ($1, $2, 'https://x.example/l.png', now())",
        new_id(),
        user.id,
    )
    await book(TEN + timedelta(hours=2))
    await work_off(runtime, clock)
    html = part((await messages(runtime, JONAS))[-1], "text/html")
    assert "/photos/" not in html
    assert "https://x.example/l.png" in html
