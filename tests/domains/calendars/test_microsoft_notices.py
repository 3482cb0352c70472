"""Microsoft's notices of changes: who is told is who has asked, and a forged or broken one makes nothing due."""

import json
from typing import Any
from urllib.parse import urlencode, urlsplit
from uuid import uuid4

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars.models import CalendarConnection
from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.calendars.conftest import open_starts, work_off
from tests.domains.calendars.microsoft_pushes import (
    connection,
    count_channels,
    due_at,
    edit,
    list_subscriptions,
    reachable,
    settings,
)
from tests.support.clocks import MovingClock
from tests.support.fake_microsoft import FakeMicrosoft, Mailbox
from tests.support.microsoft_host import allow, mailbox, microsoft
from tests.support.microsoft_host import settings as microsoft_settings

pytestmark = pytest.mark.rest("speaks with one vendor; the contracts of all run in make test")

__all__ = ["connection", "mailbox", "microsoft", "microsoft_settings", "reachable", "settings"]

ENTERED = {"Content-Type": "application/json"}


async def test_a_change_is_read_as_soon_as_it_is_told_of(
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    microsoft: FakeMicrosoft,
    mailbox: Mailbox,
    connection: CalendarConnection,
) -> None:
    edit(mailbox)
    clock.pass_time(seconds=30)
    await work_off(runtime, clock)
    assert "10:00" in await open_starts(runtime, user)

    assert await microsoft.notify() == [202]

    assert await due_at(runtime, connection) == clock.now
    await work_off(runtime, clock)
    assert "10:00" not in await open_starts(runtime, user)


async def test_many_notices_cause_few_readings(
    runtime: Runtime,
    clock: MovingClock,
    microsoft: FakeMicrosoft,
    mailbox: Mailbox,
    connection: CalendarConnection,
) -> None:
    microsoft.asked.clear()
    for number in range(20):
        edit(mailbox, number)
        assert await microsoft.notify() == [202]
        await work_off(runtime, clock)
        clock.pass_time(seconds=1)

    deltas = [each for each in microsoft.asked if "calendarView/delta" in each.path]
    assert 1 <= len(deltas) <= 3


@pytest.mark.parametrize("token", ["Validation: <b>&+ 1", "é" * 100])
async def test_the_address_is_proven_by_a_text_that_is_never_a_page(
    client: httpx2.AsyncClient, microsoft: FakeMicrosoft, connection: CalendarConnection, token: str
) -> None:
    (subscription,) = list_subscriptions(microsoft)
    path = urlsplit(subscription.given.notification_url).path

    shown = await client.post(f"{path}?{urlencode({'validationToken': token})}")

    assert (shown.status_code, shown.text) == (200, token)
    assert shown.headers["content-type"] == "text/plain; charset=utf-8"
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert (await client.get(f"{path}?validationToken=a")).status_code == 405
    for wrong in ("", "a" * 2001):
        assert (await client.post(f"{path}?{urlencode({'validationToken': wrong})}")).status_code == 403
    assert (await client.post(f"/api/notices/microsoft/{uuid4()}?validationToken=a")).status_code == 403


HOSTILE: list[Any] = [
    {"value": []},
    {"value": [{}]},
    {"value": {}},
    {"value": None},
    {},
    [],
    None,
    "text",
    {"clientState": "SECRET", "value": [{"subscriptionId": "ID"}]},
    {"value": [{"subscriptionId": "ID", "clientState": "forged"}]},
    {"value": [{"subscriptionId": "ID", "clientState": ""}]},
    {"value": [{"subscriptionId": "ID", "clientState": None}]},
    {"value": [{"subscriptionId": "ID", "clientState": 5}]},
    {"value": [{"subscriptionId": "ID", "clientState": ["SECRET"]}]},
    {"value": [{"subscriptionId": "ID", "clientState": "SECRET "}]},
    {"value": [{"subscriptionId": "ID", "clientState": "x" * 100_000}]},
    {"value": [{"subscriptionId": "ID", "clientState": "\ud800"}]},
    {"value": [{"subscriptionId": "another", "clientState": "SECRET"}]},
    {"value": [{"subscriptionId": {}, "clientState": "SECRET"}]},
    {"value": [{"clientState": "SECRET"}]},
    {"value": [{"subscriptionId": "ID", "clientState": "forged", "lifecycleEvent": "subscriptionRemoved"}]},
    {"value": [{"subscriptionId": "ID", "clientState": "forged"}] * 900},
    {"value": [{"subscriptionId": "ID", "clientState": "SECRET"}] * 1001},
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
async def test_a_notice_that_is_forged_or_broken_makes_nothing_due(
    runtime: Runtime,
    clock: MovingClock,
    client: httpx2.AsyncClient,
    microsoft: FakeMicrosoft,
    connection: CalendarConnection,
    number: int,
) -> None:
    (subscription,) = list_subscriptions(microsoft)
    text = json.dumps(HOSTILE[number]).replace("SECRET", subscription.given.client_state)
    path = urlsplit(subscription.given.notification_url).path
    before = await due_at(runtime, connection)
    clock.pass_time(seconds=30)

    refused = await client.post(path, content=text.replace('"ID"', f'"{subscription.id}"'), headers=ENTERED)

    assert refused.status_code == 403
    assert await due_at(runtime, connection) == before
    assert await count_channels(runtime) == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 403),
        (b"\xff\xfe", 403),
        (b'{"value": [' + b"[" * 100_000, 403),
        (b'{"value": [{"resourceData": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}]}", 403),
        (b" " * (512 * 1024 + 1), 413),
    ],
)
async def test_what_is_deep_or_huge_is_refused(
    client: httpx2.AsyncClient, microsoft: FakeMicrosoft, connection: CalendarConnection, body: bytes, status: int
) -> None:
    (subscription,) = list_subscriptions(microsoft)

    refused = await client.post(urlsplit(subscription.given.notification_url).path, content=body, headers=ENTERED)

    assert refused.status_code == status


async def test_one_good_item_among_forged_ones_counts(
    runtime: Runtime,
    clock: MovingClock,
    client: httpx2.AsyncClient,
    microsoft: FakeMicrosoft,
    mailbox: Mailbox,
    connection: CalendarConnection,
) -> None:
    edit(mailbox)
    ((path, body),) = microsoft.take_notices()
    body["value"].insert(0, {**body["value"][0], "clientState": "forged", "lifecycleEvent": "subscriptionRemoved"})
    clock.pass_time(seconds=30)

    assert (await client.post(path, json=body)).status_code == 202

    assert await due_at(runtime, connection) == clock.now
    assert await count_channels(runtime) == 1


async def test_a_notice_of_another_host_is_refused(
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    client: httpx2.AsyncClient,
    microsoft: FakeMicrosoft,
    mailbox: Mailbox,
    connection: CalendarConnection,
) -> None:
    other = microsoft.add_mailbox("other@lindqvist.example")
    consent = await allow(runtime, user, microsoft, email=other.email)
    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, consent)
    assert await sync_connection(runtime, made.id) is None
    microsoft.take_notices()
    edit(mailbox)
    edit(other)
    (ours, mine), (theirs, foreign) = microsoft.take_notices()
    before = await due_at(runtime, connection)
    clock.pass_time(seconds=30)

    assert (await client.post(ours, json=foreign)).status_code == 403
    assert (await client.post(f"/api/notices/microsoft/{uuid4()}", json=mine)).status_code == 403
    assert (await client.post(ours.replace("microsoft", "google"), json=mine)).status_code == 403
    assert await due_at(runtime, connection) == before
    # One that is sent again makes the connection due again, at most every ten seconds.
    assert [(await client.post(theirs, json=foreign)).status_code for _ in range(3)] == [202] * 3
    assert await due_at(runtime, connection) == before
