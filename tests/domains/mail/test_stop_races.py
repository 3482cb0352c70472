"""Stopping, resuming and sending at the same moment: nothing is sent after a stop, and nothing waits for ever."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import timedelta
from itertools import combinations_with_replacement

import pytest
from msgspec.structs import replace

from openslot.domains.mail.ports import Mailer, OutgoingMail
from openslot.platform.core.actor import OPERATOR, EffectAttempt
from openslot.platform.core.config import Settings
from openslot.platform.core.effects import take_effects
from openslot.platform.core.events import Effect
from openslot.platform.core.holding import hold_effect
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from openslot.platform.flags.models import OutgoingChannel
from openslot.platform.flags.switches import operations as switches
from openslot.platform.jobs.effects import run_effect
from openslot.runtime import open_runtime
from openslot.wiring import WIRING
from tests.domains.mail.conftest import TEN, Book, work_off
from tests.domains.mail.fake_mailer import FakeMailer
from tests.support.clocks import MovingClock
from tests.support.effects import run_attempt, working
from tests.support.parts import how_many
from tests.support.switches import resume, status, stop, waiting

pytestmark = pytest.mark.rest("lets several write at once, as the pairs of writers do")

ROUNDS = how_many(30)
UNFINISHED = "select count(*) from effects where reaction = 'mail.send' and state not in ('done', 'skipped')"


class SlowMailer(FakeMailer):
    """Takes a moment for each message, and notes whether email was stopped when it was handed over."""

    def __init__(self) -> None:
        super().__init__()
        self.is_stopped = False
        self.wrong: list[OutgoingMail] = []
        self.pause = 0.0

    async def send(self, mail: OutgoingMail) -> None:
        if self.is_stopped:
            self.wrong.append(mail)
        await asyncio.sleep(self.pause)
        await super().send(mail)


@pytest.fixture
def mailer() -> SlowMailer:
    return SlowMailer()


@pytest.fixture
async def runtime(settings: Settings, clock: MovingClock, mailer: SlowMailer) -> AsyncIterator[Runtime]:
    """Open a runtime whose mail goes to that mailer."""
    wiring = replace(WIRING, periodic=())
    async with open_runtime(settings, clock=clock, wiring=wiring, fakes={Mailer: mailer}) as opened:
        yield opened


async def take_mails(runtime: Runtime, clock: MovingClock, book: Book) -> list[Effect]:
    """Book, and take the two mails as a worker does."""
    await book(TEN)
    row = await runtime.pool.fetchrow("select id, round from effects where reaction = 'mail.fan_out'")
    assert row is not None
    await run_attempt(runtime, EffectAttempt(row["id"], row["round"]))
    taken, _ = await take_effects(runtime.pool, new_id(), now=clock.now, limit=20)
    return [effect for effect in taken if effect.reaction == "mail.send"]


async def test_what_a_worker_has_taken_before_the_stop_is_not_sent(
    runtime: Runtime, clock: MovingClock, book: Book, mailer: SlowMailer
) -> None:
    taken = await take_mails(runtime, clock, book)
    assert len(taken) == 2
    # Another process asked a moment ago, so that an answer from memory would be wrong now.
    assert await switches.find_stop(runtime.work(OPERATOR), OutgoingChannel.EMAIL) is None
    await stop(runtime)
    for effect in taken:
        await run_effect(runtime, effect)
    assert mailer.sent == []
    assert await waiting(runtime) == 2


async def test_a_resumption_between_the_question_and_the_wait_leaves_nothing_behind(
    runtime: Runtime, clock: MovingClock, book: Book, mailer: SlowMailer
) -> None:
    taken = await take_mails(runtime, clock, book)
    await stop(runtime)
    assert await switches.find_stop(runtime.work(OPERATOR), OutgoingChannel.EMAIL) is not None
    await resume(runtime)
    for effect in taken:
        async with runtime.transaction(OPERATOR) as work:
            assert not await hold_effect(work.db, effect, "email", now=work.now)
    assert await waiting(runtime) == 0
    await work_off(runtime, clock)
    assert len(mailer.sent) == 2


async def test_a_resumption_that_is_not_committed_yet_is_waited_for(
    runtime: Runtime, clock: MovingClock, book: Book, mailer: SlowMailer
) -> None:
    taken = await take_mails(runtime, clock, book)
    await stop(runtime)
    async with runtime.transaction(OPERATOR) as work:
        await switches.resume_messaging(work, "email", reason="mended")
        running = [asyncio.create_task(run_effect(runtime, effect)) for effect in taken]
        await asyncio.sleep(0.3)
        assert not any(task.done() for task in running)
    await asyncio.gather(*running)
    assert await waiting(runtime) == 0
    await work_off(runtime, clock)
    assert len(mailer.sent) == 2


async def test_a_wait_that_is_not_committed_yet_is_found_by_the_resumption(
    runtime: Runtime, clock: MovingClock, book: Book, mailer: SlowMailer
) -> None:
    taken = await take_mails(runtime, clock, book)
    await stop(runtime)
    async with runtime.transaction(OPERATOR) as work:
        for effect in taken:
            assert await hold_effect(work.db, effect, "email", now=work.now)
        resuming = asyncio.create_task(resume(runtime))
        await asyncio.sleep(0.3)
        assert not resuming.done()
    await resuming
    assert await waiting(runtime) == 0
    await work_off(runtime, clock)
    assert len(mailer.sent) == 2


async def _stop(runtime: Runtime, _: list[Effect]) -> None:
    await stop(runtime)


async def _stop_all(runtime: Runtime, _: list[Effect]) -> None:
    await stop(runtime, "all")


async def _resume(runtime: Runtime, _: list[Effect]) -> None:
    await resume(runtime)


async def _resume_all(runtime: Runtime, _: list[Effect]) -> None:
    await resume(runtime, "all")


async def _send(runtime: Runtime, taken: list[Effect]) -> None:
    await asyncio.gather(*(run_effect(runtime, effect) for effect in taken))


Act = Callable[[Runtime, list[Effect]], Coroutine[None, None, None]]
ACTS: tuple[Act, ...] = (_stop, _stop_all, _resume, _resume_all, _send)


PAIRS = [pair for pair in combinations_with_replacement(ACTS, 2) if pair != (_send, _send)]


@pytest.mark.parametrize(
    "place",
    range(len(PAIRS)),
    ids=[" and ".join(act.__name__ for act in pair) for pair in PAIRS],
)
@pytest.mark.parametrize("is_stopped", [False, True])
async def test_every_pair_at_once(
    runtime: Runtime, clock: MovingClock, book: Book, mailer: SlowMailer, place: int, is_stopped: bool
) -> None:
    pair, taken = PAIRS[place], await take_mails(runtime, clock, book)
    if is_stopped:
        await stop(runtime)
    acts = [act(runtime, taken) for act in pair]
    random.shuffle(acts)
    await asyncio.gather(*acts)
    if _send not in pair:
        await _send(runtime, taken)
    # However it came out, each goes out once when nothing is stopped any more.
    await resume(runtime)
    await work_off(runtime, clock)
    assert set(Counter(mail.id for mail in mailer.sent).values()) == {1}
    assert {mail.id for mail in mailer.sent} == {effect.id for effect in taken}
    assert await waiting(runtime) == 0


async def test_a_worker_sends_nothing_after_a_stop_and_everything_once_in_the_end(
    runtime: Runtime, clock: MovingClock, book: Book, mailer: SlowMailer
) -> None:
    async def flip() -> None:
        for _ in range(ROUNDS):
            await asyncio.sleep(random.uniform(0, 0.03))
            await stop(runtime)
            # Whoever asked before the stop may hand a message over in this moment, and nobody afterwards.
            await asyncio.sleep(0.05)
            mailer.is_stopped = True
            await asyncio.sleep(0.05)
            mailer.is_stopped = False
            await resume(runtime)

    async with working(runtime), asyncio.timeout(90):
        flipping = asyncio.create_task(flip())
        for number in range(ROUNDS):
            starts_at = TEN + timedelta(days=number // 8, minutes=30 * (number % 8))
            await book(starts_at, email=f"booker{number}@okafor.example", actor=OPERATOR)
            clock.pass_time(seconds=0.01)
        await flipping
        while await runtime.pool.fetchval(UNFINISHED):
            await asyncio.sleep(0.05)
            clock.pass_time(seconds=0.05)
    assert mailer.wrong == []
    assert len(mailer.sent) == 2 * ROUNDS
    assert set(Counter(mail.id for mail in mailer.sent).values()) == {1}
    assert (await status(runtime))[OutgoingChannel.EMAIL].waiting == 0
