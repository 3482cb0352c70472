"""The engine against the oracle, on questions drawn at random around changes of the clocks; more with OPENSLOT_LONG."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openslot.availability.models import NO_START, Code, Days
from openslot.availability.slots import judge, list_slots
from tests.availability.cases import LONG, as_setting, cases, cases_across_a_change
from tests.availability.oracle import Case, consult


@given(case=cases(), data=st.data())
@settings(
    max_examples=20_000 if LONG else 400,
    deadline=None,
    database=None,
    derandomize=not LONG,
    suppress_health_check=list(HealthCheck),
)
def test_engine_and_oracle_list_and_judge_alike(case: Case, data: st.DataObject) -> None:
    opinion = consult(case)
    setting = as_setting(case)
    listed = list_slots(setting, Days(case.first, case.last), viewer=ZoneInfo(case.viewer)).starts
    assert [start // 60 for start in listed] == opinion.open
    assert all(start % 60 == 0 for start in listed)
    if opinion.grid:
        start = data.draw(st.sampled_from(opinion.grid)) + data.draw(st.sampled_from([0, 0, 0, 5, -5]))
        check_verdict(case, start, opinion.grid, opinion.open)


@given(case=cases_across_a_change())
@settings(max_examples=5_000 if LONG else 200, deadline=None, database=None, derandomize=not LONG)
def test_engine_and_oracle_agree_on_hours_that_begin_or_end_in_a_change(case: Case) -> None:
    listed = list_slots(as_setting(case), Days(case.first, case.last), viewer=ZoneInfo(case.viewer)).starts
    assert [start // 60 for start in listed] == consult(case).open


def check_verdict(case: Case, start: int, grid: list[int], opened: list[int]) -> None:
    if not grid[0] <= start <= grid[-1]:
        return
    code = judge(as_setting(case), datetime.fromtimestamp(start * 60, UTC))
    assert (code is Code.OPEN) == (start in opened)
    assert (code in NO_START) == (start not in grid or start < case.now)
