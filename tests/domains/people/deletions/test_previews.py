"""What the page says before an account is deleted."""

import pytest

from openslot.domains.people import deletions
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.clocks import MONDAY, MovingClock
from tests.support.teams import book_alone, book_team, list_hosts, offer, open_team

AT = MONDAY.replace(hour=10)


@pytest.mark.parametrize("replaces", [True, False])
async def test_the_preview_of_a_deletion_counts_what_teams_take_over(
    runtime: Runtime, clock: MovingClock, replaces: bool
) -> None:
    team = await open_team(runtime, 2, replaces_leavers=replaces)
    booking = await book_team(runtime, team.event_type, AT)
    (host_id,) = await list_hosts(runtime, booking.id)
    host = next(each for each in team.hosts if each.id == host_id)
    await book_alone(runtime, host, AT.replace(hour=12))
    owned = await offer(runtime, team.id, host, team.hosts, [(1, [0, 1])])
    # Somebody else hosts it: with its new owner nothing is lost.
    await book_alone(runtime, host, AT.replace(hour=14))
    other = await book_team(runtime, owned, AT.replace(hour=14))
    assert await list_hosts(runtime, other.id) != [host_id]

    found = await deletions.preview_deletion(runtime.work(OPERATOR), host)

    assert (found.counts["upcoming"], found.counts["handed_over"]) == ((2, 1) if replaces else (3, 0))
    assert len(found.upcoming) == found.counts["upcoming"]
    own = await runtime.pool.fetchval(
        "select count(*) from event_types where owner_id = $1 and team_id is null", host.id
    )
    assert (found.counts["team_event_types"], found.counts["event_types"]) == (1, own)
