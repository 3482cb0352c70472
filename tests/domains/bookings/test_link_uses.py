"""Links for a number of bookings: each booking takes a use, and nothing else does."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg
import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import ById
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef
from openslot.domains.bookings.requests import operations as requests
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.errors import LinkNotFound, LinkUsedUp, TooManyLinks
from openslot.domains.event_types.links import operations as links
from openslot.domains.event_types.links import store as link_store
from openslot.domains.event_types.links.rules import MAX_OPEN
from openslot.domains.event_types.models import BookingLink, EventType, HostLink
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.periodic import run_job
from tests.domains.bookings.conftest import ELEVEN, TEN, offer
from tests.domains.bookings.support import AT, LATER, book
from tests.support.bookings import hold_publicly, public_body
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import stranger
from tests.support.races import check_order

__all__ = ["stranger"]

USED = (410, "link_used_up", {"error": "This link was already used"})


async def make(runtime: Runtime, user: User, event_type: EventType, **wanted: Any) -> HostLink:
    async with runtime.transaction(OPERATOR) as work:
        _, made = await links.create_booking_link(work, user, event_type.id, **wanted)
        return made


async def send(
    client: httpx2.AsyncClient, event_type: EventType, link: HostLink, start: str = TEN, **changes: Any
) -> httpx2.Response:
    return await client.post("/api/bookings", json=public_body(event_type, start, token=link.token, **changes))


async def reload(runtime: Runtime, user: User, link: HostLink) -> HostLink:
    work = runtime.work(OPERATOR)
    return (await links.get_booking_link(work, user, link.link.event_type_id, link.link.id))[1]


def seen(answer: httpx2.Response) -> tuple[int, str | None, object]:
    return answer.status_code, answer.headers.get("x-error-code"), answer.json()


async def test_a_link_is_used_once_and_then_closed(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, meeting: EventType
) -> None:
    link = await make(runtime, user, meeting, note="For Li")
    made = await send(client, meeting, link)
    assert made.status_code == 200, made.text
    before = await runtime.pool.fetchval("select count(*) from claims")

    assert seen(await send(client, meeting, link, ELEVEN)) == USED
    assert await runtime.pool.fetchval("select count(*) from claims") == before
    found = await reload(runtime, user, link)
    assert (found.link.used, [str(each.id) for each in found.bookings]) == (1, [made.json()["bookingId"]])
    # The event type itself is public and stays open.
    assert (await client.post("/api/bookings", json=public_body(meeting, ELEVEN))).status_code == 200
    await check_order(runtime)


async def test_a_closed_link_opens_nothing(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock
) -> None:
    hidden = await offer(runtime, user, "hidden", is_private=True)
    used = await make(runtime, user, hidden)
    ended = await make(runtime, user, hidden, ends_at=runtime.clock() + timedelta(minutes=5))
    revoked = await make(runtime, user, hidden)
    for link in (used, ended, revoked):
        assert (await client.get("/api/public/mara/hidden", params={"token": link.token})).status_code == 200
    assert (await send(client, hidden, used)).status_code == 200
    clock.pass_time(minutes=5)
    async with runtime.transaction(OPERATOR) as work:
        await links.revoke_booking_link(work, user, revoked.link.id)
        again = await links.revoke_booking_link(work, user, revoked.link.id)
    assert again.revoked_at == runtime.clock()

    days = {"timezone": "UTC"}
    for link, code in ((used, "link_used_up"), (ended, "link_ended"), (revoked, "link_revoked")):
        held = {"eventTypeId": str(hidden.id), "startTime": ELEVEN, "token": link.token}
        for answer in (
            await client.get("/api/public/mara/hidden", params={"token": link.token}),
            await client.get("/api/public/mara/hidden/slots", params={"token": link.token, **days}),
            await client.post("/api/public/holds", json=held),
            await send(client, hidden, link, ELEVEN),
            await client.get("/mara/hidden", params={"token": link.token}),
            await client.get("/mara/hidden.json", params={"token": link.token}),
            await client.get("/mara/hidden/qr.svg", params={"token": link.token}),
        ):
            assert (answer.status_code, answer.headers["x-error-code"]) == (410, code), answer.url
    assert (await client.get("/api/public/mara/hidden")).status_code == 404


async def test_a_link_opens_its_own_event_type_alone(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, meeting: EventType
) -> None:
    hidden = await offer(runtime, user, "hidden", is_private=True)
    other = await offer(runtime, user, "other", is_private=True)
    link = await make(runtime, user, hidden, uses=2)

    assert (await send(client, other, link)).status_code == 404
    assert (await send(client, hidden, link)).status_code == 200
    # A public event type needs no token, and this one is not of a link of its own.
    assert (await send(client, meeting, link, ELEVEN)).status_code == 200
    assert (await reload(runtime, user, link)).link.used == 1
    async with runtime.transaction(OPERATOR) as work:
        await event_types.set_event_type_active(work, hidden, active=False)
    assert (await send(client, hidden, link, "2026-03-16T12:00:00Z")).status_code == 404


@pytest.mark.parametrize("token", ["", "x", "a" * 100, "' or 1=1 --", "%00", "é" * 40, "../..", "\u202e" * 3])
async def test_a_guessed_token_opens_nothing(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, token: str
) -> None:
    hidden = await offer(runtime, user, "hidden", is_private=True)
    await make(runtime, user, hidden)
    for path in ("/api/public/mara/hidden", "/mara/hidden"):
        assert (await client.get(path, params={"token": token})).status_code in (400, 404), path
    answer = await client.post("/api/bookings", json=public_body(hidden, TEN, token=token))
    assert answer.status_code in (400, 404)
    assert await runtime.pool.fetchval("select sum(used) from booking_links") == 0


async def test_neither_a_hold_nor_a_reschedule_nor_a_cancellation_changes_the_uses(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, meeting: EventType
) -> None:
    link = await make(runtime, user, meeting, uses=2)
    held = await hold_publicly(client, meeting)
    assert (await reload(runtime, user, link)).link.used == 0
    made = await send(client, meeting, link, holdId=held.json()["holdId"])
    ref = BookingRef(UUID(made.json()["bookingId"]), user.id)
    async with runtime.transaction(PUBLIC) as work:
        await bookings.reschedule_booking(work, ref, LATER)
    assert (await reload(runtime, user, link)).link.used == 1
    async with runtime.transaction(PUBLIC) as work:
        await bookings.cancel_booking(work, ref)
    assert (await reload(runtime, user, link)).link.used == 1
    await check_order(runtime)


async def decline(runtime: Runtime, ref: BookingRef, clock: MovingClock) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await requests.decline_booking_request(work, ref)


async def withdraw(runtime: Runtime, ref: BookingRef, clock: MovingClock) -> None:
    async with runtime.transaction(PUBLIC) as work:
        await requests.withdraw_booking_request(work, ref.id)


async def lapse(runtime: Runtime, ref: BookingRef, clock: MovingClock) -> None:
    clock.pass_time(hours=72)
    await run_job(runtime, requests.REQUEST_JOBS[0])
    await work_off(runtime, clock)


@pytest.mark.parametrize("end", [decline, withdraw, lapse], ids=lambda each: each.__name__)
async def test_a_request_takes_a_use_and_gives_it_back_unless_it_is_confirmed(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, end: Any
) -> None:
    asked = await offer(runtime, user, "asked", requires_confirmation=True)
    link = await make(runtime, user, asked)
    made = await send(client, asked, link, "2026-03-17T10:00:00Z")
    assert made.json()["status"] == "PENDING_CONFIRMATION"
    assert seen(await send(client, asked, link, "2026-03-17T11:00:00Z")) == USED

    await end(runtime, BookingRef(UUID(made.json()["bookingId"]), user.id), clock)
    found = await reload(runtime, user, link)
    assert (found.link.used, found.bookings) == (0, ())
    again = await send(client, asked, link, "2026-03-25T10:00:00Z")
    assert again.status_code == 200, again.text
    async with runtime.transaction(OPERATOR) as work:
        await requests.confirm_booking_request(work, BookingRef(UUID(again.json()["bookingId"]), user.id))
    assert (await reload(runtime, user, link)).link.used == 1
    await check_order(runtime)


async def test_each_seat_of_a_group_takes_a_use(client: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    group = await offer(runtime, user, "group", seats=5)
    link = await make(runtime, user, group, uses=2)
    statuses = [(await send(client, group, link)).status_code for _ in range(3)]
    assert statuses == [200, 200, 410]
    await check_order(runtime)


async def test_of_many_at_once_as_many_book_as_the_link_is_for(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, meeting: EventType
) -> None:
    starts = [f"2026-03-16T{hour:02}:{minute:02}:00Z" for hour in range(9, 16) for minute in (0, 30)]
    for uses in (1, 3):
        link = await make(runtime, user, meeting, uses=uses)
        day = [start.replace("-16T", f"-{16 + uses}T") for start in starts]
        answers = await asyncio.gather(*(send(client, meeting, link, start) for start in day))
        assert sorted(each.status_code for each in answers) == [200] * uses + [410] * (len(day) - uses)
    await check_order(runtime)


async def test_a_use_is_guarded_even_without_the_hosts_lock(runtime: Runtime, user: User, meeting: EventType) -> None:
    """The verbs read the link under the host's lock; the statement itself refuses what nobody has read."""
    link = (await make(runtime, user, meeting)).link
    starts = (AT, LATER, LATER + timedelta(hours=1))
    first, second, third = [await book(runtime, meeting, at) for at in starts]

    async def take(booking_id: UUID, seen: BookingLink = link) -> None:
        async with runtime.transaction(PUBLIC) as work:
            links.take_link_uses(work, seen, booking_id)
            await work.apply()
            await asyncio.sleep(0.05)

    results = await asyncio.gather(take(first.id), take(second.id), return_exceptions=True)
    assert sorted(map(type, results), key=str) == sorted([type(None), LinkUsedUp], key=str)
    for changed in (replace(link, revoked_at=runtime.clock()), replace(link, ends_at=runtime.clock())):
        other = (await make(runtime, user, meeting)).link
        await runtime.pool.execute(
            "update booking_links set revoked_at = $2, ends_at = $3 where id = $1",
            other.id,
            changed.revoked_at,
            changed.ends_at,
        )
        with pytest.raises(LinkUsedUp):
            await take(third.id, other)
    with pytest.raises(asyncpg.CheckViolationError):
        await runtime.pool.execute("update booking_links set used = 2 where id = $1", link.id)


async def test_what_a_link_may_be(runtime: Runtime, user: User, stranger: User, meeting: EventType) -> None:
    async with runtime.transaction(OPERATOR) as work:
        with pytest.raises(Invalid) as refused:
            await links.create_booking_link(work, user, meeting.id, uses=0, ends_at=work.now, note="a\nb")
        assert set(refused.value.faults) == {"uses", "endsAt", "note"}
        link = (await links.create_booking_link(work, user, meeting.id))[1].link
        with pytest.raises(LinkNotFound):
            await links.revoke_booking_link(work, stranger, link.id)
        with pytest.raises(LinkNotFound):
            await links.revoke_booking_link(work, user, link.id, event_type_id=new_id())


async def test_an_event_type_has_a_limited_number_of_open_links(
    runtime: Runtime, user: User, meeting: EventType
) -> None:
    link = await make(runtime, user, meeting)
    await runtime.pool.execute(
        """insert into booking_links (id, event_type_id, owner_id, uses, created_at, token_hash, token_sealed)
        select gen_random_uuid(), event_type_id, owner_id, 1, created_at, n::text::bytea, token_sealed
        from booking_links, generate_series(2, $1) n""",
        MAX_OPEN,
    )
    with pytest.raises(TooManyLinks):
        await make(runtime, user, meeting)
    async with runtime.transaction(OPERATOR) as work:
        await links.revoke_booking_link(work, user, link.link.id)
    await make(runtime, user, meeting)


async def test_a_link_is_shown_again_and_only_its_seal_is_kept(
    runtime: Runtime, user: User, meeting: EventType
) -> None:
    link = await make(runtime, user, meeting)
    assert link.token is not None
    assert (await reload(runtime, user, link)).token == link.token
    row = await runtime.pool.fetchrow("select token_hash, token_sealed from booking_links")
    assert row is not None
    assert all(link.token.encode() not in bytes(value) for value in row.values())
    other = await make(runtime, user, meeting)
    await runtime.pool.execute(
        "update booking_links set token_sealed = $2 where id = $1", other.link.id, row["token_sealed"]
    )
    assert (await reload(runtime, user, other)).token is None


async def test_a_booking_by_its_id_is_counted_like_one_by_its_page(
    runtime: Runtime, user: User, meeting: EventType
) -> None:
    link = await make(runtime, user, meeting, uses=1)
    await book(runtime, meeting, AT, which=ById(meeting.id, link.token))
    with pytest.raises(LinkUsedUp):
        await book(runtime, meeting, LATER, which=ById(meeting.id, link.token))
    assert await link_store.count_open(runtime.pool, meeting.id, now=runtime.clock()) == 0
