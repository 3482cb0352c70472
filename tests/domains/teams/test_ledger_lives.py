"""Whatever is booked, held, cancelled and handed on, whoever joins and leaves: the ledger adds up, and says why."""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterator
from datetime import timedelta
from typing import Any, ClassVar
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as limits
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from hypothesis.strategies import booleans, integers, sampled_from, sets
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.teams import operations as teams
from openslot.domains.teams.choice import choose, repeat
from openslot.domains.teams.ledger import operations as ledger
from openslot.domains.teams.models import (
    AssignmentReason,
    Balance,
    ChoiceAsked,
    CreditReason,
    GroupWanted,
    HostWanted,
    Replacement,
    TeamRules,
)
from openslot.domains.teams.replay import replay_choices
from openslot.domains.teams.store import lock_event_type
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime, Work
from openslot.runtime import open_runtime
from tests.support.clocks import MONDAY, MovingClock
from tests.support.founding import FoundedTeam, add_event_type, found_team
from tests.support.parts import LONG, how_many

EXAMPLES, STEPS = how_many(12, long=150), 60 if LONG else 40
HOSTS = 5

ENDS = {each.value: each for each in (CreditReason.DECLINED, CreditReason.WITHDRAWN, CreditReason.LAPSED)}

who = integers(0, HOSTS - 1)
which = integers(0, 30)
absent = sets(who, max_size=HOSTS)
weights = sampled_from([0, 1, 50, 100, 300, 1000])
priorities = sampled_from([1, 2, 2, 2])


class Booked:
    """A booking, or a hold that may become one, with who hosts it for each group."""

    def __init__(self, id_: UUID, hosts: dict[UUID, list[UUID]], *, claim: UUID | None = None) -> None:
        self.id = id_
        self.hosts = hosts
        self.claim = claim
        self.held_at = MONDAY
        self.is_asked = False


class Ledger(RuleBasedStateMachine):
    """The groups of two event types of a team: one by shares, one by totals."""

    runtime: ClassVar[Runtime]
    clock: ClassVar[MovingClock]
    runner: ClassVar[asyncio.Runner]

    def do(self, verb: Any, *arguments: Any, **more: Any) -> Any:
        """Do something in a transaction of its own, under the lock of the event types."""

        async def deed() -> Any:
            async with self.runtime.transaction(OPERATOR) as work:
                for event_type_id in sorted(self.event_types):
                    await lock_event_type(work.db, event_type_id)
                return await verb(work, *arguments, **more)

        self.clock.now += timedelta(minutes=1)
        return self.run(deed())

    def run(self, deed: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(deed)

    @initialize()
    def found(self) -> None:
        self.clock.now = MONDAY
        self.booked: list[Booked] = []
        self.holds: list[Booked] = []
        self.event_types: list[UUID] = []
        self.in_team: set[int] = set(range(HOSTS))
        self.run(self._found())

    async def _found(self) -> None:
        slug = f"o{uuid4().hex[:12]}"
        self.founded: FoundedTeam = await found_team(self.runtime, hosts=HOSTS, name=slug, slug=slug)
        self.users: tuple[User, ...] = self.founded.hosts
        everybody = GroupWanted(pick=1, filter={})
        some = GroupWanted(pick=2, hosts=tuple(HostWanted(user_id=user.id) for user in self.users[:4]))
        total = TeamRules(event_type_id=uuid4(), balance=Balance.TOTAL, max_lead=3, window_days=1)
        for slug, rules, groups in (("share", None, (everybody, some)), ("total", total, (everybody,))):
            made = await add_event_type(self.runtime, self.founded, *groups, rules=rules, slug=slug)
            self.event_types.append(made.id)

    @rule(event_type=integers(0, 1), away=absent, held=booleans())
    def book(self, event_type: int, away: set[int], held: bool) -> None:
        made = self.do(self._book, self.event_types[event_type], {self.users[each].id for each in away}, held=held)
        if made is not None:
            made.held_at = self.clock.now
            (self.holds if held else self.booked).append(made)

    async def _book(self, work: Work, event_type_id: UUID, away: set[UUID], *, held: bool) -> Booked | None:
        await ledger.settle_credits(work, event_type_id)
        hosts: dict[UUID, list[UUID]] = {}
        claim = await self._claim(work) if held else None
        booking_id = None if held else uuid4()
        for loaded in await ledger.load_groups(work, event_type_id):
            candidates = tuple(replace(each, is_free=each.user_id not in away) for each in loaded.candidates)
            choice = choose(candidates, pick=loaded.group.pick, rules=loaded.rules)
            if choice is None:
                work.rolls_back = True
                work.staged.clear()
                return None
            rules = loaded.rules
            asked = ChoiceAsked(
                pick=loaded.group.pick, balance=rules.balance, max_lead=rules.max_lead, candidates=candidates
            )
            reason = AssignmentReason.HELD if held else AssignmentReason.BOOKED
            ledger.assign_hosts(work, loaded.group, choice, asked, reason, booking_id=booking_id, hold_id=claim)
            hosts[loaded.group.id] = list(choice.chosen)
        await work.apply()
        return Booked(booking_id or uuid4(), hosts, claim=claim)

    async def _claim(self, work: Work) -> UUID:
        claim_id = uuid4()
        await work.db.execute(
            """insert into claims (id, host_no, kind, event_type_id, starts_at, ends_at, during, seats, expires_at,
                holder, holder_network, created_at)
            select $1, u.no, 'hold', $3, $4, $6, tstzrange($4, $6), 1, $5, 'x', 'x', $4 from users u where u.id = $2""",
            claim_id,
            self.users[0].id,
            self.event_types[0],
            work.now,
            work.now + timedelta(minutes=10),
            work.now + timedelta(seconds=1),
        )
        return claim_id

    @rule(event_type=integers(0, 1), away=absent)
    def ask(self, event_type: int, away: set[int]) -> None:
        """What somebody asks for counts as a booking does, as long as it waits."""
        made = self.do(self._book, self.event_types[event_type], {self.users[each].id for each in away}, held=False)
        if made is not None:
            made.is_asked = True
            self.booked.append(made)

    @rule(place=which, answer=sampled_from(["confirmed", *ENDS]))
    def answer(self, place: int, answer: str) -> None:
        """A confirmation changes nothing; what is declined, withdrawn or lapses is taken back, and only once."""
        waiting = [each for each in self.booked if each.is_asked]
        if not waiting:
            return
        request = waiting[place % len(waiting)]
        request.is_asked = False
        if answer in ENDS:
            self.booked.remove(request)
            for _ in range(2):
                self.do(ledger.reverse_credits, request.id, ENDS[answer])

    @rule(event_type=integers(0, 1), away=absent, weeks=integers(2, 5))
    def book_weeks(self, event_type: int, away: set[int], weeks: int) -> None:
        away_ids = {self.users[each].id for each in away}
        self.booked += self.do(self._book_weeks, self.event_types[event_type], away_ids, weeks) or ()

    async def _book_weeks(self, work: Work, event_type_id: UUID, away: set[UUID], weeks: int) -> list[Booked]:
        """Choose once, and let the same hosts have every booking of a series."""
        await ledger.settle_credits(work, event_type_id)
        made = [Booked(uuid4(), {}) for _ in range(weeks)]
        counted = []
        for loaded in await ledger.load_groups(work, event_type_id):
            candidates = tuple(replace(each, is_free=each.user_id not in away) for each in loaded.candidates)
            choice = choose(candidates, pick=loaded.group.pick, rules=loaded.rules)
            if choice is None:
                return []
            asked = ChoiceAsked(
                pick=loaded.group.pick,
                balance=loaded.rules.balance,
                max_lead=loaded.rules.max_lead,
                candidates=candidates,
            )
            counted.append(
                [(loaded.group, *each) for each in [(asked, choice), *repeat(asked, choice, times=weeks - 1)]]
            )
        for booking, choices in zip(made, zip(*counted, strict=True), strict=True):
            for group, asked, choice in choices:
                reason = AssignmentReason.SERIES if asked.kept else AssignmentReason.BOOKED
                ledger.assign_hosts(work, group, choice, asked, reason, booking_id=booking.id)
                booking.hosts[group.id] = list(choice.chosen)
            await work.apply()
        return made

    @rule(place=which, dropped=booleans())
    def end_hold(self, place: int, dropped: bool) -> None:
        if self.holds:
            self.do(self._end_hold, self.holds.pop(place % len(self.holds)), dropped=dropped)

    async def _end_hold(self, work: Work, hold: Booked, *, dropped: bool) -> None:
        change = "active = false" if dropped else "expires_at = created_at"
        await work.db.execute(f"update claims set {change} where id = $1", hold.claim)

    @rule(place=which, session=booleans())
    def keep_hold(self, place: int, session: bool) -> None:
        """A session is counted by its claim, and once, however many join it."""
        live = [each for each in self.holds if each.held_at + timedelta(minutes=9) > self.clock.now]
        if live:
            hold = live[place % len(live)]
            self.holds.remove(hold)
            if session and hold.claim is not None:
                hold.id = hold.claim
            self.do(self._keep_hold, hold)
            self.booked.append(hold)

    @rule(place=which)
    def hold_again(self, place: int) -> None:
        """All who have booked a session have cancelled, and somebody holds a seat in it."""
        sessions = [each for each in self.booked if each.id == each.claim]
        if sessions:
            session = sessions[place % len(sessions)]
            self.do(self._hold_again, session)
            self.booked.remove(session)
            session.held_at = self.clock.now
            self.holds.append(session)

    async def _hold_again(self, work: Work, session: Booked) -> None:
        await work.db.execute(
            "update claims set kind = 'hold', expires_at = $2 where id = $1",
            session.claim,
            work.now + timedelta(minutes=10),
        )
        await ledger.hold_session_again(work, session.id)

    async def _keep_hold(self, work: Work, hold: Booked) -> None:
        await work.db.execute("update claims set expires_at = null, kind = 'booking' where id = $1", hold.claim)
        assert hold.claim is not None
        ledger.keep_counted_hold(work, hold.claim, hold.id)
        await work.apply()

    @rule(place=which, reason=sampled_from([CreditReason.CANCELLED, CreditReason.RESCHEDULED]))
    def cancel(self, place: int, reason: CreditReason) -> None:
        met = [each for each in self.booked if not each.is_asked]
        if met:
            booking = met[place % len(met)]
            self.booked.remove(booking)
            self.do(ledger.reverse_credits, booking.id, reason)

    @rule(place=which, came=booleans())
    def miss(self, place: int, came: bool) -> None:
        met = [each for each in self.booked if not each.is_asked]
        if met:
            booking = met[place % len(met)]
            self.do(ledger.reverse_credits, booking.id, CreditReason.NO_SHOW)
            if came:
                self.do(ledger.restore_credits, booking.id)
            else:
                self.booked.remove(booking)

    @rule(place=which, to=who, named=booleans(), together=booleans())
    def hand_on(self, place: int, to: int, named: bool, together: bool) -> None:
        """One host of each group is replaced, or all of them together."""
        if not self.booked:
            return
        booking = self.booked[place % len(self.booked)]
        leaving = {id_: list(hosts) if together and not named else hosts[:1] for id_, hosts in booking.hosts.items()}
        to_user = self.users[to].id if named else None
        for group_id, users in self.do(self._hand_on, booking, leaving, to_user).items():
            booking.hosts[group_id] = [users.get(each, each) for each in booking.hosts[group_id]]

    async def _hand_on(
        self, work: Work, booking: Booked, leaving: dict[UUID, list[UUID]], to_user: UUID | None
    ) -> dict[UUID, dict[UUID, UUID]]:
        loaded = {each.group.id: each for id_ in self.event_types for each in await ledger.load_groups(work, id_)}
        replaced = []
        for group_id, users in leaving.items():
            busy = booking.hosts[group_id]
            if to_user is not None:
                if to_user not in busy:
                    replaced.append(Replacement(group_id=group_id, hosts={users[0]: to_user}))
                continue
            group = loaded[group_id]
            candidates = tuple(replace(each, is_free=each.user_id not in busy) for each in group.candidates)
            choice = choose(candidates, pick=len(users), rules=group.rules)
            if choice is not None:
                asked = ChoiceAsked(
                    pick=len(users), balance=group.rules.balance, max_lead=group.rules.max_lead, candidates=candidates
                )
                hosts = dict(zip(users, choice.chosen, strict=True))
                replaced.append(Replacement(group_id=group_id, hosts=hosts, asked=asked))
        await ledger.move_assignment(work, booking.id, *replaced, reason=AssignmentReason.REASSIGNED)
        return {each.group_id: dict(each.hosts) for each in replaced}

    @rule(host=who)
    def join_or_leave(self, host: int) -> None:
        user = self.users[host]
        if host not in self.in_team:
            self.in_team.add(host)
            self.do(teams.add_team_member, self.founded.team, user.id)
        elif len(self.in_team) > 1:
            self.in_team.remove(host)
            self.do(teams.remove_team_member, self.founded.team, user.id)

    @rule(host=who, disabled=booleans())
    def disable_or_enable(self, host: int, disabled: bool) -> None:
        """An account that is disabled is in no group: the next choice notices it."""
        self.do(self._disable, self.users[host].id, disabled=disabled)

    async def _disable(self, work: Work, user_id: UUID, *, disabled: bool) -> None:
        await work.db.execute(
            "update users set disabled_at = case when $2 then $3::timestamptz end where id = $1",
            user_id,
            disabled,
            work.now,
        )

    @rule(host=who, weight=weights, priority=priorities)
    def change_weight(self, host: int, weight: int, priority: int) -> None:
        if host in self.in_team:
            self.do(self._change_weight, self.users[host], weight, priority)

    async def _change_weight(self, work: Work, user: User, weight: int, priority: int) -> None:
        member = await teams.get_team_member(work, self.founded.team, user.id)
        await teams.change_team_member(work, replace(member, weight=weight, priority=priority))

    @rule(days=sampled_from([0, 1]))
    def wait(self, days: int) -> None:
        self.clock.now += timedelta(days=days, minutes=20)

    @invariant()
    def adds_up(self) -> None:
        if not getattr(self, "event_types", None):
            return
        replayed = self.run(replay_choices(self.runtime.work(OPERATOR), self.founded.team.id))
        assert replayed.differences == ()
        self.run(self._check_served())

    async def _check_served(self) -> None:
        """Each booking that counts is one booking of each of its hosts."""
        rows = await self.runtime.pool.fetch(
            """select e.user_id, sum(e.served) as served from credit_entries e
            join assignments a on a.id = e.assignment_id
            where a.booking_id is not null group by e.user_id having sum(e.served) <> 0"""
        )
        hosts = Counter(user_id for each in self.booked for group in each.hosts.values() for user_id in group)
        ours = {user.id for user in self.users}
        assert {row["user_id"]: row["served"] for row in rows if row["user_id"] in ours} == hosts


@pytest.fixture
def living(settings: Settings) -> Iterator[type[Ledger]]:
    """The machine, in an open runtime with an event loop of its own."""
    with asyncio.Runner() as runner:
        Ledger.clock = MovingClock()
        opened = open_runtime(settings, clock=Ledger.clock)
        Ledger.runner, Ledger.runtime = runner, runner.run(opened.__aenter__())
        yield Ledger
        runner.run(opened.__aexit__(None, None, None))


def test_the_ledger_adds_up_in_every_life(living: type[Ledger]) -> None:
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
