"""Whatever is booked, paid, notified, cancelled, refunded and lost in whatever order: money and bookings agree."""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from dataclasses import fields
from datetime import datetime, timedelta
from ipaddress import ip_network
from typing import Any, ClassVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as limits
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from hypothesis.strategies import integers, sampled_from
from msgspec.structs import replace

from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.availability.models import ById
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef, BookingWanted, Invitee
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType, Money
from openslot.domains.payments import operations, store
from openslot.domains.payments.jobs import read_due
from openslot.domains.payments.models import StoredPayment
from openslot.domains.payments.ports import Checkouts
from openslot.domains.payments.reactions import PAYMENT_REACTIONS
from openslot.domains.people import operations as people
from openslot.domains.schedules import operations as schedules
from openslot.platform.core.actor import OPERATOR, PUBLIC, SYSTEM, Actor, EffectAttempt
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.errors import Refusal
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime, TryLater, Wiring
from openslot.runtime import open_runtime
from openslot.wiring import WIRING
from tests.domains.payments.agreement import check_agreement
from tests.support.clocks import MONDAY, MovingClock
from tests.support.effects import run_attempt, start_effect
from tests.support.fake_stripe import Books, FakeStripe, Fault, FaultKind, StripeRefusal, serving
from tests.support.parts import LONG, how_many
from tests.support.payments import ImpatientCheckouts, insert_connection

EXAMPLES, STEPS = how_many(12, long=80), 60 if LONG else 30
KINDS = ("single", "group", "strict")
FAULTS = (FaultKind.HANG_UP, FaultKind.LOSE_ANSWER, FaultKind.STATUS, FaultKind.KEPT_STATUS)
OURS = "reaction like 'payments.%' and state = 'queued'"

places = integers(0, 3)
which = integers(0, 50)


class Crashed(Exception):
    """The process has ended before its second transaction."""


class CrashingRuntime(Runtime):
    """A mutant of a process that ends as soon as the provider has answered."""

    async def run(self, actor: Actor, act: Any) -> Any:
        raise Crashed


class Till(RuleBasedStateMachine):
    """One host's event types with a price, from all sides."""

    runtime: ClassVar[Runtime]
    clock: ClassVar[MovingClock]
    runner: ClassVar[asyncio.Runner]
    fake: ClassVar[FakeStripe]
    books: Books

    def run(self, deed: Coroutine[Any, Any, Any]) -> Any:
        """Do something and tell what came of it; a refusal is an answer too, and so is the end of a process."""
        try:
            return self.runner.run(deed)
        except (Refusal, Crashed) as refusal:
            return refusal

    @initialize()
    def open(self) -> None:
        self.clock.now = MONDAY
        self.fake.is_down, self.fake.faults = False, []
        self.booked: list[UUID] = []
        self.urls: dict[UUID, str] = {}
        self.has_left = False
        self.books = self.fake.add_account(f"Books {new_id()}")
        self.host, self.offers = self.run(self._open())

    async def _open(self) -> tuple[User, dict[str, EventType]]:
        async with self.runtime.transaction(OPERATOR) as work:
            host = await people.welcome_user(work, UserWanted(email=f"{new_id()}@till.example", name="Till"))
            schedule, *_ = await schedules.list_schedules(work, host)
            changes: dict[str, dict[str, Any]] = {"group": {"seats": 2}, "strict": {"refund_policy": "until:24"}}
            offers = {}
            for kind in KINDS:
                draft = event_types.draft_event_type(work, schedule, name=kind, slug=kind, duration_minutes=30)
                changed = replace(draft, price=Money(4900, "EUR"), **changes.get(kind, {}))
                offers[kind] = await event_types.add_event_type(work, schedule, changed)
        await insert_connection(self.runtime, self.books.key, user_id=host.id)
        return host, offers

    # Those who book, pay, change their mind

    @rule(kind=sampled_from(KINDS), place=places)
    def book(self, kind: str, place: int) -> None:
        self.run(self._book(kind, place))

    @rule(kind=sampled_from(KINDS), place=places, fault=sampled_from(FAULTS))
    def book_while_the_provider_fails(self, kind: str, place: int, fault: FaultKind) -> None:
        self.fake.faults = [Fault(fault, "checkout/sessions")] * 3
        self.run(self._book(kind, place))
        self.fake.faults = []

    @rule(kind=sampled_from(KINDS), place=places, has_asked=sampled_from([False, True]))
    def book_in_a_process_that_crashes(self, kind: str, place: int, has_asked: bool) -> None:
        self.run(self._book(kind, place, opens=False))
        if has_asked and self.booked:
            self.run(operations.open_checkout(self._crashing(), self.booked[-1]))

    @rule(index=which)
    def ask_again_where_to_pay(self, index: int) -> None:
        if self.booked:
            self.run(self._show_checkout(self.booked[index % len(self.booked)]))

    @rule(index=which, how=sampled_from(["pay", "pay", "pay", "pay_later", "decline"]))
    def pay(self, index: int, how: str) -> None:
        """Pay, as whoever was told where to."""
        if self.urls:
            session = list(self.urls.values())[index % len(self.urls)].rpartition("/")[2]
            self._at_stripe(lambda: getattr(self.books, how)(session))

    @rule(index=which, comes=sampled_from([True, True, False]))
    def let_delayed_money_come(self, index: int, comes: bool) -> None:
        waiting = [each for each in self.books.list("checkout.session") if self._is_delayed(each)]
        if waiting:
            session = waiting[index % len(waiting)]["id"]
            (self.books.money_arrives if comes else self.books.money_fails)(session)

    @rule(index=which)
    def give_up(self, index: int) -> None:
        if self.booked:
            self.run(operations.give_payment_up(self.runtime, self.booked[index % len(self.booked)]))

    @rule(index=which, by=sampled_from([PUBLIC, OPERATOR]))
    def cancel(self, index: int, by: Actor) -> None:
        if self.booked:
            self.run(self._cancel(self.booked[index % len(self.booked)], by))

    @rule(index=which, place=places)
    def move(self, index: int, place: int) -> None:
        if self.booked:
            self.run(self._move(self.booked[index % len(self.booked)], self._start(place + 4)))

    # The host, the provider and the bank

    @rule(index=which, amount=sampled_from([None, 1000, 4900]))
    def refund_here(self, index: int, amount: int | None) -> None:
        if self.booked:
            self.run(self._refund(self.booked[index % len(self.booked)], amount))

    @rule(index=which, amount=sampled_from([None, 900]))
    def refund_there(self, index: int, amount: int | None) -> None:
        self._with_charge(index, lambda charge: self.books.refund(charge["payment_intent"], amount))

    @rule(index=which)
    def let_a_refund_fail(self, index: int) -> None:
        if made := self.books.list("refund"):
            self._at_stripe(lambda: self.books.fail_refund(made[index % len(made)]["id"]))

    @rule(index=which)
    def dispute(self, index: int) -> None:
        self._with_charge(index, lambda charge: self.books.dispute(charge["payment_intent"]))

    @rule(index=which, is_won=sampled_from([True, False]))
    def close_a_dispute(self, index: int, is_won: bool) -> None:
        if opened := self.books.list("dispute"):
            dispute = opened[index % len(opened)]["id"]
            self._at_stripe(lambda: self.books.close_dispute(dispute, is_won=is_won))

    @rule()
    def leave(self) -> None:
        if not self.has_left and len(self.booked) > 4:
            self.has_left = True
            self.run(self._leave())

    # What makes things known: notices, the page that people come back to, the minute's job, the worker

    @rule(index=which, times=integers(1, 3))
    def notify(self, index: int, times: int) -> None:
        """Read because of notices, the landing page and the job, all at the same moment."""
        if self.booked:
            self.run(self._read(self.booked[index % len(self.booked)], times))

    @rule(index=which)
    def read_in_a_process_that_crashes(self, index: int) -> None:
        if self.booked:
            self.run(self._read(self.booked[index % len(self.booked)], 1, self._crashing()))

    @rule()
    def let_the_worker_work(self) -> None:
        self.run(self._work())

    @rule(fault=sampled_from(FAULTS))
    def let_the_worker_work_while_the_provider_fails(self, fault: FaultKind) -> None:
        self.fake.faults = [Fault(fault)] * 3
        self.run(self._work())
        self.fake.faults = []

    @rule()
    def let_the_worker_crash(self) -> None:
        self.run(self._crash())

    @rule(is_down=sampled_from([True, False, False]))
    def break_or_mend_the_line(self, is_down: bool) -> None:
        self.fake.is_down = is_down

    @rule(minutes=sampled_from([1, 3, 20, 40, 60 * 13, 60 * 30]))
    def let_time_pass(self, minutes: int) -> None:
        self.clock.pass_time(minutes=minutes)

    def teardown(self) -> None:
        if hasattr(self, "booked"):
            self.fake.is_down, self.fake.faults = False, []
            self.run(self._end())

    async def _end(self) -> None:
        """Let everything come to its end, and compare what we know with what the provider knows."""
        for hours in (0, 1, 4, 13, 30, 60):
            self.clock.pass_time(hours=hours)
            await self._work()
        for booking_id in self.booked:
            await self._read(booking_id, 1)
        await self._work()
        await check_agreement(self.runtime, self.books, self.host, self.booked)
        self.books.let_time_pass()
        assert not [each for each in self.books.list("checkout.session") if each["status"] == "open"]

    def _start(self, place: int) -> datetime:
        return MONDAY.replace(hour=10) + timedelta(days=3, minutes=30 * place)

    def _is_delayed(self, session: Any) -> bool:
        is_unpaid = session["status"] == "complete" and session["payment_status"] == "unpaid"
        return bool(is_unpaid and self.books.objects[session["payment_intent"]]["status"] == "processing")

    def _at_stripe(self, deed: Any) -> None:
        with suppress(StripeRefusal):
            deed()

    def _with_charge(self, index: int, deed: Any) -> None:
        charges = [each for each in self.books.list("charge") if each["status"] == "succeeded"]
        if charges:
            self._at_stripe(lambda: deed(charges[index % len(charges)]))

    def _crashing(self) -> Runtime:
        shared = {each.name: getattr(self.runtime, each.name) for each in fields(Runtime) if each.init}
        return CrashingRuntime(**shared)

    async def _find(self, booking_id: UUID) -> StoredPayment:
        payment = await store.find_stored_payment(self.runtime.pool, booking_id)
        assert payment is not None
        return payment

    async def _book(self, kind: str, place: int, *, opens: bool = True) -> None:
        invitee = Invitee(name="Li", email=f"{new_id()}@wei.example", zone="UTC")
        wanted = BookingWanted(which=ById(self.offers[kind].id), starts_at=self._start(place), invitee=invitee)
        async with self.runtime.transaction(PUBLIC) as work:
            booking = await operations.book_with_payment(work, wanted)
        self.booked.append(booking.id)
        if opens:
            await self._show_checkout(booking.id)

    async def _show_checkout(self, booking_id: UUID) -> None:
        self.urls[booking_id] = await operations.open_checkout(self.runtime, booking_id)

    async def _cancel(self, booking_id: UUID, actor: Actor) -> None:
        async with self.runtime.transaction(actor) as work:
            await bookings.cancel_booking(work, BookingRef(booking_id, None))

    async def _move(self, booking_id: UUID, start: datetime) -> None:
        async with self.runtime.transaction(PUBLIC) as work:
            await bookings.reschedule_booking(work, BookingRef(booking_id, None), start)

    async def _refund(self, booking_id: UUID, amount: int | None) -> None:
        payment = await self._find(booking_id)
        async with self.runtime.transaction(OPERATOR) as work:
            await operations.refund_payment(work, self.host, payment.id, amount=amount)

    async def _leave(self) -> None:
        async with self.runtime.transaction(OPERATOR) as work:
            await people.disable_user(work, self.host)

    async def _read(self, booking_id: UUID, times: int, runtime: Runtime | None = None) -> None:
        payment = await self._find(booking_id)
        reading = (operations.read_anew(runtime or self.runtime, payment.id) for _ in range(times))
        for answer in await asyncio.gather(*reading, return_exceptions=True):
            if isinstance(answer, BaseException) and not isinstance(answer, Refusal | Crashed):
                raise answer

    async def _work(self) -> None:
        await read_due(self.runtime.work(SYSTEM))
        while (attempt := await self._next()) is not None:
            await run_attempt(self.runtime, attempt)

    async def _crash(self) -> None:
        """Let the worker end when it has done something and not noted it; another one does it again."""
        attempt = await self._next()
        effect = attempt and await start_effect(self.runtime.pool, attempt, now=self.clock.now)
        if not effect:
            return
        reaction = self.runtime.wiring.reaction(effect.reaction)
        assert reaction is not None
        # Whatever was thrown is lost with the process.
        with suppress(Crashed, TryLater, Refusal):
            await reaction.run(self._crashing().work(SYSTEM), effect)
        await self.runtime.pool.execute("update effects set state = 'queued' where state = 'running'")

    async def _next(self) -> EffectAttempt | None:
        statement = f"select id, round from effects where {OURS} and next_try_at <= $1 order by next_try_at, no limit 1"
        row = await self.runtime.pool.fetchrow(statement, self.clock.now)
        return EffectAttempt(row["id"], row["round"]) if row else None


# Mail, webhooks and calendars have tests of their own.
ALONE = Wiring(events=WIRING.events, reactions=PAYMENT_REACTIONS, migrations=WIRING.migrations)


@pytest.fixture
def till(settings: Settings) -> Iterator[type[Till]]:
    """The machine, in an open runtime with an event loop of its own."""
    with asyncio.Runner() as runner:
        Till.clock, Till.runner = MovingClock(), runner
        serve = serving(Till.clock)
        Till.fake = runner.run(serve.__aenter__())
        allowed = replace(settings, outbound_allow=Networks((ip_network("127.0.0.0/8"),)))
        fakes: dict[type, object] = {Checkouts: ImpatientCheckouts(Till.fake.url)}
        opened = open_runtime(allowed, clock=Till.clock, wiring=ALONE, fakes=fakes)
        Till.runtime = runner.run(opened.__aenter__())
        yield Till
        runner.run(opened.__aexit__(None, None, None))
        runner.run(serve.__aexit__(None, None, None))


def test_money_and_bookings_agree_in_the_end(till: type[Till]) -> None:
    run_state_machine_as_test(
        till,
        settings=limits(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
