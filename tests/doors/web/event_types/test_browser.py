"""Pages of event types in a real browser: by hand, by key, on a phone, without scripts, and for axe."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest
from playwright.async_api import Browser, Page, Route, expect

from openslot.domains.access.limits import operations as limits
from openslot.domains.accounts.models import User
from openslot.domains.accounts.operations import get_user
from openslot.domains.availability.models import ById
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Answers, BookingWanted, Invitee
from openslot.domains.event_types.links import operations as links
from openslot.domains.event_types.models import EventType, Location, LocationKind, Question, QuestionKind
from openslot.domains.messaging.connections.models import ConnectionChannel
from openslot.doors.web.dashboard.event_types.preview import PREVIEWS
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.doors.web.event_types.conftest import change, list_names, load, offer
from tests.support.browsers import BOTH_WAYS, open_as
from tests.support.clocks import MONDAY
from tests.support.host import Book
from tests.support.messaging import insert_number
from tests.support.page_checks import CHECKED, WIDE, check_pages, unfold

# However long it takes to type, the page waits until it is told that time has passed.
STOP_TIME = """() => {
  const waiting = new Map();
  let last = 0;
  window.setTimeout = (run) => { waiting.set(++last, run); return last; };
  window.clearTimeout = (id) => waiting.delete(id);
  window.isWaiting = () => waiting.size > 0;
  window.passTime = () => { for (const [id, run] of [...waiting]) { waiting.delete(id); run(); } };
}"""


async def pass_time(page: Page) -> None:
    """Let the time pass that the preview waits for."""
    await page.wait_for_function("() => isWaiting()")
    await page.evaluate("() => passTime()")


@pytest.fixture
async def rich(runtime: Runtime, user: User, book: Book) -> EventType:
    """Give a host all that pages show."""
    await book()
    await offer(runtime, user, "old-talk", active=False)
    await offer(runtime, user, "hidden", is_private=True)
    return await offer(
        runtime,
        user,
        "a-workshop-with-a-rather-long-name-for-a-phone",
        description="Bring a question.",
        seats=8,
        location=Location(LocationKind.IN_PERSON, "Room 2"),
        questions=(
            Question("topic", "What would you like to talk about?", QuestionKind.LONG_TEXT, required=True),
            Question("size", "Which size?", QuestionKind.CHOICE, options=("S", "M")),
        ),
    )


async def make_links(runtime: Runtime, rich: EventType) -> UUID:
    """Give an event type links in every state, and return the id of one that is open."""
    async with runtime.transaction(OPERATOR) as work:
        owner = await get_user(work, rich.owner_id)
        until = work.now + timedelta(days=9)
        made = [
            await links.create_booking_link(work, owner, rich.id, uses=uses, ends_at=until, note=note)
            for uses, note in (
                (1, None),
                (3, "For the team of Jonas Okafor, after the fair in Lagos"),
                (2, "Last year"),
            )
        ]
        await links.revoke_booking_link(work, owner, made[2][1].link.id)
    start, invitee = MONDAY.replace(hour=14), Invitee(name="Li Wei", email="li@wei.example", zone="UTC")
    answers: Answers = {"topic": "Sizes"}
    for _, each in made[:2]:
        which = ById(rich.id, each.token)
        async with runtime.transaction(PUBLIC) as work:
            await bookings.create_booking(
                work, BookingWanted(which=which, starts_at=start, invitee=invitee, answers=answers)
            )
    return made[1][1].link.id


# Somebody waits, and is offered a time.
WAITING = """
with waits as (
    insert into wait_list_entries (id, host_id, event_type_id, day, until, name, email, zone, state, created_at,
        asked_at)
    values ($1, $2, $3, $5::date + 1, $5 + interval '1 day', 'Li Wei', 'li@wei.example', 'UTC', 'waiting', $5, $5)
)
insert into wait_list_offers (id, entry_id, host_id, email, starts_at, ends_at, made_at, expires_at, state)
values ($4, $1, $2, 'li@wei.example', $5 + interval '1 day', $5 + interval '1 day', $5, $5 + interval '2 hours',
    'offered')"""


async def visit(page: Page, runtime: Runtime, rich: EventType) -> AsyncIterator[str]:
    """Go through every page and every state of it that looks different."""
    path = f"/event-types/{rich.id}"
    hidden = await runtime.pool.fetchval("select id from event_types where slug = 'hidden'")
    link_id = await make_links(runtime, rich)
    await runtime.pool.execute(WAITING, new_id(), rich.owner_id, rich.id, new_id(), runtime.clock())
    for channel in (ConnectionChannel.SMS, ConnectionChannel.WHATSAPP):
        await insert_number(runtime, user_id=rich.owner_id, channel=channel)
    for each in (
        "/event-types",
        f"/event-types?done=archived&id={rich.id}",
        "/event-types?view=archived",
        "/event-types/new",
        "/event-types/new?start=phone",
        path,
        f"{path}/questions",
        f"{path}/reminders?done=reminders",
        f"{path}/links?done=created",
        f"{path}/links/{link_id}/revoke",
        f"{path}/wait-list?done=saved",
        f"{path}/embed",
        f"{path}/embed/try?mode=popup",
        f"{path}/private",
        f"/event-types/{hidden}/public",
        f"{path}/preview",
        f"{path}/delete",
    ):
        await page.goto(each)
        await unfold(page)
        # axe looks at nothing that can't be used, as all of a preview.
        await page.evaluate("document.querySelectorAll('[inert]').forEach((one) => { one.inert = false; })")
        yield each
    await page.goto(f"{path}/reminders")
    await page.click("text=Customize for this event type")
    await page.wait_for_selector("text=Custom reminders")
    yield "own reminders"
    await page.goto(f"{path}/links")
    await page.fill("#ends", "2020-01-01T10:00")
    await page.click("text=Create a link")
    await page.wait_for_selector(".fault")
    yield "a link that has ended"
    await page.goto(path)
    await page.evaluate("document.getElementById('offer').noValidate = true")
    await page.fill("#duration", "0")
    await page.fill("#slug", "No Slug")
    await page.click(".save-row .button-main")
    await page.wait_for_selector(".fault")
    yield "faults"
    await page.goto(path)
    await change(runtime, rich, name="Changed elsewhere")
    await page.fill("#name", "Changed here")
    await page.click(".save-row .button-main")
    await page.wait_for_selector("[role=alert]")
    yield "changed elsewhere"
    await page.click("[data-opens]")
    await expect(page.locator("#embed #code-inline")).to_contain_text("<openslot-booking>")
    yield "embed dialog"
    buckets = [f"{PREVIEWS.name}:{rich.owner_id}"] * PREVIEWS.max_
    await limits.take_from_buckets(runtime.pool, buckets, PREVIEWS.max_)
    await page.goto(f"{path}/preview")
    yield "too many previews"


async def test_every_page_fits_a_phone_and_axe_finds_no_fault(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, rich: EventType
) -> None:
    page, faults = await open_as(browser, client, runtime, user, **CHECKED)
    await check_pages(page, visit(page, runtime, rich), "event types")
    # The browser reports the answers that show faults, as it should.
    assert [fault for fault in faults if not re.search("status of (400|409|429) ", fault)] == []


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_a_host_makes_moves_and_archives_an_event_type(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, *, scripts: bool
) -> None:
    page, faults = await open_as(browser, client, runtime, user, java_script_enabled=scripts, viewport=WIDE)
    inside = page.frame_locator("iframe[name=preview]")
    await page.goto("/event-types")
    await page.get_by_role("link", name="New event type").first.click()
    await page.get_by_role("link", name="Group").click()
    await page.get_by_label("Name", exact=True).fill("Pottery class")
    await page.get_by_label("Duration in minutes").fill("90")
    if not scripts:
        await page.get_by_role("button", name="Show the preview").click()
    await expect(inside.get_by_role("heading", name="Pottery class")).to_be_visible()
    assert await list_names(runtime, user) == ["30 minute meeting"]
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("status").filter(has_text="was created")).to_be_visible()
    await expect(page.get_by_label("Link", exact=True)).to_have_value("pottery-class")

    await page.get_by_role("navigation", name="Event type").get_by_role("link", name="Questions").click()
    await page.get_by_role("button", name="Add a question").click()
    await page.get_by_label("Question", exact=True).fill("Have you done this before?")
    await page.get_by_label("Answer type").select_option("choice")
    await page.get_by_label("Options, one per line").fill("Never\nOften")
    if not scripts:
        await page.get_by_role("button", name="Show the preview").click()
    await expect(inside.get_by_text("Have you done this before?")).to_be_visible()
    await page.locator(".save-row .button-main").click()
    await expect(page.get_by_role("status").filter(has_text="were saved")).to_be_visible()

    await page.get_by_role("navigation", name="Main").get_by_role("link", name="Event types").click()
    await page.get_by_role("button", name="Move Pottery class up").click()
    await expect(page.locator(".offers-list h2").first).to_contain_text("Pottery class")
    await expect(page.get_by_role("button", name="Move Pottery class down")).to_be_focused()
    await page.get_by_role("button", name="Archive Pottery class").click()
    await expect(page.get_by_role("status")).to_contain_text("Upcoming bookings stay as they are")
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("heading", name="Pottery class", level=1)).to_contain_text("Public")
    await page.goto("/mara")
    await expect(page.get_by_role("heading", level=2).first).to_have_text("Pottery class")
    assert faults == []


async def test_the_preview_follows_the_form_and_can_not_be_used(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    page, faults = await open_as(browser, client, runtime, user, viewport=WIDE)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.method) if request.url.endswith("/preview") else None)
    inside = page.frame_locator("iframe[name=preview]")
    await page.goto(f"/event-types/{intro.id}")
    await expect(inside.get_by_role("heading", name="30 minute meeting")).to_be_visible()
    await expect(page.get_by_role("button", name="Show the preview")).to_be_hidden()
    await page.wait_for_load_state()
    assert asked == ["GET"]
    await page.evaluate(STOP_TIME)
    asked.clear()
    await page.locator("#name").press("End")
    await page.locator("#name").press_sequentially(" with tea and cake")
    assert asked == []
    await pass_time(page)
    await expect(inside.get_by_role("heading", name="30 minute meeting with tea and cake")).to_be_visible()
    await page.get_by_label("Rose", exact=True).check()
    await pass_time(page)
    await expect(inside.locator("link[href*='be123c']")).to_have_count(1)
    assert asked == ["POST", "POST"]
    await page.get_by_label("Duration in minutes").fill("")
    await page.get_by_label("Description (optional)").fill("<b>Bring</b> a friend")
    await pass_time(page)
    await expect(inside.get_by_text("<b>Bring</b> a friend")).to_be_visible()
    await expect(inside.get_by_text("30 minutes", exact=True)).to_be_visible()
    await inside.locator(".starts button").first.click(force=True)
    await expect(inside.get_by_role("heading", name="30 minute meeting with tea and cake")).to_be_visible()
    assert await runtime.pool.fetchval("select count(*) from claims") == 0
    assert await load(runtime, user, intro) == intro
    assert faults == []


async def test_the_preview_shows_what_was_typed_before_the_script_arrived(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    let_go = asyncio.Event()

    async def keep_back(route: Route) -> None:
        await let_go.wait()
        await route.continue_()

    page, _ = await open_as(browser, client, runtime, user, viewport=WIDE)
    await page.route("**/event-type.js*", keep_back)
    inside = page.frame_locator("iframe[name=preview]")
    await page.goto(f"/event-types/{intro.id}", wait_until="commit")
    await expect(inside.get_by_role("heading", name="30 minute meeting")).to_be_visible()
    await page.locator("#name").fill("Tea and cake")
    let_go.set()

    await expect(inside.get_by_role("heading", name="Tea and cake")).to_be_visible()


async def test_rows_are_dragged_and_moved_by_key(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    for slug in ("one", "two"):
        await offer(runtime, user, slug)
    page, faults = await open_as(browser, client, runtime, user, viewport=WIDE)
    await page.goto("/event-types")
    rows = page.locator(".offers-list > li")
    await rows.nth(2).locator("h2").drag_to(rows.nth(0), target_position={"x": 300, "y": 4})
    await expect(rows.nth(0)).to_contain_text("Two")
    # A row can be moved by key once the script of the new page is there.
    await page.wait_for_load_state()
    assert await list_names(runtime, user) == ["Two", "30 minute meeting", "One"]
    await rows.nth(0).get_by_role("link", name="Two", exact=True).focus()
    await page.keyboard.press("Alt+ArrowDown")
    await expect(rows.nth(1)).to_contain_text("Two")
    assert await list_names(runtime, user) == ["30 minute meeting", "Two", "One"]
    assert faults == []


async def test_questions_change_without_a_reload(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, rich: EventType
) -> None:
    page, faults = await open_as(browser, client, runtime, user, viewport=WIDE)
    await page.goto(f"/event-types/{rich.id}/questions")
    await page.evaluate("window.stayed = true")
    await page.get_by_role("button", name="Move down Question 1").click()
    await expect(page.get_by_label("Question", exact=True).first).to_have_value("Which size?")
    await expect(page.get_by_label("Question", exact=True).nth(1)).to_be_focused()
    await page.get_by_role("button", name="Remove Question 2").click()
    await expect(page.get_by_label("Question", exact=True)).to_have_count(1)
    await page.get_by_role("button", name="Add a question").click()
    await expect(page.get_by_label("Question", exact=True)).to_have_count(2)
    await expect(page.locator("[data-save-bar]")).to_be_visible()
    await page.locator(".save-row .button-main").click()
    await expect(page.get_by_label("Question", exact=True).nth(1)).to_be_focused()
    await page.keyboard.type("Anything else?")
    assert await page.evaluate("window.stayed") is True
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("status").filter(has_text="saved")).to_be_visible()
    saved = await load(runtime, user, rich)
    assert [each.key for each in saved.questions] == ["size", "anything_else"]
    assert faults == []


async def test_a_folded_fault_is_shown_and_leaving_with_changes_asks_first(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, rich: EventType
) -> None:
    page, faults = await open_as(browser, client, runtime, user, viewport=WIDE)
    await page.goto(f"/event-types/{rich.id}")
    await page.locator("#limits > summary").click()
    await page.locator("#per_day").fill("0")
    await page.locator("#limits > summary").click()
    await page.locator(".save-row .button-main").click()
    await expect(page.locator("#per_day")).to_be_focused()
    await page.locator("#per_day").fill("3")
    await page.get_by_role("navigation", name="Event type").get_by_role("link", name="Questions").click()
    await page.locator("#leave").get_by_role("button", name="Save").click()
    await expect(page.get_by_role("button", name="Add a question")).to_be_visible()
    assert (await load(runtime, user, rich)).limits.per_day == 3
    assert faults == []


async def test_the_code_is_chosen_and_copied_in_a_dialog(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    allowed: dict[str, Any] = {"permissions": ["clipboard-read", "clipboard-write"], "viewport": WIDE}
    page, faults = await open_as(browser, client, runtime, user, **allowed)
    await page.goto(f"/event-types/{intro.id}")
    await page.get_by_role("link", name="Embed…").click()
    dialog = page.get_by_role("dialog", name="Show it on your site")
    await dialog.get_by_label("Theme").select_option("dark")
    await expect(dialog.locator("#code-popup")).to_contain_text('theme="dark"')
    await dialog.get_by_role("button", name="Copy code Popup").click()
    await expect(dialog.get_by_role("button", name="Copied")).to_be_visible()
    copied = await page.evaluate("navigator.clipboard.readText()")
    assert copied.splitlines()[2] == '<openslot-booking mode="popup" theme="dark">'
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    await page.goto(f"/event-types/{intro.id}/embed/try?mode=inline&theme=dark")
    widget = page.frame_locator("openslot-booking iframe")
    await expect(widget.get_by_role("heading", name="30 minute meeting")).to_be_visible()
    assert faults == []
