"""A host's bookings in HubSpot: added, moved, cancelled and marked, once each, whatever becomes of the answers."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.links import booking_url, list_manage_urls
from openslot.domains.bookings.models import BookingRef
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.places import FairPlaces
from openslot.vendors.hubspot.vendor import INDEXED_WITHIN
from tests.support.clocks import MovingClock
from tests.support.command_line import Cli, cli, command_line
from tests.support.effects import work_off, work_until_settled
from tests.support.fake_hubspot import SCHEMAS, TOKEN, FakeHubSpot
from tests.support.host import ELEVEN, TEN, Book, book, cancel, clock, move, user
from tests.support.hubspot_host import connect, hubspot, settings

__all__ = ["book", "cli", "clock", "command_line", "hubspot", "settings", "user"]

OF_CRM = "select state, last_error, attempts, next_try_at from effects where reaction = 'crm.write' order by no desc"


async def mark_no_show(runtime: Runtime, booking_id: UUID) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await bookings.mark_no_show(work, BookingRef(booking_id, None), no_show=True)


async def test_a_booking_is_added_moved_and_marked(
    runtime: Runtime, clock: MovingClock, user: User, hubspot: FakeHubSpot, book: Book
) -> None:
    await connect(runtime, user, moved="RESCHEDULED")
    hubspot.portal.owners[user.email] = "77"
    booking = await book()
    await work_off(runtime, clock)
    (first,) = hubspot.portal.meetings
    await move(runtime, booking, ELEVEN)
    await work_off(runtime, clock)
    (second,) = hubspot.portal.meetings
    clock.now = ELEVEN + timedelta(hours=1)
    await mark_no_show(runtime, booking.id)
    await work_off(runtime, clock)
    (third,) = hubspot.portal.meetings

    states = [(each["hs_meeting_start_time"][11:16], each["hs_meeting_outcome"]) for each in (first, second, third)]
    assert states == [("10:00", "SCHEDULED"), ("11:00", "RESCHEDULED"), ("11:00", "NO_SHOW")]
    assert (first["hs_meeting_title"], first["hubspot_owner_id"]) == ("30 minute meeting: Jonas Okafor", "77")
    (contact,) = hubspot.portal.contacts
    assert contact == {"email": "jonas@okafor.example", "firstname": "Jonas", "lastname": "Okafor"}


async def test_a_cancelled_booking_stays_as_a_cancelled_meeting(
    runtime: Runtime, clock: MovingClock, user: User, hubspot: FakeHubSpot, book: Book
) -> None:
    await connect(runtime, user)
    booking = await book()
    await work_off(runtime, clock)

    await cancel(runtime, booking, reason="Ill")
    await work_off(runtime, clock)

    assert [each["hs_meeting_outcome"] for each in hubspot.portal.meetings] == ["CANCELED"]


async def test_a_meeting_leads_to_the_dashboard_and_no_request_has_a_manage_link(
    runtime: Runtime, clock: MovingClock, user: User, hubspot: FakeHubSpot, book: Book
) -> None:
    await connect(runtime, user)
    booking = await book(notes="See you there")
    await work_off(runtime, clock)

    assert hubspot.portal.meetings[0]["hs_meeting_external_url"] == booking_url(runtime, booking.id)
    sent = "".join(f"{each.path}{each.body}" for each in hubspot.asked)
    (link,) = list_manage_urls(runtime, [booking.id])
    assert link.rpartition("/")[2] not in sent
    assert "/manage/" not in sent


@pytest.mark.parametrize("has_property", [True, False], ids=["property", "search"])
async def test_a_lost_answer_leaves_one_meeting(
    runtime: Runtime, clock: MovingClock, user: User, hubspot: FakeHubSpot, book: Book, *, has_property: bool
) -> None:
    await connect(runtime, user)
    if not has_property:
        hubspot.portal.scopes.remove(SCHEMAS)
    hubspot.lose_next("meetings", method="POST")
    await book()
    await work_off(runtime, clock)
    row = await runtime.pool.fetchrow(OF_CRM)
    assert row is not None
    assert row["state"] == "queued"
    if not has_property:
        assert row["next_try_at"] - clock.now >= INDEXED_WITHIN

    await work_until_settled(runtime, clock)

    assert len(hubspot.portal.meetings) == len(hubspot.portal.associations) == 1


async def test_a_rule_of_the_portal_ends_the_tries_and_is_kept_in_its_words(
    runtime: Runtime, clock: MovingClock, user: User, hubspot: FakeHubSpot, book: Book
) -> None:
    await connect(runtime, user)
    hubspot.portal.require("contacts", "company")
    await book()

    await work_until_settled(runtime, clock)

    row = await runtime.pool.fetchrow(OF_CRM)
    assert row is not None
    assert (row["state"], row["last_error"], row["attempts"]) == ("dead", "Company Name is required (company)", 1)


async def test_after_the_daily_limit_nothing_is_asked_for_an_hour(
    runtime: Runtime, clock: MovingClock, user: User, hubspot: FakeHubSpot, book: Book
) -> None:
    await connect(runtime, user)
    hubspot.most_in_a_day = 0
    fair_places = FairPlaces(count=20)
    await book()
    await work_off(runtime, clock, fair_places)
    asked = len(hubspot.asked)

    await book(TEN + timedelta(days=1))
    clock.pass_time(minutes=59)
    await work_off(runtime, clock, fair_places)
    assert len(hubspot.asked) == asked

    hubspot.most_in_a_day = 1000
    clock.pass_time(minutes=2)
    await work_until_settled(runtime, clock)
    assert len(hubspot.portal.meetings) == 2


async def test_hubspot_is_connected_by_command_with_a_token_that_is_not_shown(
    cli: Cli, user: User, hubspot: FakeHubSpot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENSLOT_HUBSPOT_URL", hubspot.url)
    options = ("--user", user.email, "--hubspot", "--token-stdin", "--json")

    made = await asyncio.to_thread(cli, "crm", "connect", *options, typed=f"{TOKEN}\n")

    assert (made["vendor"], made["account"], made["label"]) == ("hubspot", "145911", "HubSpot 145911")
    assert TOKEN not in str(made)
