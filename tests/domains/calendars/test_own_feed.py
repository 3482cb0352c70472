"""A user's bookings as a secret feed: shown to whoever has the link, until it is renewed or revoked."""

from typing import Any

import httpx2
import icalendar
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef
from openslot.domains.calendars import booking_events
from openslot.domains.people import operations as people
from openslot.doors.web.shared.downloads import READS
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.domains.calendars.conftest import HOUR, NINE, Book


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Enough room for tests that send much."""
    return replace(settings, limit_public=10_000)


async def renew(runtime: Runtime, user: User) -> str:
    async with runtime.transaction(OPERATOR) as work:
        url = await booking_events.renew_feed(work, user)
    return f"/feed{url.partition('/feed')[2]}"


async def test_a_feed_shows_the_owners_confirmed_bookings(
    runtime: Runtime, user: User, client: httpx2.AsyncClient, book: Book
) -> None:
    kept, dropped = await book(NINE + HOUR), await book(NINE + 2 * HOUR)
    async with runtime.transaction(OPERATOR) as work:
        await bookings.cancel_booking(work, BookingRef(dropped.id, None))

    answer = await client.get(await renew(runtime, user))

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/calendar; charset=utf-8")
    shown: list[Any] = icalendar.Calendar.from_ical(answer.text).walk("VEVENT")
    assert [(each["UID"], each["DTSTART"].dt) for each in shown] == [(kept.uid, kept.starts_at)]
    assert str(shown[0]["URL"]) == f"{runtime.settings.public_url}/bookings/{kept.id}"


async def test_text_of_an_invitee_can_not_break_out_of_its_line(
    runtime: Runtime, user: User, client: httpx2.AsyncClient, book: Book
) -> None:
    await book(name='A; B, C\\ "D": https://x.example END:VEVENT')

    shown = icalendar.Calendar.from_ical((await client.get(await renew(runtime, user))).text).walk("VEVENT")

    assert len(shown) == 1
    assert str(shown[0]["SUMMARY"]).endswith('A; B, C\\ "D": https://x.example END:VEVENT')


async def test_the_name_of_an_invitee_does_not_turn_the_summary(
    runtime: Runtime, user: User, client: httpx2.AsyncClient, book: Book
) -> None:
    await book(name="Jonas \u202efdp.exe")

    text = (await client.get(await renew(runtime, user))).text
    (shown,) = icalendar.Calendar.from_ical(text).walk("VEVENT")

    assert str(shown["SUMMARY"]).endswith("Jonas fdp.exe")
    assert shown["ATTENDEE"].params["CN"] == "Jonas fdp.exe"


async def test_a_link_ends_when_it_is_renewed_or_revoked_or_its_owner_is_disabled(
    runtime: Runtime, user: User, client: httpx2.AsyncClient
) -> None:
    first = await renew(runtime, user)
    assert (await client.get(first)).status_code == 200
    second = await renew(runtime, user)
    assert [(await client.get(each)).status_code for each in (first, second)] == [404, 200]
    async with runtime.transaction(OPERATOR) as work:
        assert await booking_events.revoke_feed(work, user)
        assert not await booking_events.revoke_feed(work, user)
    assert (await client.get(second)).status_code == 404

    third = await renew(runtime, user)
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, user, reason=None)
    assert (await client.get(third)).status_code == 404


async def test_a_link_is_kept_as_a_hash_alone(runtime: Runtime, user: User) -> None:
    token = (await renew(runtime, user)).rpartition("/")[2].removesuffix(".ics")

    rows = await runtime.pool.fetch("select * from calendar_feeds")

    assert len(rows) == 1
    assert token not in str([dict(row) for row in rows])


@pytest.mark.parametrize("token", ["x", "..%2f..", "%00", "a" * 500])
async def test_a_link_that_nobody_has_made_leads_nowhere(client: httpx2.AsyncClient, token: str) -> None:
    assert (await client.get(f"/feed/{token}")).status_code in {400, 404}


async def test_a_feed_is_sent_so_often_from_whichever_address_and_others_are_sent_still(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, admin: User
) -> None:
    own, other = await renew(runtime, user), await renew(runtime, admin)
    statuses = [(await client.get(own)).status_code for _ in range(READS.max_)]
    refused = await client.get(own)

    assert statuses == [200] * READS.max_
    assert (refused.status_code, 1 <= int(refused.headers["retry-after"]) <= 60) == (429, True)
    assert (await client.get(other)).status_code == 200
