"""Starts of teams: the faults that others have had, each by its name, and how groups share hosts."""

from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from itertools import combinations
from random import Random
from sys import getsizeof
from time import perf_counter
from zoneinfo import ZoneInfo

import pytest

from openslot.domains.availability import groups
from openslot.domains.availability.explain import explain_day, explain_start
from openslot.domains.availability.grid import Steps, lay_steps
from openslot.domains.availability.groups import (
    HostsWanted,
    can_fill,
    count_at_least,
    fill,
    find_fillable,
    keep_most,
)
from openslot.domains.availability.models import Code, Days
from openslot.domains.availability.slots import judge, list_slots, list_taken
from tests.domains.availability.cases import second
from tests.domains.availability.team_cases import as_team
from tests.domains.availability.team_oracle import HostCase, Member, TeamCase, can_serve

MONDAY = date(2026, 3, 16)
NINE_TO_FIVE = (((540, 1020),),) * 5 + ((), ())
NEVER = ((),) * 7


def minute(text: str) -> int:
    return second(text) // 60


def host(zone: str = "UTC", weekly: tuple[tuple[tuple[int, int], ...], ...] = NINE_TO_FIVE, **more: object) -> HostCase:
    return HostCase(zone, weekly, **more)  # type: ignore[arg-type]


def one_of(*hosts: int) -> tuple[int, tuple[Member, ...]]:
    return 1, tuple(Member(each) for each in hosts)


def team(*hosts: HostCase, groups: tuple[tuple[int, tuple[Member, ...]], ...], **more: object) -> TeamCase:
    now = minute("2026-03-13 12:00")
    values = {"zone": "UTC", "viewer": "UTC", "first": MONDAY, "last": MONDAY, "now": now, "duration": 60, **more}
    return TeamCase(hosts=hosts, groups=groups, **values)  # type: ignore[arg-type]


def times(case: TeamCase) -> list[str]:
    """List the open starts as the viewer's clock shows them."""
    viewer = ZoneInfo(case.viewer)
    starts = list_slots(as_team(case), Days(case.first, case.last), viewer=viewer).starts
    return [f"{datetime.fromtimestamp(start, viewer):%H:%M}" for start in starts]


MORNING = (minute("2026-03-16 09:00"), minute("2026-03-16 12:00"))
AFTERNOON = (minute("2026-03-16 12:00"), minute("2026-03-16 17:00"))


def test_a_required_host_who_is_away_closes_the_start() -> None:
    case = team(host(), host(away=(MORNING,)), groups=(one_of(0), one_of(1)))
    assert times(case) == ["12:00", "13:00", "14:00", "15:00", "16:00"]


def test_required_hosts_who_never_meet_leave_nothing_to_the_pool() -> None:
    free_in_turns = (host(busy=(MORNING,)), host(busy=(AFTERNOON,)), host())
    assert times(team(*free_in_turns, groups=(one_of(0), one_of(1), one_of(2)))) == []


def test_a_host_who_is_free_for_a_part_of_the_meeting_is_not_free() -> None:
    half_past = minute("2026-03-16 09:30")
    case = team(host(claims=((half_past, half_past + 10),)), groups=(one_of(0),))
    assert times(case)[0] == "10:00"
    assert times(replace(case, before=25))[0] == "11:00"


def test_a_required_host_needs_one_of_the_pool_as_well() -> None:
    case = team(host(), host(busy=(MORNING,)), host(busy=(MORNING,)), groups=(one_of(0), one_of(1, 2)))
    assert times(case)[0] == "12:00"


def test_a_team_without_hosts_has_no_starts_and_says_so() -> None:
    case = team(groups=(one_of(),))
    assert times(case) == []
    inputs = as_team(case)
    assert judge(inputs, datetime(2026, 3, 16, 9, tzinfo=UTC)) is Code.NO_HOSTS
    assert explain_start(inputs, datetime(2026, 3, 16, 9, tzinfo=UTC)).reasons[0].sentence == "The group has no hosts"
    assert explain_day(inputs, MONDAY).open == 0


def test_one_host_is_enough_for_one() -> None:
    assert len(times(team(host(), groups=(one_of(0),)))) == 8


def test_two_of_three_need_two_at_the_same_time() -> None:
    pair = 2, (Member(0), Member(1), Member(2))
    case = team(host(busy=(MORNING,)), host(busy=(AFTERNOON,)), host(), groups=(pair,))
    assert len(times(case)) == 8
    assert times(team(host(busy=(MORNING,)), host(busy=(MORNING,)), host(), groups=(pair,)))[0] == "12:00"


def test_hosts_give_time_and_never_starts() -> None:
    """The clock of Kolkata is half an hour off, and the team's starts stay on its own hours."""
    case = team(host(), host("Asia/Kolkata", (((840, 1320),),) * 7), groups=(one_of(0), one_of(1)))
    # 14:00 in Kolkata is 08:30, and 22:00 is 16:30.
    assert times(case) == ["09:00", "10:00", "11:00", "12:00", "13:00", "14:00", "15:00"]


def test_starts_are_counted_from_each_midnight_of_the_teams_calendar() -> None:
    all_day = host("Australia/Lord_Howe", (((0, 1440),),) * 7)
    case = team(all_day, groups=(one_of(0),), zone="Asia/Kathmandu", viewer="Asia/Kathmandu", duration=50)
    assert times(case)[:2] == ["00:00", "00:50"]
    assert times(replace(case, first=date(2026, 3, 17), last=date(2026, 3, 17)))[:2] == ["00:00", "00:50"]


def test_a_day_with_a_change_of_the_clocks_keeps_its_midnights() -> None:
    all_day = host("Europe/Berlin", (((0, 1440),),) * 7)
    change = date(2026, 3, 29)
    case = team(all_day, groups=(one_of(0),), zone="Europe/Berlin", viewer="Europe/Berlin", first=change, last=change)
    assert len(times(case)) == 23
    assert times(case)[:3] == ["00:00", "01:00", "03:00"]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Australia/Lord_Howe"])
def test_a_grid_of_minutes_is_kept_without_its_starts(zone: str) -> None:
    """Strangers choose which days are asked for, and a process keeps many grids."""
    first = (date(2026, 10, 1) - date(1970, 1, 1)).days
    starts = lay_steps(Steps(ZoneInfo(zone), first, first + 62, 60)).starts
    assert len(starts) > 62 * 1440
    assert getsizeof(starts) < 100


def test_a_host_of_two_groups_serves_one_of_them() -> None:
    assert times(team(host(), groups=(one_of(0), one_of(0)))) == []
    assert len(times(team(host(), host(), groups=(one_of(0), one_of(0, 1))))) == 8


def test_who_is_too_far_ahead_is_left_out_and_named() -> None:
    ahead = 1, (Member(0, served=3), Member(1))
    case = team(host(), host(busy=(MORNING,)), groups=(ahead,), max_lead=2)
    assert times(case)[0] == "12:00"
    explained = explain_start(as_team(case), datetime(2026, 3, 16, 9, tzinfo=UTC))
    assert explained.code is Code.NO_HOSTS
    assert [each.sentence for each in explained.reasons] == [
        "Only 0 of 1 needed hosts are free",
        "Host 1 is 3 ahead",
        "Host 2 is busy in a calendar",
    ]
    assert times(replace(case, max_lead=3))[0] == "09:00"


def test_nobody_is_chosen_whose_weight_is_0() -> None:
    assert times(team(host(), groups=((1, (Member(0, weight=0),)),))) == []


def test_the_limits_of_a_host_close_their_time_and_not_that_of_others() -> None:
    nine = minute("2026-03-16 09:00")
    full = host(booked=(nine,), booked_in_all=(nine,), claims=((nine, nine + 60),))
    case = team(full, groups=(one_of(0),), host_limits=(1, None))
    assert times(case) == []
    assert len(times(replace(case, host_limits=(2, None)))) == 7
    assert times(replace(case, host_limits=(None, None), host_limits_in_all=(None, 1))) == []
    assert len(times(replace(case, hosts=(full, host()), groups=(one_of(0, 1),)))) == 8


@pytest.mark.parametrize(
    ("hosts", "code"),
    [
        ((host(weekly=NEVER),), Code.OUTSIDE_HOURS),
        ((host(away=(MORNING,)),), Code.NO_HOSTS),
        ((host(),), Code.OPEN),
    ],
)
def test_a_start_at_which_nobody_works_was_never_one(hosts: tuple[HostCase, ...], code: Code) -> None:
    inputs = as_team(team(*hosts, groups=(one_of(0),)))
    assert judge(inputs, datetime(2026, 3, 16, 9, tzinfo=UTC)) is code
    assert explain_start(inputs, datetime(2026, 3, 16, 9, tzinfo=UTC)).code is code


def test_starts_between_the_steps_are_off_the_grid() -> None:
    inputs = as_team(team(host(), groups=(one_of(0),)))
    explained = explain_start(inputs, datetime(2026, 3, 16, 9, 30, tzinfo=UTC))
    assert explained.code is Code.OFF_GRID
    assert explained.reasons[0].sentence == "Start times are 60 min apart, counted from midnight"


def test_what_others_have_taken_is_told_apart_from_what_is_closed_anyway() -> None:
    case = team(host(claims=(MORNING,), busy=((AFTERNOON[0], AFTERNOON[0] + 60),)), groups=(one_of(0),))
    taken = list_taken(as_team(case), Days(MONDAY, MONDAY), viewer=ZoneInfo("UTC"))
    assert [start // 60 for start in taken] == [minute(f"2026-03-16 {hour:02d}:00") for hour in (9, 10, 11)]


def test_a_day_tells_at_how_many_starts_each_host_is_free() -> None:
    explained = explain_day(as_team(team(host(busy=(MORNING,)), host(), groups=(one_of(0), one_of(1)))), MONDAY)
    assert (explained.starts, explained.open) == (8, 5)
    assert [(each.name, each.free) for each in explained.hosts] == [("Host 1", 5), ("Host 2", 8)]
    assert [(each.sentence, each.closes) for each in explained.reasons] == [("Too few hosts of group 1 are free", 3)]


def draw_groups(chance: Random) -> list[HostsWanted]:
    return [
        HostsWanted(chance.randint(1, 3), frozenset(chance.sample(range(6), chance.randint(0, 6))))
        for _ in range(chance.randint(0, 5))
    ]


@pytest.mark.parametrize("max_", [0, 256])
def test_groups_are_filled_exactly_where_some_assignment_exists(monkeypatch: pytest.MonkeyPatch, max_: int) -> None:
    monkeypatch.setattr(groups, "MAX_NEEDS", max_)
    for seed in range(1500):
        chance = Random(seed)
        drawn = draw_groups(chance)
        free = {no: chance.getrandbits(8) for no in range(6)}
        found = find_fillable(drawn, free)
        for place in range(8):
            now = [
                HostsWanted(each.pick, frozenset(no for no in each.hosts if free[no] >> place & 1)) for each in drawn
            ]
            expected = can_serve([each.pick for each in now], [each.hosts for each in now])
            assert bool(found >> place & 1) == can_fill(now) == expected, drawn


def test_as_many_starts_as_the_same_hosts_can_have() -> None:
    """Compared with every set of starts: of all that somebody could serve together, none is larger."""
    for seed in range(400):
        chance = Random(seed)
        groups = draw_groups(chance)
        free = {no: chance.getrandbits(6) | chance.getrandbits(6) for no in range(6)}
        among = chance.getrandbits(6)

        def can_have(starts: int, groups: list[HostsWanted] = groups, free: dict[int, int] = free) -> bool:
            able = {no for no, bits in free.items() if bits & starts == starts}
            return can_serve([each.pick for each in groups], [each.hosts & able for each in groups])

        kept = keep_most(groups, free, among)
        possible = [starts for starts in range(64) if starts & ~among == 0 and can_have(starts)]
        assert kept == 0 or can_have(kept), groups
        assert kept.bit_count() == max((each.bit_count() for each in possible), default=0), groups


def test_where_there_are_very_many_ways_the_first_ones_have_to_do() -> None:
    chance = Random(1)
    groups = [HostsWanted(3, frozenset(range(40)))] * 4
    began = perf_counter()
    keep_most(groups, {no: chance.getrandbits(52) for no in range(40)}, 2**52 - 1)
    assert perf_counter() - began < 2


def test_many_groups_that_share_many_hosts_are_looked_at_in_time() -> None:
    chance = Random(1)
    groups = [HostsWanted(2, frozenset(chance.sample(range(40), 12))) for _ in range(19)]
    free = {no: chance.getrandbits(500) | chance.getrandbits(500) for no in range(40)}
    began = perf_counter()
    find_fillable(groups, free)
    assert perf_counter() - began < 5


def prefer(groups: list[HostsWanted], order: list[int], place: int, allowed: frozenset[int]) -> list[int] | None:
    chosen = [no for no in order if no in allowed][: groups[place].pick]
    return chosen if len(chosen) == groups[place].pick else None


def test_a_choice_leaves_to_later_groups_whom_they_need() -> None:
    """Whatever order hosts are preferred in, every start that is listed can be booked."""
    for seed in range(1500):
        chance = Random(seed)
        groups, order = draw_groups(chance), chance.sample(range(6), 6)
        filled = fill(groups, partial(prefer, groups, order))
        assert (filled is not None) == can_fill(groups), groups
        if filled is not None:
            everybody = [no for chosen in filled for no in chosen]
            assert len(everybody) == len(set(everybody)) == sum(each.pick for each in groups)
            assert all(each.hosts.issuperset(chosen) for each, chosen in zip(groups, filled, strict=True))


def test_the_first_group_gets_whom_it_prefers_where_others_can_do_without() -> None:
    groups = [HostsWanted(1, frozenset({1, 2, 3})), HostsWanted(1, frozenset({1}))]
    assert fill(groups, lambda _, allowed: sorted(allowed)[:1]) == [(2,), (1,)]


@pytest.mark.parametrize("count", range(1, 5))
def test_so_many_of_several_sets(count: int) -> None:
    sets = [0b1011, 0b0011, 0b1101, 0b0001]
    expected = 0
    for chosen in combinations(sets, count):
        common = -1
        for each in chosen:
            common &= each
        expected |= common
    assert count_at_least(count, range(4), dict(enumerate(sets))) == expected
    assert count_at_least(count, range(4), dict(enumerate(sets)), among=0b1) & 0b1 == expected & 0b1


def test_of_many_hosts_who_are_free_only_some_are_looked_at() -> None:
    asked: list[int] = []

    class FreeTime(dict[int, int]):
        def __missing__(self, no: int) -> int:
            asked.append(no)
            return 0b11

    assert find_fillable([HostsWanted(2, frozenset(range(500)))], FreeTime(), among=0b11) == 0b11
    assert len(asked) == 2
