"""Whatever is booked, moved, held, cancelled and edited in whatever order: the invariants hold."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as limits
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from hypothesis.strategies import booleans, integers, sampled_from
from msgspec.structs import replace

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Organization, User, UserWanted
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.allowances.errors import AllowanceUsed
from openslot.domains.availability.claims import operations as claims
from openslot.domains.availability.claims.expiry.jobs import expire_holds
from openslot.domains.availability.errors import DayHoldLimitExceeded, HoldNotFound
from openslot.domains.availability.models import ById, Hold
from openslot.domains.availability.operations import list_open_slots
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.errors import InviteeLimitReached
from openslot.domains.bookings.models import Booking, BookingRef, BookingWanted, Invitee
from openslot.domains.bookings.requests import operations as requests
from openslot.domains.bookings.series import operations as series
from openslot.domains.bookings.series.models import BookedSeries, OnConflict, Recurrence
from openslot.domains.contacts.operations import delete_contact
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.errors import LinkRevoked
from openslot.domains.event_types.links import operations as links
from openslot.domains.event_types.models import EventType, HostLink, Limits
from openslot.domains.people import operations as people
from openslot.domains.schedules import operations as schedules
from openslot.domains.wait_list import operations as wait_list
from openslot.platform.core.actor import OPERATOR, PUBLIC, SYSTEM, Actor
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Refusal
from openslot.platform.core.ids import new_id
from openslot.platform.core.times import at_second
from openslot.platform.core.work import Runtime, Work
from openslot.runtime import open_runtime
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.parts import LONG, how_many
from tests.support.races import find_disorder, find_over_limit
from tests.support.wait_list import MINUTES, accept, ask_to_wait, find_wait_list_faults, forget_offers, hand_out

EXAMPLES, STEPS = how_many(20, long=100), 50 if LONG else 30
MONDAY = datetime(2026, 3, 16, 7, 0, tzinfo=UTC)
OPEN_KINDS = ("plain", "padded", "group", "asked", "asked-group", "short-lived", "lengths", "weekly")
KINDS = (*OPEN_KINDS, "limited")
LINKED = ("plain", "group", "asked", "limited")
LENGTHS = (15, 30, 60)
CHANGES: dict[str, dict[str, Any]] = {
    "padded": {"buffer_before": 15, "buffer_after": 15},
    "group": {"seats": 2, "wait_list_minutes": MINUTES},
    "asked": {"requires_confirmation": True},
    "asked-group": {"requires_confirmation": True, "seats": 2},
    "lengths": {"durations": LENGTHS, "slot_interval_minutes": 15, "buffer_after": 5},
    "weekly": {"recurring_weeks": 6},
    "limited": {"recurring_weeks": 6, "limits": Limits(per_invitee=2)},
}

places = integers(0, 13)
which = integers(0, 50)
lengths = sampled_from([None, *LENGTHS])
people_who_wait = sampled_from(["ana", "ben", "eva"])
answers_to_an_offer = sampled_from(
    [accept, wait_list.get_wait_list_entry, wait_list.decline_offer, wait_list.leave_wait_list]
)

Verb = Callable[..., Awaitable[object]]


async def withdraw(work: Work, ref: BookingRef) -> object:
    return await requests.withdraw_booking_request(work, ref.id)


async def leave_and_stay(work: Work, organization: Organization, host: User) -> None:
    await add_organization_member(work, organization, host)
    await people.remove_member(work, organization, host)


async def disable_and_enable(work: Work, host: User) -> None:
    await people.disable_user(work, host)
    await accounts.set_user_enabled(work, host)


class Life(RuleBasedStateMachine):
    """One host's calendar, from all sides."""

    runtime: ClassVar[Runtime]
    clock: ClassVar[MovingClock]
    runner: ClassVar[asyncio.Runner]

    def run(self, deed: Coroutine[Any, Any, Any]) -> Any:
        """Do something and tell what came of it; a refusal is an answer too."""
        try:
            return self.runner.run(deed)
        except Refusal as refusal:
            return refusal

    def do(self, verb: Verb, *arguments: Any, by: Actor = PUBLIC, **more: Any) -> Any:
        """Do something in a transaction of its own."""

        async def deed() -> object:
            async with self.runtime.transaction(by) as work:
                return await verb(work, *arguments, **more)

        return self.run(deed())

    @initialize()
    def move_in(self) -> None:
        self.clock.now = MONDAY
        self.booked: list[Booking] = []
        self.holds: list[tuple[Hold, EventType, datetime, int | None]] = []
        self.entries: list[UUID] = []
        self.links: dict[str, list[HostLink]] = {kind: [] for kind in LINKED}
        self.is_deleted = False
        self.host, self.organization, self.offers = self.run(self._move_in())

    async def _move_in(self) -> tuple[User, Organization, dict[str, EventType]]:
        # The clock has been turned back, and would open the offers of the last life again.
        await forget_offers(self.runtime)
        async with self.runtime.transaction(OPERATOR) as work:
            wanted = UserWanted(email=f"{new_id()}@life.example", name="Life")
            host = await people.welcome_user(work, wanted)
            organization = await add_organization(work, name="Life", slug=str(new_id()))
            schedule, *_ = await schedules.list_schedules(work, host)
            offers = {}
            for kind in KINDS:
                draft = event_types.draft_event_type(work, schedule, name=kind, slug=kind, duration_minutes=30)
                wanted_offer = replace(draft, **CHANGES.get(kind, {}))
                offers[kind] = await event_types.add_event_type(work, schedule, wanted_offer)
            return host, organization, offers

    @rule(kind=sampled_from(KINDS), place=places, minutes=lengths)
    def book(self, kind: str, place: int, minutes: int | None) -> None:
        made = self._book(self.offers[kind], self._start(place), minutes=minutes)
        assert not isinstance(made, Booking) or kind != "lengths" or made.minutes == (minutes or 30)

    @rule(kind=sampled_from(LINKED), uses=integers(1, 2), minutes=sampled_from([None, 5, 60]))
    def create_a_link(self, kind: str, uses: int, minutes: int | None) -> None:
        ends_at = self.clock.now + timedelta(minutes=minutes) if minutes else None
        offer_id = self.offers[kind].id
        made = self.do(links.create_booking_link, self.host, offer_id, uses=uses, ends_at=ends_at, by=OPERATOR)
        self.links[kind].append(made[1])

    @rule(kind=sampled_from(LINKED), index=which, place=places)
    def book_through_a_link(self, kind: str, index: int, place: int) -> None:
        if not self.links[kind]:
            return
        link = self.links[kind][index % len(self.links[kind])]
        made = self._book(self.offers[kind], self._start(place), token=link.token)
        if isinstance(made, Booking):
            assert link.link.ends_at is None or link.link.ends_at > self.clock.now

    @rule(kind=sampled_from(LINKED), index=which)
    def revoke_a_link(self, kind: str, index: int) -> None:
        """Revoke one: from then on it opens nothing."""
        if not self.links[kind]:
            return
        link = self.links[kind].pop(index % len(self.links[kind]))
        self.do(links.revoke_booking_link, self.host, link.link.id, by=OPERATOR)
        for place in range(14):
            made = self._book(self.offers[kind], self._start(place), token=link.token)
            assert isinstance(made, LinkRevoked)

    @rule(kind=sampled_from(KINDS), place=places, minutes=lengths)
    def hold(self, kind: str, place: int, minutes: int | None) -> None:
        start = self._start(place)
        held = self.do(claims.hold_slot, ById(self.offers[kind].id, minutes=minutes), start, holder=str(new_id()))
        if isinstance(held, Hold):
            self.holds.append((held, self.offers[kind], start, minutes))

    @rule(index=which)
    def book_what_is_held(self, index: int) -> None:
        if not self.holds:
            return
        held, offer, start, minutes = self.holds.pop(index % len(self.holds))
        made = self._book(offer, start, held.id, minutes=minutes)
        if not isinstance(made, Booking) and self._is_live(held, offer) and not isinstance(made, InviteeLimitReached):
            raise AssertionError(f"a live hold was not honoured: {made}")

    @rule(index=which, minutes=lengths)
    def book_what_is_held_for_another_length(self, index: int, minutes: int | None) -> None:
        if not self.holds:
            return
        held, offer, start, _ = self.holds.pop(index % len(self.holds))
        self._book(offer, start, held.id, minutes=minutes)

    @rule(
        kind=sampled_from(["weekly", "weekly", "limited"]),
        place=places,
        weeks=sampled_from([2, 3, 6]),
        on_conflict=sampled_from(OnConflict),
        is_held=booleans(),
    )
    def book_a_series(self, kind: str, place: int, weeks: int, on_conflict: OnConflict, is_held: bool) -> None:
        """Book several weeks: all of them or none, or those that are free, perhaps with a hold of the first."""
        start, hold_id = self._start(place), None
        if is_held and self.holds and self.holds[-1][1].slug == kind:
            held, _, start, _ = self.holds.pop()
            hold_id = held.id
        recurrence = Recurrence(weeks=weeks, on_conflict=on_conflict)
        made = self._book(self.offers[kind], start, hold_id, weeks=recurrence)
        if isinstance(made, BookedSeries):
            assert len(made.bookings) + len(made.skipped) == weeks
            assert on_conflict is OnConflict.SKIP or not made.skipped
            assert [each.starts_at.weekday() for each in made.bookings] == [0] * len(made.bookings)

    @rule(index=which)
    def cancel_a_series(self, index: int) -> None:
        if self.booked:
            gone = self.do(series.cancel_series, self._ref(index))
            if isinstance(gone, list):
                ids = {each.id for each in gone}
                self.booked = [each for each in self.booked if each.id not in ids]

    @rule(place=places, person=people_who_wait, is_freed=booleans(), index=which, answer=answers_to_an_offer)
    def wait_for_a_full_session(self, place: int, person: str, is_freed: bool, index: int, answer: Verb) -> None:
        """Book the seats that are left, wait for one, perhaps free one; then somebody answers an offer, or none."""
        start, offer = self._start(place), self.offers["group"]
        while isinstance(self._book(offer, start), Booking):
            pass
        email = f"{person}@life.example"
        entry = self.run(ask_to_wait(self.runtime, offer, email, day=start.date(), starts_at=start))
        if isinstance(entry, UUID):
            self.do(wait_list.confirm_entry, entry)
            self.entries.append(entry)
        if is_freed and self.booked:
            self.do(bookings.cancel_booking, self._ref(-1))
            self.booked.pop()
        made = self.do(answer, self.entries[-1 - index % len(self.entries)]) if self.entries else None
        if isinstance(made, Booking):
            self.booked.append(made)

    @rule()
    def hand_out_what_is_free(self) -> None:
        self.run(hand_out(self.runtime))

    @rule(index=which)
    def drop_what_is_held(self, index: int) -> None:
        if self.holds:
            held, *_ = self.holds.pop(index % len(self.holds))
            dropped = self.do(claims.drop_slot_hold, held.id)
            assert dropped is None or isinstance(dropped, HoldNotFound)

    @rule()
    def let_the_minutes_job_come(self) -> None:
        self.run(expire_holds(self.runtime.work(SYSTEM)))

    @rule(index=which, place=places)
    def move(self, index: int, place: int) -> None:
        if not self.booked:
            return
        booking = self.booked[index % len(self.booked)]
        moved = self.do(bookings.reschedule_booking, self._ref(index), self._start(place))
        if isinstance(moved, Booking) and booking.event_type_id == self.offers["lengths"].id:
            assert moved.minutes == booking.minutes

    @rule(index=which)
    def cancel(self, index: int) -> None:
        if self.booked:
            self.do(bookings.cancel_booking, self._ref(index))
            self.booked.pop(index % len(self.booked))

    @rule(
        index=which, answer=sampled_from([requests.confirm_booking_request, requests.decline_booking_request, withdraw])
    )
    def answer(self, index: int, answer: Verb) -> None:
        """Answer a request, or what is none."""
        if self.booked:
            self.do(answer, self._ref(index), by=OPERATOR)

    @rule(is_on=booleans())
    def switch_the_confirmation(self, is_on: bool) -> None:
        self._edit("asked", requires_confirmation=is_on)

    @rule()
    def let_requests_lapse(self) -> None:
        self.run(self._lapse())

    @rule(minutes=sampled_from([1, 5, 11, 60]))
    def let_time_pass(self, minutes: int) -> None:
        self.clock.pass_time(minutes=minutes)

    @rule(minutes=sampled_from([0, 15, 30]))
    def edit_the_buffers(self, minutes: int) -> None:
        self._edit("padded", buffer_after=minutes)

    @rule(kind=sampled_from(KINDS[:3]), minutes=sampled_from([15, 30, 60]))
    def edit_the_length(self, kind: str, minutes: int) -> None:
        self._edit(kind, duration_minutes=minutes)

    @rule(durations=sampled_from([LENGTHS, (30, 60), ()]))
    def edit_the_durations(self, durations: tuple[int, ...]) -> None:
        self._edit("lengths", durations=durations)

    @rule(kind=sampled_from(["plain", "group"]), seats=sampled_from([1, 2, 3]))
    def edit_the_seats(self, kind: str, seats: int) -> None:
        self._edit(kind, seats=seats)

    @rule()
    def delete_an_event_type(self) -> None:
        """Delete one with its holds, where nothing was booked of it."""
        if self.do(event_types.delete_event_type, self.offers["short-lived"], by=OPERATOR) is None:
            self.is_deleted = True

    def _is_live(self, held: Hold, offer: EventType) -> bool:
        is_offered = offer == self.offers[offer.slug] and not (offer.slug == "short-lived" and self.is_deleted)
        return is_offered and held.expires_at > self.clock.now

    @rule()
    def leave(self) -> None:
        """Cancel all that is upcoming, as for someone who leaves; the account stays."""
        self.do(leave_and_stay, self.organization, self.host, by=OPERATOR)

    @rule()
    def disable_and_enable(self) -> None:
        self.do(disable_and_enable, self.host, by=OPERATOR)

    @rule()
    def forget_a_contact(self) -> None:
        if self.booked and self.booked[0].contact_id:
            self.do(delete_contact, self.host, self.booked[0].contact_id, by=OPERATOR)

    @rule(kind=sampled_from(OPEN_KINDS), minutes=lengths)
    def what_is_listed_can_be_booked(self, kind: str, minutes: int | None) -> None:
        slots = self.run(self._list(self.offers[kind], minutes))
        if isinstance(slots, list) and slots:
            offer = self.offers[kind]
            made = self._book(offer, slots[len(slots) // 2], minutes=minutes)
            # Requests may have used up the share of the day, or what their mail domain may take.
            beyond = offer.requires_confirmation and isinstance(made, DayHoldLimitExceeded | AllowanceUsed)
            assert beyond or isinstance(made, Booking), made

    @invariant()
    def nothing_overlaps(self) -> None:
        assert self.run(find_disorder(self.runtime.pool)) == {}
        assert self.run(find_over_limit(self.runtime.pool, now=self.clock.now, host_id=self.host.id)) == 0
        assert self.run(find_wait_list_faults(self.runtime)) == {}

    def _ref(self, index: int) -> BookingRef:
        return BookingRef(self.booked[index % len(self.booked)].id, self.host.id)

    def _start(self, place: int) -> datetime:
        return MONDAY.replace(hour=9) + timedelta(minutes=30 * place)

    def _book(
        self,
        offer: EventType,
        start: datetime,
        hold_id: UUID | None = None,
        *,
        minutes: int | None = None,
        token: str | None = None,
        weeks: Recurrence | None = None,
    ) -> Any:
        invitee = Invitee(name="Li", email="li@life.example", zone="UTC")
        which = ById(offer.id, token, minutes)
        wanted = BookingWanted(which=which, starts_at=start, invitee=invitee, hold_id=hold_id)
        made = self.do(series.create_series, wanted, weeks) if weeks else self.do(bookings.create_booking, wanted)
        if not isinstance(made, Refusal):
            self.booked.extend(made.bookings if weeks else [made])
        return made

    def _edit(self, kind: str, **changes: Any) -> None:
        changed = replace(self.offers[kind], **changes)
        self.offers[kind] = self.do(event_types.change_event_type, changed, by=OPERATOR)

    async def _lapse(self) -> None:
        await requests.plan_lapses(self.runtime.work(SYSTEM))
        await work_off(self.runtime, self.clock)

    async def _list(self, offer: EventType, minutes: int | None) -> list[datetime]:
        work, on = self.runtime.work(PUBLIC), MONDAY.date()
        _, slots, _ = await list_open_slots(work, ById(offer.id, minutes=minutes), timezone="UTC", first=on, last=on)
        return [at_second(start) for start in slots.starts]


@pytest.fixture
def living(settings: Settings) -> Iterator[type[Life]]:
    """The machine, in an open runtime with an event loop of its own."""
    with asyncio.Runner() as runner:
        Life.clock = MovingClock()
        opened = open_runtime(settings, clock=Life.clock)
        Life.runner, Life.runtime = runner, runner.run(opened.__aenter__())
        yield Life
        runner.run(opened.__aexit__(None, None, None))


def test_the_invariants_hold_in_every_life(living: type[Life]) -> None:
    run_state_machine_as_test(
        living,
        settings=limits(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
