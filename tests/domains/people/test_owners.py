"""An event type of a team gets another owner: its upcoming bookings go along, whatever happens at the same moment."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import ById
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef, BookingWanted, ConsentSource, Invitee, MessageConsent
from openslot.domains.event_types.models import EventType
from openslot.domains.people import operations as people
from openslot.domains.people import team_leavers
from openslot.domains.people.deletions import delete_account
from openslot.domains.reminders.operations import set_reminders
from openslot.domains.teams import hosting
from openslot.domains.timeline import operations as timeline
from openslot.domains.timeline.models import EffectKind, EffectNotFound
from openslot.domains.webhooks.store import DELIVER
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.work import Runtime, Work
from tests.domains.people.deletions.conftest import is_there, settle
from tests.support.clocks import MONDAY, MovingClock, clock
from tests.support.effects import work_off
from tests.support.founding import FoundedTeam, add_event_type, found_team, pick_of
from tests.support.host import listen
from tests.support.locks import until_waiting
from tests.support.loopback import settings
from tests.support.messaging import insert_number
from tests.support.teams import book_team

__all__ = ["clock", "settings"]

DAY = timedelta(days=1)
TEN = MONDAY.replace(hour=10) + 2 * DAY


@pytest.fixture
async def founded(runtime: Runtime) -> FoundedTeam:
    return await found_team(runtime)


@pytest.fixture
async def event_type(runtime: Runtime, founded: FoundedTeam) -> EventType:
    """An event type of the last of the hosts."""
    return await add_event_type(runtime, founded, owner=founded.hosts[2])


async def give(work: Work, founded: FoundedTeam, event_type: EventType, owner: User) -> None:
    await team_leavers.take_over(work, founded.team, event_type, owner)


async def list_owners(runtime: Runtime, event_type: EventType) -> list[tuple[object, ...]]:
    """List the owners of the event type, and of each booking and its contact."""
    rows = await runtime.pool.fetch(
        """select e.owner_id, b.host_id, c.owner_id as of_contact from bookings b
        join event_types e on e.id = b.event_type_id join contacts c on c.id = b.contact_id
        where e.id = $1 order by b.starts_at""",
        event_type.id,
    )
    return [tuple(row) for row in rows]


@pytest.mark.parametrize("first", ["booking", "take-over"])
async def test_a_booking_at_the_moment_of_a_take_over_belongs_to_the_new_owner(
    runtime: Runtime, founded: FoundedTeam, event_type: EventType, first: str
) -> None:
    owner = founded.hosts[1]
    await book_team(runtime, event_type, TEN)

    async def book(work: Work) -> None:
        invitee = Invitee(name="Li", email="li@wei.example", zone="UTC")
        wanted = BookingWanted(which=ById(event_type.id), starts_at=TEN + timedelta(hours=1), invitee=invitee)
        await bookings.create_booking(work, wanted)

    async def take_over(work: Work) -> None:
        await give(work, founded, event_type, owner)

    one, other = (book, take_over) if first == "booking" else (take_over, book)

    async def come() -> None:
        async with runtime.transaction(PUBLIC if other is book else OPERATOR) as work:
            await other(work)

    async with runtime.transaction(OPERATOR if one is take_over else PUBLIC) as work:
        await hosting.lock_hosting(work, event_type.id)
        coming = asyncio.create_task(come())
        await until_waiting(runtime, 1)
        await one(work)
    await coming

    assert await list_owners(runtime, event_type) == [(owner.id, owner.id, owner.id)] * 2


async def test_what_was_taken_over_meanwhile_goes_to_who_comes_last(
    runtime: Runtime, founded: FoundedTeam, event_type: EventType
) -> None:
    first, second, _ = founded.hosts
    await book_team(runtime, event_type, TEN)

    async def come() -> None:
        async with runtime.transaction(OPERATOR) as work:
            await give(work, founded, event_type, second)

    async with runtime.transaction(OPERATOR) as work:
        await give(work, founded, event_type, first)
        coming = asyncio.create_task(come())
        await until_waiting(runtime, 1)
    await coming

    assert await list_owners(runtime, event_type) == [(second.id, second.id, second.id)]


async def test_private_notes_are_for_nobody_but_who_has_written_them(
    runtime: Runtime, founded: FoundedTeam, event_type: EventType, clock: MovingClock
) -> None:
    _, second, third = founded.hosts
    past, upcoming = await book_team(runtime, event_type, TEN), await book_team(runtime, event_type, TEN + DAY)
    async with runtime.transaction(OPERATOR) as work:
        for each in (past, upcoming):
            await bookings.write_private_notes(work, third, each.id, "Asked for a discount")
    clock.now = TEN + timedelta(hours=1)

    async with runtime.transaction(OPERATOR) as work:
        # Who is given what they have keeps it all.
        await give(work, founded, event_type, third)
    assert await list_notes(runtime) == [(third.id, "Asked for a discount")] * 2
    async with runtime.transaction(OPERATOR) as work:
        await give(work, founded, event_type, second)

    assert await list_notes(runtime) == [(third.id, "Asked for a discount"), (second.id, None)]


async def list_notes(runtime: Runtime) -> list[tuple[object, ...]]:
    rows = await runtime.pool.fetch("select host_id, private_notes from bookings order by starts_at")
    return [tuple(row) for row in rows]


async def remind(runtime: Runtime, user: User, *minutes: int, channels: Sequence[str] = ("email",)) -> None:
    """Choose when people are reminded of all meetings of a host."""
    async with runtime.transaction(OPERATOR) as work:
        await set_reminders(work, user, None, minutes, channels=channels)


async def list_planned(runtime: Runtime, reaction: str = "mail.remind") -> list[tuple[object, str]]:
    """List whose reminders are planned, and how long before the meeting."""
    rows = await runtime.pool.fetch(
        "select tenant_id, key from effects where reaction = $1 and state = 'queued' order by next_try_at", reaction
    )
    return [(row["tenant_id"], row["key"].split(":")[1]) for row in rows]


@pytest.mark.parametrize("is_told", [True, False])
async def test_invitees_are_reminded_when_the_new_owner_wants_it(
    runtime: Runtime, founded: FoundedTeam, event_type: EventType, clock: MovingClock, is_told: bool
) -> None:
    _, second, third = founded.hosts
    await remind(runtime, third, 120, 60)
    await book_team(runtime, event_type, TEN)
    if is_told:
        await work_off(runtime, clock)
        assert await list_planned(runtime) == [(third.id, "120"), (third.id, "60")]

    async with runtime.transaction(OPERATOR) as work:
        await give(work, founded, event_type, second)
    await work_off(runtime, clock)

    assert await list_planned(runtime) == [(second.id, "1440"), (second.id, "60")]
    for before, sent in ((timedelta(days=1), 1), (timedelta(hours=2), 1), (timedelta(hours=1), 2)):
        clock.now = TEN - before
        await work_off(runtime, clock)
        reminded = "select count(*) from mail_messages where kind = 'reminder' and status = 'sent'"
        assert await runtime.pool.fetchval(reminded) == sent


async def test_reminders_outlive_the_account_of_the_former_owner(
    runtime: Runtime, founded: FoundedTeam, clock: MovingClock
) -> None:
    first, second, third = founded.hosts
    event_type = await add_event_type(runtime, founded, pick_of(1, [second]), owner=third)
    await book_team(runtime, event_type, TEN)
    await work_off(runtime, clock)

    async with runtime.transaction(OPERATOR) as work:
        await people.remove_member(work, founded.organization, third)
    async with runtime.transaction(OPERATOR) as work:
        await delete_account(work, third)
    await settle(runtime, clock)

    assert not await is_there(runtime, third)
    assert await list_planned(runtime) == [(first.id, "1440"), (first.id, "60")]


async def test_messages_are_planned_by_the_list_of_the_new_owner(
    runtime: Runtime, founded: FoundedTeam, event_type: EventType, clock: MovingClock
) -> None:
    _, second, third = founded.hosts
    for owner, number in ((second, "+14155550100"), (third, "+14155550101")):
        await insert_number(runtime, user_id=owner.id, number=number)
    await remind(runtime, third, 120, 60, channels=("sms",))
    await remind(runtime, second, 180, 60, channels=("sms",))
    consent = MessageConsent(phone="+4915112345678", text="Send me messages", source=ConsentSource.BOOKING_PAGE)
    await book_team(runtime, event_type, TEN, message_consent=consent)
    await work_off(runtime, clock)
    assert await list_planned(runtime, "messaging.remind") == [(third.id, "120"), (third.id, "60")]

    async with runtime.transaction(OPERATOR) as work:
        await give(work, founded, event_type, second)
    await work_off(runtime, clock)

    assert await list_planned(runtime, "messaging.remind") == [(second.id, "180"), (second.id, "60")]


async def test_the_new_owner_sees_what_has_happened_before(
    runtime: Runtime, founded: FoundedTeam, event_type: EventType, clock: MovingClock
) -> None:
    first, second, third = founded.hosts
    await listen(runtime, third)
    booking = await book_team(runtime, event_type, TEN)
    async with runtime.transaction(OPERATOR) as work:
        booking = await bookings.reschedule_booking(work, BookingRef(booking.id, None), starts_at=TEN + DAY)
    await work_off(runtime, clock)
    failed = await runtime.pool.fetch(
        """update effects set state = 'dead', last_error = 'no answer'
        where reaction = any($1) returning id, reaction""",
        [DELIVER, "mail.fan_out", "mail.remind"],
    )
    assert {row["reaction"] for row in failed} == {DELIVER, "mail.fan_out", "mail.remind"}
    work = runtime.work(OPERATOR)
    assert {each.kind for each in await timeline.list_timeline(work, third, booking.id)} >= {EffectKind.WEBHOOK}

    async with runtime.transaction(OPERATOR) as given:
        await give(given, founded, event_type, second)

    changes = await bookings.list_booking_changes(work, booking)
    assert [each.type for each in changes] == ["booking.created", "booking.rescheduled"]
    shown = await timeline.list_timeline(work, second, booking.id)
    assert {each.event_type for each in shown} == {"booking.created", "booking.rescheduled", None}
    # What is delivered to the endpoints of the former owner is theirs.
    assert EffectKind.WEBHOOK not in {each.kind for each in shown}
    visible = [row["id"] for row in failed if row["reaction"] != DELIVER]
    assert await timeline.count_failed_effects(work, second, [booking.id]) == {booking.id: len(visible)}
    for user in (first, third):
        assert await timeline.list_timeline(work, user, booking.id) == []
        assert await timeline.count_failed_effects(work, user, [booking.id]) == {}
    for row in failed:
        if row["id"] not in visible:
            with pytest.raises(EffectNotFound):
                await timeline.retry_effect(work, second, row["id"], booking_id=booking.id)
            continue
        with pytest.raises(EffectNotFound):
            await timeline.retry_effect(work, first, row["id"], booking_id=booking.id)
        await timeline.retry_effect(work, second, row["id"], booking_id=booking.id)
