"""The rule of the ledger without a database: any sequence of what moves credits, many times faster."""

from collections import Counter
from uuid import UUID

from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from hypothesis.strategies import booleans, integers, sampled_from, sets
from msgspec.structs import replace

from openslot.domains.teams.choice import choose, choose_again, spread
from openslot.domains.teams.models import Balance, Candidate, ChoiceAsked, HostChoice, TeamRules
from tests.support.parts import how_many

RULES = TeamRules(event_type_id=UUID(int=0))
HOSTS = 6
EXAMPLES = how_many(150, long=2000)

who = integers(0, HOSTS - 1)
which = integers(0, 40)


class Booked:
    def __init__(self, asked: ChoiceAsked, choice: HostChoice) -> None:
        self.asked = asked
        self.choice = choice
        self.counts: Counter[UUID] = Counter(choice.deltas)
        self.hosts = list(choice.chosen)
        self.is_missed = False
        self.is_asked = False


class Model(RuleBasedStateMachine):
    """A group whose credits are kept beside the ledger that explains them."""

    def __init__(self) -> None:
        super().__init__()
        self.members = {
            UUID(int=no): Candidate(host_no=no, user_id=UUID(int=no), weight=100, priority=2) for no in range(HOSTS)
        }
        self.gone: set[UUID] = set()
        self.ledger: list[tuple[UUID, int]] = []
        self.booked: list[Booked] = []
        self.choices = 0

    def write(self, deltas: Counter[UUID], *, sign: int = 1) -> None:
        for user_id, delta in deltas.items():
            self.ledger.append((user_id, sign * delta))
            self.members[user_id] = replace(self.members[user_id], credit=self.members[user_id].credit + sign * delta)

    def settle(self) -> None:
        """Spread what those have who are not in the group."""
        present = [each for user_id, each in self.members.items() if user_id not in self.gone]
        left = Counter({user_id: -self.members[user_id].credit for user_id in self.gone})
        if present and (spare := -sum(left.values())):
            self.write(left)
            self.write(Counter(spread(spare, present)))

    @rule(away=sets(who), pick=integers(1, 3), asked=booleans())
    def book_or_ask(self, away: set[int], pick: int, asked: bool) -> None:
        self.settle()
        candidates = tuple(
            replace(each, is_free=each.host_no not in away)
            for user_id, each in self.members.items()
            if user_id not in self.gone
        )
        choice = choose(candidates, pick=pick, rules=RULES)
        if choice is None:
            return
        self.choices += 1
        self.write(Counter(choice.deltas))
        for user_id in choice.chosen:
            self.members[user_id] = replace(self.members[user_id], last_no=self.choices)
        self.booked.append(Booked(ChoiceAsked(pick=pick, balance=Balance.SHARE, candidates=candidates), choice))
        self.booked[-1].is_asked = asked

    @rule(place=which, accepted=booleans())
    def accept_or_end(self, place: int, accepted: bool) -> None:
        """What is declined or lapses is taken back, a confirmation changes nothing."""
        waiting = [each for each in self.booked if each.is_asked]
        if waiting:
            request = waiting[place % len(waiting)]
            request.is_asked = False
            if not accepted:
                self.booked.remove(request)
                self.write(request.counts, sign=-1)

    @rule(place=which)
    def cancel_or_expire(self, place: int) -> None:
        if self.booked:
            booking = self.booked.pop(place % len(self.booked))
            if not booking.is_missed:
                self.write(booking.counts, sign=-1)

    @rule(place=which)
    def miss_or_come(self, place: int) -> None:
        met = [each for each in self.booked if not each.is_asked]
        if met:
            booking = met[place % len(met)]
            self.write(booking.counts, sign=1 if booking.is_missed else -1)
            booking.is_missed = not booking.is_missed

    @rule(place=which, to=who)
    def hand_on(self, place: int, to: int) -> None:
        if not self.booked:
            return
        booking, new = self.booked[place % len(self.booked)], UUID(int=to)
        if new not in booking.hosts and not booking.is_missed:
            moved = Counter({booking.hosts[0]: booking.choice.price, new: -booking.choice.price})
            self.write(moved)
            for user_id, delta in moved.items():
                booking.counts[user_id] += delta
            booking.hosts[0] = new

    @rule(host=who, leaves=booleans())
    def join_or_leave(self, host: int, leaves: bool) -> None:
        (self.gone.add if leaves else self.gone.discard)(UUID(int=host))
        self.settle()

    @rule(host=who, weight=sampled_from([0, 1, 50, 1000]), priority=sampled_from([1, 2]))
    def change(self, host: int, weight: int, priority: int) -> None:
        user_id = UUID(int=host)
        self.members[user_id] = replace(self.members[user_id], weight=weight, priority=priority)

    @invariant()
    def credits_sum_up_to_0(self) -> None:
        assert sum(each.credit for each in self.members.values()) == 0

    @invariant()
    def each_credit_is_the_sum_of_its_entries(self) -> None:
        sums: Counter[UUID] = Counter()
        for user_id, delta in self.ledger:
            sums[user_id] += delta
        assert all(each.credit == sums[user_id] for user_id, each in self.members.items())

    @invariant()
    def choices_come_out_the_same_again(self) -> None:
        assert all(choose_again(each.asked) == each.choice for each in self.booked[-3:])


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=EXAMPLES, stateful_step_count=40)
