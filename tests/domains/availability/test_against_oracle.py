"""The engine against the oracle, on questions drawn at random around changes of the clocks; more with OPENSLOT_LONG."""

from datetime import UTC, datetime
from itertools import islice
from random import Random
from zoneinfo import ZoneInfo

import pytest

from openslot.domains.availability import rules
from openslot.domains.availability.free_hosts import find_hosted, make_query
from openslot.domains.availability.models import NO_START, Code, Days
from openslot.domains.availability.rules import HOST_RULES, OFFER_RULES
from openslot.domains.availability.slots import find_askable, judge, judge_free, list_slots, spans_of
from tests.domains.availability.cases import as_setting, check_each, draw_case, draw_case_across_a_change, draw_cases
from tests.domains.availability.oracle import Case, consult
from tests.support.parts import how_many


def list_starts(case: Case) -> list[int]:
    """Ask the engine."""
    return list_slots(as_setting(case), Days(case.first, case.last), viewer=ZoneInfo(case.viewer)).starts


def test_engine_and_oracle_list_and_judge_alike() -> None:
    def check(case: Case) -> None:
        opinion = consult(case)
        listed = list_starts(case)
        assert [start // 60 for start in listed] == opinion.open
        assert all(start % 60 == 0 for start in listed)
        for start in Random(len(opinion.grid)).choices(opinion.grid or [0], k=3):
            for shifted in (start, start + 5):
                check_verdict(case, shifted, opinion.grid, opinion.open)

    check_each(draw_cases(how_many(300, long=20_000), draw_case), check)


def test_engine_and_oracle_agree_on_hours_that_begin_or_end_in_a_change() -> None:
    def check(case: Case) -> None:
        assert [start // 60 for start in list_starts(case)] == consult(case).open

    check_each(draw_cases(how_many(200, long=5_000), draw_case_across_a_change), check)


def test_the_only_host_is_counted_like_one_of_many() -> None:
    """What is listed for one host is picked without counting who is free, and is the same."""

    def check(case: Case) -> None:
        spans = spans_of(Days(case.first, case.last), ZoneInfo(case.viewer))
        query = make_query(as_setting(case), asked=(spans[0][0], spans[-1][1]))
        assert query.grid.pick(find_hosted(query, find_askable(query, spans))) == list_starts(case)

    check_each(draw_cases(how_many(200, long=5_000), draw_case), check)


def test_every_rule_decides_about_some_of_the_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = [(case, list_starts(case)) for case in draw_cases(300, draw_case)]
    for code in {code for code, _ in (*OFFER_RULES, *HOST_RULES)}:
        monkeypatch.setattr(rules, "OFFER_RULES", [rule for rule in OFFER_RULES if rule[0] is not code])
        monkeypatch.setattr(rules, "HOST_RULES", [rule for rule in HOST_RULES if rule[0] is not code])
        decided = (case for case, starts in questions if list_starts(case) != starts)
        assert len(list(islice(decided, 5))) == 5, code


def check_verdict(case: Case, start: int, grid: list[int], opened: list[int]) -> None:
    if not grid or not grid[0] <= start <= grid[-1]:
        return
    setting, at = as_setting(case), datetime.fromtimestamp(start * 60, UTC)
    code = judge(setting, at)
    assert (code is Code.OPEN) == (start in opened)
    assert judge_free(setting, at)[0] is (code is Code.OPEN)
    assert (code in NO_START) == (start not in grid or start < case.now)
