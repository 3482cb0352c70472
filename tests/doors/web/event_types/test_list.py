"""The list of event types: what is said of each, and their order."""

import re
from datetime import timedelta

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType, Location, LocationKind
from openslot.doors.web.dashboard.event_types import overview
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.event_types.conftest import list_names, load, offer
from tests.support.clocks import MovingClock
from tests.support.host import TEN, TWELVE, Book, cancel
from tests.support.page import read_page
from tests.support.private_tokens import get_private_token


def read_moves(page: str) -> dict[str, list[str]]:
    """Read before which row each row is put by its buttons up and down."""
    found: dict[str, list[str]] = {}
    for row, before in re.findall(r'/event-types/([0-9a-f-]{36})/move".*?name="before" value="([^"]*)"', page):
        found.setdefault(row, []).append(before)
    return found


async def test_a_row_tells_what_it_is_and_how_often_it_is_booked(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book
) -> None:
    await offer(runtime, user, "group", seats=8, location=Location(LocationKind.IN_PERSON, "Room 2"))
    await book()
    await book(TEN + timedelta(days=1))
    await cancel(runtime, await book(TWELVE))
    page = (await member.get("/event-types")).text

    assert "30 minutes · <a" in page
    assert '<a href="/bookings?type=30min">2 upcoming bookings</a>' in page
    assert "30 minutes · In person · Up to 8 people</p>" in page
    assert "http://127.0.0.1:8000/mara/group</p>" in page
    assert page.count("</svg>Public</span>") == 2
    assert 'Active <span class="count">2</span>' in page
    assert "/api/v1/event-types" in page


async def test_a_meeting_that_is_over_is_no_longer_counted(
    member: httpx2.AsyncClient, clock: MovingClock, book: Book
) -> None:
    await book()
    clock.now = TEN + timedelta(minutes=29)
    assert "1 upcoming booking</a>" in (await member.get("/event-types")).text
    clock.now = TEN + timedelta(minutes=30)
    assert "/bookings?type=30min" not in (await member.get("/event-types")).text


async def test_a_private_one_is_marked_and_its_link_has_the_token(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    hidden = await offer(runtime, user, "hidden", is_private=True)
    token = await get_private_token(runtime.work(OPERATOR), hidden)
    page = (await member.get("/event-types")).text

    assert "</svg>Private</span>" in page
    assert f"/mara/hidden?token={token}" in page


async def test_a_private_link_whose_key_is_lost_is_not_shown(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    hidden = await offer(runtime, user, "hidden", is_private=True)
    await runtime.pool.execute("update event_types set private_sealed = $2 where id = $1", hidden.id, b"broken" * 9)

    page = await member.get("/event-types")
    assert page.status_code == 200
    assert "/mara/hidden" not in page.text
    assert "The private link can't be shown any more" in read_page(await member.get(f"/event-types/{hidden.id}")).text
    assert "can't be shown any more" in read_page(await member.get(f"/event-types/{hidden.id}/embed")).text


async def test_archived_ones_are_behind_a_tab(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    old = await offer(runtime, user, "old-talk", active=False)
    offered, archived = [(await member.get(f"/event-types{view}")).text for view in ("", "?view=archived")]

    assert "Old-Talk" not in offered
    assert 'Archived <span class="count">1</span>' in offered
    assert "Old-Talk" in archived
    assert f'action="/event-types/{old.id}/restore"' in archived
    assert "/move" not in archived


async def test_empty_lists_say_the_next_step(member: httpx2.AsyncClient, runtime: Runtime, intro: EventType) -> None:
    assert "Nothing is archived." in read_page(await member.get("/event-types?view=archived")).text
    async with runtime.transaction(OPERATOR) as work:
        await event_types.delete_event_type(work, intro)
    page = (await member.get("/event-types")).text

    assert "You have no event types yet." in page
    assert page.count('href="/event-types/new"') == 2


async def test_rows_are_moved_up_and_down_by_their_buttons(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    made = {slug: await offer(runtime, user, slug) for slug in ("one", "two", "three")}
    await offer(runtime, user, "hidden-between", active=False)
    targets = read_moves((await member.get("/event-types")).text)
    down = str(made["three"].id)
    assert targets[str(made["one"].id)] == [str(intro.id), down]
    assert targets[str(made["two"].id)] == [str(made["one"].id), ""]

    answer = await member.post(f"/event-types/{made['one'].id}/move", data={"before": down, "by": "down"})
    assert answer.headers["location"] == f"/event-types?moved={made['one'].id}&by=down"
    assert (await list_names(runtime, user))[:4] == ["30 minute meeting", "Two", "One", "Three"]
    await member.post(f"/event-types/{made['three'].id}/move", data={"before": str(intro.id), "by": "up"})
    assert (await list_names(runtime, user))[:4] == ["Three", "30 minute meeting", "Two", "One"]
    await member.post(f"/event-types/{made['three'].id}/move", data={"before": ""})
    assert (await list_names(runtime, user))[-1] == "Three"
    page = (await member.get("/event-types")).text
    assert page.index("30 minute meeting") < page.index("Two") < page.index("One") < page.index("Three")
    assert (await member.get("/mara")).text.index("Two") < (await member.get("/mara")).text.index("Three")


async def test_a_place_that_is_gone_or_nonsense_changes_nothing(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, stranger: User, intro: EventType
) -> None:
    await offer(runtime, user, "other")
    theirs = await offer(runtime, stranger, "theirs")
    for before in (str(theirs.id), "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f"):
        answer = await member.post(f"/event-types/{intro.id}/move", data={"before": before})
        assert answer.headers["location"] == "/event-types?done=gone"
    for before in ("x", "x" * 5000, str(intro.id)):
        assert (await member.post(f"/event-types/{intro.id}/move", data={"before": before})).status_code == 303

    assert await list_names(runtime, user) == ["30 minute meeting", "Other"]
    assert "The list has changed in the meantime" in read_page(await member.get("/event-types?done=gone")).notices[0]
    assert (await load(runtime, user, intro)).updated_at == intro.updated_at


async def test_long_lists_have_pages(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "ROWS", 2)
    for slug in ("one", "two"):
        await offer(runtime, user, slug)
    first, second = [(await member.get(f"/event-types?page={page}")).text for page in (1, 2)]

    assert "Page 1 of 2" in first
    assert ("One" in first, "Two" in first) == (True, False)
    assert ("Two" in second, "30 minute meeting" in second) == (True, False)
    for nonsense in ("0", "-1", "x", "9" * 20, "99"):
        assert (await member.get(f"/event-types?page={nonsense}")).status_code == 200
