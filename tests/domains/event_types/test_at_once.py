"""Changes of event types at the same moment: none is lost, and none undoes another."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import combinations
from uuid import UUID

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import ById
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingWanted, Invitee
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types import store
from openslot.domains.event_types.errors import EventTypeChanged, EventTypeNotFound
from openslot.domains.event_types.models import EventType
from openslot.domains.event_types.rules import edition_of
from openslot.domains.schedules import operations as schedules
from openslot.domains.schedules.errors import ScheduleNotFound
from openslot.domains.schedules.models import Schedule
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.errors import Invalid, Refusal
from openslot.platform.core.work import Runtime, Work
from tests.domains.bookings.conftest import offer
from tests.support.clocks import MONDAY, clock
from tests.support.races import find_disorder

__all__ = ["clock"]

ROUNDS = 6
TEN = MONDAY.replace(hour=10)

Verb = Callable[[Work], Awaitable[object]]


async def run(runtime: Runtime, *verbs: Verb) -> list[object]:
    """Run verbs at the same moment, each in its own transaction, and return what each came to."""

    async def attempt(verb: Verb) -> object:
        try:
            async with runtime.transaction(OPERATOR) as work:
                return await verb(work)
        except Refusal as refusal:
            return refusal

    return await asyncio.gather(*(attempt(verb) for verb in verbs))


def edit(user: User, edited: EventType, *, since: EventType) -> Verb:
    return lambda work: event_types.edit_event_type(work, user, edited, edition=edition_of(since))


def move(user: User, event_type_id: UUID, *, before: UUID | None) -> Verb:
    return lambda work: event_types.move_event_type(work, user, event_type_id, before=before)


def switch(user: User, event_type: EventType, *, active: bool) -> Verb:
    async def set_active(work: Work) -> None:
        await event_types.set_event_type_active(
            work, await event_types.get_event_type_for_change(work, user, event_type.id), active=active
        )

    return set_active


def add(schedule: Schedule, draft: EventType) -> Verb:
    return lambda work: event_types.add_event_type(work, schedule, draft)


def delete(event_type: EventType) -> Verb:
    return lambda work: event_types.delete_event_type(work, event_type)


def book(wanted: BookingWanted) -> Verb:
    return lambda work: bookings.create_booking(work.acting_as(PUBLIC), wanted)


async def names(runtime: Runtime, user: User) -> list[str]:
    found, _ = await event_types.list_event_types(runtime.work(OPERATOR), user)
    return [each.name for each in found]


async def load(runtime: Runtime, user: User, event_type: EventType) -> EventType:
    return await event_types.get_event_type(runtime.work(OPERATOR), user, event_type.id)


@pytest.fixture
async def talk(runtime: Runtime, user: User) -> EventType:
    """What is changed."""
    return await offer(runtime, user, "talk")


async def test_of_two_edits_of_one_edition_one_is_refused(runtime: Runtime, user: User, talk: EventType) -> None:
    for number in range(ROUNDS):
        current = await load(runtime, user, talk)
        edited = [replace(current, name=f"{number}a"), replace(current, seats=number + 2)]
        came_to = await run(runtime, *(edit(user, one, since=current) for one in edited))

        assert sorted(isinstance(each, EventTypeChanged) for each in came_to) == [False, True]


async def test_an_edit_and_a_change_of_order_both_happen(runtime: Runtime, user: User, talk: EventType) -> None:
    other = await offer(runtime, user, "other")
    for number in range(ROUNDS):
        current = await load(runtime, user, talk)
        name = f"Talk {number}"
        last = talk if number % 2 else other
        came_to = await run(
            runtime,
            edit(user, replace(current, name=name), since=current),
            move(user, last.id, before=None),
        )
        assert not any(isinstance(each, Refusal) for each in came_to), came_to
        assert (await names(runtime, user))[-1] == (name if last is talk else "Other")
        assert (await load(runtime, user, talk)).name == name


async def test_an_edit_and_an_archive_both_happen(runtime: Runtime, user: User, talk: EventType) -> None:
    for number in range(ROUNDS):
        current = await load(runtime, user, talk)
        name, active = f"Talk {number}", bool(number % 2)
        came_to = await run(
            runtime,
            edit(user, replace(current, name=name), since=current),
            switch(user, talk, active=active),
        )
        assert not any(isinstance(each, Refusal) for each in came_to), came_to
        saved = await load(runtime, user, talk)
        assert (saved.name, saved.active) == (name, active)


async def test_an_archive_and_a_change_of_order_both_happen(runtime: Runtime, user: User, talk: EventType) -> None:
    await offer(runtime, user, "other")
    for number in range(ROUNDS):
        first = await store.list_ids(runtime.pool, user.id)
        active = bool(number % 2)
        came_to = await run(runtime, switch(user, talk, active=active), move(user, talk.id, before=first[number % 2]))

        assert not any(isinstance(each, Refusal) for each in came_to), came_to
        assert (await load(runtime, user, talk)).active is active
        assert len(await names(runtime, user)) == 3


async def test_a_new_one_comes_last_while_others_are_moved(runtime: Runtime, user: User, talk: EventType) -> None:
    schedule, *_ = await schedules.list_schedules(runtime.work(OPERATOR), user)
    for number in range(ROUNDS):
        before = await names(runtime, user)
        draft = event_types.draft_event_type(
            runtime.work(OPERATOR), schedule, name=f"New {number}", slug=f"new-{number}", duration_minutes=30
        )
        came_to = await run(runtime, move(user, talk.id, before=None), add(schedule, draft))

        assert not any(isinstance(each, Refusal) for each in came_to), came_to
        after = await names(runtime, user)
        assert sorted(after) == sorted([*before, f"New {number}"])
        assert set(after[-2:]) == {f"New {number}", "Talk"}


async def test_moves_at_once_leave_one_order_without_a_deadlock(runtime: Runtime, user: User) -> None:
    made = [await offer(runtime, user, f"talk-{number}") for number in range(6)]
    for one, other in combinations(made, 2):
        came_to = await run(runtime, move(user, one.id, before=made[0].id), move(user, other.id, before=None))

        assert not any(isinstance(each, Refusal) for each in came_to), came_to
        assert (await names(runtime, user))[-1] == other.name
    positions = await runtime.pool.fetch("select position from event_types where owner_id = $1", user.id)
    assert sorted(row["position"] for row in positions) == list(range(1, 8))


async def test_a_move_before_one_that_is_deleted_is_refused_or_came_first(
    runtime: Runtime, user: User, talk: EventType
) -> None:
    for number in range(ROUNDS):
        other = await offer(runtime, user, f"other-{number}")
        moved, _ = await run(runtime, move(user, talk.id, before=other.id), delete(other))

        assert moved is None or isinstance(moved, Invalid)
        assert sorted(await names(runtime, user)) == ["30 minute meeting", "Talk"]


async def test_archiving_while_someone_books_keeps_the_booking_or_refuses_it(
    runtime: Runtime, user: User, talk: EventType
) -> None:
    booked = 0
    for number in range(ROUNDS):
        wanted = BookingWanted(
            which=ById(talk.id),
            starts_at=TEN + timedelta(days=number % 5, hours=number // 5),
            invitee=Invitee(name="Li Wei", email="li@wei.example", zone="UTC"),
        )
        _, booking = await run(runtime, switch(user, talk, active=False), book(wanted))
        booked += not isinstance(booking, Refusal)
        assert isinstance(booking, EventTypeNotFound) or not isinstance(booking, Refusal)
        (late,) = await run(runtime, book(wanted))
        assert isinstance(late, EventTypeNotFound)
        await run(runtime, switch(user, talk, active=True))
    assert await runtime.pool.fetchval("select count(*) from bookings where status = 'CONFIRMED'") == booked
    assert await find_disorder(runtime.pool) == {}


async def test_another_hosts_event_type_and_schedule_are_out_of_reach(
    runtime: Runtime, user: User, talk: EventType
) -> None:
    stranger = replace(user, id=talk.id)
    came_to = await run(
        runtime,
        edit(stranger, talk, since=talk),
        move(stranger, talk.id, before=None),
        switch(stranger, talk, active=False),
    )
    assert [type(each) for each in came_to] == [EventTypeNotFound] * 3
    (refused,) = await run(runtime, edit(user, replace(talk, schedule_id=talk.id), since=talk))
    assert isinstance(refused, ScheduleNotFound)


async def test_a_free_slug_is_the_wanted_one_or_numbered(runtime: Runtime, user: User, talk: EventType) -> None:
    await offer(runtime, user, "talk-2")
    await offer(runtime, user, "talk-show")
    work = runtime.work(OPERATOR)

    assert await event_types.find_free_slug(work, user, "talk") == "talk-3"
    assert await event_types.find_free_slug(work, user, "talk-s") == "talk-s"
    assert await event_types.find_free_slug(work, user, "other") == "other"
