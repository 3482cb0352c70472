"""The wait list on the booking page: which days can be waited for, and what its pages and mails say."""

import re
from datetime import timedelta

import httpx2
import pytest
from playwright.async_api import Browser, expect

from openslot.domains.accounts.models import User
from openslot.domains.event_types.links import operations as links
from openslot.domains.event_types.models import EventType
from openslot.domains.wait_list import operations as wait_list
from openslot.domains.wait_list.operations import entry_token
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.work import Runtime
from openslot.platform.i18n.languages import LANGUAGES, Language
from tests.domains.bookings.conftest import offer
from tests.domains.mail.conftest import messages
from tests.doors.web.booking_page.conftest import QUESTIONS
from tests.doors.web.booking_page.visiting import visit
from tests.support.browsers import BOTH_WAYS
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.wait_list import (
    NINE,
    TUESDAY,
    ask_to_wait,
    book_day,
    cancel_day,
    hand_out,
    offer_day,
    tell_offered,
    wait_for,
)

START = NINE - timedelta(hours=1)
"""Nine o'clock in Berlin."""
BERLIN = "tz=Europe/Berlin"
LINK = re.compile(r"http://\S+(/wait-list/[\w-]+)")


@pytest.fixture
async def day(runtime: Runtime, host: User) -> EventType:
    """A meeting that takes a whole day, with a wait list and questions."""
    return await offer_day(runtime, host, "full", questions=QUESTIONS[:1])


async def read_link(runtime: Runtime, clock: MovingClock, email: str) -> str:
    """Read the link of the latest mail to somebody, as they would."""
    await work_off(runtime, clock)
    body = (await messages(runtime, email))[-1].get_body(("plain",))
    assert body is not None
    found = LINK.search(body.get_content())
    assert found is not None
    return found[1]


async def test_full_days_can_be_chosen_and_closed_ones_can_not(
    client: httpx2.AsyncClient, runtime: Runtime, day: EventType
) -> None:
    await book_day(runtime, day, START)
    page = (await client.get(f"/mara/full?date={TUESDAY}&{BERLIN}")).text
    assert f'value="{TUESDAY}" aria-label="Tuesday 17 March, full, with a wait list" aria-pressed="true"' in page
    assert f'href="/mara/full/wait-list?tz=Europe%2FBerlin&amp;date={TUESDAY}"' in page
    # Sundays are closed, and other days are free.
    assert 'aria-label="Sunday 22 March, no times"' in page
    assert page.count("Join the wait list") == 1


async def test_page_of_an_event_type_without_a_wait_list_is_the_same_to_the_byte(
    client: httpx2.AsyncClient, runtime: Runtime, host: User
) -> None:
    plain = await offer_day(runtime, host, "plain", wait_list_minutes=None)
    await book_day(runtime, plain, START)
    page = (await client.get(f"/mara/plain?{BERLIN}")).text
    assert "wait" not in page
    assert 'aria-label="Tuesday 17 March, no times"' in page
    joining = await client.get(f"/mara/plain/wait-list?date={TUESDAY}&{BERLIN}")
    assert (joining.status_code, joining.headers["location"]) == (303, "/mara/plain?tz=Europe%2FBerlin")


async def test_page_of_a_link_for_a_number_of_bookings_offers_no_wait_list(
    client: httpx2.AsyncClient, runtime: Runtime, host: User, day: EventType
) -> None:
    await book_day(runtime, day, START)
    async with runtime.transaction(OPERATOR) as work:
        _, made = await links.create_booking_link(work, host, day.id)
    carried = f"token={made.token}&{BERLIN}"
    page = (await client.get(f"/mara/full?date={TUESDAY}&{carried}")).text
    assert 'aria-label="Tuesday 17 March, no times"' in page
    assert "wait-list" not in page
    joining = f"/mara/full/wait-list?date={TUESDAY}&{carried}"
    sent = {"name": "Li", "email": "li@wei.example", "tz": "Europe/Berlin"}
    for answer in (await client.get(joining), await client.post(joining, data=sent)):
        assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/mara/full")
    assert await runtime.pool.fetchval("select count(*) from wait_list_entries") == 0


async def test_full_session_can_be_waited_for_beside_free_ones(
    client: httpx2.AsyncClient, runtime: Runtime, host: User
) -> None:
    group = await offer(runtime, host, "pair", seats=2, wait_list_minutes=60)
    for name in ("a", "b"):
        await book_day(runtime, group, START, email=f"{name}@x.example")
    page = (await client.get(f"/mara/pair?date={TUESDAY}&{BERLIN}")).text
    link = f"/mara/pair/wait-list?tz=Europe%2FBerlin&date={TUESDAY}&start=2026-03-17T09:00:00+01:00"
    assert page.count("Join the wait list") == 1
    found = re.search(r'href="([^"]+)"><s>09:00</s> <small>Join the wait list', page)
    assert found is not None
    assert found[1].replace("&amp;", "&").startswith(link.split("&start", maxsplit=1)[0])
    joining = await client.get(found[1].replace("&amp;", "&"))
    assert "09:00" in joining.text
    sent = await client.post(
        found[1].replace("&amp;", "&"), data={"name": "Li", "email": "li@wei.example", "tz": "Europe/Berlin"}
    )
    assert sent.status_code == 200
    assert await runtime.pool.fetchval("select starts_at from wait_list_entries") == START


async def test_what_was_typed_is_shown_again_with_what_is_wrong(
    client: httpx2.AsyncClient, runtime: Runtime, day: EventType
) -> None:
    path = f"/mara/full/wait-list?date={TUESDAY}&{BERLIN}"
    early = await client.post(path, data={"name": "Li", "email": "li@wei.example", "tz": "Europe/Berlin"})
    assert (early.status_code, "This day is not full" in early.text) == (409, True)
    await book_day(runtime, day, START)
    wrong = await client.post(path, data={"name": "Li", "email": "li", "tz": "Europe/Berlin"})
    assert (wrong.status_code, 'value="Li"' in wrong.text, 'id="fault-email"' in wrong.text) == (400, True, True)
    for _ in range(10):
        late = await client.post(path, data={"name": "Li", "email": "li@wei.example", "tz": "Europe/Berlin"})
    assert late.status_code == 429


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_wait_confirm_and_book(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    day: EventType,
    *,
    scripts: bool,
) -> None:
    booking = await book_day(runtime, day, START)
    page = await visit(browser, client, f"/mara/full?{BERLIN}", java_script_enabled=scripts)
    await page.get_by_role("button", name="Tuesday 17 March, full").click()
    await page.get_by_role("link", name="Join the wait list").click()
    await page.get_by_label("Your name").fill("Li Wei")
    await page.get_by_label("Email address").fill("li@wei.example")
    await page.get_by_role("button", name="Join the wait list").click()
    await expect(page.get_by_role("heading", name="Confirm your email address")).to_be_visible()
    await page.goto(await read_link(runtime, clock, "li@wei.example"))
    assert await runtime.pool.fetchval("select state from wait_list_entries") == "unproven"
    await page.get_by_role("button", name="Confirm").click()
    await expect(page.get_by_role("heading", name="You are on the wait list")).to_be_visible()
    await cancel_day(runtime, booking)
    await page.goto(await read_link(runtime, clock, "li@wei.example"))
    await expect(page.get_by_role("heading", name="A time is free for you")).to_be_visible()
    await page.get_by_label("What would you like to talk about?").fill("Pricing")
    await page.get_by_role("button", name="Confirm booking").click()
    await expect(page.get_by_role("heading", name="Your meeting is confirmed")).to_be_visible()
    row = await runtime.pool.fetchrow("select * from bookings where status = 'CONFIRMED'")
    assert row is not None
    assert (row["invitee_email"], row["starts_at"]) == ("li@wei.example", START)
    assert "Pricing" in str(row["answers"])
    assert await tell_offered(runtime) == [("li", "accepted")]


async def test_other_address_can_not_be_booked_for(client: httpx2.AsyncClient, runtime: Runtime, host: User) -> None:
    day = await offer_day(runtime, host, "full")
    booking = await book_day(runtime, day, START)
    (entry,) = await wait_for(runtime, day, "li@wei.example")
    await cancel_day(runtime, booking)
    path = f"/wait-list/{entry_token(runtime, entry)}"
    typed = {"name": "Li", "email": "other@x.example", "tz": "UTC", "start": "2026-03-18T09:00:00Z"}
    wrong = await client.post(path, data={**typed, "name": ""})
    assert (wrong.status_code, 'id="fault-name"' in wrong.text) == (400, True)
    sent = await client.post(path, data=typed)
    assert sent.status_code == 303
    row = await runtime.pool.fetchrow("select invitee_email, starts_at from bookings where status = 'CONFIRMED'")
    assert row is not None
    assert (row["invitee_email"], row["starts_at"]) == ("li@wei.example", START)
    again = await client.post(path, data=typed)
    assert "You have booked this time" in again.text


async def test_leaving_and_wrong_links(client: httpx2.AsyncClient, runtime: Runtime, day: EventType) -> None:
    await book_day(runtime, day, START)
    (entry,) = await wait_for(runtime, day, "li@wei.example")
    path = f"/wait-list/{entry_token(runtime, entry)}"
    assert (await client.get(f"{path[:-1]}x")).status_code == 404
    left = await client.post(f"{path}/leave")
    assert "You have left the wait list" in left.text
    assert (await client.get(path)).status_code == 404
    assert await runtime.pool.fetchval("select count(*) from wait_list_entries") == 0


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=lambda each: each.tag)
async def test_mails_of_every_kind_in_every_language(
    runtime: Runtime, clock: MovingClock, host: User, language: Language
) -> None:
    day = await offer_day(runtime, host, "full")
    booking = await book_day(runtime, day, START)
    entry = await ask_to_wait(runtime, day, "li@wei.example")
    await runtime.pool.execute("update wait_list_entries set locale = $1", language.tag)
    await work_off(runtime, clock)
    async with runtime.transaction(PUBLIC) as work:
        await wait_list.confirm_entry(work, entry)
    clock.pass_time(minutes=10)
    await ask_to_wait(runtime, day, "li@wei.example")
    await work_off(runtime, clock)
    await cancel_day(runtime, booking)
    await work_off(runtime, clock)
    await runtime.pool.execute("update event_types set active = false where id = $1", day.id)
    await hand_out(runtime)
    await work_off(runtime, clock)
    sent = await messages(runtime, "li@wei.example")
    assert [each["Content-Language"] for each in sent] == [language.tag] * 4
    subjects = [str(each["Subject"]) for each in sent]
    assert len(set(subjects)) == 4
    english = ["Confirm your place", "On the wait list", "A time is free", "Not free any more"]
    assert [s.startswith(e) for s, e in zip(subjects, english, strict=True)] == [language.tag == "en"] * 4
    for each in sent:
        body = each.get_body(("plain",))
        assert body is not None
        assert entry_token(runtime, entry) in body.get_content()
        assert "%(" not in body.get_content()
