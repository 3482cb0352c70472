"""Endpoints: whose they are, what they may be, what is kept of their secret, and replay."""

from datetime import timedelta

import pytest
from msgspec import Struct

from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.bookings.events import (
    BookingDeclined,
    BookingInvitationFailed,
    BookingLapsed,
    BookingLinkAdded,
    BookingLinkFailed,
    BookingNoShowMarked,
    BookingNoShowRemoved,
    BookingRequested,
    BookingRequestReassigned,
    BookingWithdrawn,
)
from openslot.domains.people import operations as people
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.errors import DeliveryNotFound, WebhookLimitExceeded, WebhookNotActive, WebhookNotFound
from openslot.domains.webhooks.models import EndpointChanges, EndpointRef, EndpointWanted, Replay, State
from openslot.domains.webhooks.reactions import tidy_webhooks
from openslot.domains.webhooks.rules import MAX_ENDPOINTS
from openslot.domains.webhooks.schemas import PUBLISHED, PUBLISHED_TYPES
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.events import Event
from openslot.platform.core.ids import new_id
from openslot.platform.core.moments import Span
from openslot.platform.core.outbound import Outbound, OutboundRefused
from openslot.platform.core.work import Runtime
from openslot.wiring import WIRING
from tests.domains.webhooks.conftest import Add, Happen, deliveries, states
from tests.support.clocks import MovingClock
from tests.support.effects import work_off, work_until_settled
from tests.support.hostile_urls import PORT, SHAPES
from tests.support.receiver import Receiver

HOOK = "https://hooks.example.org/openslot"
ALWAYS = Span()


@pytest.fixture
async def stranger(runtime: Runtime) -> User:
    """Another host."""
    async with runtime.transaction(OPERATOR) as work:
        return await people.welcome_user(work, UserWanted(email="bo@other.example", name="Bo Other", username="bo"))


async def every_row(runtime: Runtime) -> str:
    """Write out everything that the database holds."""
    tables = await runtime.pool.fetch(
        "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'"
    )
    dumps = [
        await runtime.pool.fetchval(f'select string_agg(t::text, chr(10)) from "{row["relname"]}" t') for row in tables
    ]
    return "\n".join(dump for dump in dumps if dump)


def test_every_event_with_something_to_tell_is_published_and_no_other() -> None:
    # That somebody did not come, and the link of a video call, are in the data of other events. Requests are nobody's
    # bookings until they are confirmed.
    marks = {
        BookingNoShowMarked,
        BookingNoShowRemoved,
        BookingLinkAdded,
        BookingLinkFailed,
        BookingInvitationFailed,
        BookingRequested,
        BookingDeclined,
        BookingLapsed,
        BookingWithdrawn,
        BookingRequestReassigned,
    }
    telling = {event for event in WIRING.events if event.public is not Event.public} - marks

    assert {one.event for one in PUBLISHED} == telling
    assert all(issubclass(one.data, Struct) for one in PUBLISHED)


async def test_a_secret_is_shown_once_and_never_stored_in_the_clear(
    runtime: Runtime, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    endpoint, first = await add(receiver.url)
    async with runtime.transaction(OPERATOR) as work:
        _, second = await webhooks.rotate_endpoint_secret(work, EndpointRef(endpoint.id))
    await happen()
    await work_off(runtime, clock)

    assert len(receiver.got) == 1
    dump = await every_row(runtime)
    assert str(endpoint.id) in dump
    for secret in (first, second):
        plain = secret.removeprefix("whsec_")
        assert plain not in dump
        assert plain.encode().hex() not in dump


async def test_a_replaced_secret_is_forgotten_when_its_day_is_over(
    runtime: Runtime, clock: MovingClock, add: Add
) -> None:
    endpoint, _ = await add(HOOK)
    async with runtime.transaction(OPERATOR) as work:
        await webhooks.rotate_endpoint_secret(work, EndpointRef(endpoint.id))
    for hours, kept in ((23, True), (2, False)):
        clock.pass_time(hours=hours)
        async with runtime.transaction(OPERATOR) as work:
            await tidy_webhooks(work)
        assert (await runtime.pool.fetchval("select previous_secret from webhook_endpoints") is not None) is kept


async def test_an_event_that_does_not_exist_is_refused_by_name(runtime: Runtime, user: User, add: Add) -> None:
    with pytest.raises(Invalid) as refused:
        await add(HOOK, "booking.created", "booking.exploded")
    assert "booking.exploded" in (refused.value.details or {})["events"]

    endpoint, _ = await add(HOOK, "contact.created", "booking.created", "contact.created")
    assert endpoint.events == ("booking.created", "contact.created")
    async with runtime.transaction(OPERATOR) as work:
        changed = await webhooks.change_endpoint(work, EndpointRef(endpoint.id, user.id), EndpointChanges(events=()))
        assert changed.events == ()
        assert (await webhooks.get_endpoint(work, EndpointRef(endpoint.id, user.id))) == changed


async def test_one_user_has_so_many_endpoints_and_no_more(runtime: Runtime, user: User, add: Add) -> None:
    for _ in range(MAX_ENDPOINTS):
        await add(HOOK)
    with pytest.raises(WebhookLimitExceeded):
        await add(HOOK)
    async with runtime.transaction(OPERATOR) as work:
        assert len(await webhooks.list_endpoints(work, user)) == MAX_ENDPOINTS


async def test_anothers_endpoint_is_not_found_by_any_verb(runtime: Runtime, stranger: User, add: Add) -> None:
    endpoint, _ = await add(HOOK)
    theirs = EndpointRef(endpoint.id, stranger.id)
    verbs = (
        lambda work: webhooks.get_endpoint(work, theirs),
        lambda work: webhooks.change_endpoint(work, theirs, EndpointChanges(url=HOOK)),
        lambda work: webhooks.pause_endpoint(work, theirs),
        lambda work: webhooks.resume_endpoint(work, theirs),
        lambda work: webhooks.rotate_endpoint_secret(work, theirs),
        lambda work: webhooks.delete_endpoint(work, theirs),
        lambda work: webhooks.send_test_event(work, theirs),
        lambda work: webhooks.list_attempts(work, theirs),
        lambda work: webhooks.replay_events(work, theirs, ALWAYS, Replay.ALL),
    )
    for verb in verbs:
        with pytest.raises(WebhookNotFound):
            async with runtime.transaction(OPERATOR) as work:
                await verb(work)
    async with runtime.transaction(OPERATOR) as work:
        assert await webhooks.list_endpoints(work, stranger) == []


async def test_anothers_events_do_not_arrive(
    runtime: Runtime, clock: MovingClock, receiver: Receiver, stranger: User, add: Add, happen: Happen
) -> None:
    await add(receiver.url)
    await happen(stranger)
    await work_off(runtime, clock)

    assert receiver.got == []


async def test_a_test_arrives_at_one_endpoint_in_whatever_state_and_nowhere_else(
    runtime: Runtime, user: User, clock: MovingClock, receiver: Receiver, add: Add
) -> None:
    endpoint, _ = await add(f"{receiver.url}/tested", "booking.created")
    await add(f"{receiver.url}/other")
    async with runtime.transaction(OPERATOR) as work:
        await webhooks.pause_endpoint(work, EndpointRef(endpoint.id, user.id))
        await webhooks.send_test_event(work, EndpointRef(endpoint.id, user.id))
    await work_off(runtime, clock)

    (got,) = receiver.got
    assert (got.path, got.json["type"], got.json["data"]["webhookId"]) == (
        "/hook/tested",
        "webhook.test",
        str(endpoint.id),
    )


async def test_what_was_missed_is_replayed_once_under_its_own_id_and_in_order(
    runtime: Runtime, user: User, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    before = await happen()
    await work_off(runtime, clock)
    endpoint, _ = await add(receiver.url)
    arrived = await happen()
    await work_off(runtime, clock)
    ref = EndpointRef(endpoint.id, user.id)
    async with runtime.transaction(OPERATOR) as work:
        await webhooks.pause_endpoint(work, ref)
    clock.pass_time(hours=1)
    paused = [await happen() for _ in range(3)]
    await work_until_settled(runtime, clock)
    with pytest.raises(WebhookNotActive):
        async with runtime.transaction(OPERATOR) as work:
            await webhooks.replay_events(work, ref, ALWAYS, Replay.MISSED)
    async with runtime.transaction(OPERATOR) as work:
        await webhooks.resume_endpoint(work, ref)
        assert await webhooks.replay_events(work, ref, Span(clock.now - timedelta(minutes=1), None), Replay.MISSED) == 3
        assert (
            await webhooks.replay_events(work, ref, ALWAYS, Replay.MISSED) == 1
        )  # the one from before the endpoint was there
        assert await webhooks.replay_events(work, ref, ALWAYS, Replay.MISSED) == 0
    await work_until_settled(runtime, clock)

    told = [got.json["data"]["id"] for got in receiver.got]
    assert told == [str(one.id) for one in (arrived, *paused, before)]
    assert len({got.id for got in receiver.got}) == 5


async def test_all_of_a_range_is_sent_again_with_the_same_bytes(
    runtime: Runtime, user: User, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    endpoint, _ = await add(receiver.url)
    for _ in range(3):
        await happen()
    await work_until_settled(runtime, clock)
    # Long after, when the bodies are no longer kept, they are made again from the events.
    clock.pass_time(days=31)
    async with runtime.transaction(OPERATOR) as work:
        assert await tidy_webhooks(work) == "3 tries, 3 bodies removed"
        assert await webhooks.replay_events(work, EndpointRef(endpoint.id, user.id), ALWAYS, Replay.ALL) == 3
    await work_until_settled(runtime, clock)

    first, again = receiver.got[:3], receiver.got[3:]
    assert [(got.id, got.body) for got in first] == [(got.id, got.body) for got in again]


async def test_a_planned_try_is_dropped_when_a_replay_has_arrived(
    runtime: Runtime, user: User, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    receiver.answer(500)
    await add(receiver.url)
    await happen()
    await work_off(runtime, clock)
    (failed,) = await deliveries(runtime)
    receiver.answer(200)
    clock.pass_time(seconds=1)
    async with runtime.transaction(OPERATOR) as work:
        await webhooks.replay_delivery(work, failed["id"], owner_id=user.id)
    await work_until_settled(runtime, clock)

    assert len(receiver.got) == 2
    assert await states(runtime) == ["skipped", "done"]


async def test_anothers_delivery_is_not_replayed(
    runtime: Runtime, user: User, stranger: User, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    await add(receiver.url)
    await happen()
    await work_off(runtime, clock)
    (tried,) = await deliveries(runtime)

    for attempt_id, owner_id in ((tried["id"], stranger.id), (new_id(), user.id)):
        with pytest.raises(DeliveryNotFound):
            async with runtime.transaction(OPERATOR) as work:
                await webhooks.replay_delivery(work, attempt_id, owner_id=owner_id)


async def test_a_resumed_endpoint_starts_with_a_clean_record(
    runtime: Runtime, user: User, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    receiver.answer(410)
    endpoint, _ = await add(receiver.url)
    await happen()
    await work_off(runtime, clock)
    receiver.answer(200)
    async with runtime.transaction(OPERATOR) as work:
        resumed = await webhooks.resume_endpoint(work, EndpointRef(endpoint.id, user.id))
    assert (resumed.state, resumed.state_reason, resumed.failing_since) == (State.ACTIVE, None, None)

    await happen()
    await work_off(runtime, clock)
    assert await states(runtime) == ["dead", "done"]


async def test_a_description_is_one_line(runtime: Runtime, user: User) -> None:
    for wrong in ("x" * 201, "two\nlines"):
        with pytest.raises(Invalid):
            async with runtime.transaction(OPERATOR) as work:
                await webhooks.add_endpoint(work, user, EndpointWanted(url=HOOK, description=wrong))
    async with runtime.transaction(OPERATOR) as work:
        made, _ = await webhooks.add_endpoint(work, user, EndpointWanted(url=HOOK, description="  "))
    assert made.description is None


def test_there_are_the_events_of_the_contract_that_exist_so_far() -> None:
    bookings = ("booking.created", "booking.cancelled", "booking.rescheduled", "booking.reassigned")
    assert (*bookings, "contact.created", "payment.received") == PUBLISHED_TYPES


async def test_no_hostile_url_becomes_an_endpoint(runtime: Runtime, user: User) -> None:
    runtime.outbound = Outbound()
    async with runtime.transaction(OPERATOR) as work:
        for reason, shape in SHAPES:
            url = shape.replace(PORT, "8443")
            with pytest.raises(OutboundRefused) as refused:
                await webhooks.add_endpoint(work, user, EndpointWanted(url=url))
            assert refused.value.reason is reason, url
        assert await webhooks.list_endpoints(work, user) == []
