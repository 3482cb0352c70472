"""Which dead effects may be tried again, by what came after them."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from openslot.platform.core.effects import REPLACED, replay_lane
from openslot.platform.core.revivals import DONE_SINCE, TOO_OLD, UNDER_WAY, LaneEntry, RevivalVerdict, judge
from openslot.platform.i18n import CodedReason

NOW = datetime(2026, 3, 16, 12, tzinfo=UTC)
LANE = "thing:1"


def entry(no: int, state: str, *, event: int | None = None, lane: str = LANE, planned: bool | None = None) -> LaneEntry:
    return LaneEntry(
        id=UUID(int=no),
        no=no,
        event_no=event or no,
        event_at=NOW,
        lane=lane,
        state=state,
        reaction="probe.write",
        is_planned=state in {"waiting", "queued"} and lane == LANE if planned is None else planned,
    )


AGAIN = replay_lane(LANE)


@pytest.mark.parametrize(
    ("others", "reason"),
    [
        ([], None),
        ([entry(1, "done")], None),
        ([entry(9, "done")], DONE_SINCE),
        ([entry(9, "dead")], None),
        ([entry(9, "skipped")], None),
        ([entry(9, "waiting")], None),
        ([entry(9, "queued")], None),
        ([entry(9, "queued", planned=False)], UNDER_WAY),
        ([entry(9, "running")], UNDER_WAY),
        ([entry(1, "running")], None),
        ([entry(8, "running"), entry(9, "done")], DONE_SINCE),
        # What was sent once more: newer, older, and the same event.
        ([entry(9, "done", lane=AGAIN)], DONE_SINCE),
        ([entry(9, "done", event=3, lane=AGAIN)], None),
        ([entry(9, "done", event=5, lane=AGAIN)], DONE_SINCE),
        ([entry(9, "queued", lane=AGAIN)], UNDER_WAY),
        ([entry(9, "queued", event=3, lane=AGAIN)], None),
        ([entry(9, "dead", lane=AGAIN)], None),
    ],
)
def test_what_came_after_it_decides(others: list[LaneEntry], reason: CodedReason | None) -> None:
    revival = judge(entry(5, "dead"), others, collapses=False, kept_since=NOW)

    assert revival.reason == reason
    assert revival.verdict is {None: RevivalVerdict.QUEUED, UNDER_WAY: RevivalVerdict.LEFT}.get(
        reason, RevivalVerdict.SKIPPED
    )


@pytest.mark.parametrize("state", ["waiting", "queued", "running", "dead"])
def test_where_only_the_newest_state_counts_an_older_one_is_outdated(state: str) -> None:
    assert judge(entry(5, "dead"), [entry(9, state)], collapses=True, kept_since=NOW).reason == REPLACED
    assert judge(entry(5, "dead"), [entry(1, state)], collapses=True, kept_since=NOW).reason is None


def test_what_is_older_than_events_are_kept_can_not_know_what_came_after_it() -> None:
    later = NOW + timedelta(seconds=1)

    assert judge(entry(5, "dead"), [], collapses=False, kept_since=later).reason == TOO_OLD
