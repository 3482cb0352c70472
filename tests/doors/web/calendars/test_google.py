"""Google Calendar in the dashboard: what is asked for is said before, what was not allowed is said after."""

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.work import Runtime
from tests.doors.web.calendars.support import COUNT, path_of
from tests.support.clocks import MovingClock
from tests.support.fake_google import FakeGoogle
from tests.support.google_host import EMAIL, google, settings
from tests.support.host import open_session
from tests.support.page import read_page

__all__ = ["google", "settings"]

EVENTS = "https://www.googleapis.com/auth/calendar.events"


async def begin(member: httpx2.AsyncClient, **fields: str) -> str:
    """Press the button, and return the address of Google's page."""
    answer = await member.post("/connect/google", data=fields)
    assert answer.status_code == 200, answer.text
    assert "See and edit the events of your calendars" in answer.text
    return read_page(answer).links["Continue to Google"]


async def test_an_account_is_connected_and_shows_its_calendars(
    member: httpx2.AsyncClient, runtime: Runtime, google: FakeGoogle
) -> None:
    google.accounts[EMAIL].add_calendar("Family")
    assert 'action="/connect/google"' in (await member.get("/settings/calendars/connect")).text

    answer = await member.get(path_of(google.consents.decide(await begin(member), EMAIL)))

    assert (answer.status_code, answer.headers["location"]) == (303, "/settings/calendars?done=connected")
    page = (await member.get(answer.headers["location"])).text
    assert EMAIL in page
    connection_id = await runtime.pool.fetchval("select id from calendar_connections")
    page = (await member.get(f"/settings/calendars/{connection_id}")).text
    assert "Google Calendar" in page
    assert "Family" in page
    assert "Connect again" not in page


async def test_the_editor_offers_google_meet_while_bookings_are_written_there(
    member: httpx2.AsyncClient, runtime: Runtime, google: FakeGoogle
) -> None:
    event_type_id = await runtime.pool.fetchval("select id from event_types limit 1")
    offered = "Video call, link made per booking (Google Meet)"
    assert offered not in (await member.get(f"/event-types/{event_type_id}")).text

    await member.get(path_of(google.consents.decide(await begin(member), EMAIL)))
    assert offered in (await member.get(f"/event-types/{event_type_id}")).text

    await runtime.pool.execute("update calendars set receives = false")
    assert offered not in (await member.get(f"/event-types/{event_type_id}")).text


async def test_a_new_user_connects_google_among_the_first_steps_and_goes_on_with_them(
    member: httpx2.AsyncClient, runtime: Runtime, google: FakeGoogle
) -> None:
    await runtime.pool.execute("update users set welcome_step = 3")
    assert 'action="/connect/google"' in (await member.get("/welcome/calendar")).text

    answer = await member.get(path_of(google.consents.decide(await begin(member), EMAIL)))

    assert (answer.status_code, answer.headers["location"]) == (303, "/welcome/calendar")
    page = (await member.get("/welcome/calendar")).text
    assert (EMAIL in page, 'action="/connect/google"' in page) == (True, False)


async def test_the_redirect_address_is_exact(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    link = httpx2.URL(await begin(member))

    assert link.params["redirect_uri"] == f"{runtime.settings.public_url}/connect/google/callback"
    assert set(link.params["scope"].split()) == {EVENTS, EVENTS.replace("events", "calendarlist.readonly")}


async def test_what_was_not_selected_is_said_plainly(
    member: httpx2.AsyncClient, runtime: Runtime, google: FakeGoogle
) -> None:
    answer = await member.get(path_of(google.consents.decide(await begin(member), EMAIL, unticked=[EVENTS])))

    assert answer.status_code == 403
    assert "Google was not connected" in answer.text
    assert "<li>See and edit the events of your calendars</li>" in answer.text
    assert "<li>See the list of your calendars</li>" not in answer.text
    assert await runtime.pool.fetchval(COUNT) == 0


async def test_whoever_cancels_at_google_is_told_that_nothing_was_connected(
    member: httpx2.AsyncClient, runtime: Runtime, google: FakeGoogle
) -> None:
    answer = await member.get(path_of(google.consents.decide(await begin(member), EMAIL, declines=True)))

    assert (answer.status_code, "Nothing was connected" in answer.text) == (403, True)
    assert await runtime.pool.fetchval(COUNT) == 0


async def test_an_answer_in_another_persons_session_connects_nothing(
    member: httpx2.AsyncClient, runtime: Runtime, google: FakeGoogle, stranger: User
) -> None:
    back = path_of(google.consents.decide(await begin(member), EMAIL))
    headers = await open_session(runtime, stranger)

    answer = await member.get(back, headers=headers)

    assert answer.status_code == 403
    assert await runtime.pool.fetchval(COUNT) == 0


async def test_an_account_that_google_can_not_show_is_not_connected(
    member: httpx2.AsyncClient, runtime: Runtime, google: FakeGoogle
) -> None:
    back = path_of(google.consents.decide(await begin(member), EMAIL))
    google.refuse_next(503, "backendError")

    answer = await member.get(back)

    assert "Google was not connected" in answer.text
    assert await runtime.pool.fetchval(COUNT) == 0
    assert await runtime.pool.fetchval("select count(*) from oauth_grants") == 0


async def test_a_revoked_account_is_connected_again_from_its_page(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, google: FakeGoogle
) -> None:
    await member.get(path_of(google.consents.decide(await begin(member), EMAIL)))
    connection_id = await runtime.pool.fetchval("select id from calendar_connections")
    google.consents.revoke(EMAIL)
    clock.pass_time(hours=2)
    await sync_connection(runtime, connection_id)
    page = (await member.get(f"/settings/calendars/{connection_id}")).text
    assert "Access to the calendar was revoked or has expired" in page

    link = await begin(member, renews=str(connection_id))
    answer = await member.get(path_of(google.consents.decide(link, EMAIL)))

    assert answer.headers["location"] == f"/settings/calendars/{connection_id}?done=renewed"
    assert await sync_connection(runtime, connection_id) is None
    assert "Connect again" not in (await member.get(f"/settings/calendars/{connection_id}")).text


@pytest.mark.parametrize("renews", ["no-id", "01957fd6-5d3f-7c54-9a3e-1c1a1a5b7c11"])
async def test_only_ones_own_connection_can_be_renewed(member: httpx2.AsyncClient, renews: str) -> None:
    answer = await member.post("/connect/google", data={"renews": renews})

    assert answer.status_code in {400, 404}


@pytest.mark.parametrize("path", ["/connect/other/callback", "/connect/other"])
async def test_another_vendor_is_not_known(member: httpx2.AsyncClient, path: str) -> None:
    sent = member.get(path) if path.endswith("callback") else member.post(path)

    assert (await sent).status_code == 404
