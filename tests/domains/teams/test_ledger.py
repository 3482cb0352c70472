"""What each verb of the ledger changes, in millionths of a booking."""

from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.teams import operations as teams
from openslot.domains.teams.choice import BOOKING, HostHistory, choose, count_from_level
from openslot.domains.teams.ledger import operations as ledger
from openslot.domains.teams.models import (
    AssignmentReason,
    Balance,
    Candidate,
    ChoiceAsked,
    CreditReason,
    GroupWanted,
    HostChoice,
    Replacement,
    TeamRules,
)
from openslot.domains.teams.replay import replay_choices
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime, Work
from tests.support.clocks import MovingClock, clock
from tests.support.founding import FoundedTeam, add_event_type, found_team

__all__ = ["clock"]

HALF = BOOKING // 2
TOTAL = TeamRules(event_type_id=UUID(int=9), balance=Balance.TOTAL, window_days=10)
EVERYBODY = GroupWanted(pick=1, filter={})


@pytest.fixture
async def founded(runtime: Runtime) -> FoundedTeam:
    """A team of two."""
    return await found_team(runtime, hosts=2)


async def book(
    runtime: Runtime, event_type_id: UUID, *, away: Iterable[User] = (), booking_id: UUID | None = None
) -> tuple[UUID, HostChoice]:
    booking_id = booking_id or uuid4()
    async with runtime.transaction(OPERATOR) as work:
        await ledger.settle_credits(work, event_type_id)
        (loaded,) = await ledger.load_groups(work, event_type_id)
        absent = {user.id for user in away}
        candidates = tuple(replace(each, is_free=each.user_id not in absent) for each in loaded.candidates)
        choice = choose(candidates, pick=loaded.group.pick, rules=loaded.rules)
        assert choice is not None
        asked = ChoiceAsked(pick=loaded.group.pick, balance=loaded.rules.balance, candidates=candidates)
        ledger.assign_hosts(work, loaded.group, choice, asked, AssignmentReason.BOOKED, booking_id=booking_id)
        await work.apply()
    return booking_id, choice


async def read_credits(runtime: Runtime, event_type_id: UUID) -> list[int]:
    work = runtime.work(OPERATOR)
    (loaded,) = await ledger.load_groups(work, event_type_id)
    return [each.credit for each in loaded.candidates]


async def test_a_booking_costs_who_is_chosen_what_the_others_earn(runtime: Runtime, founded: FoundedTeam) -> None:
    event_type = await add_event_type(runtime, founded)
    _, first = await book(runtime, event_type.id)
    assert first.chosen == (founded.hosts[0].id,)
    assert await read_credits(runtime, event_type.id) == [-HALF, HALF]
    _, second = await book(runtime, event_type.id)
    assert second.chosen == (founded.hosts[1].id,)
    assert await read_credits(runtime, event_type.id) == [0, 0]
    replayed = await replay_choices(runtime.work(OPERATOR), founded.team.id)
    assert (replayed.choices, replayed.equal, replayed.credits) == (2, 2, 2)


@pytest.mark.parametrize("reason", [CreditReason.CANCELLED, CreditReason.NO_SHOW])
async def test_what_a_booking_has_counted_is_taken_back_exactly_and_once(
    runtime: Runtime, founded: FoundedTeam, reason: CreditReason
) -> None:
    event_type = await add_event_type(runtime, founded)
    booking_id, _ = await book(runtime, event_type.id)
    for _ in range(2):
        async with runtime.transaction(OPERATOR) as work:
            await ledger.reverse_credits(work, booking_id, reason)
        assert await read_credits(runtime, event_type.id) == [0, 0]
    async with runtime.transaction(OPERATOR) as work:
        await ledger.restore_credits(work, booking_id)
    restored = [-HALF, HALF] if reason is CreditReason.NO_SHOW else [0, 0]
    assert await read_credits(runtime, event_type.id) == restored


async def test_a_booking_that_is_handed_on_is_paid_by_who_has_it(runtime: Runtime, founded: FoundedTeam) -> None:
    event_type = await add_event_type(runtime, founded)
    booking_id, _ = await book(runtime, event_type.id)
    (loaded,) = await ledger.load_groups(runtime.work(OPERATOR), event_type.id)
    one, other = (host.id for host in founded.hosts)
    for from_user, to_user, expected in ((one, other, [HALF, -HALF]), (other, one, [-HALF, HALF])):
        async with runtime.transaction(OPERATOR) as work:
            replaced = Replacement(group_id=loaded.group.id, hosts={from_user: to_user})
            await ledger.move_assignment(work, booking_id, replaced, reason=AssignmentReason.REASSIGNED)
        assert await read_credits(runtime, event_type.id) == expected
    async with runtime.transaction(OPERATOR) as work:
        await ledger.reverse_credits(work, booking_id, CreditReason.CANCELLED)
    assert await read_credits(runtime, event_type.id) == [0, 0]
    replayed = await replay_choices(runtime.work(OPERATOR), founded.team.id)
    assert (replayed.choices, replayed.named, replayed.differences) == (1, 2, ())


async def test_a_leaver_leaves_nothing_behind_and_comes_back_at_0(runtime: Runtime) -> None:
    founded = await found_team(runtime, hosts=3)
    event_type = await add_event_type(runtime, founded, EVERYBODY)
    leaver = founded.hosts[0]
    await book(runtime, event_type.id)
    async with runtime.transaction(OPERATOR) as work:
        await teams.remove_team_member(work, founded.team, leaver.id)
    # A third of the booking each was owed to them; the leaver had two thirds too many.
    assert await read_credits(runtime, event_type.id) == [0, 0]
    async with runtime.transaction(OPERATOR) as work:
        await teams.add_team_member(work, founded.team, leaver.id)
    assert (await read_credits(runtime, event_type.id))[0] == 0
    assert (await replay_choices(runtime.work(OPERATOR), founded.team.id)).differences == ()


async def test_the_credit_of_a_deleted_account_goes_to_the_others(runtime: Runtime) -> None:
    """Its entries are deleted with it; what is missing is spread with the next choice."""
    founded = await found_team(runtime, hosts=3)
    event_type = await add_event_type(runtime, founded, EVERYBODY)
    booking_id, _ = await book(runtime, event_type.id)
    for table in ("host_group_members", "credit_entries", "team_members"):
        await runtime.pool.execute(f"delete from {table} where user_id = $1", founded.hosts[0].id)
    await book(runtime, event_type.id)
    assert sum(await read_credits(runtime, event_type.id)) == 0
    async with runtime.transaction(OPERATOR) as work:
        await ledger.reverse_credits(work, booking_id, CreditReason.CANCELLED)
    assert sum(await read_credits(runtime, event_type.id)) == 0


async def test_a_hold_that_is_not_booked_gives_back_what_it_has_taken(runtime: Runtime, founded: FoundedTeam) -> None:
    event_type = await add_event_type(runtime, founded)
    booking_id, _ = await book(runtime, event_type.id)
    # No claim has this id, so the hold is over.
    await runtime.pool.execute("update assignments set hold_id = booking_id, booking_id = null")
    async with runtime.transaction(OPERATOR) as work:
        await ledger.settle_credits(work, event_type.id)
    assert await read_credits(runtime, event_type.id) == [0, 0]
    reasons = await runtime.pool.fetch("select distinct reason from credit_entries order by reason")
    assert [row["reason"] for row in reasons] == ["booked", "expired"]
    assert await runtime.pool.fetchval("select count(*) from assignments where hold_id = $1", booking_id) == 0


async def test_a_booking_that_does_not_count_is_handed_on_for_nothing(runtime: Runtime, founded: FoundedTeam) -> None:
    event_type = await add_event_type(runtime, founded)
    booking_id, _ = await book(runtime, event_type.id)
    (loaded,) = await ledger.load_groups(runtime.work(OPERATOR), event_type.id)
    one, other = (host.id for host in founded.hosts)
    async with runtime.transaction(OPERATOR) as work:
        await ledger.reverse_credits(work, booking_id, CreditReason.NO_SHOW)
        reason = AssignmentReason.REASSIGNED
        replaced = Replacement(group_id=loaded.group.id, hosts={one: other})
        await ledger.move_assignment(work, booking_id, replaced, reason=reason)
    assert await read_credits(runtime, event_type.id) == [0, 0]


async def test_two_choices_of_a_group_are_not_staged_at_once(runtime: Runtime, founded: FoundedTeam) -> None:
    event_type = await add_event_type(runtime, founded)
    async with runtime.transaction(OPERATOR) as work:
        await ledger.settle_credits(work, event_type.id)
        (loaded,) = await ledger.load_groups(work, event_type.id)
        choice = choose(loaded.candidates, pick=1, rules=loaded.rules)
        assert choice is not None
        asked = ChoiceAsked(pick=1, balance=Balance.SHARE, candidates=loaded.candidates)
        ledger.assign_hosts(work, loaded.group, choice, asked, AssignmentReason.BOOKED, booking_id=uuid4())
        with pytest.raises(RuntimeError, match="staged already"):
            ledger.assign_hosts(work, loaded.group, choice, asked, AssignmentReason.BOOKED, booking_id=uuid4())
        await work.apply()


async def test_a_changed_ledger_is_found_out(runtime: Runtime, founded: FoundedTeam) -> None:
    event_type = await add_event_type(runtime, founded)
    for _ in range(3):
        await book(runtime, event_type.id)
    work = runtime.work(OPERATOR)
    for change, message in (
        ("update host_group_members set credit = credit + 1", "entries sum up to"),
        ("update credit_entries set delta = delta + 1 where no = (select min(no) from credit_entries)", "were others"),
        ("update assignments set chosen = array[$1::uuid] where chosen <> array[$1::uuid]", "Others are chosen"),
        ("update assignments set price = price - 1", "Other credits"),
    ):
        async with runtime.transaction(OPERATOR) as trying:
            arguments = [founded.hosts[0].id] if "$1" in change else []
            await trying.db.execute(change, *arguments)
            messages = [each.message for each in (await replay_choices(trying, founded.team.id)).differences]
            assert any(message in each for each in messages), (change, messages)
            trying.rolls_back = True
    assert (await replay_choices(work, founded.team.id)).differences == ()


async def served_of(work: Work, event_type_id: UUID) -> list[int]:
    (loaded,) = await ledger.load_groups(work, event_type_id)
    return [each.served for each in loaded.candidates]


async def test_totals_count_the_bookings_of_a_sliding_window(
    runtime: Runtime, founded: FoundedTeam, clock: MovingClock
) -> None:
    """No month begins anew: a booking counts for as many days as the team says."""
    event_type = await add_event_type(runtime, founded, rules=TOTAL)
    cancelled, _ = await book(runtime, event_type.id)
    for _ in range(3):
        clock.now += timedelta(days=3)
        await book(runtime, event_type.id)
    assert await served_of(runtime.work(OPERATOR), event_type.id) == [2, 2]
    async with runtime.transaction(OPERATOR) as work:
        await ledger.reverse_credits(work, cancelled, CreditReason.CANCELLED)
    assert await served_of(runtime.work(OPERATOR), event_type.id) == [1, 2]
    clock.now += timedelta(days=5)
    assert await served_of(runtime.work(OPERATOR), event_type.id) == [1, 1]
    clock.now += timedelta(days=20)
    assert await served_of(runtime.work(OPERATOR), event_type.id) == [0, 0]


async def test_a_newcomer_is_not_flooded_with_bookings(runtime: Runtime, clock: MovingClock) -> None:
    founded = await found_team(runtime, hosts=3)
    newcomer = founded.hosts[2]
    async with runtime.transaction(OPERATOR) as work:
        await teams.remove_team_member(work, founded.team, newcomer.id)
    event_type = await add_event_type(runtime, founded, EVERYBODY, rules=TOTAL)
    for _ in range(10):
        clock.now += timedelta(minutes=1)
        await book(runtime, event_type.id)
    async with runtime.transaction(OPERATOR) as work:
        await teams.add_team_member(work, founded.team, newcomer.id)
    assert await served_of(runtime.work(OPERATOR), event_type.id) == [5, 5, 5]
    chosen: list[UUID] = []
    for _ in range(6):
        clock.now += timedelta(minutes=1)
        chosen += (await book(runtime, event_type.id))[1].chosen
    assert chosen.count(newcomer.id) == 2
    clock.now += timedelta(days=9, hours=23, minutes=55)
    assert sum(await served_of(runtime.work(OPERATOR), event_type.id)) <= 5


def test_a_level_is_by_weight_and_of_those_who_were_there() -> None:
    one, other, late, later = (
        Candidate(host_no=no, user_id=UUID(int=no), weight=weight, priority=2)
        for no, weight in ((1, 100), (2, 100), (3, 50), (4, 100))
    )
    histories = {
        one.user_id: HostHistory(0, {0: 4, 1: 2}),
        other.user_id: HostHistory(0, {0: 6}),
        late.user_id: HostHistory(1, {0: 9, 1: 1}),
    }
    counted = count_from_level((one, other, late, later), histories)
    # Five for a weight of 100: the one with 50 begins at 2, and what they had before they left does not count.
    assert [each.served for each in counted] == [6, 6, 3, 6]
    assert count_from_level((), {}) == ()
