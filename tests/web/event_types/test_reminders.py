"""When and how people are reminded of one event type: its own choice, or that of all meetings; and its follow-up."""

import httpx2
import pytest

from openslot.accounts.models import User
from openslot.core.work import Runtime
from openslot.messaging.connection_models import ConnectionChannel
from tests.support.messaging import insert_number
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
    assert read_page(await member.get(f"{path}/reminders")).fields["which"].value == "usual"
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


async def test_channels_are_offered_only_with_a_number_and_kept_with_the_times(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, path: str
) -> None:
    assert "channels" not in read_page(await member.get(f"{path}/reminders")).fields
    await insert_number(runtime, user_id=user.id)
    shown = read_page(await member.get(f"{path}/reminders"))
    assert shown.fields["channels"].values == ["email"]
    assert "WhatsApp" not in shown.text.partition("Save the reminders")[0].partition("SMS")[0]
    own = {"which": "own", "minutes": ["60"], "has_channels": "1"}
    saved = await member.post(f"{path}/reminders", data={**own, "channels": ["sms"]})

    assert saved.headers["location"] == f"{path}/reminders?done=reminders"
    assert await runtime.pool.fetchval("select channels from reminder_settings") == ["sms"]
    assert read_page(await member.get(f"{path}/reminders")).fields["channels"].values == ["sms"]
    # Times that are sent from a page without channels leave them as they are.
    await member.post(f"{path}/reminders", data={"which": "own", "minutes": ["120"]})
    assert await runtime.pool.fetchval("select channels from reminder_settings") == ["sms"]
    for channels in ([], ["fax"]):
        refused = await member.post(f"{path}/reminders", data={**own, "channels": channels})
        assert "channels" in read_page(refused).faults
    assert await runtime.pool.fetchval("select channels from reminder_settings") == ["sms"]


async def test_channels_of_all_meetings_are_chosen_with_their_times(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    here = "/settings/notifications"
    assert "channels" not in read_page(await member.get(here)).fields
    await insert_number(runtime, user_id=user.id, channel=ConnectionChannel.WHATSAPP)
    sent = {"minutes": ["60"], "has_channels": "1", "channels": ["email", "whatsapp"]}
    assert (await member.post(f"{here}/reminders", data=sent)).status_code == 303

    row = await runtime.pool.fetchrow("select event_type_id, channels from reminder_settings")
    assert row is not None
    assert tuple(row.values()) == (None, ["email", "whatsapp"])
    assert read_page(await member.get(here)).fields["channels"].values == ["email", "whatsapp"]
    refused = await member.post(f"{here}/reminders", data={**sent, "channels": []})
    assert "channels" in read_page(refused).faults


async def test_a_follow_up_is_switched_on_and_off(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, path: str
) -> None:
    assert "After the meeting" not in (await member.get(f"{path}/reminders")).text
    await insert_number(runtime, user_id=user.id)
    shown = read_page(await member.get(f"{path}/reminders"))
    assert (shown.fields["hours"].value, shown.fields["follow_up"].values, shown.fields["is_on"].values) == (
        "2",
        ["sms"],
        [],
    )
    wanted = {"is_on": "on", "hours": "24", "follow_up": ["sms"], "text": "Thanks, {name}!\r\n{host}"}
    saved = await member.post(f"{path}/follow-up", data=wanted)

    assert saved.headers["location"] == f"{path}/reminders?done=follow-up"
    row = await runtime.pool.fetchrow("select channels, hours_after, text from message_follow_ups")
    assert row is not None
    assert tuple(row.values()) == (["sms"], 24, "Thanks, {name}!\n{host}")
    shown = read_page(await member.get(saved.headers["location"]))
    assert (shown.fields["hours"].value, shown.fields["text"].value) == ("24", "Thanks, {name}!\n{host}")
    for change, field in (
        ({"hours": "0"}, "hours"),
        ({"hours": ""}, "hours"),
        ({"text": ""}, "text"),
        ({"text": "Hello {link}"}, "text"),
        ({"follow_up": []}, "follow_up"),
    ):
        refused = await member.post(f"{path}/follow-up", data={**wanted, **change})
        assert refused.status_code == 400, change
        assert field in read_page(refused).faults, change
    await member.post(f"{path}/follow-up", data={"hours": "24"})
    assert await runtime.pool.fetchval("select count(*) from message_follow_ups") == 0


async def test_nobody_sets_the_follow_up_of_another_host(
    member: httpx2.AsyncClient, stranger: User, runtime: Runtime
) -> None:
    other = await runtime.pool.fetchval("select id from event_types where owner_id = $1", stranger.id)
    wanted = {"is_on": "on", "hours": "24", "follow_up": ["sms"], "text": "Thanks"}

    assert (await member.post(f"/event-types/{other}/follow-up", data=wanted)).status_code == 404
    assert (await member.get(f"/event-types/{other}/reminders")).status_code == 404
