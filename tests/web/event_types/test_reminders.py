"""The reminder times of one event type: its own, or those of all meetings."""

import httpx2
import pytest

from openslot.accounts.models import User
from openslot.core.work import Runtime
from tests.support.page import read_page


@pytest.fixture
async def path(runtime: Runtime, user: User) -> str:
    return f"/event-types/{await runtime.pool.fetchval('select id from event_types where owner_id = $1', user.id)}"


async def _stored(runtime: Runtime) -> list[int] | None:
    found: list[int] | None = await runtime.pool.fetchval("select minutes_before from reminder_settings")
    return found


async def test_an_event_type_has_times_of_its_own_until_it_returns_to_the_usual(
    member: httpx2.AsyncClient, runtime: Runtime, path: str
) -> None:
    assert read_page(await member.get(path)).fields["which"].value == "usual"
    own = {"which": "own", "minutes": ["60", "1440"]}
    saved = await member.post(f"{path}/reminders", data=own)

    assert await _stored(runtime) == [1440, 60]
    shown = read_page(await member.get(saved.headers["location"]))
    assert (shown.fields["which"].value, shown.fields["minutes"].values) == ("own", ["1440", "60"])
    assert any("reminders were saved" in notice for notice in shown.notices)
    await member.post(f"{path}/reminders", data={"which": "own"})
    assert await _stored(runtime) == []
    await member.post(f"{path}/reminders", data={"which": "usual", "minutes": ["60"]})
    assert await _stored(runtime) is None


@pytest.mark.parametrize(
    ("minutes", "fault"),
    [
        (["15", "30", "60", "120", "240", "1440"], "at most 5"),
        (["x"], "one of these"),
        (["-5"], "one of these"),
        (["999999"], "ust be from"),
    ],
)
async def test_wrong_times_are_refused_at_the_field(
    member: httpx2.AsyncClient, runtime: Runtime, path: str, minutes: list[str], fault: str
) -> None:
    answer = await member.post(f"{path}/reminders", data={"which": "own", "minutes": minutes})

    assert answer.status_code == 400
    assert fault in read_page(answer).faults["minutes"]
    assert 'data-watch="unsaved"' in answer.text
    assert await _stored(runtime) is None


async def test_nobody_sets_the_times_of_another_host(
    member: httpx2.AsyncClient, stranger: User, runtime: Runtime
) -> None:
    other = await runtime.pool.fetchval("select id from event_types where owner_id = $1", stranger.id)

    assert (await member.post(f"/event-types/{other}/reminders", data={"which": "own"})).status_code == 404
