"""Delivery: what arrives, when it is tried again, and what every kind of answer means."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from msgspec.structs import replace as changed
from standardwebhooks import Webhook

from openslot.accounts.models import User
from openslot.core.actor import OPERATOR
from openslot.core.effects import release_held
from openslot.core.outbound import Outbound, OutboundRefused
from openslot.core.work import House
from openslot.jobs.effects import run_effect
from openslot.webhooks import operations as webhooks
from openslot.webhooks.gate import AT_ONCE
from openslot.webhooks.models import EndpointChanges, Ref
from openslot.webhooks.reactions import GATE
from tests.bookings.conftest import MovingClock
from tests.core.test_outbound_peers import PUBLIC, Internet, Names, serve
from tests.core.test_outbound_pinning import Identity
from tests.webhooks.conftest import (
    Add,
    Happen,
    deliveries,
    gaps,
    live_through,
    next_try,
    planned_jobs,
    state_of,
    states,
    work_off,
    work_until_settled,
)
from tests.webhooks.receiver import Receiver, hang_up, receiving, say_nothing, tarpit

SCHEDULE = [
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    *(timedelta(hours=hours) for hours in (2, 5, 10, 14, 20, 24)),
]


async def test_an_event_arrives_as_it_was_and_the_library_verifies_it(
    house: House, user: User, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    clock.now = datetime.now(UTC)
    _, secret = await add(receiver.url)
    contact = await happen()
    await house.pool.execute("update contacts set name = 'Somebody Else'")
    await work_off(house, clock)

    (got,) = receiver.got
    told = Webhook(secret).verify(got.body, got.headers)
    event_id = await house.pool.fetchval("select id from events where type = 'contact.created'")
    assert got.headers["content-type"] == "application/json"
    assert list(told) == ["id", "type", "createdAt", "data"]
    assert (told["id"], told["type"], got.id) == (str(event_id), "contact.created", str(event_id))
    assert (told["data"]["id"], told["data"]["name"]) == (str(contact.id), "Noor Haddad")
    assert next(iter(told["data"])) == "id"


async def test_both_secrets_sign_for_a_day_after_a_rotation(
    house: House, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    clock.now = datetime.now(UTC)
    endpoint, old = await add(receiver.url)
    async with house.writing(OPERATOR) as work:
        rotated, new = await webhooks.rotate_secret(work, Ref(endpoint.id, endpoint.owner_id))
    assert rotated.previous_until == clock.now + timedelta(hours=24)

    await happen()
    await work_off(house, clock)
    clock.pass_time(hours=24, seconds=1)
    await happen()
    await work_off(house, clock)

    both, one = receiver.got
    assert Webhook(old).verify(both.body, both.headers) == Webhook(new).verify(both.body, both.headers)
    assert len(both.headers["webhook-signature"].split(" ")) == 2
    assert len(one.headers["webhook-signature"].split(" ")) == 1


async def test_ten_tries_on_the_published_schedule_then_dead_then_replayed(
    house: House, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    receiver.answer(503)
    endpoint, _ = await add(receiver.url)
    began = clock.now
    await happen()
    await work_until_settled(house, clock)

    tries = await deliveries(house)
    assert len(tries) == len(receiver.got) == 10
    for gap, planned in zip(gaps([one["at"] for one in tries]), SCHEDULE, strict=True):
        assert abs(gap - planned) <= planned * 0.1
    assert tries[0]["at"] == began
    assert {one["status"] for one in tries} == {503}
    assert [one["attempt"] for one in tries] == list(range(1, 11))
    assert len({got.id for got in receiver.got}) == len({got.body for got in receiver.got}) == 1
    assert len({got.headers["webhook-timestamp"] for got in receiver.got}) == 10
    assert await states(house) == ["dead"]
    assert await state_of(house, endpoint.id) == ("active", None)

    receiver.answer(200)
    async with house.writing(OPERATOR) as work:
        await webhooks.replay_delivery(work, tries[3]["id"], owner_id=endpoint.owner_id)
    await work_off(house, clock)
    assert await states(house) == ["dead", "done"]
    assert receiver.got[-1].body == receiver.got[0].body
    assert receiver.got[-1].id == receiver.got[0].id


async def test_410_switches_the_endpoint_off_at_once_and_its_owner_is_to_be_told(
    house: House, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    receiver.answer(410)
    endpoint, _ = await add(receiver.url)
    await happen()
    await work_until_settled(house, clock)
    await happen()
    await work_until_settled(house, clock)

    assert len(receiver.got) == 1
    assert await states(house) == ["dead"]
    assert await state_of(house, endpoint.id) == ("disabled", "It answered 410: it is gone.")
    notice = await house.pool.fetchrow(
        "select tenant_id, subject_id, public from events where type = 'webhook.disabled'"
    )
    assert notice is not None
    assert (notice["tenant_id"], notice["subject_id"]) == (endpoint.owner_id, endpoint.id)
    assert notice["public"] is None


async def test_five_days_of_nothing_but_failure_switch_the_endpoint_off(
    house: House, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    receiver.answer(500)
    endpoint, _ = await add(receiver.url)
    began = clock.now
    for _ in range(6):
        await happen()
        await work_off(house, clock)
        clock.pass_time(hours=23)
    assert await state_of(house, endpoint.id) == ("active", None)

    clock.now = began + timedelta(days=5)
    await work_off(house, clock)
    state, reason = await state_of(house, endpoint.id)
    assert (state, reason) == ("disabled", "Every delivery has failed for 5 days.")
    assert await house.pool.fetchval("select count(*) from events where type = 'webhook.disabled'") == 1
    await work_until_settled(house, clock)
    assert set(await states(house)) <= {"skipped", "dead"}


async def test_one_success_in_between_keeps_the_endpoint_on(
    house: House, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    endpoint, _ = await add(receiver.url)
    for day in range(8):
        receiver.answer(200 if day == 3 else 500)
        await happen()
        await work_off(house, clock)
        clock.pass_time(days=1)

    assert await state_of(house, endpoint.id) == ("active", None)


async def test_an_endpoint_that_nobody_has_tried_for_days_is_not_switched_off_by_one_failure(
    house: House, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    receiver.answer(500)
    endpoint, _ = await add(receiver.url)
    await happen()
    await work_until_settled(house, clock)
    clock.pass_time(days=10)
    await happen()
    await work_off(house, clock)

    assert await state_of(house, endpoint.id) == ("active", None)


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("3600", timedelta(hours=1), timedelta(hours=1)),
        ("999999999", timedelta(hours=24), timedelta(hours=24)),
        ("1", timedelta(seconds=4.5), timedelta(seconds=5.5)),
        ("date", timedelta(minutes=10), timedelta(minutes=10)),
        ("soon", timedelta(seconds=4.5), timedelta(seconds=5.5)),
    ],
)
async def test_what_the_endpoint_wishes_for_is_honoured_up_to_a_day_and_never_shortens_the_schedule(
    house: House,
    clock: MovingClock,
    receiver: Receiver,
    add: Add,
    happen: Happen,
    header: str,
    least: timedelta,
    most: timedelta,
) -> None:
    said = format_datetime(clock.now + timedelta(minutes=10), usegmt=True) if header == "date" else header
    receiver.answer(429, f"Retry-After: {said}")
    await add(receiver.url)
    await happen()
    await work_off(house, clock)

    due = await next_try(house)
    assert due is not None
    assert least <= due - clock.now <= most


async def test_a_redirect_is_a_failure_and_is_not_followed(
    house: House, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    async with receiving() as elsewhere:
        receiver.answer(307, f"Location: {elsewhere.url}")
        await add(receiver.url)
        await happen()
        await work_off(house, clock)

        (tried,) = await deliveries(house)
        assert (tried["status"], tried["error"]) == (307, "The endpoint answered 307; redirects are not followed.")
        assert elsewhere.got == []


async def test_a_huge_answer_counts_and_its_first_kilobyte_is_kept(
    house: House, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    receiver.answer(200, body=b"x" * 5_000_000)
    await add(receiver.url)
    await happen()
    await work_off(house, clock)

    (tried,) = await deliveries(house)
    assert (tried["status"], tried["error"], tried["answer"]) == (200, None, b"x" * 1024)


async def test_one_who_hangs_up_and_one_who_is_not_there_have_failed(
    house: House, clock: MovingClock, add: Add, happen: Happen
) -> None:
    async with receiving() as gone:
        away = gone.url
    async with receiving(hang_up) as rude:
        await add(rude.url)
        await add(away)
        await happen()
        await work_off(house, clock)

    errors = {one["url"]: one["error"] for one in await deliveries(house)}
    assert errors[rude.url].startswith("127.0.0.1 ")
    assert errors[away].endswith(" could not be connected to.")
    assert await states(house) == ["queued", "queued"]


async def test_one_who_never_ends_and_one_who_never_begins_have_failed_after_15_seconds(
    house: House, add: Add, happen: Happen
) -> None:
    async with receiving(tarpit) as pit, receiving(say_nothing) as silent:
        await add(pit.url)
        await add(silent.url)
        await happen()
        await run_effect(house, (await planned_jobs(house))[0])
        await asyncio.gather(*(run_effect(house, job) for job in await planned_jobs(house)))

    tried = await deliveries(house)
    assert {one["error"] for one in tried} == {"127.0.0.1 took too long to answer."}
    assert all(14_900 <= one["duration_ms"] < 20_000 for one in tried)
    assert await states(house) == ["queued", "queued"]


async def test_a_delivery_that_finds_its_endpoint_full_comes_again_and_loses_no_try(
    house: House, user: User, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    endpoint, _ = await add(receiver.url)
    await happen()
    await run_effect(house, (await planned_jobs(house))[0])
    for _ in range(AT_ONCE):
        assert GATE.enter(endpoint.id, user.id, now=clock.now) is None
    await work_off(house, clock)
    due = await next_try(house)
    assert due is not None
    assert timedelta() < due - clock.now <= timedelta(seconds=1)
    assert (await states(house), receiver.got, await deliveries(house)) == (["queued"], [], [])
    assert await house.pool.fetchval("select attempts from effects where reaction = 'webhooks.deliver'") == 0

    for _ in range(AT_ONCE):
        GATE.leave(endpoint.id, user.id)
    await work_until_settled(house, clock)
    assert [one["attempt"] for one in await deliveries(house)] == [1]


async def test_what_waits_behind_a_failing_delivery_is_let_go_one_by_one_after_five_minutes(
    house: House, user: User, clock: MovingClock, receiver: Receiver, add: Add
) -> None:
    receiver.answer(500)
    await add(receiver.url, "booking.created", "booking.rescheduled", "booking.cancelled")
    await live_through(house, user, clock.now + timedelta(days=1, hours=3))
    await work_off(house, clock)
    assert await states(house) == ["queued", "waiting", "waiting"]

    clock.pass_time(minutes=4, seconds=55)
    async with house.writing(OPERATOR) as work:
        assert await release_held(work.db, now=work.now) == 0
    clock.pass_time(seconds=10)
    async with house.writing(OPERATOR) as work:
        assert await release_held(work.db, now=work.now) == 1
    assert await states(house) == ["queued", "queued", "waiting"]


async def test_a_name_that_nobody_knows_has_failed(house: House, clock: MovingClock, add: Add, happen: Happen) -> None:
    class Nobody(Names):
        async def resolve(self, host: str) -> tuple[()]:
            raise OSError(f"no {host}")

    house.outbound = Outbound(resolver=Nobody())
    await add("https://hooks.example.org/")
    await happen()
    await work_off(house, clock)

    (tried,) = await deliveries(house)
    assert (tried["status"], tried["error"]) == (None, "hooks.example.org could not be resolved.")
    assert await states(house) == ["queued"]


async def test_a_certificate_that_nobody_vouches_for_has_failed(
    house: House, clock: MovingClock, add: Add, happen: Happen, tmp_path: Path
) -> None:
    identity = Identity(tmp_path)
    names = Names([PUBLIC])
    async with serve() as canary, serve(tls=identity.server) as public:
        internet = Internet(canary=canary, public=public, names=names)
        house.outbound = Outbound(resolver=names, connector=internet, tls=ssl.create_default_context())
        await add("https://hooks.example.org/")
        await happen()
        await work_off(house, clock)

        (tried,) = await deliveries(house)
        assert tried["error"].startswith("No secure connection to hooks.example.org")
        assert public.requests == []


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1/", "https://169.254.169.254/", "https://localhost/", "ftp://a.example/"]
)
async def test_a_private_address_is_refused_when_it_is_saved(
    house: House, add: Add, receiver: Receiver, url: str
) -> None:
    endpoint, _ = await add(receiver.url)
    house.outbound = Outbound()

    with pytest.raises(OutboundRefused):
        await add(url)
    with pytest.raises(OutboundRefused):
        async with house.writing(OPERATOR) as work:
            await webhooks.change_endpoint(work, Ref(endpoint.id), EndpointChanges(url=url))


async def test_a_name_that_turns_to_a_private_address_is_refused_when_it_is_delivered(
    house: House, clock: MovingClock, add: Add, happen: Happen
) -> None:
    names = Names([PUBLIC], ["127.0.0.1"], ["10.0.0.7", PUBLIC])
    async with serve() as canary, serve() as public:
        internet = Internet(canary=canary, public=public, names=names)
        house.outbound = Outbound(resolver=names, connector=internet)
        await add("https://hooks.example.org:8443/")
        await happen()
        for _ in range(3):
            await work_off(house, clock)
            clock.pass_time(hours=1)

        tried = await deliveries(house)
        assert [one["error"] for one in tried[1:]] == ["The URL leads to an address that is not public."] * 2
        assert canary.connections == 0


async def test_an_endpoint_hears_only_of_the_events_that_it_has_chosen(
    house: House, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    async with receiving() as other:
        await add(receiver.url, "contact.created")
        await add(other.url, "booking.created")
        await happen()
        await work_off(house, clock)

        assert [got.json["type"] for got in receiver.got] == ["contact.created"]
        assert other.got == []


async def test_a_paused_endpoint_is_sent_nothing_not_even_what_was_planned(
    house: House, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    receiver.answer(500)
    endpoint, _ = await add(receiver.url)
    await happen()
    await work_off(house, clock)
    async with house.writing(OPERATOR) as work:
        await webhooks.pause_endpoint(work, Ref(endpoint.id, endpoint.owner_id))
    await happen()
    await work_until_settled(house, clock)

    assert len(receiver.got) == 1
    assert await states(house) == ["skipped"]


async def test_a_deleted_endpoint_takes_its_deliveries_with_it(
    house: House, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    receiver.answer(500)
    endpoint, _ = await add(receiver.url)
    await happen()
    await work_off(house, clock)
    async with house.writing(OPERATOR) as work:
        await webhooks.delete_endpoint(work, Ref(endpoint.id, endpoint.owner_id))
    await work_until_settled(house, clock)

    assert len(receiver.got) == 1
    assert await deliveries(house) == []
    assert await states(house) == ["skipped"]


async def test_every_try_is_logged_with_what_was_sent_and_what_came_back(
    house: House, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    receiver.answer(422, body="für später".encode())
    endpoint, _ = await add(receiver.url)
    await happen()
    await work_off(house, clock)

    async with house.writing(OPERATOR) as work:
        (logged,), total = await webhooks.list_attempts(work, Ref(endpoint.id, endpoint.owner_id))
    sent = {name.lower(): value for name, value in logged.attempt.request_headers.items()}
    assert total == 1
    assert sent.items() <= receiver.got[0].headers.items()
    assert (logged.event_type, logged.attempt.status, logged.attempt.attempt) == ("contact.created", 422, 1)
    assert logged.attempt.answer == "für später".encode()
    assert logged.attempt.error == "The endpoint answered 422."
    assert changed(logged.attempt, duration_ms=0).duration_ms == 0 <= logged.attempt.duration_ms < 15_000
