"""Each booking is in its host's CRM as it is now: added, moved, cancelled and marked in this order, and once."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.links import booking_url, list_manage_urls
from openslot.domains.bookings.models import BookingRef, Status
from openslot.domains.crm import operations
from openslot.domains.crm.models import CrmConnection, CrmStanding, MeetingOutcome
from openslot.domains.crm.ports import CrmBusy, CrmRefused, CrmUnavailable
from openslot.domains.event_types.models import Location, LocationKind
from openslot.platform.core.actor import OPERATOR, EffectAttempt
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.places import FairPlaces
from tests.domains.crm.conftest import connect
from tests.support.clocks import MovingClock
from tests.support.effects import run_attempt, work_off, work_until_settled, working
from tests.support.fake_crm import FakeCrm
from tests.support.host import ELEVEN, TEN, Book, cancel, move
from tests.support.wait import until

OF_CRM = "select state, last_error, attempts, next_try_at from effects where reaction = 'crm.write' order by no"


async def mark(runtime: Runtime, booking_id: UUID, *, no_show: bool) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await bookings.mark_no_show(work, BookingRef(booking_id, None), no_show=no_show)


async def test_a_booking_is_added_with_its_person(
    runtime: Runtime, clock: MovingClock, user: User, connection: CrmConnection, crm: FakeCrm, book: Book
) -> None:
    booking = await book(notes="Please bring the plans.", guests=("tom@example.com",))

    await work_off(runtime, clock)

    (seen,) = crm.state.meetings.values()
    meeting = seen.meeting
    assert (meeting.starts_at, meeting.ends_at) == (booking.starts_at, booking.ends_at)
    assert meeting.title == "30 minute meeting: Jonas Okafor"
    assert (meeting.host_name, meeting.host_email) == (user.name, user.email)
    assert (meeting.notes, meeting.guests) == ("Please bring the plans.", ("tom@example.com",))
    assert meeting.outcome is MeetingOutcome.SCHEDULED
    ((_, person),) = crm.state.people.values()
    assert (person.email, person.name, person.zone) == ("jonas@okafor.example", "Jonas Okafor", "Africa/Lagos")
    kept = await runtime.pool.fetchrow("select * from crm_meetings")
    assert kept is not None
    assert dict(kept) == {"booking_id": booking.id, "connection_id": connection.id, "meeting_id": seen.id}


async def test_what_happens_to_a_booking_is_written_in_order(
    runtime: Runtime, clock: MovingClock, connection: CrmConnection, crm: FakeCrm, book: Book
) -> None:
    booking = await book()
    await work_off(runtime, clock)
    await move(runtime, booking, ELEVEN)
    await work_off(runtime, clock)
    clock.now = ELEVEN + timedelta(hours=1)
    for no_show in (True, False):
        await mark(runtime, booking.id, no_show=no_show)
        await work_off(runtime, clock)

    assert [(each.starts_at, each.outcome) for each in crm.state.history] == [
        (TEN, MeetingOutcome.SCHEDULED),
        (ELEVEN, MeetingOutcome.RESCHEDULED),
        (ELEVEN, MeetingOutcome.NO_SHOW),
        (ELEVEN, MeetingOutcome.RESCHEDULED),
    ]
    assert crm.state.added == 1


async def test_a_cancelled_booking_stays_there_as_cancelled(
    runtime: Runtime, clock: MovingClock, connection: CrmConnection, crm: FakeCrm, book: Book
) -> None:
    booking = await book()
    await work_off(runtime, clock)
    await cancel(runtime, booking, reason="Ill")
    await work_off(runtime, clock)

    (seen,) = crm.state.meetings.values()
    assert (seen.meeting.outcome, seen.meeting.cancel_reason) == (MeetingOutcome.CANCELLED, "Ill")


@pytest.mark.rest("waits for seconds")
async def test_changes_never_overtake_each_other_at_a_slow_crm(
    runtime: Runtime, clock: MovingClock, connection: CrmConnection, crm: FakeCrm, book: Book
) -> None:
    async with working(runtime):
        # A CRM that answers quickly gets several requests at once.
        for number in range(6):
            await book(ELEVEN + timedelta(hours=1, minutes=30 * number), email=f"guest{number}@okafor.example")
        await until(lambda: crm.state.added == 6, within=30)
        asked, crm.delay, crm.max_inside = len(crm.keys), 1.0, 0
        booking = await book()
        await until(lambda: len(crm.keys) > asked, within=30)
        crm.delay = 0.0
        await move(runtime, booking, ELEVEN)
        await cancel(runtime, booking)
        await until(lambda: crm.state.history[-1].outcome is MeetingOutcome.CANCELLED, within=30)
        await asyncio.sleep(1.5)

    outcomes = [each.outcome for each in crm.state.history[6:]]
    assert outcomes == sorted(outcomes, key=list(MeetingOutcome).index)
    assert (outcomes[-1], crm.max_inside, crm.state.added) == (MeetingOutcome.CANCELLED, 1, 7)


async def test_the_meeting_has_the_page_of_the_booking_and_never_a_manage_link(
    runtime: Runtime, clock: MovingClock, connection: CrmConnection, crm: FakeCrm, book: Book
) -> None:
    booking = await book()
    (secret,) = list_manage_urls(runtime, [booking.id])
    location = Location(kind=LocationKind.TEXT, value=f"See {secret}")
    await runtime.pool.execute(
        "update bookings set notes = $2, location = jsonb_set(location, '{value}', to_jsonb($3::text)) where id = $1",
        booking.id,
        f"My link is {secret}?x=1, thanks",
        location.value,
    )
    await work_off(runtime, clock)
    await cancel(runtime, booking, reason=f"see <{secret}>")
    await work_off(runtime, clock)

    assert [each.url for each in crm.state.history] == [booking_url(runtime, booking.id)] * 2
    assert len(crm.state.history) == 2
    told = f"{crm.state.history} {crm.state.people}"
    token = secret.rpartition("/")[2]
    assert token not in told
    assert "/manage/" not in told
    assert "My link is " in told


async def test_nothing_is_planned_without_a_crm(
    runtime: Runtime, clock: MovingClock, stranger: User, connection: CrmConnection, book: Book
) -> None:
    await book(host=stranger)

    assert await runtime.pool.fetchval("select count(*) from effects where reaction like 'crm.%'") == 0


async def test_a_booking_that_waits_for_its_payment_is_not_written(
    runtime: Runtime, clock: MovingClock, connection: CrmConnection, crm: FakeCrm, book: Book
) -> None:
    booking = await book()
    await runtime.pool.execute("update bookings set status = $2 where id = $1", booking.id, Status.PENDING_PAYMENT)

    await work_off(runtime, clock)

    assert [verb for verb, _ in crm.keys] == ["check"]
    (row,) = await runtime.pool.fetch(OF_CRM)
    assert (row["state"], row["last_error"]) == ("skipped", "crm.booking_gone")


async def test_a_booking_from_before_is_added_when_it_changes(
    runtime: Runtime, clock: MovingClock, user: User, crm: FakeCrm, book: Book
) -> None:
    booking = await book()
    await work_off(runtime, clock)
    await connect(runtime, user)
    await move(runtime, booking, ELEVEN)
    await work_off(runtime, clock)

    assert [each.starts_at for each in crm.state.history] == [ELEVEN]


@pytest.mark.parametrize("verb", ["upsert_person", "log_meeting"])
async def test_a_lost_answer_adds_nothing_twice(
    runtime: Runtime, clock: MovingClock, connection: CrmConnection, crm: FakeCrm, book: Book, verb: str
) -> None:
    crm.lost_answers = [verb] * 2
    await book()

    await work_until_settled(runtime, clock)

    assert (crm.state.added, len(crm.state.people)) == (1, 1)
    keys = [key for each, key in crm.keys if each == verb]
    assert (len(keys), len(set(keys))) == (3, 1)
    assert (await runtime.pool.fetch(OF_CRM))[0]["state"] == "done"


async def test_a_rule_of_the_crm_is_shown_and_not_tried_again(
    runtime: Runtime, clock: MovingClock, user: User, connection: CrmConnection, crm: FakeCrm, book: Book
) -> None:
    booking = await book()
    crm.faults.append(CrmRefused("Property deal_stage is required"))

    await work_until_settled(runtime, clock)

    assert len(crm.keys) == 2
    (failure,) = await operations.list_crm_failures(runtime.work(OPERATOR), user)
    assert (failure.booking_id, failure.reason) == (booking.id, "Property deal_stage is required")
    found = await operations.get_crm_connection(runtime.work(OPERATOR), user, connection.id)
    assert found.standing is CrmStanding.CONNECTED


async def test_the_time_that_a_crm_asks_for_is_waited_and_nobody_else_asks_meanwhile(
    runtime: Runtime, clock: MovingClock, connection: CrmConnection, crm: FakeCrm, book: Book
) -> None:
    await book()
    await book(ELEVEN)
    crm.faults.append(CrmBusy(timedelta(hours=3)))

    await work_off(runtime, clock, FairPlaces(count=20))

    assert len(crm.keys) == 2
    first, second = await runtime.pool.fetch(OF_CRM)
    assert {first["state"], second["state"]} == {"queued"}
    assert min(first["next_try_at"], second["next_try_at"]) >= clock.now + timedelta(hours=3)
    assert (first["attempts"], second["attempts"]) == (0, 0)
    await work_until_settled(runtime, clock)
    assert crm.state.added == 2


async def test_a_meeting_that_somebody_has_deleted_there_stays_deleted(
    runtime: Runtime, clock: MovingClock, connection: CrmConnection, crm: FakeCrm, book: Book
) -> None:
    booking = await book()
    await work_off(runtime, clock)
    crm.state.meetings.clear()
    await cancel(runtime, booking)
    await work_off(runtime, clock)

    assert not crm.state.meetings
    assert (await runtime.pool.fetch(OF_CRM))[-1]["last_error"] == "crm.meeting_gone"


async def test_one_crm_that_is_down_delays_no_other_host(
    runtime: Runtime,
    clock: MovingClock,
    user: User,
    stranger: User,
    connection: CrmConnection,
    crm: FakeCrm,
    book: Book,
) -> None:
    await connect(runtime, stranger)
    await book()
    await book(host=stranger)
    row = await _find_write(runtime, clock)
    crm.faults.append(CrmUnavailable("The CRM returned 500"))
    await run_attempt(runtime, EffectAttempt(row["id"], row["round"]))
    await work_off(runtime, clock)

    assert [row["state"] for row in await runtime.pool.fetch(OF_CRM)] == ["queued", "done"]


async def _find_write(runtime: Runtime, clock: MovingClock) -> dict[str, Any]:
    """Run all plans, and return the first write."""
    while True:
        row = await runtime.pool.fetchrow(
            "select id, round from effects where state = 'queued' and reaction <> 'crm.write' and next_try_at <= $1",
            clock.now,
        )
        if row is None:
            break
        await run_attempt(runtime, EffectAttempt(row["id"], row["round"]))
    found = await runtime.pool.fetchrow(
        "select id, round from effects where reaction = 'crm.write' order by no limit 1"
    )
    assert found is not None
    return dict(found)
