"""Subscriptions at Microsoft: each calendar that is read has one, is prolonged in time, and leaves none behind."""

import logging
from datetime import timedelta
from urllib.parse import urlsplit

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.calendars import channels
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars.models import CalendarConnection, ConnectionRef
from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.calendars.conftest import change, open_starts, work_off
from tests.domains.calendars.microsoft_pushes import (
    PUBLIC,
    connection,
    count_channels,
    edit,
    list_subscriptions,
    reachable,
    settings,
)
from tests.support.clocks import MovingClock
from tests.support.fake_microsoft import FakeMicrosoft, Fault, FaultKind, Mailbox
from tests.support.microsoft_host import EMAIL, allow, mailbox, microsoft
from tests.support.microsoft_host import settings as microsoft_settings

pytestmark = pytest.mark.rest("speaks with one vendor; the contracts of all run in make test")

__all__ = ["connection", "mailbox", "microsoft", "microsoft_settings", "reachable", "settings"]


def list_asked(microsoft: FakeMicrosoft) -> list[tuple[str, str]]:
    """List what was asked of subscriptions: the method, and the path below the version."""
    found = [(each.method, urlsplit(each.path).path.removeprefix("/v1.0/")) for each in microsoft.asked]
    return [each for each in found if each[1].startswith("subscriptions")]


async def test_each_calendar_that_is_read_has_one_subscription_with_a_secret_of_its_own(
    runtime: Runtime, user: User, microsoft: FakeMicrosoft, mailbox: Mailbox, clock: MovingClock
) -> None:
    mailbox.add_calendar("Family")
    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, microsoft))
    for _ in range(3):
        assert await sync_connection(runtime, made.id) is None

    found = list_subscriptions(microsoft)
    assert len(found) == await count_channels(runtime) == 2
    assert list_asked(microsoft) == [("POST", "subscriptions")] * 2
    for each in found:
        assert each.is_immutable
        assert each.given.notification_url == each.given.lifecycle_notification_url
        assert each.given.notification_url.startswith(f"{PUBLIC}/api/notices/microsoft/")
        assert timedelta(days=6) < each.expires_at - clock() < timedelta(days=7)
    secrets = {each.given.client_state for each in found}
    assert len(secrets) == 2
    stored = str(await runtime.pool.fetch("select c::text from calendar_channels c"))
    assert not any(each in stored for each in secrets)


@pytest.mark.parametrize("base_url", [None, "http://book.lindqvist.example"])
async def test_without_a_public_https_address_no_subscription_is_made(
    runtime: Runtime, user: User, microsoft: FakeMicrosoft, base_url: str | None
) -> None:
    runtime.settings = replace(runtime.settings, base_url=base_url)
    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, microsoft))

    assert await sync_connection(runtime, made.id) is None

    assert list_asked(microsoft) == []
    assert await count_channels(runtime) == 0


async def test_a_subscription_is_prolonged_before_it_ends(
    runtime: Runtime,
    clock: MovingClock,
    microsoft: FakeMicrosoft,
    mailbox: Mailbox,
    connection: CalendarConnection,
) -> None:
    (first,) = list_subscriptions(microsoft)
    microsoft.asked.clear()
    clock.pass_time(days=5)
    assert await sync_connection(runtime, connection.id) is None
    assert list_asked(microsoft) == []
    clock.pass_time(days=1, hours=1)

    assert await sync_connection(runtime, connection.id) is None
    assert await sync_connection(runtime, connection.id) is None

    assert list_asked(microsoft) == [("PATCH", f"subscriptions/{first.id}")]
    assert first.expires_at - clock() > timedelta(days=6)
    clock.pass_time(days=2)
    edit(mailbox)
    assert await microsoft.notify() == [202]


async def test_a_subscription_that_can_not_be_prolonged_is_tried_again_and_made_anew_after_its_end(
    runtime: Runtime, clock: MovingClock, microsoft: FakeMicrosoft, connection: CalendarConnection
) -> None:
    (first,) = list_subscriptions(microsoft)
    clock.pass_time(days=6, hours=1)
    microsoft.asked.clear()
    for _ in range(2):
        microsoft.refuse_next(403, "ErrorAccessDenied", path="subscriptions", method="PATCH")
    for _ in range(3):
        assert await sync_connection(runtime, connection.id) is None
        clock.pass_time(minutes=5)
    assert list_asked(microsoft) == [("PATCH", f"subscriptions/{first.id}")]
    clock.pass_time(hours=1)
    assert await sync_connection(runtime, connection.id) is None
    assert len(list_asked(microsoft)) == 2

    clock.pass_time(days=1)
    assert await sync_connection(runtime, connection.id) is None
    assert list_asked(microsoft)[2:] == [("POST", "subscriptions")]
    (second,) = list_subscriptions(microsoft)
    assert (second.id != first.id, await count_channels(runtime)) == (True, 1)


async def test_a_subscription_that_is_gone_is_made_anew_when_it_would_be_prolonged(
    runtime: Runtime, clock: MovingClock, microsoft: FakeMicrosoft, connection: CalendarConnection
) -> None:
    microsoft.subscriptions.live.clear()
    clock.pass_time(days=6, hours=1)

    assert await sync_connection(runtime, connection.id) is None

    assert len(list_subscriptions(microsoft)) == await count_channels(runtime) == 1


@pytest.mark.parametrize("event", ["reauthorizationRequired", "missed", "subscriptionRemoved", "newInYearsToCome"])
async def test_what_is_to_be_done_for_a_subscription_is_done_by_the_next_reading(
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    microsoft: FakeMicrosoft,
    mailbox: Mailbox,
    connection: CalendarConnection,
    event: str,
) -> None:
    (first,) = list_subscriptions(microsoft)
    edit(mailbox)
    mailbox.changes.clear()
    clock.pass_time(minutes=1)
    microsoft.asked.clear()
    microsoft.subscriptions.tell(first.id, event)

    assert await microsoft.notify() == [202]
    assert list_asked(microsoft) == []
    await work_off(runtime, clock)

    assert "10:00" not in await open_starts(runtime, user)
    done = {
        "reauthorizationRequired": [("PATCH", f"subscriptions/{first.id}")],
        "subscriptionRemoved": [("POST", "subscriptions")],
    }
    assert list_asked(microsoft) == done.get(event, [])
    assert len(list_subscriptions(microsoft)) == await count_channels(runtime) == 1
    edit(mailbox, 11)
    clock.pass_time(minutes=1)
    assert await microsoft.notify() == [202]


async def test_an_answer_that_was_lost_leaves_no_subscription_that_is_not_used(
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    microsoft: FakeMicrosoft,
    mailbox: Mailbox,
) -> None:
    microsoft.faults.append(Fault(FaultKind.LOSE_ANSWER, "/v1.0/subscriptions", "POST"))
    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, microsoft))
    assert await sync_connection(runtime, made.id) is None
    (first,) = list_subscriptions(microsoft)
    # Its notices count, although its id is not known.
    edit(mailbox)
    assert await microsoft.notify() == [202]

    clock.pass_time(hours=6)
    assert await sync_connection(runtime, made.id) is None

    (second,) = list_subscriptions(microsoft)
    assert (first.id in microsoft.subscriptions.ended, await count_channels(runtime)) == (True, 1)
    edit(mailbox, 12)
    assert await microsoft.notify() == [202]
    assert second.given.notification_url != first.given.notification_url


async def test_a_mailbox_that_is_connected_twice_is_pushed_to_one_and_polled_by_the_other(
    runtime: Runtime, user: User, microsoft: FakeMicrosoft, connection: CalendarConnection
) -> None:
    (first,) = list_subscriptions(microsoft)
    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, microsoft))

    assert await sync_connection(runtime, made.id) is None

    assert list_subscriptions(microsoft) == [first]


async def test_an_account_that_is_connected_again_takes_its_subscription_over(
    runtime: Runtime,
    user: User,
    client: httpx2.AsyncClient,
    microsoft: FakeMicrosoft,
    mailbox: Mailbox,
    connection: CalendarConnection,
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await calendars.disconnect(work, ConnectionRef(connection.id))
    edit(mailbox)
    assert await microsoft.notify() == [403]
    microsoft.subscriptions.notices.clear()
    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, microsoft))

    assert await sync_connection(runtime, made.id) is None

    assert len(list_subscriptions(microsoft)) == 1
    edit(mailbox, 12)
    assert await microsoft.notify() == [202]


async def test_a_refusal_is_no_fault_of_the_reading_and_is_not_asked_again_for_hours(
    runtime: Runtime, user: User, clock: MovingClock, microsoft: FakeMicrosoft, mailbox: Mailbox
) -> None:
    microsoft.refuse_next(400, "ValidationError", path="subscriptions", method="POST")
    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, microsoft))
    for _ in range(4):
        assert await sync_connection(runtime, made.id) is None
        clock.pass_time(minutes=5)
    assert list_asked(microsoft) == [("POST", "subscriptions")]
    edit(mailbox)
    await work_off(runtime, clock)
    assert "10:00" not in await open_starts(runtime, user)

    clock.pass_time(hours=6)
    assert await sync_connection(runtime, made.id) is None
    assert len(list_subscriptions(microsoft)) == await count_channels(runtime) == 1


async def test_calendars_that_are_not_read_any_more_have_no_subscription(
    runtime: Runtime, user: User, microsoft: FakeMicrosoft, mailbox: Mailbox
) -> None:
    mailbox.add_calendar("Family")
    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, microsoft))
    await sync_connection(runtime, made.id)
    await change(runtime, made, busy=("Calendar",))

    await sync_connection(runtime, made.id)

    assert [each.calendar for each in list_subscriptions(microsoft)] == [mailbox.default]
    assert len(microsoft.subscriptions.ended) == await count_channels(runtime) == 1


async def test_a_connection_that_ends_leaves_no_subscription(
    runtime: Runtime, microsoft: FakeMicrosoft, connection: CalendarConnection
) -> None:
    (subscription,) = list_subscriptions(microsoft)

    await channels.disconnect(runtime.work(OPERATOR), ConnectionRef(connection.id))

    assert microsoft.subscriptions.ended == [subscription.id]
    assert await count_channels(runtime) == 0


async def test_no_secret_is_logged(
    runtime: Runtime, microsoft: FakeMicrosoft, connection: CalendarConnection, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    (subscription,) = list_subscriptions(microsoft)
    microsoft.subscriptions.tell(subscription.id, "missed")

    assert await microsoft.notify() == [202]

    assert subscription.given.client_state not in caplog.text
    assert EMAIL not in caplog.text
