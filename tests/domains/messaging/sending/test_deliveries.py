"""What became of messages is asked for where no notice comes: some at a time, less and less often, for a day."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.messaging import jobs
from openslot.domains.messaging.connections import store as connection_store
from openslot.domains.messaging.models import DeliveryStatus, RefusalReason, SentMessage
from openslot.domains.messaging.ports import (
    MessageFault,
    MessageRefused,
    MessagesBusy,
    MessagesUnavailable,
    TokenRefused,
)
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.periodic import run_job
from tests.domains.messaging.sending.carrier import Carrier
from tests.domains.messaging.sending.support import PHONE, Numbers, hear, read, reply
from tests.support.clocks import MovingClock
from tests.support.effects import work_off

(JOB,) = (job for job in jobs.MESSAGING_JOBS if job.run is jobs.check_deliveries)


async def check(runtime: Runtime, clock: MovingClock, *, after: timedelta = timedelta()) -> None:
    clock.now += after
    await run_job(runtime, JOB)


@pytest.mark.parametrize(
    ("status", "code", "reason", "kept"),
    [
        (DeliveryStatus.DELIVERED, None, None, ("delivered", None)),
        (DeliveryStatus.SENDING, None, None, ("sent", None)),
        (DeliveryStatus.UNDELIVERED, "30003", RefusalReason.INVALID_NUMBER, ("undelivered", "invalid_number")),
        (DeliveryStatus.FAILED, "21610", RefusalReason.OPTED_OUT, ("failed", "opted_out")),
    ],
)
async def test_what_the_provider_says_is_kept_by_rank(
    runtime: Runtime,
    clock: MovingClock,
    user: User,
    carrier: Carrier,
    numbers: Numbers,
    status: DeliveryStatus,
    code: str | None,
    reason: RefusalReason | None,
    kept: tuple[str, str | None],
) -> None:
    message = await reply(runtime, user, await hear(runtime, user))
    await work_off(runtime, clock)
    carrier.states["SM1"] = SentMessage(id="SM1", status=status, code=code, reason=reason)
    await check(runtime, clock, after=timedelta(minutes=2))

    found = await read(runtime, message)
    assert (found[0], found[2]) == kept
    is_out = await runtime.pool.fetchval("select exists (select from message_opt_outs where phone = $1)", PHONE)
    assert is_out is (reason is RefusalReason.OPTED_OUT)


async def test_a_message_is_asked_for_six_times_in_a_day_and_no_more(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers
) -> None:
    await reply(runtime, user, await hear(runtime, user))
    await work_off(runtime, clock)
    begun, asked_at = clock.now, []
    for _ in range(3 * 24 * 12):
        before = len(carrier.asked)
        await check(runtime, clock, after=timedelta(minutes=5))
        asked_at += [(clock.now - begun) // timedelta(minutes=1)] * (len(carrier.asked) - before)

    assert asked_at == [5, 10, 30, 120, 360, 1440]


async def test_what_is_known_or_not_sent_is_not_asked_for(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers
) -> None:
    thread = await hear(runtime, user)
    for number in range(4):
        await reply(runtime, user, thread, f"number {number}")
    await work_off(runtime, clock)
    for vendor_id, status in (("SM1", "delivered"), ("SM2", "failed"), ("SM3", "read")):
        await runtime.pool.execute("update messages set status = $2 where vendor_id = $1", vendor_id, status)
    await reply(runtime, user, thread, "waits")
    await check(runtime, clock, after=timedelta(minutes=2))

    assert carrier.asked == ["SM4"]


async def test_a_run_asks_for_so_many_and_each_is_asked_for_in_time(
    runtime: Runtime,
    clock: MovingClock,
    user: User,
    carrier: Carrier,
    numbers: Numbers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs, "AT_ONCE", 3)
    thread = await hear(runtime, user)
    for number in range(5):
        await reply(runtime, user, thread, f"number {number}")
        await work_off(runtime, clock)
        clock.now += timedelta(seconds=1)
    await check(runtime, clock, after=timedelta(minutes=2))
    assert sorted(carrier.asked) == ["SM1", "SM2", "SM3"]
    await check(runtime, clock)

    assert sorted(carrier.asked) == ["SM1", "SM2", "SM3", "SM4", "SM5"]


@pytest.mark.parametrize(
    ("fault", "asked"),
    [
        (MessagesBusy(), 1),
        (MessagesUnavailable("down", may_have_arrived=True), 1),
        (TokenRefused("no"), 1),
        (MessageRefused("gone", reason=RefusalReason.NOT_FOUND), 2),
    ],
)
async def test_a_provider_that_does_not_answer_is_asked_later_and_nothing_is_lost(
    runtime: Runtime,
    clock: MovingClock,
    user: User,
    carrier: Carrier,
    numbers: Numbers,
    fault: MessageFault,
    asked: int,
) -> None:
    thread = await hear(runtime, user)
    messages = [await reply(runtime, user, thread, text) for text in ("one", "two")]
    await work_off(runtime, clock)
    carrier.states = {each: SentMessage(id=each, status=DeliveryStatus.DELIVERED) for each in ("SM1", "SM2")}
    carrier.faults = [fault]
    await check(runtime, clock, after=timedelta(minutes=2))
    assert len(carrier.asked) == asked
    await check(runtime, clock, after=timedelta(minutes=8))

    assert [(await read(runtime, each))[0] for each in messages] == ["delivered", "delivered"]


async def test_a_number_that_was_disconnected_is_not_asked_for(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers
) -> None:
    await reply(runtime, user, await hear(runtime, user))
    await work_off(runtime, clock)
    gone = replace(numbers["sms"], token=None, disconnected_at=clock.now)
    await connection_store.update(runtime.pool, gone)
    await check(runtime, clock, after=timedelta(minutes=2))

    assert carrier.asked == []
    assert await runtime.pool.fetchval("select max(status_checks) from messages") == 0
