"""A mail server that is down: what has failed is counted by kind once it is old enough, until it is sent."""

import pytest

from openslot.domains.mail import operations
from openslot.domains.mail.ports import MailDeferred
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.health import count_effects, count_failing
from tests.domains.mail.conftest import Book, work_off
from tests.support.clocks import MovingClock
from tests.support.switches import resume, stop


async def failing(runtime: Runtime) -> dict[str, int]:
    return await count_failing(runtime.pool, now=runtime.clock())


async def late(runtime: Runtime) -> float:
    return (await count_effects(runtime.pool, now=runtime.clock())).late_seconds


async def defer(*_: object) -> None:
    raise MailDeferred("connection refused")


async def test_mail_that_goes_on_failing_is_counted_until_it_is_sent(
    runtime: Runtime, clock: MovingClock, book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as down:
        down.setattr(operations.Mailbox, "send", defer)
        await book()
        for _ in range(14):
            await work_off(runtime, clock)
            assert await failing(runtime) == {}
            clock.pass_time(minutes=1)
        clock.pass_time(minutes=2)
        assert await failing(runtime) == {"mail.send": 2}
        # A try that has failed is not late: it waits for its time.
        await work_off(runtime, clock)
        clock.pass_time(minutes=1)
        assert await late(runtime) == 0

    clock.pass_time(hours=1)
    await work_off(runtime, clock)
    assert await failing(runtime) == {}


async def test_mail_that_is_stopped_neither_fails_nor_is_late(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    await stop(runtime)
    await book()
    await work_off(runtime, clock)
    clock.pass_time(hours=2)

    assert (await failing(runtime), await late(runtime)) == ({}, 0)
    await resume(runtime)
    assert await late(runtime) == 7200
