"""Bookings in several weeks in a row: all or the free ones, each of its own, cancelled one by one or together."""

from datetime import UTC, datetime
from typing import Any, cast

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import ById
from openslot.domains.bookings.errors import BookingNotFound, InviteeLimitReached, SeriesUnavailable
from openslot.domains.bookings.models import BookingRef, BookingWanted, Invitee
from openslot.domains.bookings.series import operations as series
from openslot.domains.bookings.series.models import BookedSeries, OnConflict, Recurrence
from openslot.domains.event_types.links import operations as links
from openslot.domains.event_types.models import EventType, Limits, Money, RollingWindow
from openslot.domains.schedules import operations as schedules
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import TEN, Book, offer, read
from tests.domains.bookings.support import AT
from tests.support.clocks import MovingClock
from tests.support.fake_conferences import BY_JITSI, SERVER
from tests.support.races import find_disorder

WEEKS = ["2026-03-16T10:00:00Z", "2026-03-23T10:00:00Z", "2026-03-30T10:00:00Z", "2026-04-06T10:00:00Z"]
WANTED = {"inviteeName": "Li", "inviteeEmail": "li@wei.example", "inviteeTimezone": "Asia/Tokyo"}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, jitsi_url=SERVER)


@pytest.fixture
async def meeting(runtime: Runtime, user: User) -> EventType:
    """A meeting that can be booked for 12 weeks at once."""
    return await offer(runtime, user, "meeting", recurring_weeks=12, booking_window=RollingWindow(365))


def starts_of(made: httpx2.Response) -> list[str]:
    assert made.status_code == 200, made.text
    return [each["startTime"] for each in made.json()["series"]["bookings"]]


def wish(offer: EventType, email: str) -> BookingWanted:
    return BookingWanted(which=ById(offer.id), starts_at=AT, invitee=Invitee(name="Li", email=email, zone="UTC"))


async def book_series(runtime: Runtime, offer: EventType, **how: Any) -> BookedSeries:
    async with runtime.transaction(PUBLIC) as work:
        return await series.create_series(work, wish(offer, "li@wei.example"), Recurrence(**{"weeks": 4, **how}))


async def test_every_week_is_a_booking_of_its_own_with_a_common_id(
    client: httpx2.AsyncClient, bearer: dict[str, str], book: Book, runtime: Runtime
) -> None:
    made = await book(TEN, recurrence={"weeks": 4}, guests=["ana@wei.example"], notes="Piano")

    assert starts_of(made) == WEEKS
    told = made.json()["series"]
    assert made.json()["bookingId"] == told["bookings"][0]["bookingId"]
    assert told["skipped"] == []
    listed = (await client.get("/api/v1/bookings", headers=bearer)).json()["data"]
    assert [each["startTime"] for each in reversed(listed)] == WEEKS
    assert {each["seriesId"] for each in listed} == {told["id"]}
    assert {(each["notes"], *each["guests"]) for each in listed} == {("Piano", "ana@wei.example")}
    assert {each["manageUrl"] for each in listed} == {each["manageUrl"] for each in told["bookings"]}
    created = await runtime.pool.fetch("select public from events where type = 'booking.created' order by no")
    assert len(created) == 4
    assert all(told["id"] in each["public"] for each in created)
    assert await find_disorder(runtime.pool) == {}


async def test_a_booking_alone_has_no_series(client: httpx2.AsyncClient, bearer: dict[str, str], book: Book) -> None:
    for extra in ({}, {"recurrence": None}):
        made = await book("2026-03-16T11:00:00Z" if extra else TEN, **extra)
        assert list(made.json()) == ["bookingId"]
        assert (await read(client, bearer, made))["seriesId"] is None


async def test_every_week_or_none_and_the_refusal_names_those_that_are_not_free(book: Book, runtime: Runtime) -> None:
    for week in (WEEKS[1], WEEKS[3]):
        assert (await book(week)).status_code == 200
    refused = await book(TEN, recurrence={"weeks": 4})

    assert refused.status_code == 409
    assert refused.headers["x-error-code"] == "series_unavailable"
    assert refused.json()["details"] == {"recurrence": f"is not free on {WEEKS[1]}, {WEEKS[3]}"}
    assert await runtime.pool.fetchval("select count(*) from bookings") == 2
    assert await runtime.pool.fetchval("select count(*) from claims") == 2


async def test_those_that_are_free_and_the_answer_lists_the_others(book: Book, runtime: Runtime) -> None:
    await book(WEEKS[1])
    made = await book(TEN, recurrence={"weeks": 4, "onConflict": "skip"})

    assert starts_of(made) == [WEEKS[0], WEEKS[2], WEEKS[3]]
    assert made.json()["series"]["skipped"] == [WEEKS[1]]
    again = await book(TEN, recurrence={"weeks": 4, "onConflict": "skip"})
    assert (again.status_code, again.headers["x-error-code"]) == (409, "series_unavailable")
    assert await find_disorder(runtime.pool) == {}


async def test_the_first_week_may_be_skipped_too(book: Book) -> None:
    await book(TEN)
    made = await book(TEN, recurrence={"weeks": 3, "onConflict": "skip"})
    assert starts_of(made) == WEEKS[1:3]
    assert made.json()["bookingId"] == made.json()["series"]["bookings"][0]["bookingId"]


@pytest.mark.parametrize(
    ("recurrence", "field"),
    [
        ({"weeks": 0}, "recurrence.weeks"),
        ({"weeks": 1}, "recurrence.weeks"),
        ({"weeks": -3}, "recurrence.weeks"),
        ({"weeks": 53}, "recurrence.weeks"),
        ({"weeks": 10**9}, "recurrence.weeks"),
        ({"weeks": 10**40}, "recurrence.weeks"),
        ({"weeks": "3"}, "recurrence.weeks"),
        ({"weeks": 2.5}, "recurrence.weeks"),
        ({"weeks": None}, "recurrence.weeks"),
        ({"weeks": True}, "recurrence.weeks"),
        ({}, "recurrence.weeks"),
        ({"weeks": 13}, "recurrence.weeks"),
        ({"weeks": 3, "onConflict": "maybe"}, "recurrence.onConflict"),
        ({"weeks": 3, "onConflict": None}, "recurrence.onConflict"),
        ({"weeks": 3, "until": "2027"}, "recurrence.until"),
        (3, "recurrence"),
        ([], "recurrence"),
    ],
    ids=str,
)
async def test_what_is_no_recurrence_is_refused_at_its_field(
    client: httpx2.AsyncClient, meeting: EventType, book: Book, recurrence: object, field: str
) -> None:
    body = {"eventTypeId": str(meeting.id), "startTime": TEN, **WANTED, "recurrence": recurrence}
    for refused in (await book(TEN, recurrence=recurrence), await client.post("/api/bookings", json=body)):
        assert refused.status_code == 400, refused.text
        assert list(refused.json()["details"]) == [field], refused.text


async def test_only_where_it_is_offered(client: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book) -> None:
    once = await offer(runtime, user, "once")
    refused = await book(TEN, eventTypeSlug="once", recurrence={"weeks": 2})
    assert (refused.status_code, refused.json()["details"]) == (
        400,
        {"recurrence": "is not offered by this event type"},
    )
    # A release that does not know of series can set a price meanwhile.
    await runtime.pool.execute("update event_types set recurring_weeks = 4, seats = 2 where id = $1", once.id)
    assert (await book(TEN, eventTypeSlug="once", recurrence={"weeks": 2})).status_code == 400
    assert (await book(TEN, eventTypeSlug="once")).status_code == 200


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"recurring_weeks": 1}, "must be from 2 to 52"),
        ({"recurring_weeks": 53}, "must be from 2 to 52"),
        ({"price": Money(1000, "EUR")}, "can't be combined with a price"),
        ({"seats": 2}, "can't be combined with more than one seat"),
        ({"requires_confirmation": True}, "can't be combined with a confirmation by the host"),
    ],
    ids=str,
)
async def test_what_an_event_type_can_not_combine(runtime: Runtime, user: User, changes: Any, fault: str) -> None:
    with pytest.raises(Invalid) as refused:
        await offer(runtime, user, "series", **{"recurring_weeks": 4, **changes})
    assert str(refused.value.faults["recurringWeeks"]) == fault


async def test_the_detail_and_the_offer_say_how_many_weeks(
    client: httpx2.AsyncClient, bearer: dict[str, str], meeting: EventType, user: User
) -> None:
    detail = (await client.get(f"/api/v1/event-types/{meeting.id}", headers=bearer)).json()
    assert detail["schedulingConfig"]["recurringWeeks"] == 12
    offered = (await client.get(f"/api/public/{user.username}/meeting")).json()
    assert offered["eventType"]["recurringWeeks"] == 12


async def test_it_keeps_the_time_of_the_schedules_clock_when_that_is_turned(
    runtime: Runtime, user: User, book: Book, meeting: EventType
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        schedule, *_ = await schedules.list_schedules(work, user)
        await schedules.change_schedule(work, replace(schedule, zone="Europe/Berlin"))
    # The clock is turned on 29 March.
    made = await book(TEN, recurrence={"weeks": 3}, inviteeTimezone="Asia/Tokyo")
    assert starts_of(made) == [WEEKS[0], WEEKS[1], "2026-03-30T09:00:00Z"]


async def test_each_limit_holds_for_each_week(runtime: Runtime, user: User, book: Book) -> None:
    await offer(runtime, user, "rare", recurring_weeks=12, booking_window=RollingWindow(21), limits=Limits(per_day=1))
    assert (await book("2026-03-23T14:00:00Z", eventTypeSlug="rare")).status_code == 200
    made = await book(TEN, eventTypeSlug="rare", recurrence={"weeks": 12, "onConflict": "skip"})
    # The second week has its booking of the day, and the window ends after the fourth.
    assert starts_of(made) == [WEEKS[0], WEEKS[2], WEEKS[3]]
    assert made.json()["series"]["skipped"][:2] == [WEEKS[1], "2026-04-13T10:00:00Z"]


async def test_the_notice_closes_the_first_week_alone(runtime: Runtime, user: User, book: Book) -> None:
    await offer(runtime, user, "late", recurring_weeks=12, booking_window=RollingWindow(99), min_notice_minutes=1440)
    made = await book(TEN, eventTypeSlug="late", recurrence={"weeks": 3, "onConflict": "skip"})
    assert starts_of(made) == WEEKS[1:3]


async def test_a_start_that_nobody_can_ask_for_is_refused_whole(book: Book) -> None:
    for start in ("2026-03-16T10:07:00Z", "2026-03-15T10:00:00Z", "2026-03-21T10:00:00Z", "9999-12-31T23:30:00Z"):
        refused = await book(start, recurrence={"weeks": 12, "onConflict": "skip"})
        assert (refused.status_code, list(refused.json()["details"])) == (400, ["startTime"]), refused.text


async def test_the_limit_per_address_counts_every_week(runtime: Runtime, user: User) -> None:
    few = await offer(
        runtime, user, "few", recurring_weeks=12, limits=Limits(per_invitee=3), booking_window=RollingWindow(99)
    )
    with pytest.raises(InviteeLimitReached):
        await book_series(runtime, few, weeks=4)
    assert len((await book_series(runtime, few, weeks=3)).bookings) == 3
    with pytest.raises(InviteeLimitReached):
        await book_series(runtime, few, weeks=5, on_conflict=OnConflict.SKIP)
    assert await runtime.pool.fetchval("select count(*) from bookings") == 3


async def test_the_hold_of_the_first_week_becomes_its_booking(
    client: httpx2.AsyncClient, runtime: Runtime, meeting: EventType
) -> None:
    held = await client.post("/api/public/holds", json={"eventTypeId": str(meeting.id), "startTime": TEN})
    body = {"eventTypeId": str(meeting.id), "startTime": TEN, **WANTED, "recurrence": {"weeks": 3}}
    assert (await client.post("/api/bookings", json=body)).status_code == 409
    wrong = {**body, "startTime": "2026-03-16T11:00:00Z", "holdId": held.json()["holdId"]}
    assert (await client.post("/api/bookings", json=wrong)).json()["details"] == {"holdId": "is for a different time"}
    made = await client.post("/api/bookings", json={**body, "holdId": held.json()["holdId"]})
    assert starts_of(made) == WEEKS[:3]
    assert await runtime.pool.fetchval("select count(*) from claims where active and kind = 'booking'") == 3
    assert await find_disorder(runtime.pool) == {}


async def test_a_retry_gets_the_same_answer_and_books_nothing_more(
    client: httpx2.AsyncClient, runtime: Runtime, meeting: EventType
) -> None:
    body = {"eventTypeId": str(meeting.id), "startTime": TEN, **WANTED, "recurrence": {"weeks": 3}}
    headers = {"idempotency-key": "series-1"}
    first, again = [await client.post("/api/bookings", json=body, headers=headers) for _ in range(2)]
    other = await client.post("/api/bookings", json={**body, "recurrence": {"weeks": 4}}, headers=headers)
    assert (first.status_code, first.json()) == (again.status_code, again.json())
    assert other.status_code == 409
    assert await runtime.pool.fetchval("select count(*) from bookings") == 3


async def test_one_is_cancelled_or_all_that_are_not_over(
    client: httpx2.AsyncClient, bearer: dict[str, str], book: Book, runtime: Runtime, clock: MovingClock
) -> None:
    made = (await book(TEN, recurrence={"weeks": 4})).json()["series"]
    first, second, third, fourth = (each["bookingId"] for each in made["bookings"])
    assert (await client.post(f"/api/v1/bookings/{third}/cancel", headers=bearer)).status_code == 200
    clock.now = datetime(2026, 3, 17, tzinfo=UTC)

    for _ in range(2):
        path, body = f"/api/v1/bookings/{second}/cancel", {"series": True, "reason": "Moved away"}
        assert (await client.post(path, json=body, headers=bearer)).status_code == 200
    status = {
        each["id"]: (each["status"], each["cancelReason"])
        for each in (await client.get("/api/v1/bookings", headers=bearer)).json()["data"]
    }
    assert status == {
        first: ("CONFIRMED", None),
        second: ("CANCELLED", "Moved away"),
        third: ("CANCELLED", None),
        fourth: ("CANCELLED", "Moved away"),
    }
    assert await runtime.pool.fetchval("select count(*) from events where type = 'booking.cancelled'") == 3
    assert await find_disorder(runtime.pool) == {}
    # The times are free again.
    assert (await book(WEEKS[1], recurrence={"weeks": 3})).status_code == 200


async def test_a_series_is_cancelled_by_any_of_its_manage_links(
    client: httpx2.AsyncClient, runtime: Runtime, meeting: EventType
) -> None:
    body = {"eventTypeId": str(meeting.id), "startTime": TEN, **WANTED, "recurrence": {"weeks": 3}}
    made = (await client.post("/api/bookings", json=body)).json()
    token = made["series"]["bookings"][2]["manageUrl"].rpartition("/")[2]
    assert (await client.get(f"/api/public/manage/{token}")).json()["seriesId"] == made["series"]["id"]
    answer = await client.post(f"/api/public/manage/{token}/cancel", json={"series": True})
    assert answer.status_code == 200
    assert await runtime.pool.fetchval("select count(*) from bookings where status = 'CANCELLED'") == 3
    assert await runtime.pool.fetchval("select count(*) from claims where active") == 0


async def test_a_booking_alone_has_no_series_to_cancel(
    client: httpx2.AsyncClient, bearer: dict[str, str], book: Book
) -> None:
    made = (await book(TEN)).json()["bookingId"]
    refused = await client.post(f"/api/v1/bookings/{made}/cancel", json={"series": True}, headers=bearer)
    assert (refused.status_code, list(refused.json()["details"])) == (400, ["series"])
    for wrong in ("yes", 1, None):
        answer = await client.post(f"/api/v1/bookings/{made}/cancel", json={"series": wrong}, headers=bearer)
        assert (answer.status_code, list(answer.json()["details"])) == (400, ["series"])


async def test_a_stranger_can_not_cancel_a_series(runtime: Runtime, meeting: EventType) -> None:
    made = await book_series(runtime, meeting)
    async with runtime.transaction(OPERATOR) as work:
        with pytest.raises(BookingNotFound):
            await series.cancel_series(work, BookingRef(made.bookings[0].id, new_id()))


async def test_a_reschedule_moves_one(client: httpx2.AsyncClient, bearer: dict[str, str], book: Book) -> None:
    made = (await book(TEN, recurrence={"weeks": 3})).json()["series"]
    path = f"/api/v1/bookings/{made['bookings'][1]['bookingId']}/reschedule"
    moved = await client.patch(path, json={"newStartTime": "2026-03-24T12:00:00Z"}, headers=bearer)
    assert moved.status_code == 200
    listed = (await client.get("/api/v1/bookings", headers=bearer)).json()["data"]
    assert [each["startTime"] for each in listed] == [WEEKS[2], "2026-03-24T12:00:00Z", WEEKS[0]]
    assert {each["seriesId"] for each in listed} == {made["id"]}


async def test_each_date_has_a_link_of_its_own(runtime: Runtime, user: User) -> None:
    calls = await offer(runtime, user, "calls", recurring_weeks=12, location=BY_JITSI, booking_window=RollingWindow(99))
    made = await book_series(runtime, calls)
    assert len({each.location.value for each in made.bookings}) == 4


async def test_52_weeks_take_as_many_statements_as_2(runtime: Runtime, user: User) -> None:
    year = await offer(runtime, user, "year", recurring_weeks=52, booking_window=RollingWindow(730))
    counts = []
    for weeks in (3, 2, 52):
        asked: list[str] = []
        async with runtime.transaction(PUBLIC) as work:
            cast("Any", work.db).add_query_logger(lambda record, asked=asked: asked.append(record.query))
            made = await series.create_series(work, wish(year, f"{weeks}@wei.example"), Recurrence(weeks=weeks))
            booked = len(asked)
            await series.cancel_series(work, BookingRef(made.bookings[0].id, None))
            counts.append((booked, len(asked) - booked))
        assert len(made.bookings) == weeks
    # The first one is prepared. To book: lock, what decides, contact, changes; to cancel: lock, booking, series,
    # changes.
    assert counts[1:] == [(4, 4), (4, 4)]


async def test_each_week_takes_a_use_of_a_link(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, meeting: EventType
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        _, link = await links.create_booking_link(work, user, meeting.id, uses=5)
    body = {"eventTypeId": str(meeting.id), "startTime": TEN, **WANTED, "token": link.token}
    made = await client.post("/api/bookings", json={**body, "recurrence": {"weeks": 3}})
    assert starts_of(made) == WEEKS[:3]
    assert await runtime.pool.fetchval("select used from booking_links") == 3
    later = {**body, "startTime": "2026-03-17T10:00:00Z"}
    refused = await client.post("/api/bookings", json={**later, "recurrence": {"weeks": 3}})
    assert (refused.status_code, refused.headers["x-error-code"]) == (410, "link_used_up")
    assert await runtime.pool.fetchval("select count(*) from bookings") == 3
    assert len(starts_of(await client.post("/api/bookings", json={**later, "recurrence": {"weeks": 2}}))) == 2
    assert await runtime.pool.fetchval("select count(*) from booking_link_uses") == 5


async def test_a_refused_series_names_dates_in_the_invitees_zone(runtime: Runtime, meeting: EventType) -> None:
    await book_series(runtime, meeting)
    with pytest.raises(SeriesUnavailable) as refused:
        await book_series(runtime, meeting)
    assert str(refused.value.faults["recurrence"]).count("T10:00:00Z") == 4
