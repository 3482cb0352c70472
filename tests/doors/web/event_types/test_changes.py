"""Archive, restore, private links and deleting: what happens, and what stays."""

import httpx2

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType, Question
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.event_types.conftest import list_names, load, offer
from tests.support.host import Book, move
from tests.support.page import read_page
from tests.support.private_tokens import get_private_token


async def test_an_archived_one_can_not_be_booked_and_its_bookings_stay(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType, book: Book
) -> None:
    booking = await book()
    assert "Its 1 upcoming booking is not affected" in read_page(await member.get(f"/event-types/{intro.id}")).text
    answer = await member.post(f"/event-types/{intro.id}/archive")

    assert answer.headers["location"] == f"/event-types?done=archived&id={intro.id}"
    assert (await member.get("/mara/30min")).status_code == 404
    assert "30 minute meeting" not in (await member.get("/mara")).text
    assert await runtime.pool.fetchval("select status from bookings where id = $1", booking.id) == "CONFIRMED"
    await move(runtime, booking, booking.starts_at.replace(hour=13))
    listed = (await member.get(answer.headers["location"])).text
    assert "Upcoming bookings stay as they are." in listed
    assert f'action="/event-types/{intro.id}/restore"' in listed


async def test_restoring_offers_it_again_under_the_same_link(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    await member.post(f"/event-types/{intro.id}/archive")
    page = (await member.get(f"/event-types/{intro.id}")).text
    assert "Nobody can book it." in page
    assert "Open the page" not in page
    answer = await member.post(f"/event-types/{intro.id}/restore")

    assert read_page(await member.get(answer.headers["location"])).notices == ["It can be booked again."]
    assert (await member.get("/mara/30min")).status_code == 200
    assert (await load(runtime, user, intro)).active


async def test_archiving_twice_is_the_same_as_once(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    for verb in ("archive", "archive", "restore", "restore"):
        assert (await member.post(f"/event-types/{intro.id}/{verb}")).status_code == 303
    assert (await load(runtime, user, intro)).active


async def test_a_private_link_is_asked_for_made_and_renewed(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    path = f"/event-types/{intro.id}"
    assert "its current link stops working at once" in read_page(await member.get(f"{path}/private")).text
    assert not (await load(runtime, user, intro)).is_private
    await member.post(f"{path}/private")
    first = await get_private_token(runtime.work(OPERATOR), intro)
    assert (await member.get("/mara/30min")).status_code == 404
    assert f"/mara/30min?token={first}" in read_page(await member.get(f"{path}?done=private")).text
    assert "The current link stops working at once" in read_page(await member.get(f"{path}/private")).text
    await member.post(f"{path}/private")
    second = await get_private_token(runtime.work(OPERATOR), intro)

    assert (await member.get(f"/mara/30min?token={first}")).status_code == 404
    assert (await member.get(f"/mara/30min?token={second}")).status_code == 200


async def test_a_private_one_is_put_on_the_page_again_and_its_link_still_opens(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    hidden = await offer(runtime, user, "hidden", is_private=True)
    token = await get_private_token(runtime.work(OPERATOR), hidden)
    path = f"/event-types/{hidden.id}"
    assert "People who have the private link can still use it" in read_page(await member.get(f"{path}/public")).text
    await member.post(f"{path}/public")

    assert not (await load(runtime, user, hidden)).is_private
    assert (await member.get("/mara/hidden")).status_code == 200
    assert (await member.get(f"/mara/hidden?token={token}")).status_code == 200
    assert (await member.get(f"{path}/public")).headers["location"] == path


async def test_deleting_shows_what_is_lost_first(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    extra = await offer(runtime, user, "extra", questions=(Question("a", "A"), Question("b", "B")))
    page = (await member.get(f"/event-types/{extra.id}/delete")).text
    assert "/mara/extra" in page
    assert "2 questions" in page
    assert await list_names(runtime, user) == ["30 minute meeting", "Extra"]
    answer = await member.post(f"/event-types/{extra.id}/delete")

    assert answer.headers["location"] == "/event-types?done=deleted"
    assert await list_names(runtime, user) == ["30 minute meeting"]
    assert (await member.post(f"/event-types/{extra.id}/delete")).status_code == 404


async def test_what_was_booked_can_only_be_archived(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType, book: Book
) -> None:
    path = f"/event-types/{intro.id}"
    assert "Delete…" in read_page(await member.get(path)).links
    await book()
    page = (await member.get(f"{path}/delete")).text
    assert "can't be deleted" in page
    assert f'action="{path}/archive"' in page
    assert "Delete…" not in (await member.get(path)).text
    answer = await member.post(f"{path}/delete")

    assert answer.headers["location"] == f"{path}?done=archive-only"
    assert "can't be deleted. Archive it instead." in read_page(await member.get(answer.headers["location"])).text
    assert (await load(runtime, user, intro)).active
