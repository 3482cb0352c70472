"""The page of one booking over HTTP: read it, move it, cancel it, without signing in."""

import re

import httpx2
from msgspec.structs import replace

from openslot.app import create_app
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.models import User
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType, Location, LocationAsks, LocationKind
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.doors.web.booking_page.conftest import PAGE, TEN, book, starts_in
from tests.support.clocks import MovingClock
from tests.support.live import connect, serving
from tests.support.page import read_page

NEXT_DAY = "2026-03-17T09:00:00Z"
CHOSEN_DAY = re.compile(r'value="(\d{4}-\d\d-\d\d)"[^>]* aria-pressed="true"')


async def test_a_new_booking_says_what_happens_next(client: httpx2.AsyncClient, intro: EventType) -> None:
    manage = await book(client, guests="li@okafor.example")
    page = (await client.get(f"{manage}?done=booked")).text

    assert "Your meeting is confirmed" in page
    assert "This site sends no emails yet. Keep the address of this page" in page
    assert "Monday, 16 March 2026" in page
    assert "11:00 – 11:30" in page
    assert "Lagos time" in page
    assert 'href="https://meet.example/mara"' in page
    assert "li@okafor.example" in page
    assert "https://calendar.google.com/calendar/render?" in page
    assert "20260316T100000Z" in page
    assert "https://outlook.live.com/calendar/0/deeplink/compose?" in page
    assert f'href="{manage}/calendar.ics"' in page
    assert f'href="{manage}/reschedule"' in page
    assert f'href="{manage}/cancel"' in page
    assert (await client.get(f"{manage}/calendar.ics")).text.startswith("BEGIN:VCALENDAR")


async def test_the_link_of_the_mails_leads_there(client: httpx2.AsyncClient, intro: EventType) -> None:
    body = {"eventTypeId": str(intro.id), "startTime": TEN, "inviteeName": "Li", "inviteeEmail": "li@wei.example"}
    made = await client.post("/api/bookings", json={**body, "inviteeTimezone": "UTC"})
    path = "/manage/" + made.json()["manageUrl"].rpartition("/")[2]
    page = await client.get(path)

    assert page.status_code == 200
    assert page.headers["cache-control"] == "no-store"
    assert '<meta name="robots" content="noindex">' in page.text
    assert "Your meeting" in read_page(page).headings
    assert "data-done" not in page.text


async def test_a_booking_moves_to_another_time(client: httpx2.AsyncClient, runtime: Runtime, intro: EventType) -> None:
    manage = await book(client)
    times = await client.get(f"{manage}/reschedule")
    chosen = await client.get(f"{manage}/reschedule", params={"start": NEXT_DAY})
    moved = await client.post(f"{manage}/reschedule", data={"start": NEXT_DAY, "reason": "The train is late"})

    assert "Lagos" in read_page(times).text
    assert TEN not in starts_in(times.text)
    assert NEXT_DAY in starts_in(times.text)
    assert "Tuesday 17 March" in read_page(chosen).text
    assert moved.headers["location"] == f"{manage}?done=rescheduled"
    assert "Your meeting has a new time" in read_page(await client.get(moved.headers["location"])).headings
    assert await runtime.pool.fetchval("select to_char(starts_at, 'DD HH24:MI') from bookings") == "17 09:00"


async def test_rescheduling_opens_on_the_day_of_the_booking(client: httpx2.AsyncClient, intro: EventType) -> None:
    manage = await book(client, start="2026-04-09T10:00:00Z")
    times = await client.get(f"{manage}/reschedule")
    other = await client.get(f"{manage}/reschedule", params={"date": "2026-03-18"})

    assert CHOSEN_DAY.findall(times.text) == ["2026-04-09"]
    assert CHOSEN_DAY.findall(other.text) == ["2026-03-18"]


async def test_a_request_shows_its_place_and_tells_no_link_before_it_is_confirmed(
    client: httpx2.AsyncClient, runtime: Runtime, host: User
) -> None:
    for number, (location, wanted, told) in enumerate(
        (
            (Location(LocationKind.IN_PERSON, "12 Pier Street"), {}, "Where 12 Pier Street"),
            (
                Location(LocationKind.VIDEO_LINK, "https://meet.example/room"),
                {},
                "Where Video call, link after booking",
            ),
            (
                Location(LocationKind.PHONE, asks=LocationAsks.PHONE),
                {"place": "+49 30 12345678"},
                "Where Mara Lindqvist will call you at +493012345678",
            ),
            (Location(LocationKind.TEXT), {}, ""),
        )
    ):
        slug = f"asked-{number}"
        await offer(runtime, host, slug, location=location, requires_confirmation=True)
        manage = await book(client, page=f"/mara/{slug}", start=f"2026-03-1{number + 6}T10:00:00Z", **wanted)
        text = read_page(await client.get(manage)).text

        assert "Your request was sent" in text
        assert told in text
        assert "Where" in text or not told
        assert "meet.example" not in text


async def test_a_form_that_reschedules_too_often_says_when_it_is_possible_again(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    manage = await book(client)
    starts = [f"2026-03-17T{hour:02}:{minute}:00Z" for hour in range(9, 15) for minute in ("00", "30")]
    moved = [await client.post(f"{manage}/reschedule", data={"start": start}) for start in starts[:10]]
    refused = await client.post(f"{manage}/reschedule", data={"start": starts[10], "reason": "The train is late"})

    assert [answer.status_code for answer in moved] == [303] * 10
    assert refused.status_code == 429
    assert 86_000 < int(refused.headers["retry-after"]) <= 86_400
    assert "This booking was rescheduled too often today." in read_page(refused).notices
    assert "Wait 24 hours, then try again." in read_page(refused).notices
    assert "from your network" not in refused.text
    assert read_page(refused).fields["reason"].value == "The train is late"
    assert await runtime.pool.fetchval("select reschedule_count from bookings") == 10


async def test_a_reason_that_we_give_is_in_the_readers_language(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    manage = await book(client)
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, await accounts.get_user(work, intro.owner_id))
    english, german = [(await client.get(manage, headers={"accept-language": each})).text for each in ("en", "de")]

    assert "Mara Lindqvist is not available any more" in english
    assert "Mara Lindqvist ist nicht mehr verfügbar" in german
    assert await runtime.pool.fetchval("select cancel_reason from bookings") == (
        'bookings.host_unavailable {"host":"Mara Lindqvist"}'
    )


async def test_times_around_the_own_booking_are_free_for_it(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await event_types.change_event_type(work, replace(intro, slot_interval_minutes=15))
    manage = await book(client)
    offered = starts_in((await client.get(f"{manage}/reschedule")).text)

    assert "2026-03-16T10:15:00Z" in offered
    assert "2026-03-16T10:15:00Z" not in starts_in((await client.get(PAGE)).text)


async def test_a_time_that_was_taken_meanwhile_offers_the_nearest(client: httpx2.AsyncClient, intro: EventType) -> None:
    manage = await book(client)
    await book(client, start=NEXT_DAY)
    refused = await client.post(f"{manage}/reschedule", data={"start": NEXT_DAY, "reason": "The train is late"})

    assert refused.status_code == 409
    assert "This time was just taken" in read_page(refused).headings
    assert len(starts_in(refused.text)) == 3
    assert read_page(refused).fields["reason"].value == "The train is late"


async def test_a_closed_event_type_can_still_be_moved_within(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    manage = await book(client)
    async with runtime.transaction(OPERATOR) as work:
        await event_types.set_event_type_active(work, intro, active=False)

    assert (await client.get(PAGE)).status_code == 404
    assert NEXT_DAY in starts_in((await client.get(f"{manage}/reschedule")).text)
    assert (await client.post(f"{manage}/reschedule", data={"start": NEXT_DAY})).status_code == 303


async def test_a_booking_is_cancelled_with_a_reason(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    manage = await book(client)
    asked = await client.get(f"{manage}/cancel")
    cancelled = await client.post(f"{manage}/cancel", data={"reason": "Ill today, sorry"})
    page = (await client.get(cancelled.headers["location"])).text

    assert "Cancel this meeting?" in read_page(asked).headings
    assert cancelled.headers["location"] == f"{manage}?done=cancelled"
    assert "Your meeting is cancelled" in page
    assert "Ill today, sorry" in page
    assert "/reschedule" not in page
    assert f'href="{PAGE}"' in page
    assert await runtime.pool.fetchval("select cancelled_by from bookings") == "invitee"
    assert TEN in starts_in((await client.get(PAGE)).text)


async def test_an_address_can_not_call_a_cancelled_meeting_confirmed(
    client: httpx2.AsyncClient, intro: EventType
) -> None:
    manage = await book(client)
    assert "Your meeting" in read_page(await client.get(f"{manage}?done=cancelled")).headings
    await client.post(f"{manage}/cancel")

    for done in ("booked", "rescheduled", "x"):
        assert "This meeting is cancelled" in read_page(await client.get(f"{manage}?done={done}")).headings


async def test_what_is_over_or_cancelled_can_not_be_changed(
    client: httpx2.AsyncClient, clock: MovingClock, intro: EventType
) -> None:
    gone, past = await book(client), await book(client, start="2026-03-16T11:00:00Z")
    await client.post(f"{gone}/cancel")
    clock.pass_time(days=1)

    assert "This meeting is over" in read_page(await client.get(past)).headings
    for manage in (gone, past):
        for step in ("reschedule", "cancel"):
            assert (await client.get(f"{manage}/{step}")).headers["location"] == manage
        moved = await client.post(f"{manage}/reschedule", data={"start": "2026-03-18T09:00:00Z"})
        assert moved.headers["location"] == f"{manage}?done="
    assert (await client.post(f"{past}/cancel")).headers["location"] == f"{past}?done="


async def test_changes_share_the_limit_of_bookings(settings: Settings, clock: MovingClock, intro: EventType) -> None:
    async with serving(create_app(settings, clock=clock)) as base_url, connect(base_url) as client:
        manage = await book(client)
        for _ in range(9):
            await client.post(f"{manage}/reschedule", data={"start": "2026-03-16T10:07:00Z"})
        moved = await client.post(f"{manage}/reschedule", data={"start": NEXT_DAY, "reason": "Late"})
        cancelled = await client.post(f"{manage}/cancel", data={"reason": "Ill today"})

    for refused, typed in ((moved, "Late"), (cancelled, "Ill today")):
        assert refused.status_code == 429
        assert re.search(r"Wait \d+ seconds?, then try again\.", refused.text)
        assert read_page(refused).fields["reason"].value == typed


async def test_a_reason_that_is_too_long_is_told_at_its_field(client: httpx2.AsyncClient, intro: EventType) -> None:
    manage = await book(client)
    for step, data in (("cancel", {}), ("reschedule", {"start": NEXT_DAY})):
        answer = await client.post(f"{manage}/{step}", data={**data, "reason": "x" * 501})

        assert answer.status_code == 400
        assert read_page(answer).faults == {"reason": "Must have at most 500 characters"}


async def test_a_link_that_we_did_not_sign_leads_nowhere(client: httpx2.AsyncClient, intro: EventType) -> None:
    manage = await book(client)
    other = manage[:-1] + ("A" if manage[-1] != "A" else "B")
    for step in ("", "/reschedule", "/cancel"):
        assert (await client.get(other + step)).status_code == 404
    for step in ("/reschedule", "/cancel"):
        assert (await client.post(other + step, data={"start": NEXT_DAY})).status_code == 404
