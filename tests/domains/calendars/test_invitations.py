"""The host's calendar invites: one invitation for each person and change, by Google or by our mail, whatever fails."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from openslot.domains.bookings.models import Status
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars.host_changes import Decision, decide_missing_events
from openslot.domains.calendars.models import ConnectionRef
from openslot.domains.calendars.sync import sync_connection
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.locations import WantedLocation
from openslot.domains.event_types.rules import edition_of
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime
from tests.domains.calendars.conftest import HOUR, Connect, change, events, read
from tests.domains.calendars.inviting import ADA, BEN, JONAS, TEN, Host, has_entry, host
from tests.domains.calendars.support import cancel, move
from tests.domains.mail.conftest import messages, part
from tests.support.google_host import EMAIL, google, settings

pytestmark = pytest.mark.rest("speaks with one vendor; the contracts of all run in make test")

__all__ = ["google", "host", "settings"]


async def test_google_invites_tells_of_the_new_time_and_of_the_end(host: Host) -> None:
    booking = await host.book()
    await host.work()
    assert await host.got() == ["invitation"]
    event = host.account.calendars[EMAIL].events[booking.id.hex]
    assert event["attendees"] == [{"email": JONAS, "displayName": "Jonas Okafor"}]

    await move(host.runtime, booking, 1)
    await host.work()
    assert await host.got() == ["invitation", "update"]

    await cancel(host.runtime, booking)
    await host.wait()
    assert await host.got() == ["invitation", "update", "cancellation"]
    assert await events(host.runtime, "booking.invitation_failed") == []


async def test_our_mails_have_the_manage_link_and_no_calendar_entry(host: Host) -> None:
    booking = await host.book(guests=(ADA,))
    await host.work()
    await move(host.runtime, booking, 1)
    await host.work()
    await cancel(host.runtime, booking)
    await host.work()

    for address in (JONAS, ADA):
        found = await messages(host.runtime, address)
        assert [each["subject"].partition(":")[0] for each in found] == ["Confirmed", "Rescheduled", "Cancelled"]
        for kind in ("text/plain", "text/html"):
            told = ["comes from the calendar of" in part(each, kind) for each in found]
            assert told == [True, True, False]
            links = ["/reschedule" in part(each, kind) for each in found]
            assert links == [address == JONAS] * 2 + [False]
            assert not any("calendar.google.com" in part(each, kind) or ".ics" in part(each, kind) for each in found)
    assert [has_entry(each) for each in await messages(host.runtime, host.user.email)] == [True] * 3


async def test_the_event_has_neither_a_manage_link_nor_what_the_invitee_has_typed_for_the_host(host: Host) -> None:
    booking = await host.book(guests=(ADA,), notes="Cheap watches at watches.example")
    await host.work()

    event = host.account.calendars[EMAIL].events[booking.id.hex]
    assert "description" not in event or not event["description"]
    assert "watches" not in str(event)
    assert event["source"]["url"].endswith(f"/bookings/{booking.id}")
    assert event["summary"].endswith(f"Jonas Okafor · {host.user.name}")
    assert "manage" not in str(event)


@pytest.mark.parametrize(
    ("kind", "typed"),
    [("place", "Cheap watches at watches.example"), ("phone", "+493012345678")],
)
@pytest.mark.parametrize("invites", [True, False])
async def test_those_who_share_a_group_do_not_read_where_one_of_them_would_like_to_meet(
    host: Host, kind: str, typed: str, *, invites: bool
) -> None:
    asking = f'{{"kind": "{"phone" if kind == "phone" else "text"}", "asks": "{kind}"}}'
    await host.runtime.pool.execute("update event_types set seats = 4, location = $1::text::jsonb", asking)
    await host.choose(invites=invites)
    made = [await host.book(email=each, guests=(BEN,), location=WantedLocation(value=typed)) for each in (JONAS, ADA)]
    await host.work()

    for booking in made:
        event = host.account.calendars[EMAIL].events[booking.id.hex]
        # The host's own calendar has it, unless the event is sent to those who take part.
        assert event["location"] == ("" if invites else typed)
        assert (typed in str(event)) is not invites


async def test_without_the_choice_our_mail_invites_and_google_is_silent(host: Host) -> None:
    await host.choose(invites=False)
    booking = await host.book(guests=(ADA,))
    await host.work()
    await move(host.runtime, booking, 1)
    await host.work()
    await cancel(host.runtime, booking)
    await host.wait()

    for address in (JONAS, ADA):
        assert await host.got(address) == ["our REQUEST", "our REQUEST", "our CANCEL"]
    assert "attendees" not in host.account.calendars[EMAIL].events[booking.id.hex]


@pytest.mark.parametrize("invites", [True, False])
async def test_a_booking_keeps_who_has_invited_to_it(host: Host, *, invites: bool) -> None:
    await host.choose(invites=invites)
    booking = await host.book()
    await host.work()
    await host.choose(invites=not invites)
    await move(host.runtime, booking, 1)
    await host.work()
    await cancel(host.runtime, booking)
    await host.wait()

    expected = ["invitation", "update", "cancellation"] if invites else ["our REQUEST", "our REQUEST", "our CANCEL"]
    assert await host.got() == expected


async def test_several_are_invited_and_do_not_see_one_another(host: Host) -> None:
    await host.book(guests=(ADA, BEN))
    await host.work()

    assert {each.to: each.others for each in host.account.mails} == {JONAS: (), ADA: (), BEN: ()}


async def test_those_who_share_a_group_session_are_in_events_of_their_own(host: Host) -> None:
    async with host.runtime.transaction(OPERATOR) as work:
        found = (await event_types.list_event_types(work, host.user))[0][0]
        await event_types.edit_event_type(work, host.user, replace(found, seats=4), edition=edition_of(found))
    made = [await host.book(email=each) for each in (JONAS, ADA, BEN)]
    await host.work()
    await cancel(host.runtime, made[0])
    await host.wait()

    assert [await host.got(each) for each in (JONAS, ADA, BEN)] == [
        ["invitation", "cancellation"],
        ["invitation"],
        ["invitation"],
    ]
    assert {each.others for each in host.account.mails} == {()}


async def test_whom_the_host_has_added_stays_and_is_told_of_changes(host: Host) -> None:
    booking = await host.book(guests=(ADA,))
    await host.work()
    present = host.account.calendars[EMAIL].events[booking.id.hex]["attendees"]
    answered = [{**present[0], "responseStatus": "accepted"}, present[1], {"email": BEN, "optional": True}]
    host.account.edit(EMAIL, booking.id.hex, attendees=answered)
    await sync_connection(host.runtime, host.connection.id)

    await move(host.runtime, booking, 1)
    await host.work()

    assert host.account.calendars[EMAIL].events[booking.id.hex]["attendees"] == answered
    assert (await host.got(BEN), await host.got(ADA)) == (["update"], ["invitation", "update"])


async def test_an_invitee_whom_the_host_has_removed_is_invited_to_the_new_time_and_others_stay(host: Host) -> None:
    booking = await host.book()
    await host.work()
    host.account.edit(EMAIL, booking.id.hex, attendees=[{"email": BEN}])
    await sync_connection(host.runtime, host.connection.id)

    await move(host.runtime, booking, 1)
    await host.work()

    attendees = host.account.calendars[EMAIL].events[booking.id.hex]["attendees"]
    assert [each["email"] for each in attendees] == [BEN, JONAS]


@pytest.mark.parametrize("lost", ["POST", "PATCH", "DELETE"])
async def test_an_answer_that_is_lost_tells_nobody_twice(host: Host, lost: str) -> None:
    if lost == "POST":
        host.lose("POST")
    booking = await host.book()
    await host.wait()
    if lost == "PATCH":
        host.lose("PATCH")
    await move(host.runtime, booking, 1)
    await host.wait()
    if lost == "DELETE":
        host.lose("DELETE")
    await cancel(host.runtime, booking)
    await host.wait()

    assert host.google.faults == []
    assert await host.got() == ["invitation", "update", "cancellation"]


async def test_a_fault_that_passes_leaves_the_invitation_to_google(host: Host) -> None:
    host.refuse(times=2)
    await host.book()
    await host.wait()

    assert await host.got() == ["invitation"]


async def test_bookings_go_to_the_calendar_that_was_to_invite(host: Host) -> None:
    other = host.account.add_calendar("Family")
    assert await sync_connection(host.runtime, host.connection.id) is None
    async with host.runtime.transaction(OPERATOR) as work:
        await calendars.read_connection_now(work, ConnectionRef(host.connection.id))
    await sync_connection(host.runtime, host.connection.id)
    booking = await host.book()
    await change(host.runtime, host.connection, write_to="Family")
    await host.work()

    assert await host.got() == ["invitation"]
    assert (booking.id.hex in host.account.calendars[EMAIL].events, host.account.calendars[other].events) == (True, {})


async def test_an_event_that_the_host_puts_into_another_calendar_of_the_account_goes_on_to_tell(host: Host) -> None:
    other = host.account.add_calendar("Family")
    async with host.runtime.transaction(OPERATOR) as work:
        await calendars.read_connection_now(work, ConnectionRef(host.connection.id))
    await sync_connection(host.runtime, host.connection.id)
    booking = await host.book()
    await host.work()
    await sync_connection(host.runtime, host.connection.id)
    event = host.account.calendars[EMAIL].events[booking.id.hex]
    host.account.edit(other, booking.id.hex, **event)
    host.account.remove(EMAIL, booking.id.hex)
    await sync_connection(host.runtime, host.connection.id)
    await sync_connection(host.runtime, host.connection.id)

    await move(host.runtime, booking, 1)
    await host.wait()

    assert await host.got() == ["invitation", "update"]
    assert host.account.calendars[EMAIL].events[booking.id.hex]["status"] == "cancelled"


async def test_an_event_that_the_host_moves_there_is_told_of_by_google_alone(host: Host) -> None:
    booking = await host.book()
    await host.work()
    await sync_connection(host.runtime, host.connection.id)
    times = [(TEN + HOUR).isoformat(), (TEN + HOUR + timedelta(minutes=30)).isoformat()]
    host.account.edit(EMAIL, booking.id.hex, start={"dateTime": times[0]}, end={"dateTime": times[1]})
    await sync_connection(host.runtime, host.connection.id)
    await host.wait()

    assert (await read(host.runtime, booking)).starts_at == TEN + HOUR
    # Google has asked the host whether to tell the guests, and has done it.
    assert await host.got() == ["invitation"]
    subjects = [each["subject"].partition(":")[0] for each in await messages(host.runtime, JONAS)]
    assert subjects == ["Confirmed", "Rescheduled"]


async def test_an_invitee_who_declines_there_is_booked_as_before(host: Host) -> None:
    booking = await host.book()
    await host.work()
    declined = [{"email": JONAS, "responseStatus": "declined"}]
    host.account.edit(EMAIL, booking.id.hex, attendees=declined)
    await sync_connection(host.runtime, host.connection.id)
    await host.wait()

    assert (await read(host.runtime, booking)).status is Status.CONFIRMED
    assert await host.got() == ["invitation"]


async def test_events_that_are_restored_invite_again(host: Host) -> None:
    made = [await host.book(TEN), await host.book(TEN + 2 * HOUR, email=ADA)]
    await host.work()
    await sync_connection(host.runtime, host.connection.id)
    for booking in made:
        host.account.remove(EMAIL, booking.id.hex)
    await sync_connection(host.runtime, host.connection.id)
    async with host.runtime.transaction(OPERATOR) as work:
        await decide_missing_events(work, host.user, Decision.RESTORE)
    await host.wait()

    assert (await host.got(), await host.got(ADA)) == (["invitation"] * 2, ["invitation"] * 2)


async def test_a_server_that_can_not_invite_can_not_be_chosen(
    runtime: Runtime, connect: Connect, work_calendar: str
) -> None:
    connection = await connect(work_calendar)
    with pytest.raises(Invalid) as refused:
        await change(runtime, connection, invites=True)

    assert set(refused.value.details or ()) == {"invites"}
    assert (await change(runtime, connection, invites=False)).invites is False
