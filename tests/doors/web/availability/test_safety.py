"""No page about availability shows another host's data."""

import httpx2

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from openslot.platform.routing import collect, find_declaration
from tests.doors.web.availability.conftest import read_schedule
from tests.doors.web.availability.support import fill
from tests.support.forms import NOBODY

DAY = "2026-03-20"


def paths(method: str, *, schedule: object = NOBODY, away: object = NOBODY) -> list[str]:
    found = []
    for handler in collect(
        *(f"openslot.doors.web.dashboard.{name}" for name in ("availability", "onboarding", "own_booking"))
    ):
        declaration = find_declaration(handler)
        assert declaration is not None
        if declaration.method == method:
            path = declaration.path.replace("{schedule_id}", str(schedule)).replace("{away_id}", str(away))
            found.append(path.replace("{day}", DAY).replace("{booking_id}", str(NOBODY)))
    return found


async def test_what_is_another_hosts_is_the_same_404_as_nothing(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User
) -> None:
    schedule, away = await fill(runtime, stranger)
    before = await read_schedule(runtime, stranger)
    sent = {"name": "Eve", "timezone": "UTC", "first": "2026-05-01", "kind": "closed", "act": "save"}
    seen = 0
    for method in ("GET", "POST"):
        known, unknown = paths(method, schedule=schedule.id, away=away), paths(method)
        for path, nothing in zip(known, unknown, strict=True):
            if path == nothing:
                continue
            answer = await member.request(method, path, data=sent if method == "POST" else None)
            other = await member.request(method, nothing, data=sent if method == "POST" else None)
            seen += 1

            assert answer.status_code == 404, path
            assert answer.text == other.text
    assert seen == 17
    assert await read_schedule(runtime, stranger) == before
    assert await runtime.pool.fetchval("select count(*) from out_of_office") == 1
