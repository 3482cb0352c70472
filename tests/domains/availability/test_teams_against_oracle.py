"""The engine for teams against the oracle, on questions drawn at random; all 20,000 of them with OPENSLOT_LONG."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from random import Random, SystemRandom
from typing import cast
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace as change

from openslot.domains.availability import team_listing, team_store
from openslot.domains.availability.explain import explain_day, explain_start
from openslot.domains.availability.models import Code, Days, SlotContext, SlotInputs
from openslot.domains.availability.slots import judge, judge_hosts, list_free_hosts, list_slots
from openslot.domains.schedules.models import Schedule
from openslot.platform.core.db import Db
from tests.domains.availability.team_cases import as_team, draw_team_case
from tests.domains.availability.team_oracle import TeamCase, consult_team
from tests.support.parts import LONG, how_many, is_daily

CASES = 80 if is_daily() else how_many(1_000, long=20_000)


def draw_cases() -> Iterator[TeamCase]:
    first = SystemRandom().randrange(2**32) if LONG else 0
    return (draw_team_case(Random(seed)) for seed in range(first, first + CASES))


def test_engine_and_oracle_list_and_judge_alike() -> None:
    opened = 0
    for case in draw_cases():
        opinion, inputs = consult_team(case), as_team(case)
        listed = list_slots(inputs, Days(case.first, case.last), viewer=ZoneInfo(case.viewer)).starts
        assert [start / 60 for start in listed] == opinion.open, case
        opened += bool(listed)
        for start in Random(len(opinion.grid)).choices(opinion.grid, k=2):
            at = datetime.fromtimestamp(start * 60, UTC)
            judged = judge_hosts(inputs, at)
            assert {no - 1 for no, code in judged.items() if code is Code.OPEN} == opinion.free[start], case
            for minutes in (0, 5, 7):
                near = at + timedelta(minutes=minutes)
                free = {no for no, code in judge_hosts(inputs, near).items() if code is Code.OPEN}
                assert list_free_hosts(inputs, near) == free, case
            assert (judge(inputs, at) is Code.OPEN) == (start in opinion.open), case
            explained = explain_start(inputs, at)
            assert explained.code is judge(inputs, at), case
            assert bool(explained.reasons) == (start not in opinion.open), case
            shown = [group.can_be_chosen for group in explained.groups]
            assert shown == [len(able & opinion.free[start]) for able in opinion.able], case
    # Neither mostly open nor mostly closed.
    assert CASES // 5 < opened < CASES


def test_days_are_explained_as_the_oracle_sees_them() -> None:
    given = 0
    for drawn in islice(draw_cases(), CASES // 10):
        case = replace(drawn, viewer=drawn.zone, last=drawn.first)
        opinion = consult_team(case)
        explained = explain_day(as_team(case), case.first)
        assert explained.open == len(opinion.open), case
        assert explained.starts <= len(opinion.grid), case
        assert bool(explained.reasons) == (explained.open < explained.starts or not explained.starts), case
        given += explained.starts > 0
    assert given > CASES // 50


class Reading:
    """A store that has the hosts of one case, and keeps who was read."""

    def __init__(self, inputs: SlotInputs) -> None:
        self.hosts = inputs.hosts
        self.read: list[int] = []

    async def list_times(
        self, _: Db, inputs: SlotInputs, numbers: Collection[int], **asked: datetime
    ) -> list[team_store.ReadHost]:
        self.read += numbers
        versions = inputs.choice.versions
        return [team_store.ReadHost(host=self.hosts[no], version=versions[no], changes_at=None) for no in numbers]

    async def list_hours(self, _: Db, numbers: Collection[int]) -> list[tuple[Schedule, dict[int, int | None]]]:
        return [(self.hosts[no].schedule, {no: None}) for no in numbers]


async def test_hosts_who_are_read_one_after_the_other_give_the_same_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team_listing, "READ_FIRST", 1)
    spared = 0
    for version, case in enumerate(draw_cases()):
        inputs, days, viewer = as_team(case), Days(case.first, case.last), ZoneInfo(case.viewer)
        reading = Reading(inputs)
        versions: dict[int, int | None] = dict.fromkeys(reading.hosts, version)
        monkeypatch.setattr(team_store, "list_times", reading.list_times)
        monkeypatch.setattr(team_store, "list_hours", reading.list_hours)
        found = SlotContext(
            inputs=change(inputs, hosts={}, choice=change(inputs.choice, versions=versions)),
            has_stale=False,
            host_no=0,
            host_name="",
            host_username="",
            host_zone="UTC",
            host_left_at=None,
        )
        slots = await team_listing.list_open(cast("Db", None), found, days, viewer=viewer)
        assert slots == list_slots(inputs, days, viewer=viewer), case
        spared += len(reading.read) < len(reading.hosts)
        # Who was read is not read again, and what was listed is listed again.
        assert await team_listing.list_open(cast("Db", None), found, days, viewer=viewer) == slots, case
        assert len(reading.read) == len(set(reading.read)), case
    assert spared > CASES // 20
