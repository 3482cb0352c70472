"""Each guard of a payment by itself: a story that goes well with it, and badly without it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import ById
from openslot.domains.bookings.models import BookingWanted, Invitee
from openslot.domains.event_types.models import EventType
from openslot.domains.payments import operations, rules, store
from openslot.domains.payments.models import PaymentStep, StoredPayment
from openslot.domains.payments.operations import Reading
from openslot.domains.payments.ports import Checkouts
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Refusal
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime, Work
from openslot.runtime import open_runtime
from tests.domains.payments.support import (
    PRICE,
    Pause,
    SlowCheckouts,
    intent_of,
    money,
    refunds,
    reload,
    session_of,
    tick,
)
from tests.support.clocks import MONDAY, MovingClock
from tests.support.fake_stripe import Books, FakeStripe, Fault, FaultKind, serving

LAG = timedelta(minutes=2)


@dataclass(kw_only=True)
class Scene:
    """All that a story needs."""

    runtime: Runtime
    clock: MovingClock
    fake: FakeStripe
    books: Books
    host: User
    offer: EventType
    line: SlowCheckouts
    start: datetime = field(default=MONDAY.replace(hour=10) + timedelta(days=3))

    async def book(self) -> StoredPayment:
        invitee = Invitee(name="Li", email="li@wei.example", zone="UTC")
        wanted = BookingWanted(which=ById(self.offer.id), starts_at=self.start, invitee=invitee)
        async with self.runtime.transaction(PUBLIC) as work:
            booking = await operations.book_with_payment(work, wanted)
        await operations.open_checkout(self.runtime, booking.id)
        found = await store.find_stored_payment(self.runtime.pool, booking.id)
        assert found is not None
        return found

    async def book_and_pay(self) -> StoredPayment:
        payment = await self.book()
        self.books.pay(session_of(payment))
        return await operations.read_anew(self.runtime, payment.id)


@pytest.fixture
async def fake_stripe(clock: MovingClock) -> AsyncIterator[FakeStripe]:
    """A provider whose clock is behind ours."""
    async with serving(lambda: clock.now - LAG) as running:
        yield running


@pytest.fixture
def line(fake_stripe: FakeStripe) -> SlowCheckouts:
    return SlowCheckouts(fake_stripe.url)


@pytest.fixture
async def runtime(settings: Settings, clock: MovingClock, line: SlowCheckouts) -> AsyncIterator[Runtime]:
    fakes: dict[type, object] = {Checkouts: line}
    async with open_runtime(settings, clock=clock, fakes=fakes) as opened:
        yield opened


@pytest.fixture
def scene(
    runtime: Runtime,
    clock: MovingClock,
    fake_stripe: FakeStripe,
    books: Books,
    user: User,
    paid: EventType,
    line: SlowCheckouts,
) -> Scene:
    return Scene(runtime=runtime, clock=clock, fake=fake_stripe, books=books, host=user, offer=paid, line=line)


async def tell_an_old_answer_late(at: Scene) -> None:
    """What was read before something else became known does not undo it."""
    payment = await at.book_and_pay()
    refund = at.books.refund(intent_of(payment), 900)
    pause = Pause()
    at.line.pauses.append(pause)
    late = asyncio.create_task(operations.read_anew(at.runtime, payment.id))
    await pause.has_answered.wait()
    await operations.read_anew(at.runtime, payment.id)
    at.books.fail_refund(refund["id"])
    await operations.read_anew(at.runtime, payment.id)
    pause.goes_on.set()
    await late
    assert (await reload(at.runtime, payment)).refunded_amount == 0


async def lose_the_answer_to_a_checkout(at: Scene) -> None:
    """A checkout whose answer is lost is the same one when it is asked for again, and is ended."""
    at.fake.faults = [Fault(FaultKind.LOSE_ANSWER, "checkout/sessions")] * 3
    with pytest.raises(Refusal):
        await at.book()
    at.clock.pass_time(minutes=2)
    await tick(at.runtime, at.clock)
    assert [each["status"] for each in at.books.list("checkout.session")] == ["expired"]


async def lose_the_answer_to_a_refund(at: Scene) -> None:
    payment = await at.book_and_pay()
    async with at.runtime.transaction(OPERATOR) as work:
        await operations.refund_payment(work, at.host, payment.id, amount=1000)
    at.fake.faults = [Fault(FaultKind.LOSE_ANSWER, "refunds", "POST")] * 3
    await tick(at.runtime, at.clock)
    at.clock.pass_time(minutes=10)
    await tick(at.runtime, at.clock)
    assert money(at.books) == PRICE - 1000
    assert [each.state for each in await refunds(at.runtime, payment)] == ["succeeded"]


async def pay_in_the_last_minute(at: Scene) -> None:
    """Whoever pays as long as the provider lets people pay, by its own clock, has the time."""
    payment = await at.book()
    at.clock.pass_time(minutes=33)
    await tick(at.runtime, at.clock)
    at.clock.pass_time(seconds=90)
    assert at.books.objects[session_of(payment)]["status"] == "open", "was cut off"
    at.books.pay(session_of(payment))
    at.clock.pass_time(minutes=2)
    await tick(at.runtime, at.clock)
    assert await at.runtime.pool.fetchval("select status from bookings") == "CONFIRMED"


Story = Callable[[Scene], Awaitable[None]]


def trust_old_readings(patch: pytest.MonkeyPatch) -> None:
    settle = operations._settle

    async def trust(work: Work, *, payment_id: object, reading: Reading) -> StoredPayment | None:
        version = await work.db.fetchval("select version from payments where id = $1", payment_id)
        return await settle(work, payment_id=payment_id, reading=replace(reading, version=version))  # type: ignore[arg-type]

    patch.setattr(operations, "_settle", trust)


def forget_keys(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PaymentStep, "key", property(lambda step: f"openslot-{step.subject_id}-{step.name}-{new_id()}"))


def hold_no_longer(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rules, "HELD_LONGER", timedelta())


STORIES: dict[str, tuple[Story, Callable[[pytest.MonkeyPatch], None]]] = {
    "the fresh read": (tell_an_old_answer_late, trust_old_readings),
    "the key of a checkout": (lose_the_answer_to_a_checkout, forget_keys),
    "the key of a refund": (lose_the_answer_to_a_refund, forget_keys),
    "the hold's longer life": (pay_in_the_last_minute, hold_no_longer),
}


@pytest.mark.parametrize("guard", STORIES)
async def test_a_story_goes_well_with_its_guard(scene: Scene, guard: str) -> None:
    story, _ = STORIES[guard]
    await story(scene)


@pytest.mark.parametrize("guard", STORIES)
async def test_a_story_goes_badly_without_its_guard(scene: Scene, guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    story, break_it = STORIES[guard]
    break_it(monkeypatch)
    with pytest.raises(AssertionError):
        await story(scene)
