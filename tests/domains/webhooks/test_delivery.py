"""Delivery: what arrives, when it is tried again, and what is kept of it."""

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace as changed
from standardwebhooks import Webhook

from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.plans import Plan
from openslot.domains.people import operations as people
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.models import EndpointRef
from openslot.domains.webhooks.store import DELIVER
from openslot.platform.core.actor import OPERATOR, Destination
from openslot.platform.core.effects import release_held
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.places import FairPlaces, Place
from tests.domains.webhooks.conftest import Add, Happen, deliveries, gaps, live_through, planned_jobs, state_of, states
from tests.support.clocks import MovingClock
from tests.support.effects import next_try, run_attempt, work_off, work_until_settled
from tests.support.receiver import Receiver, receiving

SCHEDULE = [
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    *(timedelta(hours=hours) for hours in (2, 5, 10, 14, 20, 24)),
]


async def test_an_event_arrives_as_it_was_and_the_library_verifies_it(
    runtime: Runtime, user: User, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    clock.now = datetime.now(UTC)
    _, secret = await add(receiver.url)
    contact = await happen()
    await runtime.pool.execute("update contacts set name = 'Somebody Else'")
    await work_off(runtime, clock)

    (got,) = receiver.got
    told = Webhook(secret).verify(got.body, got.headers)
    event_id = await runtime.pool.fetchval("select id from events where type = 'contact.created'")
    assert got.headers["content-type"] == "application/json"
    assert list(told) == ["id", "type", "createdAt", "data"]
    assert (told["id"], told["type"], got.id) == (str(event_id), "contact.created", str(event_id))
    assert (told["data"]["id"], told["data"]["name"]) == (str(contact.id), "Noor Haddad")
    assert next(iter(told["data"])) == "id"


async def test_an_event_leaves_an_effect_only_if_an_endpoint_of_its_owner_wants_it(
    runtime: Runtime, user: User, receiver: Receiver, add: Add, happen: Happen
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        other = await people.welcome_user(work, UserWanted(email="li@okafor.example", name="Li Okafor", plan=Plan.PRO))

    async def count_after(owner: User = user) -> int:
        await happen(owner)
        effects: int = await runtime.pool.fetchval("select count(*) from effects where reaction = 'webhooks.dispatch'")
        return effects

    assert await count_after() == 0, "no endpoint"
    await add(receiver.url, "booking.created")
    assert await count_after() == 0, "an endpoint for something else"
    paused, _ = await add(receiver.url, "contact.created")
    async with runtime.transaction(OPERATOR) as work:
        await webhooks.pause_endpoint(work, EndpointRef(paused.id, user.id))
    assert await count_after() == 0, "an endpoint that is paused"
    await add(receiver.url, "contact.created", "booking.created")
    assert await count_after(other) == 0, "an endpoint of another owner"
    assert await count_after() == 1
    await add(receiver.url, owner=other)
    assert await count_after(other) == 2, "an endpoint for everything"


async def test_both_secrets_sign_for_a_day_after_a_rotation(
    runtime: Runtime, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    clock.now = datetime.now(UTC)
    endpoint, old = await add(receiver.url)
    async with runtime.transaction(OPERATOR) as work:
        rotated, new = await webhooks.rotate_endpoint_secret(work, EndpointRef(endpoint.id, endpoint.owner_id))
    assert rotated.previous_until == clock.now + timedelta(hours=24)

    await happen()
    await work_off(runtime, clock)
    clock.pass_time(hours=24, seconds=1)
    await happen()
    await work_off(runtime, clock)

    both, one = receiver.got
    assert Webhook(old).verify(both.body, both.headers) == Webhook(new).verify(both.body, both.headers)
    assert len(both.headers["webhook-signature"].split(" ")) == 2
    assert len(one.headers["webhook-signature"].split(" ")) == 1


async def test_ten_tries_on_the_published_schedule_then_dead_then_replayed(
    runtime: Runtime, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    receiver.answer(503)
    endpoint, _ = await add(receiver.url)
    began = clock.now
    await happen()
    await work_until_settled(runtime, clock)

    tries = await deliveries(runtime)
    assert len(tries) == len(receiver.got) == 10
    for gap, planned in zip(gaps([one["at"] for one in tries]), SCHEDULE, strict=True):
        assert abs(gap - planned) <= planned * 0.1
    assert tries[0]["at"] == began
    assert {one["status"] for one in tries} == {503}
    assert [one["attempt"] for one in tries] == list(range(1, 11))
    assert len({got.id for got in receiver.got}) == len({got.body for got in receiver.got}) == 1
    assert len({got.headers["webhook-timestamp"] for got in receiver.got}) == 10
    assert await states(runtime) == ["dead"]
    assert await state_of(runtime, endpoint.id) == ("active", None)

    receiver.answer(200)
    async with runtime.transaction(OPERATOR) as work:
        await webhooks.replay_delivery(work, tries[3]["id"], owner_id=endpoint.owner_id)
    await work_off(runtime, clock)
    assert await states(runtime) == ["dead", "done"]
    assert receiver.got[-1].body == receiver.got[0].body
    assert receiver.got[-1].id == receiver.got[0].id


async def test_410_switches_the_endpoint_off_at_once_and_its_owner_is_to_be_told(
    runtime: Runtime, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    receiver.answer(410)
    endpoint, _ = await add(receiver.url)
    await happen()
    await work_until_settled(runtime, clock)
    await happen()
    await work_until_settled(runtime, clock)

    assert len(receiver.got) == 1
    assert await states(runtime) == ["dead"]
    assert await state_of(runtime, endpoint.id) == ("disabled", "webhooks.is_gone")
    notice = await runtime.pool.fetchrow(
        "select tenant_id, subject_id, public from events where type = 'webhook.disabled'"
    )
    assert notice is not None
    assert (notice["tenant_id"], notice["subject_id"]) == (endpoint.owner_id, endpoint.id)
    assert notice["public"] is None


async def test_five_days_of_nothing_but_failure_switch_the_endpoint_off(
    runtime: Runtime, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    receiver.answer(500)
    endpoint, _ = await add(receiver.url)
    began = clock.now
    for _ in range(6):
        await happen()
        await work_off(runtime, clock)
        clock.pass_time(hours=23)
    assert await state_of(runtime, endpoint.id) == ("active", None)

    clock.now = began + timedelta(days=5)
    await work_off(runtime, clock)
    state, reason = await state_of(runtime, endpoint.id)
    assert (state, reason) == ("disabled", "webhooks.has_failed")
    assert await runtime.pool.fetchval("select count(*) from events where type = 'webhook.disabled'") == 1
    await work_until_settled(runtime, clock)
    assert set(await states(runtime)) <= {"skipped", "dead"}


async def test_one_success_in_between_keeps_the_endpoint_on(
    runtime: Runtime, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    endpoint, _ = await add(receiver.url)
    for day in range(8):
        receiver.answer(200 if day == 3 else 500)
        await happen()
        await work_off(runtime, clock)
        clock.pass_time(days=1)

    assert await state_of(runtime, endpoint.id) == ("active", None)


async def test_an_endpoint_that_nobody_has_tried_for_days_is_not_switched_off_by_one_failure(
    runtime: Runtime, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    receiver.answer(500)
    endpoint, _ = await add(receiver.url)
    await happen()
    await work_until_settled(runtime, clock)
    clock.pass_time(days=10)
    await happen()
    await work_off(runtime, clock)

    assert await state_of(runtime, endpoint.id) == ("active", None)


async def test_a_delivery_that_finds_its_endpoint_full_comes_again_and_loses_no_try(
    runtime: Runtime, user: User, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    endpoint, _ = await add(receiver.url)
    fair_places = FairPlaces(count=20)
    await happen()
    await run_attempt(runtime, (await planned_jobs(runtime))[0], fair_places)
    place = fair_places.enter(DELIVER, Destination(str(endpoint.id), user.id), now=clock.now)
    assert isinstance(place, Place)
    await run_attempt(runtime, (await planned_jobs(runtime))[0], fair_places)
    due = await next_try(runtime)
    assert due is not None
    assert timedelta() < due - clock.now <= timedelta(seconds=1)
    assert (await states(runtime), receiver.got, await deliveries(runtime)) == (["queued"], [], [])
    assert await runtime.pool.fetchval("select attempts from effects where reaction = 'webhooks.send'") == 0

    fair_places.leave(place, answered=None, now=clock.now)
    clock.now = due
    await run_attempt(runtime, (await planned_jobs(runtime))[0], fair_places)
    assert [one["attempt"] for one in await deliveries(runtime)] == [1]


async def test_what_waits_behind_a_failing_delivery_is_let_go_one_by_one_after_five_minutes(
    runtime: Runtime, user: User, clock: MovingClock, receiver: Receiver, add: Add
) -> None:
    receiver.answer(500)
    await add(receiver.url, "booking.created", "booking.rescheduled", "booking.cancelled")
    await live_through(runtime, user, clock.now + timedelta(days=1, hours=3))
    await work_off(runtime, clock)
    assert await states(runtime) == ["queued", "waiting", "waiting"]

    clock.pass_time(minutes=4, seconds=55)
    async with runtime.transaction(OPERATOR) as work:
        assert await release_held(work.db, now=work.now) == (0, False)
    clock.pass_time(seconds=10)
    async with runtime.transaction(OPERATOR) as work:
        assert await release_held(work.db, now=work.now) == (1, False)
    assert await states(runtime) == ["queued", "queued", "waiting"]


async def test_an_endpoint_hears_only_of_the_events_that_it_has_chosen(
    runtime: Runtime, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    async with receiving() as other:
        await add(receiver.url, "contact.created")
        await add(other.url, "booking.created")
        await happen()
        await work_off(runtime, clock)

        assert [got.json["type"] for got in receiver.got] == ["contact.created"]
        assert other.got == []


async def test_a_paused_endpoint_is_sent_nothing_not_even_what_was_planned(
    runtime: Runtime, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    receiver.answer(500)
    endpoint, _ = await add(receiver.url)
    await happen()
    await work_off(runtime, clock)
    async with runtime.transaction(OPERATOR) as work:
        await webhooks.pause_endpoint(work, EndpointRef(endpoint.id, endpoint.owner_id))
    await happen()
    await work_until_settled(runtime, clock)

    assert len(receiver.got) == 1
    assert await states(runtime) == ["skipped"]


async def test_a_deleted_endpoint_takes_its_deliveries_with_it(
    runtime: Runtime, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    receiver.answer(500)
    endpoint, _ = await add(receiver.url)
    await happen()
    await work_off(runtime, clock)
    async with runtime.transaction(OPERATOR) as work:
        await webhooks.delete_endpoint(work, EndpointRef(endpoint.id, endpoint.owner_id))
    await work_until_settled(runtime, clock)

    assert len(receiver.got) == 1
    assert await deliveries(runtime) == []
    assert await states(runtime) == ["skipped"]


async def test_every_try_is_logged_with_what_was_sent_and_what_came_back(
    runtime: Runtime, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    receiver.answer(422, body="für später".encode())
    endpoint, _ = await add(receiver.url)
    await happen()
    await work_off(runtime, clock)

    async with runtime.transaction(OPERATOR) as work:
        (logged,), total = await webhooks.list_attempts(work, EndpointRef(endpoint.id, endpoint.owner_id))
    sent = {name.lower(): value for name, value in logged.attempt.request_headers.items()}
    assert total == 1
    assert sent.items() <= receiver.got[0].headers.items()
    assert (logged.event_type, logged.attempt.status, logged.attempt.attempt) == ("contact.created", 422, 1)
    assert logged.attempt.answer == "für später".encode()
    assert logged.attempt.error == "The endpoint answered 422."
    assert changed(logged.attempt, duration_ms=0).duration_ms == 0 <= logged.attempt.duration_ms < 15_000
