"""Links and holds of an account that is being deleted: none of them opens anything, whenever it was made."""

import asyncio

import httpx2

from openslot.domains.access import address_changes
from openslot.domains.access import operations as access
from openslot.domains.access.resets import operations as resets
from openslot.domains.accounts.models import User
from openslot.domains.bookings.links import manage_token
from openslot.domains.calendars import booking_events
from openslot.platform.core.actor import OPERATOR, PUBLIC, Actor, ActorKind
from openslot.platform.core.errors import Refusal
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.people.deletions.conftest import Delete, advance, settle
from tests.support.clocks import MovingClock
from tests.support.host import ELEVEN, TEN, Book
from tests.support.passwords import PASSWORD

NOON = TEN.replace(hour=12)


async def ask_for_change(runtime: Runtime, user: User, email: str) -> str:
    """Ask for another address as the user, and return the token of the link."""
    work = runtime.work(Actor(kind=ActorKind.SESSION, user_id=user.id, credential_id=new_id()))
    await address_changes.request_change(work, user, email, password=PASSWORD, code="")
    change = await address_changes.find_own_change(work, user)
    assert change is not None
    return address_changes.change_token(runtime, change.id)


async def test_links_that_were_made_before_open_nothing(
    runtime: Runtime, user: User, member: httpx2.AsyncClient, book: Book, delete: Delete
) -> None:
    booking = await book()
    token = await ask_for_change(runtime, user, "mara@elsewhere.example")
    async with runtime.transaction(OPERATOR) as work:
        feed = await booking_events.renew_feed(work, user)
    feed_path = "/" + feed.split("/", 3)[3] if feed.startswith("http") else feed
    manage = f"/api/public/manage/{manage_token(runtime, booking.id)}"
    assert (await member.get(feed_path)).status_code == 200

    await delete()

    moved = await member.post(f"{manage}/reschedule", json={"newStartTime": ELEVEN.isoformat()})
    held = await member.post(
        "/api/public/holds", json={"eventTypeId": str(booking.event_type_id), "startTime": NOON.isoformat()}
    )
    confirmed = await member.post(f"/account/email/{token}")
    assert (await member.get(feed_path)).status_code == 404
    assert moved.status_code in {404, 409}
    assert held.status_code == 404
    assert confirmed.headers["location"].startswith("/login")
    assert await runtime.pool.fetchval("select email from users where id = $1", user.id) == user.email


async def test_a_new_password_by_mail_is_not_offered_any_more(
    runtime: Runtime, user: User, clock: MovingClock, delete: Delete
) -> None:
    await delete()
    async with runtime.transaction(PUBLIC) as work:
        await resets.request_reset(work, user.email)
    await settle(runtime, clock)

    assert await runtime.pool.fetchval("select count(*) from password_resets") == 0


async def test_a_change_of_the_address_at_the_same_moment_leaves_the_account_deleted(
    runtime: Runtime, user: User, clock: MovingClock, delete: Delete
) -> None:
    token = await ask_for_change(runtime, user, "mara@elsewhere.example")
    async with runtime.transaction(OPERATOR) as work:
        await access.begin_session(work, user, user_agent="x")
    session_id = await runtime.pool.fetchval("select id from sessions where user_id = $1", user.id)
    actor = Actor(kind=ActorKind.SESSION, user_id=user.id, credential_id=session_id)
    confirm = address_changes.confirm_change(runtime.work(actor), user, token, user_agent="x")
    results = await asyncio.gather(confirm, delete(), return_exceptions=True)
    await settle(runtime, clock)

    assert all(not isinstance(each, Exception) or isinstance(each, Refusal) for each in results)
    assert await runtime.pool.fetchval("select count(*) from sessions") == 0
    remains = "select count(*) from {} where {}::text ilike '%elsewhere.example%'"
    assert await runtime.pool.fetchval(remains.format("users", "email")) == 0
    assert await runtime.pool.fetchval(remains.format("address_changes", "email")) == 0
    assert await runtime.pool.fetchval(remains.format("events", "fact")) == 0
    assert await runtime.pool.fetchval(remains.format("mail_messages", "recipient")) == 0


async def test_bookings_that_are_moved_at_the_same_moment_are_cancelled_too(
    runtime: Runtime, member: httpx2.AsyncClient, book: Book, delete: Delete
) -> None:
    links = [f"/api/public/manage/{manage_token(runtime, (await book(start)).id)}" for start in (TEN, ELEVEN)]
    moves = [
        member.post(f"{link}/reschedule", json={"newStartTime": NOON.replace(hour=12 + place).isoformat()})
        for place, link in enumerate(links)
    ]
    await asyncio.gather(moves[0], delete(), moves[1])
    await advance(runtime)

    assert await runtime.pool.fetchval("select count(*) from bookings where status = 'CONFIRMED'") == 0
    assert await runtime.pool.fetchval("select count(*) from claims where active") == 0
