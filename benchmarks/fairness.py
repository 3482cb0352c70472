"""How far from their share hosts of a team come, in bookings, and how long a choice takes: measured, not promised."""

from collections.abc import Iterator
from random import Random
from time import process_time
from uuid import UUID

from openslot.domains.teams.choice import BOOKING, choose
from openslot.domains.teams.models import Candidate, TeamRules

RULES = TeamRules(event_type_id=UUID(int=0))
BOOKINGS = 1000
HOSTS = (2, 5, 10, 30)
FREE = (1.0, 0.5, 0.1)
REVERSED = 0.2
POOLS = (10, 50, 500)
KINDS = (("weights", 1, 0.0), ("two at a time", 2, 0.0), ("a fifth cancelled", 1, REVERSED))


def main() -> None:
    """Print the largest deviation for each size of a group, and the time of one choice."""
    print(f"{'deviation from the share':<32}{'free 100 %':>12}{'50 %':>8}{'10 %':>8}{'bound':>8}")
    for kind, pick, cancelled in KINDS:
        for count in HOSTS:
            if count > pick:
                found = [_measure(count, free, pick=pick, cancelled=cancelled) for free in FREE]
                bound = f"{(count - 1) / 2:.1f}" if not cancelled else "none"
                print(f"{f'{count} hosts, {kind}':<32}{found[0]:>12.2f}{found[1]:>8.2f}{found[2]:>8.2f}{bound:>8}")
    for count in POOLS:
        print(f"{f'choice of {count} hosts':<32}{_time(count):>9.3f} ms")


def _measure(count: int, free: float, *, pick: int, cancelled: float) -> float:
    return max(deviation for seed in range(3) for deviation in _book(Random(seed), count, free, pick, cancelled))


def _book(random: Random, count: int, free: float, pick: int, cancelled: float) -> Iterator[float]:
    weights = [random.randint(25, 200) for _ in range(count)]
    credits_, last, kept = [0] * count, [0] * count, list[dict[UUID, int]]()
    for no in range(1, BOOKINGS + 1):
        candidates = [
            _candidate(who, weights[who], credits_[who], last[who], is_free=random.random() < free)
            for who in range(count)
        ]
        choice = choose(candidates, pick=pick, rules=RULES)
        if choice is None:
            continue
        kept.append(choice.deltas)
        for user_id in choice.chosen:
            last[user_id.int] = no
        changes = [(user_id.int, delta) for user_id, delta in choice.deltas.items()]
        if random.random() < cancelled:
            changes += [(user_id.int, -delta) for user_id, delta in kept.pop(random.randrange(len(kept))).items()]
        for who, delta in changes:
            credits_[who] += delta
        yield max(map(abs, credits_)) / BOOKING


def _candidate(who: int, weight: int, credit: int = 0, last_no: int = 0, *, is_free: bool = True) -> Candidate:
    return Candidate(
        host_no=who, user_id=UUID(int=who), weight=weight, priority=2, credit=credit, last_no=last_no, is_free=is_free
    )


def _time(count: int) -> float:
    candidates = [_candidate(who, 100) for who in range(count)]
    began = process_time()
    for _ in range(20):
        choose(candidates, pick=1, rules=RULES)
    return (process_time() - began) / 20 * 1000


if __name__ == "__main__":
    main()
